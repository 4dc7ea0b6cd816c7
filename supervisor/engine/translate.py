"""SDK messages to events of ours, by the names of their classes, so that this module needs no SDK.

One ``Translator`` lives as long as a client. It is cheap (it runs for every message of every ticket), never raises for
a message it does not understand, and bounds and cleans all text at the door.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from supervisor.core import events as ev
from supervisor.core.budget import CostMeter, UsageMeter
from supervisor.store.codec import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT_CHARS = 20_000
"""Most characters of one text, input or result that travel on; the session's own file has the rest."""
_HUGE = 1e15
_QUIET = frozenset(
    {
        "background_tasks_changed",
        "files_persisted",
        "hook_response",
        "hook_started",
        "init",
        "session_state_changed",
        "status",
        "task_notification",
        "task_progress",
        "task_started",
        "task_updated",
        "thinking_tokens",
    }
)
"""System subtypes that say nothing an operator would miss."""
_TELLING = ("file_path", "notebook_path", "command", "pattern", "path", "url", "query", "description", "prompt")
"""Input fields of tools, most telling first."""


def bounded(text: object, limit: int = TEXT_CHARS) -> str:
    """Return any value as text that can be stored: cut, and without lone surrogates and NULs."""
    words = text if isinstance(text, str) else "" if text is None else str(text)
    return clean(words if len(words) <= limit else f"{words[:limit]}\n… {len(words) - limit} more characters")


class Translator:
    """Translates the messages of one connected client."""

    def __init__(self, ticket: str, attempt: int, session_id: str, clock: Callable[[], float]) -> None:
        self._ticket = ticket
        self._attempt = attempt
        self._session_id = session_id
        self._clock = clock
        self.meter = CostMeter()
        self.usage = UsageMeter()
        self.agent_started = False
        """A real assistant message arrived: no ``error``, not a subagent's."""
        self.prompt_uuid: str | None = None
        """The prompt sent last; only a result that names it is ours."""
        self.answered = False
        """That prompt has had its result."""
        self.unknown = 0
        self._strange_kinds: set[str] = set()

    def expect(self, prompt_uuid: str) -> None:
        """A prompt is about to be sent."""
        self.prompt_uuid, self.answered = prompt_uuid, False

    def translate(self, message: object) -> Iterator[ev.Event]:
        """Yield what a message means, usually one or two events."""
        handler = _HANDLERS.get(type(message).__name__)
        if handler is None:
            handler = Translator._system if hasattr(message, "subtype") else Translator._strange
        yield from handler(self, message)

    def _strange(self, message: object) -> Iterator[ev.Event]:
        yield from self._unknown(f"message {type(message).__name__}")

    def _unknown(self, kind: str) -> Iterator[ev.Event]:
        """Count a message of a kind we do not know; say so once for each kind."""
        self.unknown += 1
        if kind not in self._strange_kinds:
            self._strange_kinds.add(kind)
            yield self.note(f"unknown {kind}")

    def note(self, text: str, *, is_error: bool = False) -> ev.Noted:
        """Return a system note for the transcript."""
        return ev.Noted(self._ticket, self._clock(), text=bounded(text, 1000), is_error=is_error)

    def _assistant(self, message: Any) -> Iterator[ev.Event]:
        at, nested = self._clock(), message.parent_tool_use_id is not None
        if message.error:
            yield self.note(f"API error: {message.error}", is_error=True)
            return
        if not nested:
            self.agent_started = True
        if message.message_id and message.usage:
            self.usage.see(message.message_id, message.model, message.usage)
        for block in message.content:
            yield from self._block(at, block, nested)

    def _block(self, at: float, block: Any, nested: bool) -> Iterator[ev.Event]:
        match type(block).__name__:
            case "TextBlock":
                if block.text.strip():
                    yield ev.AgentSpoke(self._ticket, at, text=bounded(block.text), nested=nested)
            case "ThinkingBlock":
                yield ev.AgentSpoke(self._ticket, at, text=bounded(block.thinking), nested=nested, thinking=True)
            case "ToolUseBlock" | "ServerToolUseBlock":
                summary, detail = describe_input(block.input)
                yield ev.ToolCalled(self._ticket, at, block.id, bounded(block.name, 200), summary, detail, nested)
            case "ToolResultBlock" | "ServerToolResultBlock":
                yield self._result_of(at, block, nested)

    def _result_of(self, at: float, block: Any, nested: bool) -> ev.ToolReturned:
        text = bounded(content_text(block.content))
        failed = bool(getattr(block, "is_error", False))
        return ev.ToolReturned(self._ticket, at, block.tool_use_id, text, failed, nested)

    def _user(self, message: Any) -> Iterator[ev.Event]:
        """Only tool results matter: a prompt of ours is echoed when it is taken in, and we have shown it already."""
        if isinstance(message.content, str):
            return
        at, nested = self._clock(), message.parent_tool_use_id is not None
        for block in message.content:
            if type(block).__name__ == "ToolResultBlock":
                yield self._result_of(at, block, nested)

    def _system(self, message: Any) -> Iterator[ev.Event]:
        data: dict[str, Any] = getattr(message, "data", None) or {}
        subtype = message.subtype
        if subtype == "api_retry":
            yield self._retry(data)
        elif subtype == "compact_boundary":
            yield self.note("the conversation was compacted")
        elif subtype == "model_fallback":
            other = data.get("fallback_model") or data.get("model") or "another one"
            yield self.note(f"the model fell back to {other}")
        elif subtype not in _QUIET:
            yield from self._unknown(f"system message {subtype!r}")

    def _retry(self, data: dict[str, Any]) -> ev.Retrying:
        status = data.get("error_status")
        return ev.Retrying(
            self._ticket,
            self._clock(),
            attempt=_int(data.get("attempt")),
            max_retries=_int(data.get("max_retries")),
            delay_s=_int(data.get("retry_delay_ms")) / 1000,
            status=status if isinstance(status, int) else None,
            error=bounded(data.get("error"), 200),
        )

    def _rate_limit(self, message: Any) -> Iterator[ev.Event]:
        info = message.rate_limit_info
        if info.status != "allowed":
            yield self.note(f"rate limit {info.rate_limit_type or ''} {info.status}".replace("  ", " "))

    def _reset(self, message: Any) -> Iterator[ev.Event]:
        self.meter.reset()
        yield self.note("the conversation was reset by the agent's side")

    def _quiet(self, _: object) -> Iterator[ev.Event]:
        return iter(())

    def _result(self, message: Any) -> Iterator[ev.Event]:
        ours = self._is_ours(message)
        self.answered = self.answered or ours
        total = _number(message.total_cost_usd)
        cost = self.meter.turn(total)
        self.usage.settle()
        if message.session_id and message.session_id != self._session_id:
            self._session_id = bounded(message.session_id, 100)
            yield ev.SessionReplaced(self._ticket, self._clock(), number=self._attempt, session_id=self._session_id)
        yield ev.TurnEnded(
            self._ticket,
            self._clock(),
            number=self._attempt,
            prompt_uuid=self.prompt_uuid if ours else None,
            subtype=bounded(message.subtype, 100),
            terminal_reason=bounded(message.terminal_reason, 100) or None,
            is_error=bool(message.is_error),
            num_turns=_int(message.num_turns),
            cost_usd=cost,
            total_cost_usd=total,
            api_error_status=message.api_error_status,
            errors=tuple(bounded(e, 2000) for e in message.errors or ()),
            text=bounded(message.result),
            denials=tuple(bounded(_denied(d), 300) for d in message.permission_denials or ()),
            prices=_figures(message.model_usage),
        )

    def _is_ours(self, message: Any) -> bool:
        """After a resume a ghost may come first: a result of the last process's work that answers no prompt of ours."""
        named = set(message.user_message_uuids or ()) | ({message.user_message_uuid} - {None})
        if named:
            return self.prompt_uuid in named
        return message.origin is None and (message.is_error or _int(message.num_turns) > 0)


