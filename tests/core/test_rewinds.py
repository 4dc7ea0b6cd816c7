"""What a ticket's history tells of its files: what the agent has not heard, and when nobody of ours was at work."""

from __future__ import annotations

from supervisor.core import events as ev
from supervisor.core import prompts
from supervisor.core.model import Outcome, PromptKind
from supervisor.core.rewinds import MAX_NAMED, Gap, gaps, last_taken_back, named, prompt_words, undone_to, untold

T = ("001", 0.0)


def prompted(uuid: str, snapshot: str = "") -> ev.PromptStored:
    return ev.PromptStored(*T, 1, uuid, PromptKind.TASK, "Do it.", snapshot=snapshot)


def ended(snapshot: str) -> ev.AttemptEnded:
    return ev.AttemptEnded(*T, 1, Outcome.DONE, snapshot=snapshot)


def back(before: str, left: str, *files: str, more: int = 0) -> ev.FilesRewound:
    return ev.FilesRewound(*T, f"to {left}", before, files, more=more, left=left)


def test_several_rewinds_are_told_as_one() -> None:
    told = untold([prompted("p"), back("a", "b", "x", "y"), back("b", "c", "y", "z")])
    assert told is not None
    assert (told.to, told.files, told.snapshot) == ("to c", ("x", "y", "z"), "a")


def test_an_undo_makes_a_rewind_void_and_another_undo_does_not() -> None:
    there, undone = back("a", "b", "x"), back("b", "a", "x")
    assert untold([prompted("p"), there, undone]) is None
    assert untold([prompted("p"), there, undone, there]) == there


def test_a_prompt_and_a_start_over_end_the_news() -> None:
    assert untold([back("a", "b", "x"), prompted("p")]) is None
    assert untold([back("a", "b", "x"), ev.StartedOver(*T, "s")]) is None


def test_names_are_bounded_and_counted() -> None:
    first = back("a", "b", *(f"f{i}" for i in range(30)), more=2)
    then = back("b", "c", *(f"g{i}" for i in range(20)))
    told = untold([first, then])
    assert told is not None
    assert len(told.files) == MAX_NAMED
    assert told.more == 12
    assert prompts.rewound("there", told.files[:1], told.more).endswith("out of date:\n- f0\n- and 12 more")
    assert prompts.rewound("there", ()).endswith("out of date.")


def test_the_last_one_is_what_an_undo_undoes() -> None:
    over = ev.StartedOver(*T, "s")
    assert last_taken_back([back("a", "b"), over, prompted("p")]) is over
    assert last_taken_back([prompted("p")]) is None


def test_undoing_an_undo_is_doing_it_again() -> None:
    there, undone, again = back("a", "x"), back("b", "a"), back("c", "b")
    undo = "how they were before the rewind"
    assert undone_to([prompted("p"), there]) == undo
    assert undone_to([prompted("p"), there, undone]) == "to x"
    assert undone_to([prompted("p"), there, undone, again]) == "to a"
    assert undone_to([there, prompted("p"), undone]) == undo, "the agent has worked since"
    assert undone_to([there, ev.StartedOver(*T, "s")]) == "how they were before the ticket was started over"


def test_gaps_lie_between_an_agents_end_and_the_next_begin() -> None:
    events = [prompted("p1", "s1"), ended("e1"), prompted("p2", "s2"), prompted("p3", "s3"), ended("e2")]
    assert gaps(events, "p1") == ((Gap("e1", "s2"), Gap("e2", "")), True)
    assert gaps(events, "p2") == ((Gap("e2", ""),), True), "an agent between two of its prompts is at work"


def test_a_gap_in_which_nothing_changed_is_none() -> None:
    events = [prompted("p1", "s1"), ended("e1"), prompted("p2", "e1")]
    assert gaps(events, "p1") == ((), True)


def test_a_rewind_ends_a_gap_and_begins_another() -> None:
    events = [prompted("p1", "s1"), ended("e1"), back("b", "c")]
    assert gaps(events, "p1") == ((Gap("e1", "b"), Gap("c", "")), True)
    assert gaps(events) == ((Gap("c", ""),), True)


def test_what_the_setup_does_is_nobodys_doing() -> None:
    ready = ev.WorktreeReady(*T, "/w", "b", "c")
    events = [prompted("p1", "s1"), ended("e1"), ev.WorktreeLost(*T), ready, prompted("p2", "s2"), ended("e2")]
    assert gaps(events, "p1") == ((Gap("e2", ""),), True)


def test_an_end_without_a_snapshot_leaves_it_open() -> None:
    events = [prompted("p1", "s1"), ended(""), prompted("p2", "s2"), ended("e2")]
    assert gaps(events, "p1") == ((Gap("e2", ""),), False)
    assert gaps(events, "p2") == ((Gap("e2", ""),), True)


def test_words_for_people() -> None:
    assert prompt_words("\n  Fix it.\nNow.") == "Fix it."
    assert len(prompt_words("x" * 200)) == 60
    assert prompt_words("\x1b[31mred") != "\x1b[31mred"
    assert named(["a", "b", "c", "d\n"]) == "a, b, c and 1 more"
