"""Power cuts, simulated: the ledger's own code over an APSW VFS that records every write and every sync.

At each recorded operation the power fails. What was synced is there; of what was not, each write is whole, lost or torn
at a sector, each by itself. The real ledger then opens what is left. Deletions count as durable, and a disk that lies
about a sync is not simulated. The pragmas are those of the real connection.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supervisor.core.effects import EffectRequest, EffectState
from supervisor.store import claims, effect_rows
from supervisor.store.database import connect
from supervisor.store.owner import this_process
from tests.torture.world import LEDGER, WORLD, Tally, check

try:
    import apsw
except ImportError:
    apsw = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTOR = 512
EFFECTS = 24
SEEDS = 8
CHECKPOINT_PAGES = 30
"""So small that the log is copied into the database several times."""


@dataclass
class Step:
    """One thing that happened to a file, or (``applied``, ``known``) to an effect."""

    what: str
    name: str
    place: int = 0
    data: bytes = b""


@dataclass
class Disk:
    """Files as the power cut leaves them."""

    durable: dict[str, bytearray]
    pending: list[Step] = field(default_factory=list)

    def take(self, step: Step) -> None:
        """Do what the operating system was told."""
        if step.what == "sync":
            for held in [p for p in self.pending if p.name == step.name]:
                self._apply(held)
            self.pending = [p for p in self.pending if p.name != step.name]
        elif step.what == "delete":
            self.durable.pop(step.name, None)
            self.pending = [p for p in self.pending if p.name != step.name]
        else:
            self.pending.append(step)

    def cut(self, chance: random.Random) -> dict[str, bytearray]:
        """Return the files after the power came back."""
        left = Disk({name: bytearray(data) for name, data in self.durable.items()})
        for step in self.pending:
            luck = chance.random()
            if luck < 0.25:
                left._apply(step)
            elif luck < 0.5:
                sectors = chance.randrange(len(step.data) // SECTOR + 1)
                left._apply(Step(step.what, step.name, step.place, step.data[: sectors * SECTOR]))
        return left.durable

    def _apply(self, step: Step) -> None:
        file = self.durable.setdefault(step.name, bytearray())
        if step.what == "truncate":
            del file[step.place :]
        elif step.data:
            file.extend(bytes(max(0, step.place - len(file))))
            file[step.place : step.place + len(step.data)] = step.data


def run(folder: Path, step: int = 1, seed: int = 1) -> Tally:
    """Record one run of effects, then cut the power at every STEPth operation in several ways."""
    total = Tally("power cut at every operation")
    if apsw is None:
        total.skipped = "apsw is not installed"
        return total
    base = folder / "base"
    base.mkdir()
    connect(base / LEDGER).close()
    steps = _record(folder, base)
    disk = Disk({LEDGER: bytearray((base / LEDGER).read_bytes())})
    world: list[str] = []
    known: set[str] = set()
    for place, happened in enumerate(steps):
        if happened.what in ("applied", "known"):
            (world.append if happened.what == "applied" else known.add)(happened.name)
        else:
            disk.take(happened)
        if place % step == 0:
            for number in range(SEEDS):
                _restart(folder / "cut", disk.cut(random.Random(f"{seed} {place} {number}")), world, known, total)
                total.crashes += 1
    return total


def _restart(folder: Path, files: dict[str, bytearray], world: list[str], known: set[str], total: Tally) -> None:
    """Open what is left and compare it with what was applied, and with what was acknowledged."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / WORLD).write_text("".join(f"{key}\n" for key in world))
    try:
        total.add(check(folder))
        db = connect(folder / LEDGER)
        done = {record.op for record in effect_rows.select(db, "WHERE e.state = 'done'")}
        db.close()
        if known - done:
            total.faults.append(f"acknowledged and forgotten: {sorted(known - done)}")
    except Exception as error:
        total.faults.append(f"{type(error).__name__}: {error}")
    shutil.rmtree(folder)


def _record(folder: Path, base: Path) -> list[Step]:
    """Run effects through the ledger over a recording VFS and return all that happened, in order."""
    steps: list[Step] = []
    place = folder / "recorded"
    shutil.copytree(base, place)
    vfs = _recording_vfs(steps)
    db = _Connection(str(place / LEDGER), vfs.name)
    real = connect(base / LEDGER)
    for name in ("synchronous", "foreign_keys"):
        db.execute(f"PRAGMA {name} = {real.execute(f'PRAGMA {name}').fetchone()[0]}")
    real.close()
    steps.clear()
    _effects(db, steps)
    db.close()
    return steps


def _effects(db: Any, steps: list[Step]) -> None:
    epoch = db.transact(claims.open_epoch, _dead_owner(), 1.0)
    for number in range(EFFECTS):
        key = f"k{number}"
        claim = db.transact(claims.claim, EffectRequest("", key, payload="x" * 700), epoch, 2.0)
        steps.append(Step("applied", key))
        if number % 5 == 3:
            db.transact(claims.settle, claim.record, EffectState.UNRESOLVED, 3.0, error="reset")
        else:
            db.transact(claims.settle, claim.record, EffectState.DONE, 3.0, outcome=key)
            steps.append(Step("known", key))


def _dead_owner() -> Any:
    from dataclasses import replace

    return replace(this_process(), boot_id="before the power cut")


class _Connection:
    """As much of sqlite-utils' Database as the ledger uses, over APSW."""

    def __init__(self, path: str, vfs: str) -> None:
        self._raw = apsw.Connection(path, vfs=vfs)
        self.execute("PRAGMA locking_mode = EXCLUSIVE")  # the index of the log stays in memory: no shared file
        self.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")

    def execute(self, sql: str, values: Any = None) -> _Cursor:
        return _Cursor(self._raw, sql, values)

    def query(self, sql: str, values: Any = None) -> Iterator[dict[str, Any]]:
        cursor = self.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return iter([dict(zip(names, row, strict=True)) for row in cursor.fetchall()])

    def transact(self, work: Any, *args: Any, **told: Any) -> Any:
        self.execute("BEGIN IMMEDIATE")
        result = work(self, *args, **told)
        self.execute("COMMIT")
        return result

    def close(self) -> None:
        self._raw.close()


class _Cursor:
    def __init__(self, raw: Any, sql: str, values: Any) -> None:
        cursor = raw.cursor()
        found = cursor.execute(sql, values)
        try:
            self.description = found.get_description()
        except apsw.ExecutionCompleteError:
            self.description = ()
        self._rows = found.fetchall()
        self.rowcount = raw.changes()

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> Any:
        return self._rows


def _recording_vfs(steps: list[Step]) -> Any:
    class File(apsw.VFSFile):
        def __init__(self, filename: Any, flags: list[int]) -> None:
            super().__init__("", filename, flags)
            path = filename.filename() if hasattr(filename, "filename") else filename
            self._name = Path(path).name if path else ""

        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
            super().xWrite(data, offset)
            steps.append(Step("write", self._name, offset, bytes(data)))

        def xTruncate(self, size: int) -> None:  # noqa: N802
            super().xTruncate(size)
            steps.append(Step("truncate", self._name, size))

        def xSync(self, flags: int) -> None:  # noqa: N802
            super().xSync(flags)
            steps.append(Step("sync", self._name))

    class Recording(apsw.VFS):
        def __init__(self) -> None:
            self.name = "recording"
            super().__init__(self.name, "")

        def xOpen(self, name: Any, flags: list[int]) -> File:  # noqa: N802
            return File(name, flags)

        def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802
            super().xDelete(name, sync)
            steps.append(Step("delete", Path(name).name))

    return Recording()
