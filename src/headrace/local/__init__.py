# SPDX-License-Identifier: Apache-2.0
"""A real Kafka broker on the laptop."""
