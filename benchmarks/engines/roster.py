# SPDX-License-Identifier: Apache-2.0
"""Every engine, by name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engines.flink import Bundles, Flink, PyFlink
from engines.hop import Hop
from engines.quix import Quix
from engines.script import Script, ScriptInJava
from engines.spark import (
    Continuous,
    Headrace,
    HeadraceInSql,
    HeadraceUnobserved,
    HeadraceWithoutCommits,
    MicroBatch,
    StockRealTime,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from engines.engine import Engine

_MAKERS: tuple[Callable[[], Engine], ...] = (
    Hop,
    Script,
    ScriptInJava,
    Headrace,
    HeadraceWithoutCommits,
    HeadraceUnobserved,
    HeadraceInSql,
    StockRealTime,
    MicroBatch,
    *(partial(MicroBatch, every_ms) for every_ms in (100, 500, 1000)),
    Continuous,
    Flink,
    *(partial(PyFlink, bundles) for bundles in Bundles),
    Quix,
)
ENGINES: dict[str, Callable[[], Engine]] = {make().name: make for make in _MAKERS}
