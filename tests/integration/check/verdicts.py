# SPDX-License-Identifier: Apache-2.0
"""Twelve queries that can run in real-time mode and twelve that cannot, each with the verdict a check must give.

They are those of other tests: what can run is run by modes/test_shapes.py, what cannot is refused by
guard/test_refusals.py, and here by a Spark that has never heard of Headrace.
"""

from __future__ import annotations

from tests.integration.guard.refusals import BEFORE_THE_FIRST_TASK, IN_START
from tests.integration.modes.shapes import SHAPES

COMMON = {"SINK_KAFKA", "SOURCE_KAFKA", "PROJECTION"}
STATEFUL = COMMON | {"REPARTITION"}

CAN = {
    "projection": COMMON,
    "filter": COMMON,
    "explode": COMMON | {"EXPLODE"},
    "Python function": COMMON | {"PYTHON_SCALAR"},
    "Python processor": STATEFUL | {"PYTHON_PROCESSOR"},
    "union": COMMON | {"UNION"},
    "broadcast join": COMMON | {"BROADCAST_JOIN"},
    "repartition by column": STATEFUL,
    "aggregation": STATEFUL | {"AGGREGATION"},
    "sliding window": STATEFUL | {"AGGREGATION", "WATERMARK", "EXPLODE"},
    "dropDuplicates": STATEFUL | {"DROP_DUPLICATES"},
    "transformWithState": STATEFUL | {"TRANSFORM_WITH_STATE", "TYPED_OPERATIONS"},
}
"""By the name of the shape: the lines of the table that its parts fall under."""

CANNOT = (
    "foreachBatch",
    "memory sink",
    "file sink",
    "complete mode",
    "orderBy",
    "limit",
    "repartitionByRange",
    "stream-stream join",
    "dropDuplicatesWithinWatermark",
    "session window",
    "aggregation below a union",
    "static join with a merge hint",
)
"""By the name of the refusal, which knows its condition."""

SHAPE = {shape.name: shape for shape in SHAPES}
REFUSAL = {refusal.name: refusal for refusal in (*IN_START, *BEFORE_THE_FIRST_TASK)}
