"""What scripted agents do with a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from supervisor.engine.agent import Failure
from tests.engine.fake_session import Gone

if TYPE_CHECKING:
    from supervisor.engine.agent import ToolRequest
    from tests.engine.fake_session import Act, FakeSession


def finish(cost: float = 0.1, **more: Any) -> Act:
    """The agent does what it was asked and says so."""

    async def act(session: FakeSession, uuid: str) -> None:
        await session.finish(uuid, cost, **more)

    return act


def report(subtype: str, reason: str | None, cost: float = 0.1, *, speaks: bool = True, **more: Any) -> Act:
    """The turn ends with another result."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        if speaks:
            session.speak()
        session.result(uuid, subtype, reason, cost, **more)

    return act


def limit() -> Act:
    """The turn reaches its budget."""
    return report("error_max_budget_usd", "budget_exhausted")


def overloaded(status: int = 529) -> Act:
    """The API gives no answer; the CLI gives up."""
    return report("success", "api_error", 0.0, speaks=False, is_error=True, num_turns=0, api_error_status=status)


def crash(exit_code: int | None = -9, *, tokens: int = 0, speaks: bool = True) -> Act:
    """The process ends in the middle of the turn."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        if speaks:
            session.speak(tokens=tokens)
        raise Gone(Failure(f"exit code {exit_code}", exit_code=exit_code))

    return act


def hang(then: Act | None = None, *, tokens: int = 0) -> Act:
    """Work until interrupted; the turn is then aborted, or ends as ``then`` does."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak(tokens=tokens)
        await session.interrupted.wait()
        if then is not None:
            await then(session, uuid)
        else:
            session.result(uuid, "error_during_execution", "aborted_streaming", 0.01)

    return act


def deaf(tokens: int = 0) -> Act:
    """Work for ever: an interrupt is not heard."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak(tokens=tokens)
        await anyio.sleep_forever()

    return act


def unbegun() -> Act:
    """Leave the prompt in the queue: an interrupt drops it, and no result follows."""

    async def act(session: FakeSession, uuid: str) -> None:
        await session.interrupted.wait()

    return act


def asks(*requests: ToolRequest, then: Act | None = None) -> Act:
    """Ask for tools, all at once. Interrupted or stopped, the turn is aborted; else it goes on as ``then``."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak()
        answers = await session.ask(*requests)
        if answers is None or any(answer.stop for answer in answers):
            session.result(uuid, "error_during_execution", "aborted_tools", 0.01)
        elif then is not None:
            await then(session, uuid)
        else:
            await session.finish(uuid)

    return act
