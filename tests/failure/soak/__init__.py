# SPDX-License-Identifier: Apache-2.0
"""Harm at random times for as long as asked: ``make soak``."""
