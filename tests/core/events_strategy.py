"""Hypothesis strategies for events in any order, sensible or not."""

from __future__ import annotations

from hypothesis import strategies as st

from supervisor.core import events as ev
from supervisor.core.asks import AnswerKind, AskKind
from supervisor.core.model import Mode, Outcome, PromptKind, State, Why

TICKETS = st.sampled_from(["001", "002"])
AT = st.floats(0, 1e9)
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
"""Text as it is after the door: the adapter has replaced what SQLite cannot hold."""
MONEY = st.floats(-1, 5)
NUMBER = st.integers(1, 4)
ASKS = st.sampled_from(["a1", "a2", "a3"])
MAYBE = st.none() | WORDS


def _event(_type: type[ev.Event], /, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[ev.Event]:
    return st.builds(_type, ticket=TICKETS, at=AT, **fields)  # type: ignore[arg-type]


moves = _event(
    ev.StateChanged,
    to=st.sampled_from(State),
    why=st.none() | st.sampled_from(Why),
    detail=WORDS,
    until=st.none() | AT,
    live=st.booleans(),
)
turns = _event(
    ev.TurnEnded,
    number=NUMBER,
    prompt_uuid=st.none() | st.sampled_from(["u1", "u2"]),
    subtype=st.sampled_from(["success", "error_max_turns", "error_during_execution"]),
    terminal_reason=st.sampled_from([None, "completed", "max_turns", "aborted_tools"]),
    is_error=st.booleans(),
    num_turns=st.integers(-1, 5),
    cost_usd=MONEY,
    tokens=st.integers(-1, 9),
    denials=st.just(()) | st.just(("Bash rm",)),
)
lasting = st.one_of(
    moves,
    turns,
    _event(ev.TicketAdded, title=WORDS, order=st.integers(0, 9), budget_usd=st.none() | MONEY),
    _event(ev.WorktreeReady, path=WORDS, branch=WORDS, base_commit=WORDS),
    _event(
        ev.AttemptStarted, number=NUMBER, mode=st.sampled_from(Mode), session_id=st.sampled_from(["s1", "s2", "s3"])
    ),
    _event(ev.AttemptConnected, number=NUMBER, pid=st.none() | st.integers(2, 99), baseline_usd=st.none() | MONEY),
    _event(
        ev.PromptStored, number=NUMBER, uuid=st.sampled_from(["u1", "u2"]), kind=st.sampled_from(PromptKind), text=WORDS
    ),
    _event(ev.SessionReplaced, number=NUMBER, session_id=st.sampled_from(["s4", "s5"])),
    _event(
        ev.AttemptEnded,
        number=NUMBER,
        outcome=st.sampled_from(Outcome),
        estimated_usd=MONEY,
        settled_usd=MONEY,
        tokens=st.integers(-1, 9),
    ),
    _event(
        ev.CostCorrected, number=NUMBER, by_usd=MONEY.map(lambda usd: usd - 2), estimated_usd=MONEY, baseline_usd=MONEY
    ),
    _event(ev.Verified, round=NUMBER, exit_code=st.none() | st.integers(0, 2), output=WORDS),
    _event(
        ev.AskOpened,
        id=ASKS,
        number=NUMBER,
        kind=st.sampled_from(AskKind),
        tool=WORDS,
        fingerprint=WORDS,
        summary=WORDS,
        input=st.dictionaries(WORDS, WORDS, max_size=2),
        rules=st.just(()) | st.just(("Bash(ls *)",)),
    ),
    _event(ev.AskRested, id=ASKS),
    _event(
        ev.AskAnswered,
        id=ASKS,
        kind=st.sampled_from(AnswerKind),
        detail=WORDS,
        message=WORDS,
        answers=st.just({}) | st.just({"Which?": ["this", "that"]}),
        rested=st.booleans(),
    ),
    _event(ev.AskWithdrawn, id=ASKS),
    _event(ev.GrantUsed, id=ASKS, detail=WORDS),
    _event(ev.FilesRewound, to=WORDS, snapshot=WORDS, files=st.just(()) | st.just(("a.py",)), left=WORDS),
    _event(ev.StartedOver, snapshot=WORDS),
    _event(ev.LimitsChanged, budget_usd=st.none() | MONEY, max_turns=st.none() | NUMBER),
)
passing = st.one_of(
    _event(ev.VerbPending, verb=MAYBE),
    _event(ev.AgentSpoke, text=WORDS, thinking=st.booleans()),
    _event(ev.ToolCalled, tool_use_id=WORDS, name=WORDS, summary=WORDS),
    _event(ev.ToolReturned, tool_use_id=WORDS, text=WORDS),
    _event(ev.Retrying, attempt=NUMBER, max_retries=NUMBER, delay_s=MONEY, status=st.none() | st.integers(400, 599)),
    _event(ev.Noted, text=WORDS),
    _event(ev.UsageSeen, message_id=WORDS, model=WORDS, usage=st.just({"input_tokens": 1})),
)
any_event = lasting | passing
