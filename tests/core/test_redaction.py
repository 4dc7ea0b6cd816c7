"""No value of a secret gets through, however it is spelled and wherever a stream of bytes is cut."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core import events as ev
from supervisor.core.diffs import Diff
from supervisor.core.model import Entry, EntryKind, Outcome
from supervisor.core.payloads import MIN_SECRET, redact, secrets_of
from supervisor.core.redaction import CUT, Redactor
from supervisor.engine.untrusted import bounded

VALUE = 'ab"cd/1234'
REDACTOR = Redactor({"MY_TOKEN": VALUE})

OWN = {
    "TicketAdded": {"title", "after", "model", "parent", "instructions"},
    "WorktreeReady": {"path", "branch", "base_commit"},
    "StateChanged": {"letters"},
    "AttemptStarted": {"session_id", "resumed_from", "model"},
    "AttemptConnected": {"boot_id"},
    "PromptStored": {"uuid", "text", "instructions", "snapshot", "letters"},
    "SessionReplaced": {"session_id"},
    "TurnEnded": {"prompt_uuid", "subtype", "terminal_reason"},
    "AttemptEnded": {"snapshot"},
    "LimitsChanged": {"letters"},
    "PriorityChanged": {"letters"},
    "LetterPosted": {"id", "verb", "actor"},
    "LettersClosed": {"letters"},
    "FilesRewound": {"to", "snapshot", "files", "letters", "left", "work"},
    "StartedOver": {"snapshot", "letters", "session_id"},
    "Forked": {"base_commit"},
    "AskOpened": {"id", "tool", "fingerprint", "summary", "tool_use_id", "reason", "rules", "agent"},
    "AskRested": {"id"},
    "AskAnswered": {"id", "detail", "message", "actor", "letter"},
    "AskWithdrawn": {"id"},
    "GrantUsed": {"id", "tool_use_id"},
    "VerbPending": {"verb"},
    "TurnBegan": {"prompt_uuid"},
    "ToolCalled": {"tool_use_id", "name"},
    "ToolReturned": {"tool_use_id"},
    "LimitsSeen": {"status", "kind"},
    "LoginSeen": {"source"},
    "UsageSeen": {"message_id", "model"},
}
"""Texts that nobody but us, the file, the operator or a protocol fills, and those of asks, which are cleared before."""


def _kinds(of: type[ev.Event]) -> list[type[ev.Event]]:
    found = [kind for below in of.__subclasses__() for kind in (below, *_kinds(below))]
    return [kind for kind in found if kind is getattr(ev, kind.__name__, None) is not ev.Lasting]


def _is_text(kind: str) -> bool:
    return kind.removesuffix(" | None") in ("str", "tuple[str, ...]", "Diff")


@pytest.mark.parametrize("kind", _kinds(ev.Event), ids=lambda kind: kind.__name__)
def test_every_text_of_every_event_is_cleared_or_known_to_be_our_own(kind: type[ev.Event]) -> None:
    texts = [f for f in fields(kind) if _is_text(str(f.type)) and f.name != "ticket"]
    event: Any = object.__new__(kind)
    for field in fields(kind):
        object.__setattr__(event, field.name, None)
    for field in texts:
        text = {"str": VALUE, "Diff": Diff(VALUE, 1, 0)}.get(str(field.type).removesuffix(" | None"), (VALUE,))
        object.__setattr__(event, field.name, text)
    clear = REDACTOR.event(event)
    left = {field.name for field in texts if VALUE in str(getattr(clear, field.name)).replace("\\", "")}
    assert left == OWN.get(kind.__name__, set())


def test_an_event_without_secrets_is_the_same_one() -> None:
    event = ev.AttemptEnded("001", 1.0, 1, Outcome.DONE, "all well")
    assert REDACTOR.event(event) is event


def test_an_entry_of_a_transcript() -> None:
    entry = Entry(1, 1.0, EntryKind.TOOL, f"Bash {VALUE}", f"in {VALUE}", diff=Diff(f"+{VALUE}", 1, 0))
    clear = REDACTOR.entry(entry)
    assert (clear.text, clear.detail) == ("Bash [MY_TOKEN]", "in [MY_TOKEN]")
    assert clear.diff == Diff("+[MY_TOKEN]", 1, 0)


@pytest.mark.parametrize("spelled", [VALUE, "ab%22cd%2F1234", 'ab\\"cd/1234'])
def test_every_spelling(spelled: str) -> None:
    assert REDACTOR.text(f"x {spelled} y") == "x [MY_TOKEN] y"


def test_how_much_an_agent_may_think_is_no_secret() -> None:
    named = {"MAX_THINKING_TOKENS": "128000", "API_TOKENS": "a1b2c3d4", "DB_PASSWORD": "128000"}
    assert secrets_of(named).keys() == {"API_TOKENS", "DB_PASSWORD"}


@given(
    words=st.lists(st.sampled_from(["abcabd", "abcabdabcabe", "abc", "a", "b", "d", "\n"]), max_size=12).map("".join),
    cuts=st.lists(st.integers(0, 60), max_size=6),
)
def test_bytes_in_pieces_are_cleared_like_the_whole(words: str, cuts: list[int]) -> None:
    """Secrets that begin like each other, and one that holds another."""
    secrets = {"SHORT": "abcabd", "LONG": "abcabdabcabe"}
    stream, data = Redactor(secrets).stream(), words.encode()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    came = b"".join(stream.feed(data[a:b]) for a, b in pairwise(places)) + stream.end()
    assert came.decode() == redact(words, secrets)


def test_what_cannot_become_a_secret_is_not_kept_back() -> None:
    stream = REDACTOR.stream()
    assert stream.feed(b"building\nab") == b"building\n"
    assert stream.feed(b"out") == b"about"
    assert stream.end() == b""


@given(st.integers(0, 30), st.sampled_from([VALUE, json.dumps(VALUE)[1:-1], quote(VALUE, safe="")]))
def test_a_text_that_was_cut_in_a_secret_keeps_no_telling_part_of_it(cut: int, spelled: str) -> None:
    whole = f"It says {spelled} and more."
    said = REDACTOR.text(bounded(whole, cut)).partition(CUT)[0]
    longest = max(n for n in range(len(spelled) + 1) if spelled[:n] in said)
    assert longest < MIN_SECRET
    assert said.removesuffix("[MY_TOKEN]").startswith(whole[: min(cut, 8)])


def test_a_whole_text_may_end_in_the_beginning_of_a_secret() -> None:
    assert REDACTOR.text(f"see {VALUE[:-1]}") == f"see {VALUE[:-1]}"
