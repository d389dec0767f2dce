# SPDX-License-Identifier: Apache-2.0
"""No engine at all: a record goes from the producer through the broker to the consumer. The physical floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engines.engine import Job


class Hop:
    """See Engine; what is sent to the source is received from it."""

    name = "hop"
    title = "one hop through the broker"

    def install(self) -> None:
        """See Engine."""

    def command(self, job: Job) -> None:
        """See Engine."""

    def versions(self) -> dict[str, str]:
        """See Engine."""
        return {}

    def settings(self, _job: Job) -> dict[str, str]:
        """See Engine."""
        return {}

    def slots(self, _job: Job) -> int:
        """See Engine."""
        return 0

    def commits(self, _job: Job) -> list[float]:
        """See Engine."""
        return []
