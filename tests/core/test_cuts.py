"""Where a conversation may be cut: the lines of a session's file in, sound points out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.cuts import Conversation, Cut, CutKind

if TYPE_CHECKING:
    import random

Line = dict[str, Any]
REPLY, TOOLS = CutKind.REPLY, CutKind.TOOLS


class File:
    """Lines as the CLI writes them, each after the last one unless told otherwise."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.last: str | None = None

    def add(self, uuid: str, kind: str, after: str | None = "", **more: Any) -> str:
        """Add a line; ``after`` names its parent where that is not the last line."""
        parent = self.last if after == "" else after
        at = f"2026-05-01T10:00:{len(self.lines) % 60:02}Z"
        self.lines.append({"type": kind, "uuid": uuid, "parentUuid": parent, "timestamp": at, **more})
        self.last = uuid
        return uuid

    def prompt(self, uuid: str, text: str = "Do it.", **more: Any) -> str:
        """Add a prompt of ours."""
        return self.add(uuid, "user", message={"role": "user", "content": text}, **more)

    def block(self, uuid: str, reply: str, stop: str | None = None, after: str | None = "", **block: Any) -> str:
        """Add one block of a reply."""
        message = {"id": reply, "model": "sonnet", "stop_reason": stop, "content": [block]}
        return self.add(uuid, "assistant", after, message=message)

    def say(self, uuid: str, text: str = "All done.", stop: str | None = "end_turn", reply: str = "") -> str:
        """Add a reply of one text, or one of its texts."""
        return self.block(uuid, reply or f"m-{uuid}", stop, type="text", text=text)

    def call(self, uuid: str, ident: str, name: str = "Bash", reply: str = "", after: str | None = "") -> str:
        """Add a call of a tool."""
        return self.block(uuid, reply or f"m-{uuid}", "tool_use", after, type="tool_use", id=ident, name=name, input={})

    def returned(self, uuid: str, ident: str, after: str | None = "") -> str:
        """Add the result of a call."""
        result = {"type": "tool_result", "tool_use_id": ident, "content": "ok"}
        return self.add(uuid, "user", after, message={"role": "user", "content": [result]})


def cuts(file: File) -> list[tuple[str, CutKind, int]]:
    """Return the sound points, without times and words."""
    return [(cut.uuid, cut.kind, cut.prompt_number) for cut in Conversation(file.lines).cuts]


def kept(file: File, uuid: str) -> set[str]:
    """Return what a copy up to a message holds."""
    conversation = Conversation(file.lines)
    return set(conversation.kept(next(cut for cut in conversation.cuts if cut.uuid == uuid)))


@pytest.fixture
def file() -> File:
    """Two prompts; the first one's turn uses a tool."""
    file = File()
    file.prompt("p1")
    file.add("env", "attachment")
    file.say("a1", "I look.", "tool_use", reply="m1")
    file.call("a2", "t1", reply="m1")
    file.returned("r1", "t1")
    file.say("a3", "Part one.")
    file.prompt("p2", "Go on.")
    file.say("a4", "Part two.")
    return file


def test_a_reply_and_a_tools_result_are_sound_and_nothing_else_is(file: File) -> None:
    assert cuts(file) == [("r1", TOOLS, 1), ("a3", REPLY, 1), ("a4", REPLY, 2)]
    first, second, _ = Conversation(file.lines).cuts
    assert first == Cut("r1", 1777629604.0, TOOLS, "Bash: I look.", 1)
    assert second.words == "Part one."
    assert kept(file, "r1") == {"p1", "env", "a1", "a2", "r1"}
    assert Conversation(file.lines).prompts == ("p1", "p2")


def test_up_to_a_message_is_before_it_where_it_is_a_prompt_or_within_a_turn(file: File) -> None:
    conversation = Conversation(file.lines)
    found = {uuid: conversation.sound_at(uuid) for uuid in ("p1", "a2", "r1", "p2", "a4", "unknown")}
    assert {uuid: cut.uuid if cut else None for uuid, cut in found.items()} == {
        "p1": None, "a2": None, "r1": "r1", "p2": "a3", "a4": "a4", "unknown": None,
    }  # fmt: skip
    assert "p2" in conversation
    assert "unknown" not in conversation


def test_a_call_without_a_result_is_not_cut_after(file: File) -> None:
    file.prompt("p3")
    file.call("a5", "t2")
    assert cuts(file)[-1] == ("a4", REPLY, 2)
    file.returned("r2", "t2")
    assert cuts(file)[-1] == ("r2", TOOLS, 3)


@pytest.mark.parametrize("order", ["in order", "the other way round"])
def test_parallel_calls_are_sound_once_all_have_returned(file: File, order: str) -> None:
    """Each result hangs on its own call, so the way back from the last one passes by the others."""
    file.prompt("p3")
    file.say("b1", "Two at once.", "tool_use", reply="m9")
    file.call("b2", "ta", "Read", reply="m9")
    file.call("b3", "tb", "Grep", reply="m9")
    first, second = [("s1", "ta", "b2"), ("s2", "tb", "b3")][:: 1 if order == "in order" else -1]
    file.returned(*first)
    assert cuts(file)[-1] == ("a4", REPLY, 2)
    file.returned(*second)
    assert cuts(file)[-1] == (second[0], TOOLS, 3)
    file.say("b4", "I have read both.")
    assert cuts(file)[-2:] == [(second[0], TOOLS, 3), ("b4", REPLY, 3)]
    assert {"b1", "b2", "b3", "s1", "s2"} < kept(file, "b4")
    assert Conversation(file.lines).cuts[-2].words == "Read, Grep: Two at once."


