# SPDX-License-Identifier: Apache-2.0
"""Helpers for users' own tests."""
