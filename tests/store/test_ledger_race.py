"""Eight processes race for the same keys on one file: each key has one winner, and the world saw each effect once."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.core.effects import EffectState
from supervisor.store import chain, effect_rows
from supervisor.store.database import connect
from supervisor.store.effect_log import EffectLog

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier

PROCESSES, CLAIMS, KEYS = 8, 2_000, 200


def _racer(folder: str, number: int, start: Barrier) -> None:
    world = os.open(f"{folder}/world", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    keys = [f"key-{n % KEYS}" for n in range(CLAIMS // PROCESSES)]
    random.Random(number).shuffle(keys)
    start.wait()
    wins = 0
    with EffectLog(f"{folder}/effects.sqlite") as log:
        for key in keys:
            wins += log.claim_then_run(key, lambda key=key: os.write(world, f"{key}\n".encode())).ran
    Path(folder, f"wins-{number}").write_text(str(wins))


@pytest.mark.timeout(240)
def test_each_of_200_keys_has_one_winner_among_2000_claims(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(PROCESSES)
    racers = [spawn.Process(target=_racer, args=(str(tmp_path), n, start)) for n in range(PROCESSES)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert [racer.exitcode for racer in racers] == [0] * PROCESSES

    assert sum(int(file.read_text()) for file in tmp_path.glob("wins-*")) == KEYS
    assert Counter((tmp_path / "world").read_text().split()) == {f"key-{n}": 1 for n in range(KEYS)}
    db = connect(tmp_path / "effects.sqlite")
    assert {record.state for record in effect_rows.select(db)} == {EffectState.DONE}
    assert chain.verify(db) == ()
    db.close()
