"""The list that is laid out in parts: pairing, growing at both ends, forgetting, and what never moves meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from supervisor.core.model import Entry, EntryKind
from supervisor.core.transcript import Transcript
from tests.widgets.entries import call, pending, result, text, words
from widgets.transcript_items import AFTER_ALL
from widgets.transcript_layout import lay_out
from widgets.transcript_lines import MOST_LAID, TranscriptLines

if TYPE_CHECKING:
    from widgets.transcript_items import Item


def taken(*entries: Entry, width: int = 60) -> TranscriptLines:
    lines = TranscriptLines(width)
    lines.take(entries)
    return lines


def shown(lines: TranscriptLines) -> list[str]:
    return words([row for item in lines.items[lines.lo : lines.hi] for row in item.rows or []])


def test_results_go_to_their_calls_whenever_they_come() -> None:
    lines = taken(call(0, key="a"), call(1, "Read b.py", key="b"))
    lines.lay_tail(10)
    assert lines.take([result(2, "14 passed", key="a"), text(3)]) == 1
    assert shown(lines) == ["$ x   ✓ 14 passed", "◦ Read b.py"]
    lines.take([result(4, "1\tx", key="b")])
    lines.lay_tail(10)
    assert shown(lines) == ["$ x   ✓ 14 passed", "◦ Read b.py   ✓ 1 line", "› word 3."]


def test_a_second_result_stands_alone() -> None:
    lines = taken(call(0), result(1, "one"), result(2, "two"))
    assert len(lines.items) == 2


def test_a_result_that_stood_alone_goes_to_its_call_when_that_is_known() -> None:
    lines = taken(result(5, "fine"), text(6))
    lines.lay_tail(10)
    assert shown(lines) == ["✓ fine", "› word 6."]
    lines.take_earlier([text(3), call(4)])
    assert shown(lines) == ["› word 6."]
    lines.grow_up(10)
    assert shown(lines) == ["› word 3.", "$ x   ✓ fine", "› word 6."]
    assert (lines.first_seq, lines.next_seq) == (3, 7)


def test_only_the_tail_is_laid_out_however_much_came() -> None:
    lines = taken(*map(text, range(1000)))
    lines.lay_tail(50)
    assert lines.height == 50
    lines.take(map(text, range(1000, 1010)))
    lines.lay_tail(50)
    assert (lines.lo, lines.hi) == (950, 1010)
    lines.take(map(text, range(1010, 3000)))
    lines.lay_tail(50)
    assert (lines.lo, lines.hi) == (2950, 3000)


def test_what_is_laid_out_is_bounded() -> None:
    lines = taken()
    for part in range(100):
        lines.take(map(text, range(part * 50, part * 50 + 50)))
        lines.lay_tail(60)
    assert lines.height <= MOST_LAID + 60
    lines.lay_around(lines.items[2500], 10)
    lines.grow_up(5000)
    lines.grow_down(5000)
    at = lines.at(2500)
    lines.shrink(2500, 2510)
    assert lines.height <= 2 * MOST_LAID + 20
    assert at is not None
    assert lines.place_of(*at) is not None


def test_while_it_is_read_nothing_that_is_laid_out_goes() -> None:
    lines = taken(*map(text, range(100)))
    lines.lay_around(lines.items[10], 5)
    before = shown(lines)
    lines.take(map(text, range(100, 200)))
    lines.forget(150, keep_used=True)
    assert shown(lines) == before
    assert lines.lo == 0
    lines.grow_down(3)
    last = len(before) + lines.items[0].entry.seq - 1
    gone = f"· {149 - last} entries are no longer in memory"
    assert shown(lines) == [*before, gone, "› word 150.", "› word 151."]
    lines.forget(180, keep_used=True)
    assert shown(lines) == [*before, gone, "› word 150.", "› word 151."]
    lines.grow_down(1)
    assert shown(lines)[-1] == "· 28 entries are no longer in memory"
    lines.forget(180, keep_used=False)
    assert lines.items[0].entry.seq == 180
    assert lines.hi == lines.lo == 0


def test_entries_that_were_missed_are_counted() -> None:
    lines = taken(text(0))
    assert lines.take([text(10)]) == 2
    assert lines.count_after(0) == 10
    lines.lay_tail(10)
    assert shown(lines)[1] == "· 9 entries are no longer in memory"


def test_folding_one_and_all() -> None:
    lines = taken(call(0, detail='{"a": "b"}'), text(1, "one\ntwo"))
    lines.lay_tail(10)
    folded = shown(lines)
    lines.fold(lines.items[0], True)
    assert shown(lines) == ["$ x", "  a: b", "› one", "  two"]
    lines.fold(lines.items[1], False)
    assert shown(lines) == ["$ x", "  a: b", "› one   +1 line"]
    lines.fold_all(True)
    lines.lay_tail(10)
    assert shown(lines) == ["$ x", "  a: b", "› one", "  two"]
    lines.fold_all(False)
    lines.lay_tail(10)
    assert shown(lines) == folded == ["$ x", "› one", "  two"]


def test_another_width_costs_nothing_until_something_is_shown() -> None:
    lines = taken(*(text(i, "word " * 40) for i in range(300)))
    lines.lay_tail(100)
    lines.unlay_all(30)
    assert lines.height == 0
    lines.lay_tail(100)
    assert 100 <= lines.height < 120


def test_what_waits_stays_last_whatever_comes() -> None:
    lines = taken(text(0))
    lines.wait([pending("One."), pending("Two.")])
    lines.lay_tail(10)
    one, two = "◌ you, not given yet · One.", "◌ you, not given yet · Two."
    assert shown(lines) == ["› word 0.", one, two]
    assert lines.take([text(1)]) == 1
    lines.lay_tail(10)
    assert shown(lines) == ["› word 0.", "› word 1.", one, two]
    assert (lines.next_seq, lines.count_after(0), lines.count_after(1)) == (2, 1, 0)
    lines.forget(1, keep_used=False)
    lines.wait([pending("Two.")])
    lines.lay_tail(10)
    assert shown(lines) == ["› word 1.", two]
    lines.wait(())
    assert shown(lines) == ["› word 1."]
    assert lines.is_at_end


def test_what_waits_keeps_its_fold_also_among_equals() -> None:
    lines = taken()
    lines.wait([pending("a\n- b"), pending("a\n- b")])
    first, second = lines.items
    lines.fold(second, True)
    lines.wait([pending("a\n- b"), pending("a\n- b"), pending("c")])
    assert lines.items[:2] == [first, second]
    assert len(set(map(id, lines.items))) == 3
    assert [lines.is_open(item) for item in lines.items] == [False, True, False]


class Window(RuleBasedStateMachine):
    """A window over a board's transcript, moved about at random."""

    def __init__(self) -> None:
        super().__init__()
        self.source = Transcript()
        self.lines = TranscriptLines(40)
        self.open_calls: list[str] = []
        self.number = 0

    @rule(count=st.integers(1, 30), long=st.booleans(), kind=st.sampled_from(["text", "call", "result"]))
    def say(self, count: int, long: bool, kind: str) -> None:
        for _ in range(count):
            self.number += 1
            words = f"word {self.number} " + ("long " * 1000 if long else "")
            if kind == "text":
                self.source.add(0.0, EntryKind.TEXT, words)
            elif kind == "call":
                self.open_calls.append(f"k{self.number}")
                self.source.add(0.0, EntryKind.TOOL, f"Bash {words}", tool_use_id=f"k{self.number}")
            elif self.open_calls:
                self.source.add(0.0, EntryKind.RESULT, words, tool_use_id=self.open_calls.pop(0))

    @rule(count=st.integers(1, 20))
    def prepend(self, count: int) -> None:
        earlier = [text(i) for i in range(count)]
        self.source.prepend(earlier)

    @rule(keep=st.booleans())
    def pull(self, keep: bool) -> None:
        first = self.source.first_seq
        if self.lines.first_seq is not None and first < self.lines.first_seq:
            self.lines.take_earlier(self.source.since()[: self.lines.first_seq - first])
        before = [item for item in self.lines.items[self.lines.lo : self.lines.hi] if item.entry.seq != AFTER_ALL]
        self.lines.take(self.source.since(self.lines.next_seq))
        self.lines.forget(first, keep_used=keep)
        if keep:
            assert len(before) == self.lines.hi - self.lines.lo
        assert self.lines.next_seq is None or self.lines.next_seq == self.source.next_seq

    @rule(given=st.integers(0, 3), written=st.integers(0, 2), at=st.integers(0, 1))
    def wait(self, given: int, written: int, at: int) -> None:
        entries = (*self.lines.waiting[given:], *[pending("Mind it.", at)] * written)
        self.lines.wait(entries)
        assert self.lines.waiting == entries

    @rule(rows=st.integers(0, 60))
    def tail(self, rows: int) -> None:
        self.lines.lay_tail(rows)
        assert self.lines.is_at_end
        assert self.lines.height >= rows or self.lines.is_at_start

    @rule(rows=st.integers(0, 60))
    def up(self, rows: int) -> None:
        before = self.lines.height
        added = self.lines.grow_up(rows)
        assert self.lines.height == before + added

    @rule(rows=st.integers(0, 60))
    def down(self, rows: int) -> None:
        self.lines.grow_down(rows)

    @precondition(lambda self: self.lines.items)
    @rule(data=st.data(), rows=st.integers(1, 40))
    def around(self, data: st.DataObject, rows: int) -> None:
        item = data.draw(st.sampled_from(self.lines.items))
        self.lines.lay_around(item, rows)
        assert self.lines.place_of(item) is not None

    @precondition(lambda self: self.lines.items)
    @rule(data=st.data(), choice=st.sampled_from([True, False, None]))
    def fold(self, data: st.DataObject, choice: bool | None) -> None:
        self.lines.fold(data.draw(st.sampled_from(self.lines.items)), choice)

    @rule(all_open=st.booleans())
    def fold_all(self, all_open: bool) -> None:
        self.lines.fold_all(all_open)

    @rule(width=st.integers(10, 80))
    def resize(self, width: int) -> None:
        self.lines.unlay_all(width)

    @invariant()
    def exactly_the_window_is_laid_out(self) -> None:
        lines = self.lines
        assert 0 <= lines.lo <= lines.hi <= len(lines.items)
        for index, item in enumerate(lines.items):
            assert (item.rows is not None) == (lines.lo <= index < lines.hi)
            if item.rows is not None:
                assert item.rows == lay_out(item.entry, item.result, lines.width, lines.is_open(item))

    @invariant()
    def places_and_rows_agree(self) -> None:
        lines = self.lines
        rows: list[tuple[Item, int]] = [
            (item, row) for item in lines.items[lines.lo : lines.hi] for row in range(len(item.rows or ()))
        ]
        assert lines.height == len(rows)
        for place, (item, row) in enumerate(rows):
            assert lines.at(place) == (item, row)
            assert lines.place_of(item, row) == place
        assert lines.at(-1) is lines.at(len(rows)) is None

    @invariant()
    def numbers_grow(self) -> None:
        count = len(self.lines.items) - len(self.lines.waiting)
        assert tuple(item.entry for item in self.lines.items[count:]) == self.lines.waiting
        numbers = [item.entry.seq for item in self.lines.items[:count]]
        assert AFTER_ALL not in numbers
        assert numbers == sorted(numbers)
        assert len(set(numbers)) == len(numbers)


Window.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestWindow = pytest.mark.timeout(60)(Window.TestCase)


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 70))
def test_what_came_after_is_counted(kinds: list[int], seen: int) -> None:
    lines = taken(*(text(i) for i in range(len(kinds))))
    assert lines.count_after(seen) == max(0, len(kinds) - 1 - seen)
