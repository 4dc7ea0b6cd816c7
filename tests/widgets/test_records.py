"""Tables of records, facts with labels, and how attempts and files are written."""

from __future__ import annotations

import time
from dataclasses import fields, replace

import pytest

from supervisor.core.changes import ChangeKind, Changes, FileChange
from supervisor.core.model import AttemptRecord, Mode, Outcome, TicketSnapshot
from tests.screens.scenes import HOSTILE, NOW
from tests.screens.ticket_scenes import ATTEMPTS, SPEC
from widgets.attempt_facts import ATTEMPTS as COLUMNS
from widgets.attempt_facts import attempt_facts, attempt_records, why_ended
from widgets.cells import Tone, joined, width_of
from widgets.changed_files import counts, file_cell, short_path, sign, total_words
from widgets.labelled import Fact, Part, fact_lines, part_lines, plain
from widgets.record_table import Record, RecordColumn, arrange, header, row
from widgets.ticket_facts import ticket_parts
from widgets.ticket_glance import MOST, glance_lines

FORBIDDEN = set("\x1b\x07\x00\x9b\u202e\u2066\ud83d\r\t")
TABLE = (
    RecordColumn("A", 4),
    RecordColumn("LONG", 9, 2),
    RecordColumn("WHY", 0, grows=True),
    RecordColumn("N", 3, 1, right=True),
)
RECORDS = [Record("1", (("a", Tone.PLAIN), ("longwords", Tone.PLAIN), ("because", Tone.PLAIN), ("7", Tone.PLAIN)))]


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_columns_go_where_there_is_no_room_the_least_important_first() -> None:
    assert list(arrange(TABLE, RECORDS, 80)) == [0, 1, 2, 3]
    assert list(arrange(TABLE, RECORDS, 20)) == [0, 2, 3]
    assert list(arrange(TABLE, RECORDS, 13)) == [0, 2]
    assert list(arrange(TABLE, RECORDS, 1)) == [0, 2]


def test_one_column_takes_the_room_that_is_left() -> None:
    cells = arrange(TABLE, RECORDS, 60)
    line = joined(row(TABLE, cells, RECORDS[0]).cell)
    assert len(line) == 58
    assert line.endswith("7")
    assert header(TABLE, cells)[0].startswith("  A  LONG       WHY")


@pytest.mark.parametrize("width", [4, 30, 60, 80, 120, 200])
def test_attempts_fit(width: int) -> None:
    records = attempt_records(ATTEMPTS, NOW)
    cells = arrange(COLUMNS, records, width)
    for record in records:
        assert width_of(row(COLUMNS, cells, record).cell) <= max(width, 14)


def test_every_field_of_an_attempt_is_told() -> None:
    whole = replace(ATTEMPTS[0], resumed_from="earlier-session", pid_start=99, boot_id="boot-1", api_error_status=529)
    words = " ".join(fact.text for fact in attempt_facts(whole, NOW))
    told_otherwise = {"ticket", "started", "ended", "estimated", "is_error", "outcome", "cost_usd", "cap_usd"}
    told_otherwise |= {"baseline_usd", "errors", "mode"}
    for name in {field.name for field in fields(AttemptRecord)} - told_otherwise:
        assert str(getattr(whole, name)) in words, name
    for part in ("13:06:40", "after 15 min", "crashed", "≈$0.1300", "$0.85", "the stream ended", "fresh"):
        assert part in words


def test_how_a_turn_ended_is_not_how_the_attempt_did_while_it_is_under_way() -> None:
    over = replace(ATTEMPTS[0], subtype="error_during_execution", terminal_reason="aborted_streaming")
    now = replace(over, ended=None, outcome=None)
    by_name = {column.header: place for place, column in enumerate(COLUMNS)}
    for name, ending in (("SUBTYPE", over.subtype), ("TERMINAL REASON", over.terminal_reason)):
        shown, ended = (attempt_records((one,), NOW)[0].cells[by_name[name]][0] for one in (now, over))
        assert (shown, ended) == ("", ending)
    told = {fact.label: fact.text for fact in attempt_facts(now, NOW) if fact.text}
    assert told["the turn before"] == "error_during_execution · aborted_streaming"
    assert not {"subtype", "terminal reason", "is an error", "outcome"} & told.keys()


@pytest.mark.parametrize("outcome", [None, *Outcome])
def test_every_ending_has_words(outcome: Outcome | None) -> None:
    attempt = AttemptRecord("001", 1, Mode.FRESH, "s", 0.0, ended=1.0, outcome=outcome, detail="because")
    assert why_ended(attempt)[0].endswith("because")
    assert why_ended(replace(attempt, ended=None))[0] == "● under way"


