# SPDX-License-Identifier: Apache-2.0
"""The engines whose time is split: as in the benchmarks, with Spark's event log switched on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.spark import Headrace, StockRealTime

if TYPE_CHECKING:
    from pathlib import Path

    from engines.engine import Command, Job


def event_log(job: Job) -> Path:
    """Returns the folder of a job's event log."""
    return job.folder / "events"


def _settings(job: Job) -> dict[str, str]:
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": event_log(job).as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


class TracedHeadrace(Headrace):
    """Headrace with an event log."""

    def conf(self, job: Job) -> dict[str, str]:
        """See Headrace."""
        # Where progress is recorded inside an epoch, epochs are long: a window would see no boundary.
        epoch = {"spark.headrace.realtime.epoch": f"{job.checkpoint_ms}ms"}
        return {**super().conf(job), **_settings(job), **epoch}

    def command(self, job: Job) -> Command:
        """See Engine."""
        # Spark demands that the folder is there.
        event_log(job).mkdir(parents=True, exist_ok=True)
        return super().command(job)


class TracedStock(StockRealTime):
    """Stock real-time mode with an event log."""

    def conf(self, job: Job) -> dict[str, str]:
        """See StockRealTime."""
        return {**super().conf(job), **_settings(job)}

    def command(self, job: Job) -> Command:
        """See Engine."""
        event_log(job).mkdir(parents=True, exist_ok=True)
        return super().command(job)


class ForcedStock(TracedStock):
    """The same, made to run what it would refuse, such as Python functions."""

    name = "stock-forced"
    title = "Spark real-time mode, forced"

    def conf(self, job: Job) -> dict[str, str]:
        """See StockRealTime."""
        return {**super().conf(job), "spark.sql.streaming.realTimeMode.allowlistCheck": "false"}


TRACED = {engine.name: engine for engine in (TracedHeadrace, TracedStock, ForcedStock)}
