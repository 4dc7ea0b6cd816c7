"""SDK messages to events of ours, by the names of their classes, so that this module needs no SDK.

One ``Translator`` lives as long as a client. It is cheap (it runs for every message of every ticket), never raises for
a message it does not understand, and bounds and cleans all text at the door.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from supervisor.core import diffs
from supervisor.core import events as ev
from supervisor.core.budget import CostMeter
from supervisor.core.sessions import is_usable_id
from supervisor.core.usage import Prices, UsageMeter, counted_tokens
from supervisor.engine import figures
from supervisor.engine.stopped import stopped_words
from supervisor.engine.untrusted import as_json, bounded, listed, number, status, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from supervisor.core.diffs import Diff

_MOST_LISTED = 100
"""Most errors of a result, models of its figures, and kinds of unknown messages that are kept."""
_MOST_DENIALS = 1_000
_MOST_BLOCKS = 1_000
"""Most blocks of one tool result that are looked at."""
_QUIET = frozenset(
    {
        "background_tasks_changed",
        "files_persisted",
        "hook_response",
        "hook_started",
        "permission_denied",
        "session_state_changed",
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


class Translator:
    """Translates the messages of one connected client."""

    def __init__(self, ticket: str, attempt: int, session_id: str, clock: Callable[[], float]) -> None:
        self._ticket = ticket
        self._attempt = attempt
        self._session_id = session_id
        self._clock = clock
        self.meter = CostMeter()
        self._tokens = CostMeter()
        """The same for tokens."""
        self._login: str | None = None
        self.usage = UsageMeter()
        self.agent_started = False
        """A real assistant message arrived: no ``error``, not a subagent's."""
        self.prompt_uuid: str | None = None
        """The prompt sent last; only a result that names it is ours."""
        self.answered = False
        """That prompt has had its result."""
        self.given_up: set[str] = set()
        """Tool calls that asked for permission when the turn was stopped: nobody denied them."""
        self.denied: set[str] = set()
        """Tool calls that the operator denied, and stopped the turn with that."""
        self.mode = ""
        """The permission mode that the session says it has come to; empty before it says one."""
        self.unknown = 0
        self._strange_kinds: set[str] = set()

    def begin_at(self, total_cost_usd: float, model_usage: object) -> None:
        """Say what the session had used before this client: its baseline."""
        self.meter = CostMeter(total_cost_usd)
        self._tokens = CostMeter(float(counted_tokens(figures.of_models(model_usage)) or 0))

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
        if kind not in self._strange_kinds and len(self._strange_kinds) < _MOST_LISTED:
            self._strange_kinds.add(kind)
            yield self.note(f"unknown {kind}")

    def note(self, text: str, *, is_error: bool = False) -> ev.Noted:
        """Return a system note for the transcript."""
        return ev.Noted(self._ticket, self._clock(), text=bounded(text, 1000), is_error=is_error)

    def _assistant(self, message: Any) -> Iterator[ev.Event]:
        at, nested = self._clock(), message.parent_tool_use_id is not None
        if message.error:
            yield self.note(api_error(message.error), is_error=True)
            return
        if not nested:
            self.agent_started = True
        if message.message_id and isinstance(message.usage, dict):
            ident, model = bounded(message.message_id, 200), bounded(message.model, 200)
            self.usage.see(ident, model, message.usage, sum(map(figures.length, message.content)))
        for block in message.content:
            yield from self._block(at, block, nested)

    def _block(self, at: float, block: Any, nested: bool) -> Iterator[ev.Event]:
        match type(block).__name__:
            case "TextBlock":
                text = bounded(block.text)
                if text.strip():
                    yield ev.AgentSpoke(self._ticket, at, text=text, nested=nested)
            case "ThinkingBlock":
                yield ev.AgentSpoke(self._ticket, at, text=bounded(block.thinking), nested=nested, thinking=True)
            case "ToolUseBlock" | "ServerToolUseBlock":
                ident, name = bounded(block.id, 200), bounded(block.name, 200)
                summary, detail, diff = describe_call(name, block.input)
                yield ev.ToolCalled(self._ticket, at, ident, name, summary, detail, nested, diff)
            case "ToolResultBlock" | "ServerToolResultBlock":
                yield self._result_of(at, block, nested)

    def _result_of(self, at: float, block: Any, nested: bool, told: object = None) -> ev.ToolReturned:
        text, diff = describe_result(block.content, told)
        failed, ident = bool(getattr(block, "is_error", False)), bounded(block.tool_use_id, 200)
        text = stopped_words(text, is_denied=ident in self.denied) if failed else text
        return ev.ToolReturned(self._ticket, at, ident, text, failed, nested, diff)

    def _user(self, message: Any) -> Iterator[ev.Event]:
        """Only tool results matter: a prompt of ours is echoed when it is taken in, and we have shown it already."""
        if not isinstance(message.content, list):
            return
        at, nested = self._clock(), message.parent_tool_use_id is not None
        results = [block for block in message.content if type(block).__name__ == "ToolResultBlock"]
        told = message.tool_use_result if len(results) == 1 else None
        for block in results:
            yield self._result_of(at, block, nested, told)

    def _taken_in(self, data: dict[str, Any]) -> Iterator[ev.Event]:
        """``init`` comes with each turn and names the prompts that the turn answers (CLI 2.1.332)."""
        named = data.get("user_message_uuids")
        ours = self.prompt_uuid
        if ours is not None and not self.answered and (not isinstance(named, list) or ours in named):
            yield ev.TurnBegan(self._ticket, self._clock(), ours)

    def _system(self, message: Any) -> Iterator[ev.Event]:
        data: dict[str, Any] = getattr(message, "data", None) or {}
        subtype = bounded(message.subtype, 100)
        if subtype == "status":
            self.mode = bounded(data.get("permissionMode"), 100) or self.mode
        elif subtype == "init":
            yield from self._taken_in(data)
            yield from self._logged_in(data)
        elif subtype == "api_retry":
            yield self._retry(data)
        elif subtype == "informational":
            yield self.note(bounded(data.get("content"), 1000))
        elif subtype == "compact_boundary":
            yield self.note(compaction(data.get("compact_metadata")))
        elif subtype == "model_fallback":
            yield self.note(fallback(data))
        elif subtype not in _QUIET:
            yield from self._unknown(f"system message {subtype!r}")

    def _retry(self, data: dict[str, Any]) -> ev.Retrying:
        return ev.Retrying(
            self._ticket,
            self._clock(),
            attempt=whole(data.get("attempt")),
            max_retries=whole(data.get("max_retries")),
            delay_s=whole(data.get("retry_delay_ms")) / 1000,
            status=status(data.get("error_status")),
            error=bounded(data.get("error"), 200),
        )

    def _logged_in(self, data: dict[str, Any]) -> Iterator[ev.Event]:
        source = bounded(data.get("apiKeySource"), 100)
        if source and source != self._login:
            self._login = source
            yield ev.LoginSeen(self._ticket, self._clock(), source)

    def _rate_limit(self, message: Any) -> Iterator[ev.Event]:
        """Say what is used up. The SDK models one window of several; the others are in what the CLI sent."""
        info = message.rate_limit_info
        kind, state = bounded(info.rate_limit_type, 100), bounded(info.status, 100)
        raw = info.raw if isinstance(info.raw, dict) else {}
        windows, resets = figures.windows(raw.get("unifiedWindows")), number(info.resets_at)
        overage = raw.get("isUsingOverage") is True
        yield ev.LimitsSeen(self._ticket, self._clock(), state, kind, resets, windows, overage)
        if state != "allowed":
            yield self.note(f"rate limit {kind} {state}".replace("  ", " "))

    def _reset(self, message: Any) -> Iterator[ev.Event]:
        self.meter.reset()
        self._tokens.reset()
        yield self.note("the conversation was reset by the agent's side")

    def _quiet(self, _: object) -> Iterator[ev.Event]:
        return iter(())

    def _result(self, message: Any) -> Iterator[ev.Event]:
        ours = self._is_ours(message)
        self.answered = self.answered or ours
        total, used = number(message.total_cost_usd), figures.of_models(message.model_usage)
        cost, tokens = self.meter.turn(total), counted_tokens(used)
        prices = Prices()
        prices.learn(used)
        if is_usable_id(message.session_id) and message.session_id != self._session_id:
            self._session_id = message.session_id
            yield ev.SessionReplaced(self._ticket, self._clock(), number=self._attempt, session_id=self._session_id)
        yield ev.TurnEnded(
            self._ticket,
            self._clock(),
            number=self._attempt,
            prompt_uuid=self.prompt_uuid if ours else None,
            subtype=bounded(message.subtype, 100),
            terminal_reason=bounded(message.terminal_reason, 100) or None,
            is_error=bool(message.is_error),
            num_turns=whole(message.num_turns),
            cost_usd=cost,
            total_cost_usd=total,
            api_error_status=status(message.api_error_status),
            errors=tuple(bounded(e, 2000) for e in listed(message.errors, _MOST_LISTED)),
            text=bounded(message.result),
            denials=tuple(bounded(_denied(d), 300) for d in self._denials(message.permission_denials)),
            prices=used,
            tokens=0 if tokens is None else int(self._tokens.turn(float(tokens))),
            largest_call_usd=self.usage.settle(cost, prices),
        )

    def _denials(self, reported: object) -> Iterator[object]:
        """Yield the calls that were denied; the CLI counts those that were asking when the turn was stopped too."""
        for denial in listed(reported, _MOST_DENIALS):
            if not (isinstance(denial, dict) and bounded(denial.get("tool_use_id"), 200) in self.given_up):
                yield denial

    def _is_ours(self, message: Any) -> bool:
        """After a resume a ghost may come first: a result of the last process's work that answers no prompt of ours."""
        named = _named(message.user_message_uuid, message.user_message_uuids)
        if named:
            return self.prompt_uuid in named
        return message.origin is None and (message.is_error or whole(message.num_turns) > 0)

    def is_awaited(self, line: Mapping[str, Any]) -> bool:
        """Return whether a message, as the CLI sent it, is the result of the prompt that has had none."""
        if line.get("type") != "result" or self.prompt_uuid is None or self.answered:
            return False
        named = _named(line.get("user_message_uuid"), line.get("user_message_uuids"))
        return self.prompt_uuid in named if named else line.get("origin") is None


