"""The public ``run_resuming``: one call of the SDK's ``query`` that goes on in a session, or begins a fresh one once.

The rule is the engine's own, ``core.resume.classify``; this is it for programs that have no batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from supervisor.core.errors import SupervisorError
from supervisor.core.model import Outcome
from supervisor.core.resume import classify
from supervisor.core.sessions import ending_of, is_session_id, last_result
from supervisor.engine.untrusted import bounded, listed

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator

    from claude_agent_sdk import ClaudeAgentOptions, Message, ResultMessage

    Prompt = str | AsyncIterable[dict[str, Any]]

RAN = "ran"


class OptionsError(SupervisorError, ValueError):
    """Options that cannot work, or would work on the wrong session; found before anything is started.

    Attributes:
        option: the field of ``ClaudeAgentOptions`` that has to change.
    """

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option = option


class QueryFn(Protocol):
    """What ``run_resuming`` calls: the SDK's ``query``, or anything like it. Always called with keywords."""

    def __call__(self, *, prompt: Any, options: Any) -> AsyncIterator[Any]:
        """Return the messages of one call."""
        ...


@dataclass(frozen=True, slots=True)
class ResumeAttempt:
    """One call of the ``query`` function."""

    resume: str | None
    """The session it was told to resume; None for a fresh one."""
    outcome: str
    """In words: ``ran``, or what was raised (``ResultError: …``), or what the error result says."""
    meaning: Outcome
    """What the ending means, by the same rule as the engine's."""


@dataclass(frozen=True, slots=True)
class ResumingRun:
    """What came of ``run_resuming``."""

    attempts: tuple[ResumeAttempt, ...]
    """One, or two when the resume failed."""
    messages: tuple[Message, ...]
    """Everything the last attempt yielded; the session id to store is in its result."""

    @property
    def result(self) -> ResultMessage | None:
        """The last result that is no ghost: mostly, not always, the last message. None after a crash."""
        return cast("ResultMessage | None", last_result(self.messages))

    @property
    def resumed(self) -> bool:
        """Whether the session really went on: only then is its previous cost to be subtracted."""
        return self.attempts[-1].resume is not None

    @staticmethod
    def of(error: BaseException) -> ResumingRun | None:
        """Return the run that ended with this exception, or None: what it had yielded still names its session."""
        run = getattr(error, "_resuming_run", None)
        return run if isinstance(run, ResumingRun) else None


def query(*, prompt: Prompt, options: ClaudeAgentOptions) -> AsyncIterator[Message]:
    """The SDK's ``query``, which is imported here, on the first call: it takes most of a second."""
    from claude_agent_sdk import query as sdk_query

    return sdk_query(prompt=prompt, options=options)


async def run_resuming(prompt: Prompt, options: ClaudeAgentOptions, query_fn: QueryFn = query) -> ResumingRun:
    """Run a prompt in the session that ``options.resume`` names, or in a fresh one if that resume fails.

    A failure before the agent's first own message, whether the CLI left with an error or returned an error result, is a
    failed resume; it is tried once more without ``resume``. Position decides, since the shape is undocumented. (Seen
    with SDK 0.2.189: no message, and a ``ResultError`` that says "No conversation found with session ID".) What a
    subagent says, and what the CLI says about an API error, is no message of the agent's own.

    Nothing else is tried again: a run that had begun would be paid for twice; a CLI that was killed says nothing about
    the session; and limits, API errors, interrupts and mistakes of the call itself (no working directory, no CLI, wrong
    arguments) meet a fresh session just the same.

    A single-shot ``query()`` yields an error result and then raises; the raise is intentional. Here such a run is
    returned, with the result as its last message: it holds the session id that is needed to resume with a higher
    limit. Look at ``attempts[-1].meaning``, or give the messages to ``summarise``. What ends without a result is
    raised as it came, with an earlier attempt as its note; ``ResumingRun.of(error)`` has the messages until then.

    Args:
        prompt: as for ``query``. What the failed resume had taken of a stream is given to the fresh session again.
        options: never changed. With ``fork_session`` a failed resume has nothing to fork, and the fresh session takes
            ``session_id`` if one is given; ``resume_session_at`` and ``resume_drops_turn`` are for the resume only.
        query_fn: called with the keywords ``prompt`` and ``options``.

    Raises:
        OptionsError: ``continue_conversation`` is set; ``session_id`` is no UUID, or stands beside ``resume`` without
            ``fork_session``.
        Exception: whatever the last attempt raised before it had a result, and what is no error of the SDK's.
    """
    _check(options)
    said = prompt if isinstance(prompt, str) else _Repeatable(prompt)
    attempts: tuple[ResumeAttempt, ...] = ()
    for chosen in (options, _afresh(options)):
        attempt, messages, error = await _attempt(said, chosen, query_fn)
        attempts = (*attempts, attempt)
        if attempt.meaning is not Outcome.FAILED_RESUME:
            break
    run = ResumingRun(attempts, messages)
    if error is not None and not (last_result(messages) and _is_the_sdks(error)):
        raise _with_run(error, run)
    return run


