"""The one function that folds what happens to a ticket into its snapshot.

``reduce`` is total: any event may meet any snapshot. A move that ``model.TRANSITIONS`` does not allow changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.asks import ASK_WHYS, AnswerKind, AskKind, headline
from supervisor.core.budget import used_up
from supervisor.core.model import ACTIVE, RESTING, State, TicketSnapshot, Why, is_legal
from supervisor.core.tools import tool_words

if TYPE_CHECKING:
    from collections.abc import Callable

ENDS_ASKS = frozenset({State.QUEUED, State.DONE, State.FAILED, State.CANCELLED})
"""A ticket that comes to one of these waits for no answer any more: it goes on without, or not at all."""
LIMIT_RAISED = "limit raised; resume it"
"""What a ticket says that rests at a limit which has since been raised."""


def _added(s: TicketSnapshot, e: ev.TicketAdded) -> TicketSnapshot:
    new = not s.created
    after = replace(
        s,
        title=e.title,
        order=e.order,
        priority=e.priority if new or e.priority != s.file_priority else s.priority,
        budget_usd=e.budget_usd if new or e.budget_usd != s.file_budget_usd else s.budget_usd,
        max_turns=e.max_turns if new or e.max_turns != s.file_max_turns else s.max_turns,
        file_priority=e.priority,
        file_budget_usd=e.budget_usd,
        file_max_turns=e.max_turns,
        budget_turns=e.budget_turns if new or e.budget_turns != s.file_budget_turns else s.budget_turns,
        budget_tokens=e.budget_tokens if new or e.budget_tokens != s.file_budget_tokens else s.budget_tokens,
        file_budget_turns=e.budget_turns,
        file_budget_tokens=e.budget_tokens,
        after=e.after,
        reserve_usd=e.reserve_usd or s.reserve_usd,
        model=e.model,
        parent=e.parent,
        instructions=e.instructions,
        created=s.created or e.at,
    )
    return _at_limit(s, after)


def _mark_after(s: TicketSnapshot, verb: str) -> str | None:
    """Return the mark of a ticket once a verb is carried out: another verb that was given meanwhile keeps its own.

    A ticket with a mark is not started: what is on its way may be a limit that it shall go on with.
    """
    return None if s.pending == verb else s.pending


def _mark_after_move(s: TicketSnapshot, e: ev.StateChanged) -> str | None:
    if e.letters:
        return _mark_after(s, "resume") if e.by_operator else None
    return s.pending if e.to in ACTIVE or e.to is s.state else None


def _moved(s: TicketSnapshot, e: ev.StateChanged) -> TicketSnapshot:
    if e.to is not s.state and not is_legal(s.state, e.to):
        return s
    ended = s.ended if e.to is s.state else (e.at if e.to in (State.DONE, State.FAILED, State.CANCELLED) else None)
    return replace(
        s,
        state=e.to,
        why=e.why if e.to is State.NEEDS_YOU else None,
        detail=e.detail,
        until=e.until,
        live=e.live or e.to in ACTIVE,
        pending=_mark_after_move(s, e),
        operator_at=e.at if e.by_operator else s.operator_at,
        started=e.at if s.started is None and e.to is State.STARTING else s.started,
        ended=ended,
        asks=0 if e.to in ENDS_ASKS else s.asks,
        last_activity=e.at,
    )


def _worktree(s: TicketSnapshot, e: ev.WorktreeReady) -> TicketSnapshot:
    return replace(s, worktree=e.path, branch=e.branch, base_commit=e.base_commit)


def _lost(s: TicketSnapshot, e: ev.WorktreeLost) -> TicketSnapshot:
    return replace(s, worktree=None)


def _started(s: TicketSnapshot, e: ev.AttemptStarted) -> TicketSnapshot:
    return replace(
        s,
        attempts=max(s.attempts, e.number),
        mode=e.mode,
        session_id=e.session_id,
        model=e.model or s.model,
        reserve_usd=s.reserve_usd if e.reserve_usd is None else e.reserve_usd,
        subtype=None,
        terminal_reason=None,
        asks=0,
        last_activity=e.at,
    )


def _prompted(s: TicketSnapshot, e: ev.PromptStored) -> TicketSnapshot:
    return replace(
        s,
        session_instructions=e.instructions or s.session_instructions,
        messages=max(0, s.messages - len(e.letters)),
        last_activity=e.at,
    )


def _replaced(s: TicketSnapshot, e: ev.SessionReplaced) -> TicketSnapshot:
    return replace(s, session_id=e.session_id, last_activity=e.at)


def _turn(s: TicketSnapshot, e: ev.TurnEnded) -> TicketSnapshot:
    spent, tokens = s.spent_usd + max(0.0, e.cost_usd), s.tokens + max(0, e.tokens)
    if e.prompt_uuid is None:
        return replace(s, spent_usd=spent, turn_usd=0.0, tokens=tokens, last_activity=e.at)
    return replace(
        s,
        subtype=e.subtype,
        terminal_reason=e.terminal_reason,
        turns=s.turns + max(0, e.num_turns),
        spent_usd=spent,
        turn_usd=0.0,
        tools=(),
        tokens=tokens,
        denials=s.denials + len(e.denials),
        last_activity=e.at,
    )


def _ended(s: TicketSnapshot, e: ev.AttemptEnded) -> TicketSnapshot:
    extra = max(0.0, e.estimated_usd)
    return replace(
        s,
        spent_usd=s.spent_usd + extra + max(0.0, e.settled_usd),
        estimated_usd=s.estimated_usd + extra,
        turn_usd=0.0,
        tools=(),
        tokens=s.tokens + max(0, e.tokens),
        live=False,
        last_activity=e.at,
    )


def _turn_cost(s: TicketSnapshot, e: ev.TurnCost) -> TicketSnapshot:
    return replace(s, turn_usd=max(0.0, e.usd))


def _corrected(s: TicketSnapshot, e: ev.CostCorrected) -> TicketSnapshot:
    spent = max(0.0, s.spent_usd + e.by_usd)
    estimated = max(0.0, s.estimated_usd - max(0.0, e.estimated_usd))
    return replace(s, spent_usd=spent, estimated_usd=min(spent, estimated))


def _limits(s: TicketSnapshot, e: ev.LimitsChanged) -> TicketSnapshot:
    after = replace(
        s,
        budget_usd=e.budget_usd,
        max_turns=e.max_turns,
        budget_turns=e.budget_turns,
        budget_tokens=e.budget_tokens,
        pending=_mark_after(s, "budget") if e.letters else s.pending,  # without one it has raised it by itself
    )
    return _at_limit(s, after)


def _reserve(s: TicketSnapshot, e: ev.ReserveSeen) -> TicketSnapshot:
    return _at_limit(s, replace(s, reserve_usd=max(0.0, e.usd)))


def _at_limit(before: TicketSnapshot, after: TicketSnapshot) -> TicketSnapshot:
    """Let a ticket that rests at a limit say what holds now that its limits are others."""
    if before.state is not State.NEEDS_YOU or before.why is not Why.LIMIT or before.live:
        return after
    if _own_limits(before) == _own_limits(after):
        return after
    words, was = used_up(after, after.reserve_usd), used_up(before, before.reserve_usd)
    by_turns = not was and before.subtype == "error_max_turns"
    higher = _is_more(after.max_turns, before.max_turns) if by_turns else _is_more(after.budget_usd, before.budget_usd)
    if not words and (was or higher):
        words = LIMIT_RAISED
    return replace(after, detail=words or before.detail)


def _own_limits(s: TicketSnapshot) -> tuple[float | None, ...]:
    return s.budget_usd, s.reserve_usd, s.max_turns, s.budget_turns, s.budget_tokens


def _is_more(limit: float | None, before: float | None) -> bool:
    return before is not None and (limit is None or limit > before)


def _priority(s: TicketSnapshot, e: ev.PriorityChanged) -> TicketSnapshot:
    return replace(s, priority=e.priority, pending=_mark_after(s, "priority"))


def _pending(s: TicketSnapshot, e: ev.VerbPending) -> TicketSnapshot:
    return replace(s, pending=e.verb)


def _posted(s: TicketSnapshot, e: ev.LetterPosted) -> TicketSnapshot:
    if e.verb != "message":
        return replace(s, pending=e.verb)
    s = replace(s, pending=None if s.pending == e.verb else s.pending, messages=s.messages + 1)
    if not e.wakes or s.live or s.state not in RESTING:
        return s
    queued = ev.StateChanged(e.ticket, e.at, State.QUEUED, detail="you wrote to it", by_operator=True)
    return replace(_moved(s, queued), pending=s.pending)


def _closed(s: TicketSnapshot, e: ev.LettersClosed) -> TicketSnapshot:
    return replace(s, pending=None)


def _rewound(s: TicketSnapshot, e: ev.FilesRewound) -> TicketSnapshot:
    detail = e.work if s.state is State.DONE and e.work is not None else s.detail
    return replace(s, detail=detail, pending=_mark_after(s, "rewind"), last_activity=e.at)


def _started_over(s: TicketSnapshot, e: ev.StartedOver) -> TicketSnapshot:
    queued = _moved(s, ev.StateChanged(e.ticket, e.at, State.QUEUED, detail="started over by you", by_operator=True))
    return replace(
        queued,
        session_id=e.session_id,
        session_instructions=None,
        worktree=None,
        subtype=None,
        terminal_reason=None,
        denials=0,
        pending=_mark_after(s, "start-over"),
        asks=0,
    )


def _forked(s: TicketSnapshot, e: ev.Forked) -> TicketSnapshot:
    return replace(s, parent=e.fork.parent, session_id=e.fork.session_id, base_commit=e.base_commit)


def _opened(s: TicketSnapshot, e: ev.AskOpened) -> TicketSnapshot:
    """The oldest of several asks is what the ticket shows."""
    s = replace(s, asks=s.asks + 1, last_activity=e.at)
    if s.state is State.NEEDS_YOU:
        return s
    why = Why.APPROVE_TOOL if e.kind is AskKind.PERMISSION else Why.QUESTION
    detail = headline(e.kind, e.tool, e.summary)
    return _moved(s, ev.StateChanged(e.ticket, e.at, State.NEEDS_YOU, why, detail, live=True))


def _answered(s: TicketSnapshot, e: ev.AskAnswered) -> TicketSnapshot:
    s = replace(s, asks=max(0, s.asks - 1), pending="interrupt" if e.letter else s.pending, last_activity=e.at)
    if not e.rested:
        return _unless_asked(s, e.at)
    if e.kind is AnswerKind.DENY_STOP and not s.live:
        return _moved(s, ev.StateChanged(e.ticket, e.at, State.PAUSED, detail=f"you denied {e.detail}"))
    return s


def _withdrawn(s: TicketSnapshot, e: ev.AskWithdrawn) -> TicketSnapshot:
    return _unless_asked(replace(s, asks=max(0, s.asks - 1), last_activity=e.at), e.at)


def _unless_asked(s: TicketSnapshot, at: float) -> TicketSnapshot:
    """An agent that waited for the operator is at work again, unless something else of it waits."""
    if s.asks or not s.live or s.state is not State.NEEDS_YOU or s.why not in ASK_WHYS:
        return s
    return _moved(s, ev.StateChanged(s.id, at, State.RUNNING))


def _spoke(s: TicketSnapshot, e: ev.AgentSpoke) -> TicketSnapshot:
    return _busy(s, e.at, _THINKING if e.thinking else e.text)


def _tool(s: TicketSnapshot, e: ev.ToolCalled) -> TicketSnapshot:
    words = f"{tool_words(e.name)} {e.summary}".rstrip()[:_DETAIL_CHARS]
    others = [tool for tool in s.tools if tool[0] != e.tool_use_id]
    return replace(_busy(s, e.at, words), tools=(*others, (e.tool_use_id, words))[-_MOST_TOOLS:])


def _returned(s: TicketSnapshot, e: ev.ToolReturned) -> TicketSnapshot:
    """A tool that has returned is not what the agent does now: that is the latest one still at work, or thinking."""
    words = next((words for ident, words in s.tools if ident == e.tool_use_id), None)
    left = tuple(tool for tool in s.tools if tool[0] != e.tool_use_id)
    after = replace(s, tools=left, last_activity=e.at)
    return _busy(after, e.at, left[-1][1] if left else _THINKING) if words is not None and s.detail == words else after


def _retrying(s: TicketSnapshot, e: ev.Retrying) -> TicketSnapshot:
    if s.state is not State.RUNNING:
        return s
    cause = f"API {e.status}" if e.status else "API unreachable"
    return replace(
        s,
        detail=f"{cause}, retry {e.attempt}/{e.max_retries}",
        until=e.at + max(0.0, e.delay_s),
        last_activity=e.at,
    )


def _verified(s: TicketSnapshot, e: ev.Verified) -> TicketSnapshot:
    return replace(s, last_activity=e.at)


_DETAIL_CHARS = 200
_THINKING = "thinking"
_MOST_TOOLS = 50
"""Most tools at work that are remembered of one ticket."""


def _busy(s: TicketSnapshot, at: float, words: str) -> TicketSnapshot:
    if s.state is not State.RUNNING:
        return s
    return replace(s, detail=words[:_DETAIL_CHARS], until=None, last_activity=at)


def _same(s: TicketSnapshot, _: ev.Event) -> TicketSnapshot:
    return s


_REDUCERS: dict[type[ev.Event], Callable[..., TicketSnapshot]] = {
    ev.TicketAdded: _added,
    ev.StateChanged: _moved,
    ev.WorktreeReady: _worktree,
    ev.WorktreeLost: _lost,
    ev.AttemptStarted: _started,
    ev.AttemptConnected: _same,
    ev.PromptStored: _prompted,
    ev.SessionReplaced: _replaced,
    ev.TurnEnded: _turn,
    ev.AttemptEnded: _ended,
    ev.CostCorrected: _corrected,
    ev.Verified: _verified,
    ev.LimitsChanged: _limits,
    ev.PriorityChanged: _priority,
    ev.LetterPosted: _posted,
    ev.LettersClosed: _closed,
    ev.FilesRewound: _rewound,
    ev.StartedOver: _started_over,
    ev.Forked: _forked,
    ev.AskOpened: _opened,
    ev.AskRested: _same,
    ev.AskAnswered: _answered,
    ev.AskWithdrawn: _withdrawn,
    ev.GrantUsed: _same,
    ev.TurnCost: _turn_cost,
    ev.ReserveSeen: _reserve,
    ev.VerbPending: _pending,
    ev.TurnBegan: _same,
    ev.AgentSpoke: _spoke,
    ev.ToolCalled: _tool,
    ev.ToolReturned: _returned,
    ev.Retrying: _retrying,
    ev.LimitsSeen: _same,
    ev.LoginSeen: _same,
    ev.Noted: _same,
    ev.UsageSeen: _same,
}


def reduce(snapshot: TicketSnapshot, event: ev.Event) -> TicketSnapshot:
    """Fold one event into a ticket's snapshot. Total: never raises, returns the same object if nothing changed."""
    return _REDUCERS.get(type(event), _same)(snapshot, event)
