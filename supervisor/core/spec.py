"""What the operator asked for: the batch, its tickets and the effects they may use.

Owns the vocabulary of ``tickets.toml`` after parsing; ``supervisor.config`` builds these objects and is the
only place that reports faults of the file. Values here are already valid. Times are seconds, money is USD.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"]
EffectKind = Literal["idempotent", "keyed", "once"]
Approval = Literal["never", "always"]
OnLimit = Literal["ask", "raise"]
ClaudeHome = Literal["auto", "own", "user"]

DEFAULT_RESERVE_USD = 0.05
"""Least money kept free below a cap: a cap is overshot by at most one API call."""


@dataclass(frozen=True, slots=True)
class EffectSpec:
    """An operation in another system that tickets may ask for, by name."""

    name: str
    kind: EffectKind
    description: str
    """What the model reads; literal text."""
    input: Mapping[str, Any] = field(default_factory=dict)
    """JSON schema of the payload (an object schema)."""
    command: tuple[str, ...] | None = None
    """argv, run without a shell; the payload arrives as JSON on standard input."""
    handler: str | None = None
    """``module:function``, instead of a command."""
    key: str | None = None
    """Template of a business id over the payload's fields, such as ``{pr}``."""
    approval: Approval = "never"
    scope: Literal["lineage", "ticket"] = "lineage"
    window_s: float | None = None
    """For ``keyed``: how long the remote remembers our key."""
    timeout_s: float = 120.0
    max_output_bytes: int = 65_536
    probe: tuple[str, ...] | None = None
    probe_handler: str | None = None
    env: tuple[str, ...] = ()
    """Names of the environment variables the command needs; nothing else is passed on."""


@dataclass(frozen=True, slots=True)
class TicketSpec:
    """One unit of work. Defaults of the batch are already folded in."""

    id: str
    title: str
    prompt: str
    """The text to send, read from ``prompt_file`` where one was named, with ``vars`` filled in. Never blank."""
    after: tuple[str, ...] = ()
    priority: int = 0
    """Higher starts earlier; equal priorities keep the file's order."""
    model: str | None = None
    fallback_model: str | None = None
    permission_mode: PermissionMode = "default"
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    rules: str | None = None
    """Standing rules, appended to the agent's system prompt."""
    project_instructions: bool = False
    """Load the repository's CLAUDE.md, which loads its settings and hooks too."""
    max_turns: int | None = None
    budget_usd: float | None = None
    """Most this ticket may spend over all its attempts; None means no limit of its own."""
    reserve_usd: float | None = None
    """Kept free below the budget; None means the largest single API call seen so far, at least 0.05."""
    max_attempts: int = 3
    on_limit: OnLimit = "ask"
    """``raise``: a ticket that reaches its budget or its turns takes half as much again, while the batch has money."""
    ceiling_usd: float | None = None
    """With ``on_limit = "raise"`` the budget is never raised beyond; None means twice the budget."""
    budget_turns: int | None = None
    """Most turns over all its attempts; for subscriptions, where no dollar is paid."""
    budget_tokens: int | None = None
    """Most tokens over all its attempts, without what is read from the cache."""
    base: str | None = None
    """Branch, tag or commit the worktree starts from; None means the batch's base."""
    copy: tuple[str, ...] = ()
    """Paths relative to the repository that are copied into a new worktree (ignored files such as ``.env``)."""
    setup: tuple[str, ...] | None = None
    """argv run once in a new worktree before the agent starts."""
    setup_timeout_s: float = 600.0
    verify: tuple[str, ...] | None = None
    """argv run in the worktree after the agent says it is done; exit 0 accepts the work."""
    verify_timeout_s: float = 600.0
    verify_rounds: int = 2
    stall_minutes: float = 15.0
    effects: tuple[str, ...] = ()
    rehearsal: tuple[Mapping[str, Any], ...] = ()
    """Scripted steps for ``supervise rehearse``; see ``supervisor.rehearsal.script``."""


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """One ``tickets.toml``."""

    name: str
    path: Path
    """Absolute path of the file."""
    repo: Path
    """Absolute path of the git repository the tickets work on."""
    tickets: tuple[TicketSpec, ...]
    effects: Mapping[str, EffectSpec] = field(default_factory=dict)
    slots: int = 3
    """How many tickets run at the same time."""
    budget_usd: float | None = None
    base: str = "HEAD"
    claude_home: ClaudeHome = "auto"
    max_retries: int = 3
    """API retries the CLI makes by itself (``CLAUDE_CODE_MAX_RETRIES``); longer waits are ours."""

    def ticket(self, ticket_id: str) -> TicketSpec:
        """Return the ticket of that id. Raises KeyError."""
        for ticket in self.tickets:
            if ticket.id == ticket_id:
                return ticket
        raise KeyError(ticket_id)