def test_an_ending_leaves_out_what_only_makers_of_the_cli_understand() -> None:
    errors = ("[ede_diagnostic] result_type=user", "the stream broke")
    attempt = AttemptRecord("001", 1, Mode.FRESH, "s", 0.0, ended=1.0, outcome=Outcome.INTERRUPTED, errors=errors[:1])
    assert why_ended(attempt)[0] == "interrupted"
    assert why_ended(replace(attempt, errors=errors))[0] == "interrupted: the stream broke"


# Facts


def test_facts_stand_beside_their_labels_and_wrap() -> None:
    lines = fact_lines([Fact("one", "words that are wrapped"), Fact("longer", "x"), Fact("none", " ")], 60)
    assert [joined(line) for line in lines] == ["one     words that are wrapped", "longer  x"]
    narrow = fact_lines([Fact("one", "words")], 20)
    assert [joined(line) for line in narrow] == ["one", "  words"]


def test_long_facts_are_bounded() -> None:
    lines = fact_lines([Fact("one", "line\n" * 5000)], 80)
    assert len(lines) <= 401
    assert joined(lines[-1]).strip().startswith("…")


def test_parts_without_facts_are_left_out() -> None:
    parts = [Part("Empty", (Fact("a", ""),)), Part("Full", (Fact("a", "b"),)), Part("", (Fact("c", "d"),))]
    assert [joined(line) for line in part_lines(parts, 60)] == ["Full", "a  b", "", "c  d"]


def test_plain_text_controls_no_terminal() -> None:
    text = plain([Fact("one", "a\x1b[2Jb"), Fact("many", "x\ny")])
    assert text == "one: a␛[2Jb\nmany:\nx\ny"


@pytest.mark.parametrize("width", [4, 20, 60, 120])
def test_facts_of_a_hostile_ticket_are_harmless(width: int) -> None:
    for text in HOSTILE:
        ticket = TicketSnapshot(text, text, branch=text, worktree=text, model=text, session_id=text, after=(text,))
        spec = replace(SPEC, prompt=text, rules=text, verify=(text,), allowed_tools=(text,))
        for line in part_lines(ticket_parts(ticket, spec, ATTEMPTS, (text,), NOW), width):
            assert width_of(line) <= width
            assert not set(joined(line)) & FORBIDDEN


# Files


def test_a_path_is_cut_at_its_beginning() -> None:
    assert short_path("shop/pricing.py", 20) == "shop/pricing.py"
    assert short_path("shop/deep/down/pricing.py", 12) == "…/pricing.py"
    assert short_path("修复/修复.py", 6) == "…复.py"


def test_what_happened_to_a_file_is_a_letter_and_numbers() -> None:
    change = FileChange("shop/pricing.py", ChangeKind.MODIFIED, 3, 1)
    assert joined(file_cell(change, 30)).split() == ["M", "shop/pricing.py", "+3", "−1"]
    assert joined(counts(replace(change, insertions=None, deletions=None))) == "binary"
    assert sign(None)[0] == "·"
    renamed = replace(change, kind=ChangeKind.RENAMED, old_path="shop/old.py")
    assert "was shop/old.py" in joined(file_cell(renamed, 60))


@pytest.mark.parametrize("width", [8, 12, 24, 60])
@pytest.mark.parametrize("path", HOSTILE, ids=range(len(HOSTILE)))
def test_files_fit_and_are_harmless(path: str, width: int) -> None:
    for change in (
        FileChange(path, ChangeKind.ADDED, 12, None),
        FileChange(path, ChangeKind.RENAMED, 1, 1, old_path=path),
    ):
        assert width_of(file_cell(change, width)) <= width
        assert not set(joined(file_cell(change, width))) & FORBIDDEN


def test_totals() -> None:
    one = FileChange("a", ChangeKind.ADDED, 3, 0)
    assert total_words(Changes()) == "no changes"
    assert total_words(Changes((one,))) == "1 file  +3 −0"
    assert total_words(Changes((one, one), truncated=True)) == "2+ files  +6 −0"


# The card


def test_the_card_is_bounded() -> None:
    tries = tuple(replace(ATTEMPTS[0], number=n) for n in range(50))
    changes = Changes(tuple(FileChange(f"f{n}", ChangeKind.ADDED, 1, 0) for n in range(50)))
    lines = [joined(line) for line in glance_lines(tries, (), changes, "", 40)]
    assert len(lines) == 3 + 2 + 2 * MOST
    assert lines[0] == "attempts  50"
    assert "… 43 more" in lines[MOST]
    assert max(map(len, lines)) <= 40


def test_the_card_says_what_is_missing() -> None:
    lines = [joined(line) for line in glance_lines(None, (), None, "no working tree yet", 40)]
    assert lines == ["attempts  reading …", "", "effects  0", "", "changes  no working tree yet"]
