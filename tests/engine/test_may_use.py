"""What the adapter makes of the CLI's tool requests and of our answers, without any process."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from claude_agent_sdk import (
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
    ToolResultBlock,
    UserMessage,
)
from claude_agent_sdk.types import PermissionRuleValue

from supervisor.core.events import ToolReturned, TurnEnded
from supervisor.engine.agent import Permission, SessionStart, ToolRequest
from supervisor.engine.session import load_sdk
from supervisor.engine.stopped import CUT_OFF, WITHDRAWN
from supervisor.engine.tool_requests import ToolRequests
from supervisor.engine.translate import Translator

pytestmark = pytest.mark.anyio
RULE = PermissionUpdate(
    type="addRules", rules=[PermissionRuleValue("Bash", "ls *")], behavior="allow", destination="localSettings"
)


class Asker:
    """Answers with what it was given, or never."""

    def __init__(self, *answers: Permission | Exception | None) -> None:
        self.answers = list(answers)
        self.requests: list[ToolRequest] = []
        self.waits = anyio.Event()

    async def ask(self, request: ToolRequest) -> Permission:
        """Return the next answer."""
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            self.waits.set()
            await anyio.sleep_forever()
        assert answer is not None
        return answer


class Side:
    """The adapter's side of tool requests, whose session is never connected."""

    def __init__(self, asker: Asker, mode: str = "default") -> None:
        start = SessionStart("001", 1, Path(), Path("cli"), "s1", permission_mode=mode)
        self.translator = Translator("001", 1, "s1", lambda: 1.0)
        self.told: list[str] = []
        self.may_use = ToolRequests(load_sdk(), start, asker, self.translator, self.told.append).may_use


def _context(*suggestions: PermissionUpdate, **more: Any) -> ToolPermissionContext:
    return ToolPermissionContext(suggestions=list(suggestions), tool_use_id="t1", **more)


async def test_answers_in_the_words_of_the_sdk() -> None:
    asker = Asker(
        Permission(True),
        Permission(True, input={"command": "ls", "answers": {}}),
        Permission(True, for_session=True),
        Permission(False, "No."),
        Permission(False, "No.", stop=True),
    )
    side = Side(asker)
    context = _context(RULE, decision_reason="it reads", agent_id="sub")
    given = {"command": "ls"}
    answers = [await side.may_use("Bash", given, context) for _ in range(5)]
    assert answers[0] == PermissionResultAllow(updated_input=given)
    assert answers[1] == PermissionResultAllow(updated_input={"command": "ls", "answers": {}})
    (update,) = answers[2].updated_permissions
    assert update.to_dict() == {**RULE.to_dict(), "destination": "session"}, "never into a file of the worktree"
    assert answers[3:] == [PermissionResultDeny(message="No."), PermissionResultDeny(message="No.", interrupt=True)]
    assert asker.requests[0] == ToolRequest("Bash", given, "t1", "it reads", ("Bash(ls *)",), "sub")


async def test_a_fault_of_ours_costs_one_call() -> None:
    side = Side(Asker(RuntimeError("boom"), Permission(True)))
    denied = await side.may_use("Bash", {}, _context())
    assert isinstance(denied, PermissionResultDeny)
    assert not denied.interrupt
    assert "boom" in side.told[0]
    assert isinstance(await side.may_use("Bash", {}, _context()), PermissionResultAllow)


async def test_an_approved_plan_ends_plan_mode() -> None:
    asker = Asker(Permission(True), Permission(False), Permission(True, for_session=True), Permission(True))
    side = Side(asker, "plan")
    await side.may_use("Bash", {}, _context())
    await side.may_use("ExitPlanMode", {}, _context())
    approved = await side.may_use("ExitPlanMode", {}, _context())
    await side.may_use("Write", {}, _context())
    assert [r.planning for r in asker.requests] == [True, True, True, False]
    (update,) = approved.updated_permissions
    assert update.to_dict() == {"type": "setMode", "destination": "session", "mode": "acceptEdits"}
    list(side.translator.translate(SimpleNamespace(subtype="status", data={"permissionMode": "plan"})))
    asker.answers.append(Permission(True))
    await side.may_use("Write", {}, _context())
    assert asker.requests[-1].planning, "the agent may go back to planning by itself"


async def test_a_call_that_was_given_up_was_not_denied() -> None:
    asker = Asker(None)
    side = Side(asker)
    async with anyio.create_task_group() as group:
        group.start_soon(side.may_use, "Bash", {}, _context())
        await asker.waits.wait()
        group.cancel_scope.cancel()
    denials = [{"tool_name": "Bash", "tool_use_id": ident, "tool_input": {"command": ident}} for ident in ("t1", "t2")]
    message = SimpleNamespace(
        permission_denials=denials,
        user_message_uuid=None, user_message_uuids=None, origin=None, is_error=True, num_turns=1, total_cost_usd=0.0,
        session_id="s1", subtype="error_during_execution", terminal_reason="aborted_tools", api_error_status=None,
        errors=None, result=None, model_usage=None,
    )  # fmt: skip
    (ended,) = [e for e in side.translator._result(message) if isinstance(e, TurnEnded)]
    assert ended.denials == ("Bash t2",)


REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)
RAN = f"{REFUSED} Correction to the text above: this call was stopped while running, not refused before it ran."


async def test_what_a_stop_took_back_was_refused_by_nobody() -> None:
    side = Side(Asker(Permission(False, "No.", stop=True)))
    await side.may_use("Bash", {}, _context())
    blocks: list[Any] = [
        ToolResultBlock("t1", REFUSED, is_error=True),
        ToolResultBlock("t2", REFUSED, is_error=True),
        ToolResultBlock("t3", RAN, is_error=True),
        ToolResultBlock("t4", REFUSED),
    ]
    events = side.translator.translate(UserMessage(blocks))
    assert [e.text for e in events if isinstance(e, ToolReturned)] == [REFUSED, WITHDRAWN, CUT_OFF, REFUSED]
