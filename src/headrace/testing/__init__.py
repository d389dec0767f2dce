# SPDX-License-Identifier: Apache-2.0
"""Helpers for users' own tests, against a real broker."""

from headrace.testing.kafka import Kafka
from headrace.testing.waiting import eventually

__all__ = ["Kafka", "eventually"]
