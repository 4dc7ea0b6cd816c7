"""``run_resuming``: one fallback, only for a resume that failed, and nothing lost on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    CLIConnectionError,
    CLIJSONDecodeError,
    CLINotFoundError,
    ProcessError,
    ResultError,
    ResultMessage,
    SystemMessage,
    TextBlock,
)

from supervisor import OptionsError, Outcome, ResumingRun, run_resuming, summarise
from tests.recorded.load import CASES, load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio

OLD = "3f6c1b2a-9d4e-4c7b-8a1f-0e2d5c6b7a89"
NEW = "8d0e7a41-52c3-4f9b-b6e2-1a7c9d3f5e60"
RESUME = ClaudeAgentOptions(resume=OLD)


def spoken(text: str = "hm", **more: Any) -> AssistantMessage:
    return AssistantMessage([TextBlock(text)], model="m", **more)


def ended(subtype: str = "success", reason: str | None = "completed", session: str = NEW, **more: Any) -> ResultMessage:
    usual: dict[str, Any] = {"is_error": subtype != "success", "num_turns": 1, "duration_ms": 1, "duration_api_ms": 1}
    return ResultMessage(subtype=subtype, session_id=session, terminal_reason=reason, **usual | more)


def stale() -> ResultError:
    words = f"No conversation found with session ID: {OLD}"
    data = {"subtype": "error_during_execution", "errors": [words], "session_id": OLD}
    return ResultError(f"Claude Code returned an error result: {words}", data, exit_code=1)


GOOD = (spoken(), ended())


class Script:
    """A ``query`` function that plays one list of messages and exceptions for each call. Takes keywords only."""

    def __init__(self, *calls: tuple[object, ...]) -> None:
        self._calls = list(calls)
        self.options: list[ClaudeAgentOptions] = []
        self.prompts: list[object] = []

    async def __call__(self, *, prompt: Any, options: ClaudeAgentOptions) -> AsyncIterator[Any]:
        self.prompts.append(prompt)
        self.options.append(options)
        for item in self._calls.pop(0):
            if isinstance(item, BaseException):
                raise item
            yield item


async def test_the_lessons_sample_prints_its_published_output() -> None:
    ticket, store = "001-discount-rounding", {"001-discount-rounding": OLD}

    async def scripted(prompt: str, options: ClaudeAgentOptions) -> AsyncIterator[Any]:
        if options.resume == OLD:
            raise stale()
        yield spoken("Reading the ticket again from the start.")
        yield ended()

    options = ClaudeAgentOptions(cwd="/work/tinyshop", resume=store[ticket])
    run = await run_resuming("Fix ticket 001.", options, scripted)
    lines = [f"attempt {n}: resume={a.resume} -> {a.outcome}" for n, a in enumerate(run.attempts, 1)]
    store[ticket] = run.messages[-1].session_id
    lines += [f"result: {run.messages[-1].subtype} new session: {store[ticket]}", f"store now: {store}"]
    assert lines == [
        f"attempt 1: resume={OLD} -> ResultError: Claude Code returned an error result: "
        f"No conversation found with session ID: {OLD} (exit code: 1)",
        "attempt 2: resume=None -> ran",
        f"result: success new session: {NEW}",
        f"store now: {{'001-discount-rounding': '{NEW}'}}",
    ]


async def test_a_good_resume_is_one_attempt_and_the_options_are_passed_on_as_they_are() -> None:
    script = Script(GOOD)
    run = await run_resuming("go", RESUME, script)
    assert [(a.resume, a.outcome, a.meaning) for a in run.attempts] == [(OLD, "ran", Outcome.DONE)]
    assert run.messages == GOOD
    assert run.resumed
    assert script.options[0] is RESUME
    assert script.prompts == ["go"]


@pytest.mark.parametrize(
    "first",
    [
        (stale(),),
        (SystemMessage("init", {"session_id": OLD}), stale()),
        (ended("error_during_execution", None, OLD, num_turns=0, errors=["No conversation found"]),),
        (ended("error_during_execution", None, OLD, num_turns=0), stale()),
        (spoken("API Error", error="unknown"), ended("error_during_execution", None)),
        (spoken(parent_tool_use_id="toolu_1"), ended("error_during_execution", None)),
        (ProcessError("Command failed with exit code 1", exit_code=1),),
    ],
    ids=lambda first: "-".join(type(item).__name__ for item in first),
)
async def test_a_failed_resume_is_tried_once_more_in_a_fresh_session(first: tuple[object, ...]) -> None:
    options = replace(RESUME, max_turns=3)
    script = Script(first, GOOD)
    run = await run_resuming("go", options, script)
    assert [a.resume for a in run.attempts] == [OLD, None]
    assert [a.meaning for a in run.attempts] == [Outcome.FAILED_RESUME, Outcome.DONE]
    assert run.messages == GOOD, "only what the fresh session said"
    assert not run.resumed
    assert script.options[1] == replace(options, resume=None)
    assert options == replace(RESUME, max_turns=3), "the caller's options are as they were"


RETURNED = [
    (ended("success", "api_error", is_error=True, api_error_status=529), Outcome.API_ERROR),
    (ended("error_max_budget_usd", "budget_exhausted"), Outcome.LIMIT),
    (ended("error_max_turns", "max_turns"), Outcome.LIMIT),
    (ended("error_during_execution", "aborted_streaming"), Outcome.INTERRUPTED),
    (ended("success", None, num_turns=0), Outcome.FAILED_RUN),
]


@pytest.mark.parametrize(("result", "meaning"), RETURNED, ids=lambda value: getattr(value, "terminal_reason", None))
async def test_no_other_result_is_tried_again(result: ResultMessage, meaning: Outcome) -> None:
    run = await run_resuming("go", RESUME, Script((result,)))
    assert [a.meaning for a in run.attempts] == [meaning]
    assert run.messages == (result,)


def _unstarted(cause: OSError) -> CLIConnectionError:
    error = CLIConnectionError(f"Failed to start Claude Code: {cause}")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        CLIConnectionError("Working directory does not exist: /nowhere"),
        CLINotFoundError("Claude Code not found at: /nowhere"),
        _unstarted(NotADirectoryError(20, "Not a directory")),
        _unstarted(OSError(7, "Argument list too long")),
        FileNotFoundError(2, "No such file or directory"),
        ValueError("session_store needs an append method"),
        TypeError("unexpected keyword argument"),
        RuntimeError("a bug of the caller's"),
        CLIConnectionError("Failed to write to process stdin"),
        CLIJSONDecodeError("{", ValueError("too long")),
        ProcessError("Command failed", exit_code=-9),
        ProcessError("Command failed", exit_code=143),
        ResultError("overloaded", {"subtype": "success", "terminal_reason": "api_error"}, exit_code=1),
    ],
    ids=lambda error: str(error)[:30],
)
async def test_what_a_fresh_session_would_not_mend_is_raised_as_it_came(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        await run_resuming("go", RESUME, Script((error,)))
    assert raised.value is error
    run = ResumingRun.of(error)
    assert run is not None
    assert [a.outcome for a in run.attempts] == [f"{type(error).__name__}: {error}"]


async def test_a_run_that_had_begun_is_never_begun_again() -> None:
    error = ProcessError("Command failed with exit code 1", exit_code=1)
    script = Script((SystemMessage("init", {"session_id": OLD}), spoken(), error))
    with pytest.raises(ProcessError) as raised:
        await run_resuming("go", RESUME, script)
    run = ResumingRun.of(raised.value)
    assert run is not None
    assert [a.meaning for a in run.attempts] == [Outcome.CRASHED]
    assert summarise(run.messages).session_id == OLD, "the session to resume is not lost with it"


async def test_an_error_result_is_returned_although_query_raises_after_it() -> None:
    result = ended("error_max_turns", "max_turns", OLD, errors=["Reached maximum number of turns (2)"])
    error = ResultError("Claude Code returned an error result: Reached maximum number of turns (2)", exit_code=1)
    run = await run_resuming("go", RESUME, Script((spoken(), result, error)))
    assert run.messages[-1] is result
    assert [(a.outcome, a.meaning) for a in run.attempts] == [(f"ResultError: {error}", Outcome.LIMIT)]
    run = await run_resuming("go", RESUME, Script((spoken(), result)))
    assert run.attempts[0].outcome == "error_max_turns: Reached maximum number of turns (2)"


async def test_a_stream_that_just_ends_is_a_crash() -> None:
    run = await run_resuming("go", RESUME, Script(()))
    assert [(a.outcome, a.meaning) for a in run.attempts] == [("ended without a result", Outcome.CRASHED)]
    assert (run.messages, run.result) == ((), None)


async def test_a_bug_after_the_result_is_not_swallowed() -> None:
    with pytest.raises(KeyError):
        await run_resuming("go", RESUME, Script((*GOOD, KeyError("x"))))


async def test_when_the_fresh_session_fails_too_its_failure_is_raised_with_the_first_as_a_note() -> None:
    error = ProcessError("Command failed with exit code 1", exit_code=1)
    with pytest.raises(ProcessError) as raised:
        await run_resuming("go", RESUME, Script((stale(),), (error,)))
    assert raised.value is error
    assert raised.value.__notes__ == [f"attempt 1: resume={OLD} -> ResultError: {stale()}"]
    run = ResumingRun.of(error)
    assert run is not None
    assert [a.meaning for a in run.attempts] == [Outcome.FAILED_RESUME, Outcome.CRASHED]


async def test_a_fresh_start_that_fails_is_not_tried_again() -> None:
    with pytest.raises(RuntimeError):
        await run_resuming("go", ClaudeAgentOptions(), Script((RuntimeError("boom"),)))
    run = await run_resuming("go", ClaudeAgentOptions(), Script((ended("error_during_execution", None),)))
    assert [(a.resume, a.meaning) for a in run.attempts] == [(None, Outcome.FAILED_RUN)]


@pytest.mark.parametrize("case", CASES)
async def test_recorded_calls(case: str) -> None:
    recorded = load(case)
    options = ClaudeAgentOptions(resume=recorded.session_id if recorded.resumed else None)
    is_stale = case == "resume_stale"
    calls = [recorded.play(yields=not is_stale), load("success").play()]
    run = await run_resuming("go", options, lambda prompt, options: calls.pop(0))
    assert len(run.attempts) == (2 if is_stale else 1)
    assert run.resumed is (recorded.resumed and not is_stale)
    if not recorded.interrupted:
        assert (run.attempts[0].outcome == "ran") is (recorded.raised is None)
    assert run.result is not None
    assert run.result.session_id == load("success" if is_stale else case).session_id


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (ClaudeAgentOptions(continue_conversation=True), "continue_conversation"),
        (ClaudeAgentOptions(session_id="ticket-001"), "session_id"),
        (ClaudeAgentOptions(session_id=NEW.replace("-", "")), "session_id"),
        (ClaudeAgentOptions(session_id=NEW, resume=OLD), "session_id"),
    ],
)
async def test_options_that_cannot_work_are_refused_before_anything_starts(
    options: ClaudeAgentOptions, option: str
) -> None:
    script = Script(GOOD)
    with pytest.raises(OptionsError, match=option) as refused:
        await run_resuming("go", options, script)
    assert refused.value.option == option
    assert script.options == []


async def test_a_fork_that_fails_begins_afresh_under_the_id_that_was_chosen() -> None:
    options = replace(RESUME, fork_session=True, session_id=NEW, resume_session_at=OLD, resume_drops_turn=OLD)
    script = Script((stale(),), GOOD)
    await run_resuming("go", options, script)
    assert script.options == [options, ClaudeAgentOptions(session_id=NEW)]


async def test_a_stream_of_prompts_is_given_to_the_fresh_session_from_its_beginning() -> None:
    async def stream() -> AsyncIterator[dict[str, Any]]:
        yield {"n": 1}
        yield {"n": 2}

    heard: list[list[int]] = []

    async def listening(*, prompt: Any, options: ClaudeAgentOptions) -> AsyncIterator[Any]:
        heard.append([])
        async for message in prompt:
            heard[-1].append(message["n"])
            if options.resume:
                raise stale()
        for message in GOOD:
            yield message

    await run_resuming(stream(), RESUME, listening)
    assert heard == [[1], [1, 2]]


async def test_a_cancelled_run_stays_cancelled() -> None:
    async def hanging(*, prompt: Any, options: ClaudeAgentOptions) -> AsyncIterator[Any]:
        scope.cancel()
        await anyio.sleep_forever()
        yield

    with anyio.CancelScope() as scope:
        await run_resuming("go", RESUME, hanging)
    assert scope.cancelled_caught
