# SPDX-License-Identifier: Apache-2.0
"""A real Kafka broker on the laptop, and the everyday work with it.

``Broker`` runs one as a child process; ``Topics``, ``Writer`` and ``Reader`` work with any broker.
"""

from headrace.local.broker import Broker
from headrace.local.records import Reader, Record, Writer
from headrace.local.topics import Partition, Topic, Topics

__all__ = ["Broker", "Partition", "Reader", "Record", "Topic", "Topics", "Writer"]
