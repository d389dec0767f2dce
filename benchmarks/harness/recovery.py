# SPDX-License-Identifier: Apache-2.0
"""Kill -9 under load: how long until answers come again, and how many come twice."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from harness.generator import Stretch

if TYPE_CHECKING:
    from harness.contestant import Contestant
    from harness.stage import Stage
    from workloads.records import Load

LENGTH_S = 45.0
KILL_AFTER_S = 15.0
PATIENCE_S = 120.0
# A record that is answered within this time was not held up by the kill any more.
CAUGHT_UP_S = 1.0


def recover(stage: Stage, contestant: Contestant, load: Load) -> dict[str, Any]:
    """Kills an engine in the middle of a stretch of load, starts it again at once and returns what that did.

    Raises:
        DroppedError: The engine did not come back, or lost records.
    """
    if contestant.running is None:
        return {}
    ledger = contestant.ledger
    sent = ledger.open(load, LENGTH_S)
    stage.generator.begin(Stretch(contestant.job.source, sent, contestant.workload.copies))
    time.sleep(max(0.0, sent.start_s + KILL_AFTER_S - time.time()))
    contestant.running.kill()
    killed_s = time.time()
    contestant.running.restart()
    stage.generator.finish()
    stage.collect(contestant, PATIENCE_S)
    after = sorted((due, received) for due, received in ledger.receipts if due > killed_s)
    slow = [due for due, received in after if received - due >= CAUGHT_UP_S]
    # From then on nobody waits; nothing if some still did when the load ended.
    quick = [due for due, _ in after if not slow or due > slow[-1]]
    return {
        "first_answer_s": round(min(received for _, received in after) - killed_s, 2),
        "caught_up_s": round(quick[0] - killed_s, 2) if quick else None,
        "replayed": ledger.close().duplicates,
        "lost": ledger.missing,
    }
