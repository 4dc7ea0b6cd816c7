"""What the doctor does when it is told to. Both need that no supervisor runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from supervisor.core.errors import StoreError
from supervisor.engine.lock import BatchLock
from supervisor.store import checkup, repair
from supervisor.store.health import damage, refuse_missing
from supervisor.store.watermark import Watermark, users_directory

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.store.checkup import Checkup
    from supervisor.store.repair import Repaired


def mend(state_dir: Path) -> Repaired | None:
    """Repair a batch's database; return None where nothing is wrong with it.

    Raises DamagedError where nothing can be saved, LockedError and StoreError.
    """
    path = state_dir / "state.db"
    with _locked(state_dir):
        if path.exists() and path.stat().st_size and not damage(path):
            return None
        return repair.repair(path, _watermark(state_dir), time.time())


def look(state_dir: Path) -> Checkup:
    """Look at a batch's database before something about it is accepted. Raises StoreError."""
    path = state_dir / "state.db"
    refuse_missing(path)
    _refuse_no_batch(state_dir)
    return checkup.check_up(path, _watermark(state_dir))


def accept(state_dir: Path) -> None:
    """Let effects run on from where a batch's database is. Raises LockedError and StoreError."""
    with _locked(state_dir):
        checkup.accept_older(state_dir / "state.db", _watermark(state_dir))


def _locked(state_dir: Path) -> BatchLock:
    if not state_dir.is_dir():
        raise StoreError(f"{state_dir} holds no batch", "name its state directory with --state-dir")
    return BatchLock(state_dir / "lock")


def _refuse_no_batch(state_dir: Path) -> None:
    if not (state_dir / "state.db").exists():
        raise StoreError(f"{state_dir} holds no batch", "name its state directory with --state-dir")


def _watermark(state_dir: Path) -> Watermark:
    return Watermark(state_dir, users_directory())
