"""A damaged database is refused, set aside, and rebuilt of what can be read; no effect is trusted beyond its proof."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from supervisor.core.effects import EffectState as S
from supervisor.core.errors import DamagedError, StoreError
from supervisor.core.model import State
from supervisor.store import chain, reading, repair
from supervisor.store.database import connect
from supervisor.store.doubts import REASON
from supervisor.store.health import damage, quick_check
from supervisor.store.migrations import MIGRATIONS
from supervisor.store.rebuild import LOST, without_triggers
from supervisor.store.tickets import TicketStore
from supervisor.store.watermark import Watermark
from tests.store.damage import PAGE, ROWS, STATES, effects, fill, page_with, root_page, ruin, schema_pages
from tests.store.ledgers import claim, epoch, settle

if TYPE_CHECKING:
    from pathlib import Path

    from sqlite_utils import Database as Connection

    from supervisor.store.repair import Repaired

NEVER_AGAIN = {"done", "denied", "abandoned", "unresolved"}
"""Effects that never run without a decision."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A batch's database with some of everything in it, whose mark is where the ledger is."""
    made = fill(tmp_path_factory.mktemp("filled") / "state.db")
    with closing(connect(made)) as db:
        _marks(made).accept(db)
    return made


@pytest.fixture
def path(filled: Path, tmp_path: Path) -> Path:
    """A copy to be broken."""
    shutil.copytree(filled.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / filled.name


def _marks(path: Path) -> Watermark:
    return Watermark(path.parent, None, clock=lambda: 60.0)


def _repair(path: Path) -> Repaired:
    return repair.repair(path, _marks(path), 100.0)


def _opened(path: Path) -> Connection:
    db = connect(path)
    assert quick_check(db) == ()
    return db


@pytest.mark.anyio
async def test_a_damaged_database_is_refused_and_not_touched(path: Path) -> None:
    ruin(path, page_with(path, b"note-0150"))
    before = {p.name: p.read_bytes() for p in path.parent.iterdir() if not p.name.endswith("-shm")}
    with pytest.raises(DamagedError, match="doctor --repair"):
        await TicketStore(path).open()
    after = {p.name: p.read_bytes() for p in path.parent.iterdir() if not p.name.endswith(("-shm", "-wal"))}
    assert after == {name: data for name, data in before.items() if not name.endswith("-wal")}


@pytest.mark.anyio
async def test_damage_that_is_met_later_is_called_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.store.health.CHECK_UP_TO", PAGE)
    ruin(path, page_with(path, b"note-0150"))
    store = TicketStore(path)
    await store.open()
    with pytest.raises(DamagedError, match=r"malformed.*doctor --repair"):
        await store.events("002")
    await store.close()


@pytest.mark.anyio
@pytest.mark.parametrize("left", ["nothing", "no bytes"])
async def test_a_database_that_is_gone_is_not_begun_anew(path: Path, left: str) -> None:
    path.unlink()
    if left == "no bytes":
        path.touch()
    with pytest.raises(DamagedError, match="the database is gone: put a backup in its place"):
        await TicketStore(path).open()
    with pytest.raises(DamagedError, match=r"nothing can be read|nothing to repair"):
        _repair(path)


@pytest.mark.anyio
async def test_a_database_of_a_newer_version_is_refused(path: Path) -> None:
    with closing(connect(path)) as db:
        db.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('supervisor', '9999_x', '')"
        )
    with pytest.raises(StoreError, match=r"newer version of supervise.*9999_x"):
        await TicketStore(path).open()
    with pytest.raises(StoreError, match=r"newer version.*9999_x"):
        _repair(path)


def test_only_the_rows_on_a_damaged_page_are_lost(path: Path) -> None:
    ruin(path, page_with(path, b"note-0150"))
    done = _repair(path)
    with closing(_opened(path)) as db:
        notes = [e.text for e in reading.events(db, "002") if hasattr(e, "text")]
        assert [t.title for t in reading.snapshots(db)] == ["title of 001", "title of 002", "title of 003"]
    lost = ROWS - len(notes)
    assert 0 < lost < 40
    assert notes[0].startswith("note-0000")
    assert notes[-1].startswith(f"note-{ROWS - 1:04}")
    assert done.torn == ("events",)
    assert done.tickets == ()
    assert done.held == ""


