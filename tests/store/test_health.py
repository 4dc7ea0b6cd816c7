"""What the disk refuses is told with what to do about it; looking at a file changes nothing."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.errors import DamagedError, StoreError
from supervisor.core.model import TicketSnapshot
from supervisor.store.health import damage
from supervisor.store.tickets import TicketStore
from tests.store.damage import fill, page_with, ruin

ROOT = Path(__file__).parents[2]


ADDED = ev.TicketAdded("001", 1.0, "one", 0)


@pytest.mark.anyio
async def test_a_full_disk(store: TicketStore) -> None:
    await store.append(ADDED, TicketSnapshot("001"))
    await store.database.run(lambda db: db.execute("PRAGMA max_page_count = 1").fetchone())
    event = ev.Noted("001", 1.0, "x" * 1_000_000)
    with pytest.raises(StoreError, match=r"state\.db: database or disk is full: free some space"):
        await store.append(event, TicketSnapshot("001"))
    await store.database.run(lambda db: db.execute("PRAGMA max_page_count = 1000000").fetchone())
    await store.append(event, TicketSnapshot("001"))


@pytest.mark.anyio
async def test_a_disk_that_became_read_only(store: TicketStore) -> None:
    await store.database.run(lambda db: db.execute("PRAGMA query_only = 1"))
    with pytest.raises(StoreError, match="readonly database: make the state directory writable"):
        await store.append(ADDED, TicketSnapshot("001"))


QUOTA = """
import anyio, signal, sys
from pathlib import Path
from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import TicketSnapshot
from supervisor.store.tickets import TicketStore

async def main():
    store = TicketStore(Path(sys.argv[1]))
    await store.open()
    await store.append(ev.TicketAdded("001", 1.0, "one", 0), TicketSnapshot("001"))
    try:
        await store.append(ev.Noted("001", 1.0, "x" * 4_000_000), TicketSnapshot("001"))
    except StoreError as error:
        print(error)
    print(len(await store.events()))

anyio.run(main)
"""


def test_a_quota_that_is_used_up(tmp_path: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    argv = [sys.executable, "-c", QUOTA, str(tmp_path / "state.db")]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=30, preexec_fn=limit)
    said, count = done.stdout.splitlines()
    assert "free" in said
    assert "space" in said
    assert "quota" in said
    assert count == "1", "what was written before is there"


CRASH = """
import os, sys
from pathlib import Path
from supervisor.store.database import connect
db = connect(Path(sys.argv[1]))
db.execute("UPDATE tickets SET title = 'x'")
os._exit(0)
"""


def test_looking_changes_nothing(tmp_path: Path) -> None:
    path = fill(tmp_path / "state.db")
    before = path.read_bytes()
    assert damage(path) == ()
    ruin(path, page_with(path, b"note-0150"))
    broken = path.read_bytes()
    assert any("Tree" in fault or "malformed" in fault for fault in damage(path))
    assert path.read_bytes() == broken != before


def test_a_log_that_is_left_stays_with_a_damaged_file(tmp_path: Path) -> None:
    path = fill(tmp_path / "state.db")
    ruin(path, page_with(path, b"note-0150"))
    subprocess.run([sys.executable, "-c", CRASH, str(path)], cwd=ROOT, check=True, timeout=30)
    log = path.with_name("state.db-wal").read_bytes()
    assert log
    with pytest.raises(DamagedError):
        anyio.run(TicketStore(path).open)
    assert path.with_name("state.db-wal").read_bytes() == log
