# SPDX-License-Identifier: Apache-2.0
"""Looks at a query before it starts."""
