"""Another system, as a file that only grows, and the check: what the world saw against what the ledger says."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.core.effects import EffectState, Refused
from supervisor.store import chain, effect_rows
from supervisor.store.database import connect
from supervisor.store.effect_log import EffectLog

if TYPE_CHECKING:
    from pathlib import Path

LEDGER, WORLD = "effects.sqlite", "world"


class World:
    """Each effect appends one line, which is on the disk before the effect returns."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder / WORLD, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def apply(self, key: str) -> str:
        """Be changed, for all to see."""
        os.write(self._fd, f"{key}\n".encode())
        os.fsync(self._fd)
        return f"{key} applied"

    def effect(self, key: str, number: int) -> str:
        """Behave as other systems do: mostly well, sometimes failing before, after, or with a clear no."""
        fate = number % 16
        if fate == 3:
            raise Refused("not today")
        if fate == 5:
            raise ConnectionError("reset before the request was sent")
        done = self.apply(key)
        if fate == 7:
            raise ConnectionError("reset after the request was sent")
        return done


def seen(folder: Path) -> Counter[str]:
    """Return how often the world saw each effect."""
    path = folder / WORLD
    return Counter(path.read_text().split()) if path.exists() else Counter()


@dataclass
class Tally:
    """What one run came to."""

    name: str
    crashes: int = 0
    effects: int = 0
    unresolved: int = 0
    happened: int = 0
    """Unresolved effects that the world has seen."""
    duplicates: int = 0
    lost: int = 0
    faults: list[str] = field(default_factory=list)
    skipped: str = ""

    def add(self, other: Tally) -> None:
        """Count another run in."""
        for name in ("effects", "unresolved", "happened", "duplicates", "lost"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.faults += other.faults

    @property
    def violated(self) -> bool:
        """Whether a promise was broken."""
        return bool(self.duplicates or self.lost or self.faults)


def check(folder: Path, name: str = "") -> Tally:
    """Open the ledger as the next start would, and compare it with the world. Nobody else may be running."""
    EffectLog(folder / LEDGER).close()
    db = connect(folder / LEDGER)
    records = {record.op: record for record in effect_rows.select(db)}
    tally = Tally(name, faults=list(chain.verify(db)))
    if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        tally.faults.append("the database is damaged")
    db.close()
    world = seen(folder)
    tally.effects = len(world)
    tally.duplicates = sum(times > 1 for times in world.values())
    for key, record in records.items():
        if record.state is EffectState.UNRESOLVED:
            tally.unresolved += 1
            tally.happened += key in world
        if record.state is EffectState.CLAIMED:
            tally.faults.append(f"{key} is still claimed by {record.owner}")
        if record.state is EffectState.DONE and key not in world:
            tally.faults.append(f"{key} is done, and never happened")
    open_or_done = {key for key, r in records.items() if r.state in (EffectState.DONE, EffectState.UNRESOLVED)}
    tally.lost = len(world.keys() - open_or_done)
    return tally