def test_a_reply_that_may_still_be_under_way_is_not_cut_after(file: File) -> None:
    file.prompt("p3")
    file.say("b1", "First I", stop=None)
    assert cuts(file)[-1] == ("a4", REPLY, 2)
    file.prompt("p4", "[Request interrupted by user]")
    assert cuts(file)[-1] == ("b1", REPLY, 3), "it was cut off, and said something"
    assert Conversation(file.lines).prompts == ("p1", "p2", "p3")


def test_a_reply_is_not_cut_in_two(file: File) -> None:
    file.prompt("p3")
    file.block("b1", "m9", "end_turn", type="thinking", thinking="hm")
    file.say("b2", "One.", reply="m9")
    file.say("b3", "Two.", reply="m9")
    assert cuts(file)[-1] == ("b3", REPLY, 3)
    assert Conversation(file.lines).cuts[-1].words == "One.\nTwo."


def test_what_the_cli_says_itself_and_thoughts_alone_are_no_place_to_cut(file: File) -> None:
    file.prompt("p3")
    file.block("b1", "m9", "end_turn", type="thinking", thinking="hm")
    synthetic = {"id": "m10", "model": "<synthetic>", "stop_reason": "stop_sequence"}
    file.add("b2", "assistant", message={**synthetic, "content": [{"type": "text", "text": "API Error: 529"}]})
    assert cuts(file)[-1] == ("a4", REPLY, 2)


def test_subagents_are_passed_over(file: File) -> None:
    file.prompt("p3")
    file.call("b1", "t9", "Agent")
    main = file.last
    file.prompt("x1", "Look around.", isSidechain=True)
    file.lines[-1]["parentUuid"] = None
    file.add("x2", "assistant", isSidechain=True, message={"id": "mx", "content": [{"type": "text", "text": "Here."}]})
    assert cuts(file)[-1] == ("a4", REPLY, 2)
    file.returned("r9", "t9", after=main)
    assert cuts(file)[-1] == ("r9", TOOLS, 3)
    assert not {"x1", "x2"} & kept(file, "r9")


def test_the_branch_that_was_written_last_counts(file: File) -> None:
    """Two processes in one session: only what hangs on the last line is what the model will be told."""
    file.prompt("q2", "Something else.", after="a3")
    file.say("c1", "Another part two.")
    assert cuts(file) == [("r1", TOOLS, 1), ("a3", REPLY, 1), ("c1", REPLY, 2)]
    assert not {"p2", "a4"} & kept(file, "c1")
    assert Conversation(file.lines).sound_at("a4") is None


def test_a_result_that_was_made_up_later_stands_for_the_one_of_another_branch(file: File) -> None:
    file.prompt("p3")
    file.call("b1", "t9")
    file.returned("late", "t9")
    file.returned("made-up", "t9", after="b1")
    file.say("b2")
    assert kept(file, "b2") >= {"b1", "made-up"}
    assert "late" not in kept(file, "b2")


def test_a_compaction_can_be_cut_before_and_after(file: File) -> None:
    file.add("c0", "system", None, subtype="compact_boundary", logicalParentUuid="a4")
    file.prompt("c1", "This session is being continued…", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    file.prompt("c2", "<local-command-caveat>", isMeta=True)
    file.prompt("c3", "<command-name>/compact</command-name>")
    file.prompt("p3")
    file.say("a5")
    assert cuts(file) == [("r1", TOOLS, 1), ("a3", REPLY, 1), ("a4", REPLY, 2), ("a5", REPLY, 3)]
    assert kept(file, "a5") == {line["uuid"] for line in file.lines}, "the copy can be cut before it, too"
    assert not {"c0", "c1"} & kept(file, "a4"), "what it said before is told in full"


def test_a_circle_and_a_missing_parent_end_the_way_back(file: File) -> None:
    file.lines[0]["parentUuid"] = "a4"
    assert len(cuts(file)) == 3
    file.lines[0]["parentUuid"] = "gone"
    assert len(cuts(file)) == 3


GARBAGE: list[Any] = [
    None, 7, "text", [], {}, {"type": ["user"], "uuid": "z"}, {"type": "user"}, {"type": "user", "uuid": 5},
    {"type": "user", "uuid": ""}, {"type": "assistant", "uuid": "z1", "parentUuid": {}, "message": "no"},
    {"type": "assistant", "uuid": "z2", "message": {"id": 5, "content": {"type": "text"}, "stop_reason": []}},
    {"type": "assistant", "uuid": "z3", "timestamp": "soon", "message": {"content": [None, 5, {"text": 5}]}},
    {"type": "user", "uuid": "z4", "timestamp": 1e300, "message": {"content": [{"type": "tool_result"}]}},
    {"type": "assistant", "uuid": "z5", "message": {"content": [{"type": "tool_use", "id": [], "name": None}]}},
    {"type": "system", "uuid": "z6", "logicalParentUuid": 7}, {"type": "summary", "leafUuid": "a4"},
]  # fmt: skip


@given(st.randoms(use_true_random=False))
def test_damaged_lines_are_passed_over(chance: random.Random) -> None:
    source = File()
    source.prompt("p1")
    source.say("a1")
    lines: list[Any] = list(source.lines)
    for line in GARBAGE:
        lines.insert(chance.randint(0, len(lines)), line)
    conversation = Conversation([*lines, *source.lines])
    for cut in conversation.cuts:
        assert cut.uuid in conversation.kept(cut)
    assert Conversation([*GARBAGE[:9], *source.lines]).cuts[0].uuid == "a1"


def test_an_empty_file_has_no_place_to_cut() -> None:
    assert Conversation([]).cuts == ()
    assert Conversation([]).sound_at("a") is None
