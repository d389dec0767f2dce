# SPDX-License-Identifier: Apache-2.0
"""Headrace: Spark runs the query; Headrace makes the road under it smooth, and tells you how fast you are.

The names in ``__all__`` are the public API, together with the packages ``headrace.errors``, ``headrace.local`` and
``headrace.testing``. Everything else may change at any time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.advise.check import check
    from headrace.dashboard.service import serve_dashboard
    from headrace.engine.session import configure, session
    from headrace.observe.latency import latency
    from headrace.run.catch_up import catch_up
    from headrace.run.drain import drain
    from headrace.run.restarts import Restarts
    from headrace.run.supervise import supervise

__all__ = [
    "HeadraceError",
    "Restarts",
    "__version__",
    "catch_up",
    "check",
    "configure",
    "drain",
    "latency",
    "serve_dashboard",
    "session",
    "supervise",
]

__version__ = "0.1.0"

_HOMES = {
    "Restarts": "headrace.run.restarts",
    "catch_up": "headrace.run.catch_up",
    "check": "headrace.advise.check",
    "configure": "headrace.engine.session",
    "drain": "headrace.run.drain",
    "latency": "headrace.observe.latency",
    "serve_dashboard": "headrace.dashboard.service",
    "session": "headrace.engine.session",
    "supervise": "headrace.run.supervise",
}


def __getattr__(name: str) -> object:
    """Imports a public name when it is first used.

    Every Python worker on every executor runs this file when it imports ``headrace.worker``; it must not pay for
    PySpark's session there.
    """
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(home), name)