def test_the_damaged_file_is_kept_as_it_was(path: Path) -> None:
    ruin(path, page_with(path, b"note-0150"))
    before = path.read_bytes()
    done = _repair(path)
    assert done.aside.name == "state.db.damaged-19700101T000140Z"
    assert done.aside.read_bytes() == before
    assert damage(path) == ()
    assert [p.name for p in path.parent.iterdir() if p.name.startswith("repair-")] == []


def test_what_was_only_in_the_write_ahead_log_is_saved(path: Path) -> None:
    ruin(path, page_with(path, b"note-0150"))
    db = connect(path)
    db.execute("UPDATE tickets SET title = 'new title' WHERE id = '003'")
    assert path.with_name("state.db-wal").stat().st_size
    done = _repair(path)
    assert done.aside.with_name(done.aside.name + "-wal").exists(), "it goes with its database"
    db.close()
    with closing(_opened(path)) as db:
        assert [t.title for t in reading.snapshots(db)][2] == "new title"


def test_effects_that_could_still_run_become_unresolved(path: Path) -> None:
    ruin(path, page_with(path, b"note-0150"))
    done = _repair(path)
    expected = {**STATES, "requested": S.UNRESOLVED, "claimed": S.UNRESOLVED, "granted": S.UNRESOLVED}
    assert effects(path) == expected
    assert sorted(done.unresolved) == ["001:claimed", "001:granted", "001:requested"]
    with closing(_opened(path)) as db:
        assert chain.verify(db) == ()
        for name in ("requested", "claimed", "granted"):
            row = chain.log(db, "001", name)[-1]
            assert (row.verb, row.actor_kind, row.to_state, row.reason) == ("repair", "engine", "unresolved", REASON)
            assert f"the file says: {name}" in row.evidence


def test_the_ledger_takes_no_liberties_after_a_repair(path: Path) -> None:
    with closing(connect(path)) as db:
        before = db.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name").fetchall()
        ident = db.execute("SELECT id FROM ledger").fetchall()
    ruin(path, page_with(path, b"note-0150"))
    _repair(path)
    with closing(_opened(path)) as db:
        assert db.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name").fetchall() == before
        assert db.execute("SELECT id FROM ledger").fetchall() == ident
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_effects_whose_log_is_lost_are_trusted_no_more(path: Path) -> None:
    ruin(path, root_page(path, "effect_log"))
    done = _repair(path)
    assert set(effects(path).values()) == {S.UNRESOLVED}
    assert "effect_log" in done.torn
    assert "not all of the ledger could be saved" in done.held
    with closing(_opened(path)) as db:
        assert [row.outcome for row in chain.log(db, "001", "done")] == [None]
        assert "outcome build 41" in chain.log(db, "001", "done")[0].evidence
        assert _marks(path).compare(db).startswith(done.held)


def test_a_row_of_the_log_that_was_changed_proves_nothing(path: Path) -> None:
    with closing(connect(path)) as db, without_triggers(db):
        db.execute("UPDATE effect_log SET outcome = '\"build 42\"' WHERE op = 'done' AND verb = 'settle'")
        db.execute("UPDATE effects SET outcome = '\"build 42\"' WHERE op = 'done'")
    ruin(path, page_with(path, b"note-0150"))
    done = _repair(path)
    assert "001:done" in done.unresolved
    assert done.held


def test_effects_whose_rows_are_lost_are_known_from_the_log(path: Path) -> None:
    ruin(path, root_page(path, "effects"))
    done = _repair(path)
    assert effects(path) == {name: S(name) if name in NEVER_AGAIN else S.UNRESOLVED for name in STATES}
    assert done.held
    with closing(_opened(path)) as db:
        assert chain.verify(db) == ()
        found = db.execute("SELECT kind, ticket, outcome, payload FROM effects WHERE op = 'done'").fetchone()
        assert found[:3] == ("once", "001", '"build 41"')
        assert '"what":"done"' in found[3]


def test_a_log_that_lost_its_newest_rows_holds_effects(path: Path) -> None:
    with closing(connect(path)) as db:
        older = path.read_bytes()
        settle(db, claim(db, epoch(db), op="later").record, S.DONE)
        _marks(path).advance(db)
    path.write_bytes(older)
    ruin(path, page_with(path, b"note-0150"))
    done = _repair(path)
    assert done.torn == ("events",)
    assert done.held, "no row is missing in between, and yet some are"
    assert effects(path)["refused"] is S.UNRESOLVED, "it may have been claimed again"


