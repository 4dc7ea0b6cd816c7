"""When a verb applies, and what is said where it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from supervisor.core.board import Board
from supervisor.core.effects import EffectRecord, EffectState, EffectView, LogRow
from supervisor.core.model import BatchTotals, State, TicketSnapshot, Why
from supervisor.core.starts import starts_when
from supervisor.core.verbs import INTERRUPT, RESUME, VERBS

RESTS = [State.PAUSED, State.FAILED, State.CANCELLED, State.NEEDS_YOU]


def _view(state: EffectState, *askers: str) -> EffectView:
    record = EffectRecord("001", "deploy:418", "once", "deploy", askers[0], state, 2, 1, 1, "f", {}, "k")
    rows = [
        LogRow(
            n, "001", "deploy:418", "claim", None, "claimed", 1, "agent", asker, "", "", None, None, 1, "f", None, None,
            1.0, "", "",
        )
        for n, asker in enumerate(askers)
    ]  # fmt: skip
    return EffectView(record, tuple(rows))


def _board(state: State, effect: EffectState | None, *askers: str) -> Board:
    board = Board()
    board.restore([TicketSnapshot("001", state=state), TicketSnapshot("002", state=state)])
    if effect is not None:
        board.show_effect(_view(effect, *(askers or ("001",))))
    return board


@pytest.mark.parametrize("state", RESTS)
@pytest.mark.parametrize(
    ("effect", "why"),
    [
        (
            EffectState.UNRESOLVED,
            "001 is waiting for its effect 001:deploy:418: settle it first (!, or supervise effects)",
        ),
        (
            EffectState.REQUESTED,
            "001 is waiting for its effect 001:deploy:418: approve or deny it first (!, or supervise effects)",
        ),
        (
            EffectState.CLAIMED,
            "001 is waiting for its effect 001:deploy:418, which may still be under way: it has to end first (e)",
        ),
        (EffectState.DONE, None),
        (EffectState.GRANTED, None),
        (EffectState.NOT_DONE, None),
    ],
)
def test_nobody_resumes_what_waits_for_an_effect(state: State, effect: EffectState, why: str | None) -> None:
    board = _board(state, effect)
    assert RESUME.refusal(board["001"]) == why
    assert RESUME.refusal(board["002"]) is None, "it did not ask for it"


def test_a_fork_that_asked_for_it_too_is_kept_as_well_until_it_is_settled() -> None:
    board = _board(State.PAUSED, EffectState.UNRESOLVED, "001", "002")
    assert not RESUME.applies(board["001"]) and not RESUME.applies(board["002"])
    board.drain()
    board.show_effect(_view(EffectState.DONE, "001", "002"))
    assert RESUME.applies(board["001"]) and RESUME.applies(board["002"])
    assert board.drain() == {"001", "002"}


def test_the_key_of_an_effect_is_made_safe() -> None:
    board, view = _board(State.PAUSED, None), _view(EffectState.UNRESOLVED, "001")
    board.show_effect(replace(view, record=replace(view.record, op="x\x1b[2J\n")))
    assert "\x1b" not in str(RESUME.refusal(board["001"]))
    assert "\n" not in str(RESUME.refusal(board["001"]))


def test_a_ticket_whose_effects_are_held_says_why() -> None:
    held = TicketSnapshot("001", state=State.NEEDS_YOU, why=Why.UNRESOLVED_EFFECT, detail="an older database")
    assert RESUME.refusal(held) == "001 is waiting for you: an older database"


def test_no_refusal_says_that_a_ticket_is_needs_you() -> None:
    for live in (True, False):
        ticket = TicketSnapshot("e2", state=State.NEEDS_YOU, live=live, attempts=1, session_id="s")
        words = [verb.refusal(ticket) for verb in VERBS]
        assert not any("needs you" in why or "needs_you" in why for why in words if why)
    assert RESUME.refusal(replace(ticket, live=True)) == "e2 is waiting for you: only a resting ticket can be resumed"
    assert INTERRUPT.refusal(ticket) == "e2 is waiting for you: there is nothing to interrupt"


@pytest.mark.parametrize(
    ("batch", "when"),
    [
        (BatchTotals(), "as soon as a slot is free"),
        (
            BatchTotals(starting_paused=True, held="starting is paused: …"),
            "once tickets start again: starting is paused (p, or supervise starting on)",
        ),
        (BatchTotals(held="little memory is left"), "once tickets start again (little memory is left)"),
        (BatchTotals(stopping=True, starting_paused=True), "at the next start"),
    ],
)
def test_when_the_next_ticket_starts(batch: BatchTotals, when: str) -> None:
    assert starts_when(batch) == when
