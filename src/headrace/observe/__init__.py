# SPDX-License-Identifier: Apache-2.0
"""Looks at queries while they run: what the engine measures, and one file per way to read it."""
