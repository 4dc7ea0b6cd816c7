"""kill -9 at random moments: workers that race for the same keys, and an operator who settles what gets stuck."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.core.effects import EffectState, Refused
from supervisor.core.errors import StaleDecision
from supervisor.core.rulings import Decision, DecisionVerb
from supervisor.store import decisions, effect_rows
from supervisor.store.database import connect
from supervisor.store.effect_log import EffectLog
from tests.torture import children
from tests.torture.world import LEDGER, World, check, seen

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlite_utils import Database as Connection

    from supervisor.core.effects import EffectRecord
    from tests.torture.world import Tally

WORKERS = 2
OVERLAP = 60
"""Keys before the newest that a new worker tries again: retries after a restart."""
LONGEST_S = 0.06
"""Longest time between two kills."""


def worker(folder: Path, first: int) -> None:
    """Run one effect after the other until killed."""
    world = World(folder)
    with EffectLog(folder / LEDGER) as log:
        for number in count(first):
            with suppress(ConnectionError, Refused):
                log.claim_then_run(f"k{number}", partial(world.effect, f"k{number}", number))


def operator(folder: Path, seed: int) -> None:
    """Look at what is unresolved, look at the world, and say what is true, until killed."""
    EffectLog(folder / LEDGER).close()
    chance, db = random.Random(seed), connect(folder / LEDGER)
    while True:
        time.sleep(0.02)
        for record in effect_rows.select(db, "WHERE e.state IN ('unresolved', 'not_done')"):
            # Every second one is left, as people do.
            if hash(record.op) % 2 and chance.random() < 0.5:
                with suppress(StaleDecision):
                    _decide(db, record, applied=record.op in seen(folder))


def _decide(db: Connection, record: EffectRecord, *, applied: bool) -> None:
    if record.state is EffectState.NOT_DONE:
        verb = DecisionVerb.GRANT
    else:
        verb = DecisionVerb.DONE if applied else DecisionVerb.NOT_DONE
    decision = Decision(verb, os.urandom(8).hex(), "operator", record.version, "looked at the world")
    db.execute("BEGIN IMMEDIATE")
    try:
        decisions.decide(db, record.scope, record.op, decision, time.time())
        db.commit()
    except BaseException:
        db.rollback()
        raise


def run(folder: Path, seconds: float, seed: int) -> Tally:
    """Kill for that long, then let the dust settle and compare."""
    chance, kills = random.Random(seed), 0
    log = str(folder / "broken")
    makers: list[Callable[[], int]] = [lambda: _worker(folder, log)] * WORKERS
    makers.append(lambda: children.start(operator, folder, kills, log=log))
    pids = [make() for make in makers]
    end = time.monotonic() + seconds
    broken = 0
    while time.monotonic() < end:
        time.sleep(chance.random() * LONGEST_S)
        place = chance.randrange(len(pids))
        if chance.random() < 0.1:
            _freeze(pids[place], chance.random() * LONGEST_S)
            continue
        children.kill(pids[place])
        broken += children.wait(pids[place]) == children.BROKEN
        kills += 1
        pids[place] = makers[place]()
    for pid in pids:
        children.kill(pid)
        broken += children.wait(pid) == children.BROKEN
    tally = children.call(check, folder, "kill -9 at random moments")
    tally.crashes = kills + len(pids)
    if broken:
        tally.faults.append(f"{broken} children raised: {Path(log).read_text()[-2000:]}")
    return tally


def _worker(folder: Path, log: str) -> int:
    newest = max((int(key[1:]) for key in seen(folder)), default=0)
    return children.start(worker, folder, max(0, newest - OVERLAP), log=log)


def _freeze(pid: int, seconds: float) -> None:
    """Stop a process for a while: it is not dead, and nobody may take its claims."""
    os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(pid, signal.SIGCONT)
