"""A ticket's bounded transcript: what is dropped, what came before, and that memory does not grow."""

from __future__ import annotations

import tracemalloc

import pytest

from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.diffs import Diff
from supervisor.core.model import Entry, EntryKind, PromptKind
from supervisor.core.transcript import ENTRY_CHARS, TRANSCRIPT_CHARS, Transcript, telling


def said(count: int, chars: int = 10) -> list[Entry]:
    return [Entry(i, float(i), EntryKind.TEXT, f"{i}".ljust(chars)) for i in range(count)]


def test_what_came_before_gets_numbers_below() -> None:
    transcript = Transcript()
    assert (transcript.first_seq, transcript.next_seq) == (0, 0)
    transcript.add(9.0, EntryKind.TEXT, "live")
    assert transcript.prepend(said(3)) == 3
    assert transcript.prepend(said(2)) == 2
    assert [(e.seq, e.text.strip()) for e in transcript.since()] == [
        (-5, "0"),
        (-4, "1"),
        (-3, "0"),
        (-2, "1"),
        (-1, "2"),
        (0, "live"),
    ]
    assert (transcript.first_seq, transcript.next_seq) == (-5, 1)
    assert [e.seq for e in transcript.since(-1)] == [-1, 0]
    assert [e.seq for e in transcript.since(0)] == [0]
    assert transcript.since(1) == ()


def test_only_as_much_is_taken_as_there_is_room_for_and_the_latest_of_it() -> None:
    transcript = Transcript()
    transcript.add(9.0, EntryKind.TEXT, "live")
    assert 0 < transcript.prepend(said(1000, 5000)) < 40
    assert transcript.since()[-2].text.strip() == "999"
    for _ in range(20):
        transcript.add(9.0, EntryKind.TEXT, "x" * 5000)
    assert transcript.since()[-1].seq == 20
    before = transcript.since()
    assert transcript.prepend(said(1)) == 0, "something was dropped: there would be a gap"
    assert transcript.since() == before


def test_entries_are_bounded_wherever_they_come_from() -> None:
    transcript = Transcript()
    transcript.prepend([Entry(0, 0.0, EntryKind.TEXT, "x" * 50_000, "y" * 50_000)])
    (entry,) = transcript.since()
    assert len(entry.text) == len(entry.detail) == ENTRY_CHARS


def test_diffs_count() -> None:
    transcript = Transcript()
    for _ in range(1000):
        transcript.add(0.0, EntryKind.TOOL, "Edit x", diff=Diff("+" * 5000, 1, 0))
    assert len(transcript.since()) <= TRANSCRIPT_CHARS // 5000


def test_a_board_tells_that_there_is_history() -> None:
    board = Board()
    board.apply(ev.TicketAdded("001", 0.0, "t", 0))
    board.drain()
    board.add_history("001", said(2))
    assert board.drain() == {"001"}
    board.add_history("001", ())
    board.add_history("001", said(2))
    assert len(board.transcript("001").since()) == 2, "it is there already"
    assert board.drain() == frozenset()


def test_what_was_added_to_a_prompt_is_kept_apart() -> None:
    board = Board()
    text = "hello\n\n---\n\nThe previous turn was cut off: it was interrupted."
    board.apply(ev.PromptStored("001", 0.0, 1, "u", PromptKind.MESSAGE, text))
    (entry,) = board.transcript("001").since()
    assert (entry.text, entry.detail) == ("hello", "The previous turn was cut off: it was interrupted.")


def test_what_events_tell_reaches_the_entries() -> None:
    board, diff = Board(), Diff("@@\n+a", 1, 0)
    board.apply(ev.PromptStored("001", 0.0, 1, "u", PromptKind.VERIFY, "Again."))
    board.apply(ev.ToolCalled("001", 0.0, "t", "Write", "x", diff=diff))
    board.apply(ev.ToolReturned("001", 0.0, "t", "ok", diff=diff))
    prompt, tool, result = board.transcript("001").since()
    assert prompt.prompt is PromptKind.VERIFY
    assert tool.diff is result.diff is diff


def test_memory_does_not_grow_with_what_is_said() -> None:
    board = Board()
    board.apply(ev.TicketAdded("001", 0.0, "t", 0))

    def talk(count: int) -> int:
        for number in range(count):
            board.apply(ev.AgentSpoke("001", 0.0, f"word {number} " + "x" * 200))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = talk(2_000)
        assert talk(50_000) - before < 200_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Reached maximum budget ($0.06999999999999999)", "Reached maximum budget ($0.07)"),
        ("$1.2000000000000002 of $2", "$1.20 of $2"),
        ("$0.00412345 spent", "$0.0041 spent"),
        ("$12.125 and $3.10 stay", "$12.125 and $3.10 stay"),
        ("0.06999999999999999 is no sum", "0.06999999999999999 is no sum"),
    ],
)
def test_sums_in_errors_are_told_as_one_reads_money(said: str, told: str) -> None:
    assert telling((said,)) == [told]


def test_lines_for_the_makers_of_the_agent_are_told_to_nobody() -> None:
    assert telling(("[ede_diagnostic] result_type=user last_content_type=n/a", "it broke")) == ["it broke"]
