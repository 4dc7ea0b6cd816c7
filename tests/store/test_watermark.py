"""An older copy of the database is known as such, whatever was put back with it, and runs no effect until accepted."""

from __future__ import annotations

import os
import shutil
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING

import pytest

from supervisor.core.effects import Answer
from supervisor.core.effects import EffectState as S
from supervisor.core.errors import EffectsHeld, StoreError
from supervisor.store import chain, watermark
from supervisor.store.database import Database, connect
from supervisor.store.ledger import Ledger
from supervisor.store.watermark import NEAR, Mark, Watermark, read, users_directory
from tests.store.ledgers import asked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.anyio


async def test_marks_of_batches_that_ran_nothing_for_longest_give_way_and_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark, "MOST_MARKS", 3)
    place = Place(tmp_path / "new")
    place.users.mkdir()
    for age, name in enumerate((*(f"{n:016x}" for n in range(4)), "theme")):
        (place.users / name).write_bytes(b"x")
        os.utime(place.users / name, (1000 - age, 1000 - age))
    await place.run("one")
    left = {path.name for path in place.users.iterdir()}
    with closing(connect(place.path)) as db:
        own = str(db.execute("SELECT id FROM ledger").fetchone()[0])
    assert left == {own, f"{0:016x}", f"{1:016x}", "theme"}
    (place.users / f"{7:016x}").write_bytes(b"x")
    await place.run("two")
    assert len(list(place.users.iterdir())) == 5, "looked at only when a batch is new"


class Place:
    """A state directory and its user's own one."""

    def __init__(self, root: Path) -> None:
        self.state_dir = root / "state"
        self.state_dir.mkdir(parents=True)
        self.users = root / "users"
        self.copy = root / "copy"

    @property
    def path(self) -> Path:
        """The database."""
        return self.state_dir / "state.db"

    def watermark(self) -> Watermark:
        """The marks, as a start reads them."""
        return Watermark(self.state_dir, self.users, clock=lambda: 60.0)

    @asynccontextmanager
    async def ledger(self) -> AsyncIterator[Ledger]:
        """An open ledger, as a start of the supervisor has one."""
        database = Database(self.path)
        await database.open()
        ledger = Ledger(database, watermark=self.watermark())
        await ledger.open()
        yield ledger
        await ledger.close()
        await database.close()

    async def run(self, op: str) -> None:
        """Start, run an effect, and stop."""
        async with self.ledger() as ledger:
            claim = await ledger.claim(asked(op=op))
            assert claim.answer is Answer.MINE
            await ledger.settle(claim.record, S.DONE)

    def head(self) -> tuple[int, str]:
        """How far the ledger has come."""
        with closing(connect(self.path)) as db:
            return chain.head(db)

    def marks(self) -> list[Mark]:
        """What is marked in both places."""
        return [mark for mark in map(read, (self.state_dir / NEAR, *self.users.iterdir())) if mark is not None]

    def back_up(self) -> None:
        """Copy the whole state directory."""
        shutil.copytree(self.state_dir, self.copy)

    def restore(self, *names: str) -> None:
        """Put files of the copy back, or all of it."""
        for path in self.copy.iterdir():
            if not names or path.name in names:
                shutil.copyfile(path, self.state_dir / path.name)


@pytest.fixture
async def place(tmp_path: Path) -> Place:
    """A place where one effect has run, was backed up, and another one has run since."""
    made = Place(tmp_path)
    await made.run("first")
    made.back_up()
    await made.run("second")
    return made


async def _held(place: Place) -> str:
    """Return why a start holds effects; and it does."""
    async with place.ledger() as ledger:
        with pytest.raises(EffectsHeld, match="doctor --accept-older"):
            await ledger.claim(asked(op="unseen"))
        assert await ledger.find("001", "unseen") is None
        return ledger.held


async def test_the_marks_are_where_the_ledger_is(place: Place) -> None:
    seq, last = place.head()
    assert [(m.seq, m.hash, m.held) for m in place.marks()] == [(seq, last, "")] * 2
    async with place.ledger() as ledger:
        assert ledger.held == ""


async def test_a_claim_is_marked_before_its_effect_may_run(place: Place) -> None:
    async with place.ledger() as ledger:
        claim = await ledger.claim(asked(op="third"))
        assert [m.seq for m in place.marks()] == [place.head()[0]] * 2
        before = place.marks()
        assert (await ledger.claim(asked(op="third"))).answer is Answer.IN_PROGRESS
        await ledger.settle(claim.record, S.DONE)
        assert place.marks() == before, "only a claim has consequences elsewhere"