def test_a_ticket_whose_row_is_lost_is_made_again_from_its_events(path: Path) -> None:
    ruin(path, root_page(path, "tickets"))
    done = _repair(path)
    assert done.tickets == ("001", "002", "003")
    with closing(_opened(path)) as db:
        one, two, _ = reading.snapshots(db)
    assert (one.title, one.state, one.session_id, one.attempts) == ("title of 001", State.STARTING, "session-001", 1)
    assert (two.title, two.order) == ("title of 002", 1)


def test_a_ticket_of_which_little_is_left_is_paused_and_keeps_its_session(path: Path) -> None:
    ruin(path, root_page(path, "tickets"), root_page(path, "events"))
    done = _repair(path)
    assert done.tickets == ("001",)
    with closing(_opened(path)) as db:
        (one,) = reading.snapshots(db)
    assert (one.state, one.session_id, one.attempts, one.detail) == (State.PAUSED, "session-001", 1, LOST)


@pytest.mark.parametrize("size", [0, 100, 50_000])
def test_a_file_of_which_nothing_can_be_read_is_left_as_it_is(path: Path, size: int) -> None:
    data = random.Random(1).randbytes(size)
    path.write_bytes(data)
    with pytest.raises(DamagedError, match="put a backup in its place"):
        _repair(path)
    assert path.read_bytes() == data
    assert [p.name for p in path.parent.iterdir() if "damaged" in p.name] == []


def test_reading_takes_no_longer_than_allowed(path: Path) -> None:
    ruin(path, page_with(path, b"note-0150"))
    before = path.read_bytes()
    with pytest.raises(StoreError, match="cannot be read in 0 seconds; nothing was changed"):
        repair.repair(path, _marks(path), 100.0, seconds=0.0)
    assert path.read_bytes() == before


@pytest.mark.anyio
@pytest.mark.parametrize("moment", [1, 2])
async def test_a_repair_that_is_cut_off_is_taken_up_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    ruin(path, page_with(path, b"note-0150"))
    steps = []

    def cut(directory: Path) -> None:
        steps.append(directory)
        if len(steps) == moment:
            raise OSError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(repair, "sync_directory", cut)
        with pytest.raises(StoreError, match="cut off"):
            _repair(path)
    assert path.exists() is (moment == 2)
    if moment == 1:
        with pytest.raises(DamagedError, match=r"set aside.*doctor --repair"):
            await TicketStore(path).open()
        assert _repair(path).torn == ("events",)
    store = TicketStore(path)
    await store.open()
    assert len(await store.snapshots()) == 3
    await store.close()


def test_an_older_schema_is_saved_and_brought_up_to_date(path: Path, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    old = tmp_path / "old" / "state.db"
    with closing(_old_database(old)) as db:
        db.execute(f"ATTACH '{path}' AS new")
        for table in ("tickets", "events"):
            columns = ", ".join(f'"{c}"' for c in db[table].columns_dict)
            db.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM new.{table}")
        db.execute("DETACH new")
    ruin(old, page_with(old, b"note-0150"))
    done = _repair(old)
    assert done.torn == ("events",)
    with closing(_opened(old)) as db:
        assert MIGRATIONS.pending(db) == []
        assert len(reading.snapshots(db)) == 3


def _old_database(path: Path) -> Connection:
    from sqlite_utils import Database

    db = Database(path)
    MIGRATIONS.apply(db, stop_before="0003_mailbox")
    return db


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_damaged_no_effect_is_trusted_beyond_its_proof(path: Path, seed: int) -> None:
    noise = random.Random(seed)
    pages = sorted(set(range(1, path.stat().st_size // PAGE)) - schema_pages(path))
    ruin(path, *noise.sample(pages, noise.randint(1, 4)), seed=seed)
    done = _repair(path)
    found = effects(path)
    for name, state in found.items():
        assert state is S.UNRESOLVED or (state is STATES[name] and name in {*NEVER_AGAIN, "refused", "not_done"})
    assert set(found) == set(STATES) or done.held
    if done.held:
        assert not {S.REFUSED, S.NOT_DONE} & set(found.values())
    with closing(_opened(path)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert all("missing" in fault or "was changed" in fault or "follow" in fault for fault in chain.verify(db))
