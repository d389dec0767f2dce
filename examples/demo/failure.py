# SPDX-License-Identifier: Apache-2.0
"""What can go wrong in the demo.

::

    DemoError
    ├── ProcessEndedError    one of the demo's processes ended by itself
    ├── NotStartedError      the scoring program did not start to score in time
    └── ScoresMissingError   some scores never came back
"""

from __future__ import annotations


class DemoError(Exception):
    """The demo cannot go on; the message says why, for its user."""


class ProcessEndedError(DemoError):
    """One of the demo's processes ended by itself."""

    def __init__(self, *, name: str, code: int | None) -> None:
        super().__init__(f"The {name} ended by itself (exit code {code}).")


class NotStartedError(DemoError):
    """The scoring program did not start to score in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The scoring program returned no score within {seconds:.0f} s of its start.")


class ScoresMissingError(DemoError):
    """Some scores never came back."""

    def __init__(self, missing: int, sent: int) -> None:
        super().__init__(f"Of {sent:,} transactions, {missing:,} never came back.")
