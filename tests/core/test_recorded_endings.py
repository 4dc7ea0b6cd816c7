"""What streams recorded from the real CLI mean, by the engine's way of reading them and by the public one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import ProcessError

from supervisor.core import events as ev
from supervisor.core.model import Outcome
from supervisor.core.resume import Ending, classify
from supervisor.core.sessions import ending_of, is_answer, is_result, session_of, summarise
from supervisor.engine.translate import Translator
from tests.recorded.load import CASES, load

if TYPE_CHECKING:
    from tests.recorded.load import Recorded


@dataclass(frozen=True, slots=True)
class Expected:
    """What a recording comes to."""

    outcome: Outcome
    subtype: str
    reason: str | None
    turns: int
    started: bool = True
    status: int | None = None
    results: int = 1


EXPECTED = {
    "success": Expected(Outcome.DONE, "success", "completed", 2),
    "max_turns": Expected(Outcome.LIMIT, "error_max_turns", "max_turns", 2),
    "max_budget": Expected(Outcome.LIMIT, "error_max_budget_usd", "budget_exhausted", 1),
    "api_400": Expected(Outcome.API_ERROR, "success", "api_error", 1, started=False, status=400),
    "api_529": Expected(Outcome.API_ERROR, "success", "api_error", 1, started=False, status=529),
    "interrupted_stream": Expected(Outcome.INTERRUPTED, "error_during_execution", "aborted_streaming", 2),
    "interrupted_tool": Expected(Outcome.INTERRUPTED, "error_during_execution", "aborted_tools", 3),
    "resume": Expected(Outcome.DONE, "success", "completed", 1),
    "resume_529": Expected(Outcome.API_ERROR, "success", "api_error", 1, started=False, status=529),
    "resume_ghost": Expected(Outcome.DONE, "success", "completed", 1, results=2),
    "resume_stale": Expected(Outcome.FAILED_RESUME, "error_during_execution", None, 0, started=False),
}


def read(recorded: Recorded, messages: list[Any]) -> tuple[Translator, list[ev.TurnEnded]]:
    """Read messages as the engine does; returns the results, ghosts included."""
    translator = Translator("001", 1, recorded.session_id, lambda: 0.0)
    translator.prompt_uuid = recorded.prompt_uuid
    events = [event for message in messages for event in translator.translate(message)]
    return translator, [event for event in events if isinstance(event, ev.TurnEnded)]


def ending(recorded: Recorded, messages: list[Any], **more: Any) -> Ending:
    """Build an ending from what the engine reads."""
    translator, results = read(recorded, messages)
    ours = next((r for r in results if r.prompt_uuid is not None), None)
    told: dict[str, Any] = {"is_error": True}
    if ours is not None:
        names = ("subtype", "terminal_reason", "is_error", "api_error_status")
        told = {"has_result": True, **{name: getattr(ours, name) for name in names}}
    started = translator.agent_started
    return Ending(recorded.resumed, started, recorded.interrupted, **{**told, **more})


def test_every_recording_is_expected_and_the_other_way_round() -> None:
    assert set(EXPECTED) == set(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if case != "resume_stale"])
def test_what_the_engine_reads(case: str) -> None:
    recorded, expected = load(case), EXPECTED[case]
    translator, results = read(recorded, recorded.messages())
    (ours,) = [result for result in results if result.prompt_uuid == recorded.prompt_uuid]
    assert len(results) == expected.results
    assert (ours.subtype, ours.terminal_reason, ours.num_turns) == (expected.subtype, expected.reason, expected.turns)
    assert ours.api_error_status == expected.status
    assert translator.agent_started is expected.started
    assert translator.unknown == 0
    assert classify(ending(recorded, recorded.messages())) is expected.outcome


@pytest.mark.parametrize("case", CASES)
def test_the_public_summary_says_the_same(case: str) -> None:
    recorded, expected = load(case), EXPECTED[case]
    messages = recorded.messages()
    summary = summarise(messages, resumed=recorded.resumed)
    assert summary.outcome is expected.outcome
    assert (summary.subtype, summary.terminal_reason, summary.turns) == (
        expected.subtype,
        expected.reason,
        expected.turns,
    )
    assert summary.session_id == recorded.session_id == session_of(messages)
    assert summary.is_error is (expected.outcome is not Outcome.DONE)


def test_a_stale_id_in_both_shapes() -> None:
    """The SDK raises it, since it comes while the client connects; the wire has it as an error result."""
    recorded = load("resume_stale")
    error = recorded.error()
    assert recorded.raised is not None
    assert str(error) == recorded.raised["message"]
    assert classify(ending_of([], resumed=True, failure=error)) is Outcome.FAILED_RESUME
    assert classify(ending_of(recorded.messages(), resumed=True)) is Outcome.FAILED_RESUME
    assert classify(ending_of([], resumed=False, failure=error)) is not Outcome.FAILED_RESUME
    _, (result,) = read(recorded, recorded.messages())
    assert result.errors == (f"No conversation found with session ID: {recorded.session_id}",)


def test_the_ghost_is_nobodys_and_comes_first() -> None:
    recorded = load("resume_ghost")
    _, (ghost, ours) = read(recorded, recorded.messages())
    assert (ghost.prompt_uuid, ghost.num_turns, ghost.text) == (None, 0, "")
    assert ours.prompt_uuid == recorded.prompt_uuid
    (message, _) = filter(is_result, recorded.messages())
    assert message.origin == {"kind": "task-notification"}
    assert summarise([message], resumed=True).subtype is None, "a ghost alone is no result"


@pytest.mark.parametrize("case", CASES)
def test_a_stream_cut_anywhere_is_a_failed_resume_only_before_the_agent_spoke(case: str) -> None:
    recorded = replace(load(case), interrupted=False)
    messages = recorded.messages()
    last = next(place for place, message in reversed(list(enumerate(messages))) if is_result(message))
    for length in range(last + 1):
        cut = messages[:length]
        gave_up = classify(ending(recorded, cut, exit_code=1))
        spoke = any(map(is_answer, cut))
        assert gave_up is (Outcome.FAILED_RESUME if recorded.resumed and not spoke else Outcome.CRASHED)
        failure = ProcessError("Command failed with exit code 1", exit_code=1)
        assert gave_up is classify(ending_of(cut, resumed=recorded.resumed, failure=failure))
        for code in (None, -9, 143):
            outcome = classify(ending(recorded, cut, exit_code=code))
            assert outcome is Outcome.CRASHED, "a process that was killed says nothing about its session"


def test_nothing_of_the_recording_machine_is_kept() -> None:
    for case in CASES:
        places = re.findall(r"['\"\s](/\w[^'\"\s]*)", str(load(case).wire))
        assert {place for place in places if not place.startswith("/ticket")} == set(), case
