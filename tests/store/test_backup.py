"""A backup is made beside a running writer, is checked, and never takes the place of anything."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.core.errors import DamagedError, StoreError
from supervisor.store import backup, chain, reading
from supervisor.store.backup import back_up, restore
from supervisor.store.database import connect
from tests.store.damage import STATES, effects, fill, page_with, ruin

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from supervisor.store.database import connect
db = connect(Path(sys.argv[1]))
n = 0
while True:
    n += 1
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE tickets SET turns = ? WHERE id = '001'", [n])
    db.execute("UPDATE tickets SET turns = ? WHERE id = '002'", [n])
    db.commit()
    if n == 10:
        print("writing", flush=True)
"""


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    """A batch with some of everything in it."""
    (tmp_path / "state").mkdir()
    fill(tmp_path / "state" / "state.db")
    (tmp_path / "tickets.toml").write_text("[batch]\n")
    return tmp_path / "state"


@pytest.fixture
def writer(state_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes to the database without a break, always to two rows at once."""
    argv = [sys.executable, "-c", WRITER, str(state_dir / "state.db")]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def test_a_backup_holds_the_database_and_the_ticket_file(state_dir: Path, tmp_path: Path) -> None:
    made = back_up(state_dir, tmp_path / "tickets.toml", tmp_path / "copies" / "one")
    assert made.path == tmp_path / "copies" / "one"
    assert made.files == ("state.db", "tickets.toml")
    assert sorted(p.name for p in made.path.iterdir()) == ["state.db", "tickets.toml"]
    assert made.size == sum(p.stat().st_size for p in made.path.iterdir())
    assert [p.name for p in made.path.parent.iterdir()] == ["one"]
    assert (made.path / "state.db").stat().st_mode & 0o777 == 0o600
    assert effects(made.path / "state.db") == STATES


def test_a_backup_beside_a_writer_is_one_moment(state_dir: Path, tmp_path: Path, writer: subprocess.Popen[str]) -> None:
    for number in range(5):
        made = back_up(state_dir, None, tmp_path / str(number))
        with closing(connect(made.path / "state.db")) as db:
            one, two, _ = reading.snapshots(db)
            assert one.turns == two.turns >= 10
            assert chain.verify(db) == ()
    assert writer.poll() is None, "it was writing all the while"


@pytest.mark.parametrize("what", ["file", "directory"])
def test_nothing_is_written_over(state_dir: Path, tmp_path: Path, what: str) -> None:
    target = tmp_path / "there"
    target.mkdir() if what == "directory" else target.write_text("mine")
    with pytest.raises(StoreError, match="never writes over anything"):
        back_up(state_dir, None, target)
    assert target.is_dir() if what == "directory" else target.read_text() == "mine"


def test_a_backup_that_fails_leaves_nothing(state_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> int:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(backup, "_sync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        back_up(state_dir, None, tmp_path / "copies" / "one")
    assert list((tmp_path / "copies").iterdir()) == []


def test_a_damaged_database_is_no_backup(state_dir: Path, tmp_path: Path) -> None:
    ruin(state_dir / "state.db", page_with(state_dir / "state.db", b"note-0150"))
    with pytest.raises(DamagedError, match="doctor --repair"):
        back_up(state_dir, None, tmp_path / "one")
    assert not (tmp_path / "one").exists()


def test_a_ledger_that_does_not_fit_together_is_no_backup(state_dir: Path, tmp_path: Path) -> None:
    with closing(connect(state_dir / "state.db")) as db:
        db.execute("DROP TRIGGER effect_log_fixed")
        db.execute("UPDATE effect_log SET reason = 'another' WHERE seq = 2")
    with pytest.raises(DamagedError, match="log row 2 was changed"):
        back_up(state_dir, None, tmp_path / "one")


def test_no_batch_no_backup(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no batch"):
        back_up(tmp_path / "nowhere", None, tmp_path / "one")
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from supervisor.store import backup
source, target, at = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
def die(*args, **more):
    os.kill(os.getpid(), signal.SIGKILL)
if at == "rename":
    Path.rename = die
else:
    setattr(backup, at, die)
backup.restore(source, target, {"claude": target / "claude"})
"""


@pytest.mark.parametrize("at", ["_copy_database", "copy_conversation", "_sync", "rename"])
def test_a_restore_that_was_killed_is_begun_anew_and_leaves_nothing(state_dir: Path, tmp_path: Path, at: str) -> None:
    source, new = tmp_path / "copy", tmp_path / "new" / "state"
    back_up(state_dir, None, source)
    (source / "claude" / "projects" / "-p").mkdir(parents=True)
    (source / "claude" / "projects" / "-p" / "one.jsonl").write_text("{}\n")
    done = subprocess.run([sys.executable, "-c", KILLED, str(source), str(new), at], cwd=ROOT, check=False, timeout=30)
    assert done.returncode == -signal.SIGKILL
    assert not new.exists(), "it appears whole or not at all"
    assert restore(source, new, {"claude": new / "claude"}) == 1
    assert [p.name for p in new.parent.iterdir()] == ["state"]
    assert effects(new / "state.db") == effects(state_dir / "state.db")


def test_two_restores_at_once(state_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    back_up(state_dir, None, tmp_path / "copy")
    really = backup._copy_database

    def meanwhile(source: Path, target: Path) -> None:
        with pytest.raises(StoreError, match="being made by another command"):
            restore(tmp_path / "copy", tmp_path / "new", {})
        really(source, target)

    monkeypatch.setattr(backup, "_copy_database", meanwhile)
    restore(tmp_path / "copy", tmp_path / "new", {})
    assert effects(tmp_path / "new" / "state.db") == effects(state_dir / "state.db")