async def test_an_older_database_holds_effects(place: Place) -> None:
    marks = place.marks()
    place.restore("state.db")
    words = await _held(place)
    assert words.startswith("this database is older than the one of 1970-01-01 00:01:00 UTC, which had 2 more entries")
    assert place.marks() == marks, "a start that holds effects does not forget why"
    assert await _held(place) == words


async def test_an_older_directory_holds_effects(place: Place) -> None:
    place.restore()
    assert "older than" in await _held(place)


async def test_an_older_directory_is_not_known_where_the_user_has_no_place(place: Place) -> None:
    shutil.rmtree(place.users)
    place.restore()
    async with place.ledger() as ledger:
        assert ledger.held == ""


async def test_a_copy_that_went_its_own_way_holds_effects(place: Place) -> None:
    theirs = Place(place.copy.parent / "elsewhere")
    shutil.copytree(place.copy, theirs.state_dir, dirs_exist_ok=True)
    for op in ("second", "third", "fourth"):
        await theirs.run(op)
    shutil.copyfile(theirs.path, place.path)
    assert theirs.head()[0] > place.marks()[0].seq, "by numbers alone it is newer"
    assert "went another way" in await _held(place)


async def test_a_database_of_another_batch_holds_effects(place: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "other")
    await other.run("first")
    shutil.copyfile(other.path, place.path)
    assert "is not the one that was here" in await _held(place)


async def test_effects_run_again_once_the_operator_has_accepted(place: Place) -> None:
    place.restore()
    assert await _held(place)
    with closing(connect(place.path)) as db:
        place.watermark().accept(db)
    await place.run("second")


def _spoil(path: Path, *slots: int) -> None:
    """Let writes of a mark be torn."""
    data = bytearray(path.read_bytes())
    half = len(data) // 2
    for slot in slots:
        data[slot * half + 20] ^= 1
    path.write_bytes(data)


async def test_a_mark_that_was_torn_leaves_the_one_before(place: Place) -> None:
    near = place.state_dir / NEAR
    newest = read(near)
    found = []
    for slot in (0, 1):
        data = near.read_bytes()
        _spoil(near, slot)
        found.append(read(near))
        near.write_bytes(data)
    assert newest in found
    older = next(mark for mark in found if mark != newest)
    assert older is not None
    assert newest is not None
    assert older.seq < newest.seq
    assert older.held == ""


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff\xfe" * 4096, None])
async def test_a_mark_without_sense_holds_effects(place: Place, data: bytes | None) -> None:
    near = place.state_dir / NEAR
    if data is None:
        _spoil(near, 0, 1)
    else:
        near.write_bytes(data)
    assert "makes no sense" in await _held(place)
    with closing(connect(place.path)) as db:
        place.watermark().accept(db)
    await place.run("third")


async def test_the_longest_reason_is_kept_whole_enough(place: Place) -> None:
    with closing(connect(place.path)) as db:
        place.watermark().accept(db, "\x00\U0001f600" * 1_000)
        assert place.watermark().compare(db).startswith("\x00\U0001f600")


async def test_an_effect_that_cannot_be_marked_does_not_run(place: Place) -> None:
    near = place.state_dir / NEAR
    async with place.ledger() as ledger:
        data = near.read_bytes()
        near.unlink()
        near.mkdir()
        with pytest.raises(StoreError, match=r"ledger.mark: .*free some space"):
            await ledger.claim(asked(op="third"))
        record = await ledger.find("001", "third")
        assert record is not None
        assert record.state is S.REFUSED
        near.rmdir()
        near.write_bytes(data)
        assert (await ledger.claim(asked(op="third"))).answer is Answer.MINE


async def test_a_user_without_a_place_for_marks_runs_effects(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.users.write_text("not a directory")
    await place.run("first")
    assert read(place.state_dir / NEAR) is not None


def test_where_the_users_marks_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert users_directory({}) == tmp_path / ".local" / "state" / "supervise"
    assert users_directory({"XDG_STATE_HOME": "/var/x"}) == users_directory({"XDG_STATE_HOME": "/var/x/"})
    assert str(users_directory({"XDG_STATE_HOME": "/var/x"})) == "/var/x/supervise"
    assert users_directory({"XDG_STATE_HOME": "relative"}) == tmp_path / ".local" / "state" / "supervise"