def _int(value: object) -> int:
    return int(_number(value) or 0)


def _number(value: object) -> float | None:
    """Return a number; None for anything else, also for one that is not finite or beyond all sense."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_HUGE < value < _HUGE else None


def _figures(model_usage: object) -> dict[str, dict[str, float]] | None:
    """Return the figures of each model; what is no number is left out, None stands for nothing left."""
    models = model_usage.items() if isinstance(model_usage, dict) else ()
    found = {bounded(name, 200): _numbers(use) for name, use in models if isinstance(use, dict)}
    return found or None


def _numbers(use: dict[Any, Any]) -> dict[str, float]:
    numbers = {bounded(kind, 100): _number(value) for kind, value in use.items()}
    return {kind: number for kind, number in numbers.items() if number is not None}


def _denied(denial: object) -> str:
    if isinstance(denial, dict):
        summary, _ = describe_input(denial.get("tool_input"))
        return f"{denial.get('tool_name', '?')} {summary}".rstrip()
    return str(denial)


def describe_input(value: object) -> tuple[str, str]:
    """Return a tool input's one telling value, and the whole input as indented JSON."""
    if not isinstance(value, dict):
        return "", bounded(value)
    telling = next((value[k] for k in _TELLING if isinstance(value.get(k), str) and value[k]), "")
    first_line = telling.strip().split("\n", 1)[0] if telling else ""
    return bounded(first_line, 300), bounded(json.dumps(value, ensure_ascii=False, indent=1, default=str))


def content_text(content: object) -> str:
    """Return the text of a tool result: a string, or a list of blocks of which pictures are only named."""
    if isinstance(content, list):
        return "\n".join(
            str(b.get("text", f"[{b.get('type', 'block')}]")) if isinstance(b, dict) else str(b) for b in content
        )
    return "" if content is None else str(content)


_HANDLERS: dict[str, Callable[[Translator, Any], Iterator[ev.Event]]] = {
    "AssistantMessage": Translator._assistant,
    "UserMessage": Translator._user,
    "SystemMessage": Translator._system,
    "ResultMessage": Translator._result,
    "RateLimitEvent": Translator._rate_limit,
    "ConversationResetMessage": Translator._reset,
    "StreamEvent": Translator._quiet,
    "HookEventMessage": Translator._quiet,
}