def _named(one: object, several: object) -> list[str]:
    """Return the prompts that a result says it answers."""
    return [uuid for uuid in (one, *listed(several, _MOST_LISTED)) if isinstance(uuid, str)]


def _denied(denial: object) -> str:
    if isinstance(denial, dict):
        summary, _ = describe_input(denial.get("tool_input"))
        return f"{bounded(denial.get('tool_name', '?'), 200)} {summary}".rstrip()
    return bounded(denial, 300)


def describe_input(value: object) -> tuple[str, str]:
    """Return a tool input's one telling value, and the whole input as indented JSON."""
    if not isinstance(value, dict):
        return "", bounded(value)
    telling = next((value[k] for k in _TELLING if isinstance(value.get(k), str) and value[k]), "")
    first_line = telling.strip().split("\n", 1)[0] if telling else ""
    return bounded(first_line, 300), as_json(value)


def describe_call(tool: str, given: object) -> tuple[str, str, Diff | None]:
    """Return what `describe_input` does, and for an edit of a file its diff, which the input then does not repeat."""
    diff = diffs.of_input(tool, given)
    if diff is not None and isinstance(given, dict):
        given = {name: value for name, value in given.items() if name not in diffs.BULKY and value is not False}
    summary, detail = describe_input(given)
    return summary, detail, _clean(diff)