def _check(options: ClaudeAgentOptions) -> None:
    if options.continue_conversation:
        words = "the latest session of the directory may be another ticket's; give the stored id to resume instead"
        raise OptionsError("continue_conversation", words)
    if options.session_id is None:
        return
    if not is_session_id(options.session_id):
        raise OptionsError("session_id", f"{options.session_id!r} is not a valid UUID; uuid.uuid5 makes one of a name")
    if options.resume and not options.fork_session:
        raise OptionsError("session_id", "a resumed session keeps its own; set fork_session, or leave one out")


def _afresh(options: ClaudeAgentOptions) -> ClaudeAgentOptions:
    """What only makes sense beside ``resume`` goes with it: the CLI refuses ``resume_session_at`` alone."""
    return replace(options, resume=None, fork_session=False, resume_session_at=None, resume_drops_turn=None)


async def _attempt(
    prompt: Prompt, options: ClaudeAgentOptions, query_fn: QueryFn
) -> tuple[ResumeAttempt, tuple[Message, ...], Exception | None]:
    messages: list[Message] = []
    error: Exception | None = None
    try:
        async for message in query_fn(prompt=prompt, options=options):
            messages.append(message)  # noqa: PERF401 - what came before an exception counts
    except Exception as raised:
        error = raised
    mistake = error is not None and _is_own_mistake(error)
    ending = ending_of(messages, resumed=bool(options.resume), failure=error, own_mistake=mistake)
    return ResumeAttempt(options.resume or None, _words(messages, error), classify(ending)), tuple(messages), error


def _words(messages: list[Message], error: Exception | None) -> str:
    if error is not None:
        return f"{type(error).__name__}: {error}"
    result = last_result(messages)
    if result is None:
        return "ended without a result"
    if not result.is_error:
        return RAN
    errors = "; ".join(bounded(error) for error in listed(result.errors, 100))
    return f"{bounded(result.subtype)}: {errors or bounded(result.result)}"


def _is_own_mistake(error: Exception) -> bool:
    """The call itself is wrong, so a fresh session would fail the same way.

    The SDK refuses bad options with ValueError, and names what kept the CLI from being started as the cause of its
    CLIConnectionError. A broken pipe is an OSError too, but means that the CLI had been started and went away.
    """
    if isinstance(error, TypeError | ValueError) or type(error).__name__ == "CLINotFoundError":
        return True
    system = (e for e in (error, error.__cause__) if isinstance(e, OSError))
    if any(not isinstance(e, ConnectionError | TimeoutError) for e in system):
        return True
    return "Working directory does not exist" in str(error)


def _is_the_sdks(error: Exception) -> bool:
    from claude_agent_sdk import ClaudeSDKError

    return isinstance(error, ClaudeSDKError)


def _with_run(error: Exception, run: ResumingRun) -> Exception:
    for number, attempt in enumerate(run.attempts[:-1], 1):
        error.add_note(f"attempt {number}: resume={attempt.resume} -> {attempt.outcome}")
    error._resuming_run = run  # type: ignore[attr-defined]  # read by ResumingRun.of
    return error


class _Repeatable:
    """A stream of prompts that a second reader gets from its beginning, too."""

    def __init__(self, source: AsyncIterable[dict[str, Any]]) -> None:
        self._rest = aiter(source)
        self._taken: list[dict[str, Any]] = []

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        for message in tuple(self._taken):
            yield message
        async for message in self._rest:
            self._taken.append(message)
            yield message
