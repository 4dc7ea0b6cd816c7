"""Tool requests between the SDK and whom we ask: the CLI's question in our words, and our answer in the SDK's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from supervisor.engine import tool_rules
from supervisor.engine.agent import EXIT_PLAN_MODE, ToolRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.engine.agent import SessionStart, ToolAsker
    from supervisor.engine.tool_rules import Rule
    from supervisor.engine.translate import Translator


class ToolRequests:
    """Answers the tool requests of one session."""

    def __init__(
        self, sdk: Any, start: SessionStart, asker: ToolAsker, translator: Translator, told: Callable[[str], None]
    ) -> None:
        """Make an answerer.

        Args:
            sdk: the SDK's module.
            start: of the session.
            asker: who is asked.
            translator: of the session's messages; it is told of calls that were given up or denied, and of the mode
                that follows.
            told: takes a line about what went wrong.
        """
        self._sdk = sdk
        self._start = start
        self._asker = asker
        self._translator = translator
        self._told = told

    async def may_use(self, tool: str, given: dict[str, Any], context: Any) -> Any:
        """Answer the CLI, which waits for it as long as it takes. What goes wrong here costs one call, not the turn."""
        sdk = self._sdk
        try:
            rules = tool_rules.suggested(tool, context.suggestions)
            answer = await self._asker.ask(self._request(tool, given, context, rules))
        except anyio.get_cancelled_exc_class():
            self._translator.given_up.add(context.tool_use_id)
            raise
        except Exception as error:
            self._told(f"tool request: {type(error).__name__}: {error}")
            return sdk.PermissionResultDeny(message="Nothing was done: the operator could not be asked.")
        if not answer.allowed:
            if answer.stop:
                self._translator.denied.add(context.tool_use_id)
            return sdk.PermissionResultDeny(message=answer.message, interrupt=answer.stop)
        if tool == EXIT_PLAN_MODE:
            self._translator.mode = "default"
        updates = self._updates(tool, rules) if answer.for_session else None
        return sdk.PermissionResultAllow(updated_input=dict(answer.input or given), updated_permissions=updates)

    def _request(self, tool: str, given: dict[str, Any], context: Any, rules: tuple[Rule, ...]) -> ToolRequest:
        return ToolRequest(
            tool=tool,
            input=given,
            tool_use_id=context.tool_use_id or "",
            reason=context.decision_reason or "",
            rules=tuple(map(str, rules)),
            agent=context.agent_id,
            planning=(self._translator.mode or self._start.permission_mode) == "plan",
        )

    def _updates(self, tool: str, rules: tuple[Rule, ...]) -> list[Any]:
        """Return what is allowed until the session ends: any other place would write into the worktree's settings."""
        sdk = self._sdk
        if tool == EXIT_PLAN_MODE:
            return [sdk.PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")]
        values = [sdk.types.PermissionRuleValue(rule.tool, rule.content) for rule in rules]
        return [sdk.PermissionUpdate(type="addRules", rules=values, behavior="allow", destination="session")]