def describe_result(content: object, told: object) -> tuple[str, Diff | None]:
    """Return a tool result's text, and for an edit of a file what the CLI says it changed.

    Args:
        content: The result as the agent gets it. A subagent's report is wrapped in words that are meant for the agent.
        told: What the CLI says beside it (``tool_use_result``), there also without those words.
    """
    if isinstance(told, dict) and "agentId" in told and isinstance(told.get("content"), list):
        content = told["content"]
    return content_text(content), _clean(diffs.of_result(told))


def _clean(diff: Diff | None) -> Diff | None:
    return diff and replace(diff, text=bounded(diff.text))


def compaction(told: object) -> str:
    """Return the note that a conversation was compacted.

    Args:
        told: ``trigger`` and ``pre_tokens``, which the session's file spells ``preTokens``.
    """
    facts = told if isinstance(told, dict) else {}
    tokens = whole(facts.get("pre_tokens", facts.get("preTokens")))
    more = [bounded(facts.get("trigger"), 50), f"{tokens} tokens before" if tokens > 0 else ""]
    words = ", ".join(word for word in more if word)
    return f"the conversation was compacted ({words})" if words else "the conversation was compacted"


def api_error(kind: object) -> str:
    """Return what is said of an answer that only tells of an error; the CLI calls many kinds ``unknown``."""
    word = bounded(kind, 200)
    return "API error" if word in ("", "unknown") else f"API error: {word}"


def fallback(told: dict[str, Any]) -> str:
    """Return the note that another model goes on."""
    other = told.get("fallback_model") or told.get("fallbackModel") or told.get("model") or "another one"
    return f"the model fell back to {bounded(other, 200)}"


def content_text(content: object) -> str:
    """Return the text of a tool result: a string, or a list of blocks of which pictures are only named."""
    if not isinstance(content, list):
        return bounded(content)
    return bounded("\n".join(map(_part, content[:_MOST_BLOCKS])))


def _part(block: object) -> str:
    if isinstance(block, dict):
        block = block.get("text", f"[{bounded(block.get('type', 'block'), 100)}]")
    return block if isinstance(block, str) else bounded(block, 1_000)


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
