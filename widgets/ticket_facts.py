"""Everything there is to know of a ticket that does not change while it runs, as facts to read. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from widgets.effect_words import stamp
from widgets.formatting import money
from widgets.labelled import Fact, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.model import AttemptRecord, TicketSnapshot
    from supervisor.core.spec import TicketSpec

_NONE = "none"


def ticket_parts(
    ticket: TicketSnapshot,
    spec: TicketSpec | None,
    attempts: Sequence[AttemptRecord],
    logs: Sequence[str],
    now: float,
) -> list[Part]:
    """Return what a ticket is told, may do and works in.

    Args:
        ticket: As the board has it.
        spec: What it is; None where that is not known (yet).
        attempts: Its attempts, oldest first.
        logs: Paths of files that tell more.
        now: Seconds since the epoch.
    """
    parts = [] if spec is None else [Part("Prompt", (Fact("", spec.prompt),))]
    parts.append(Part("Limits", _limits(ticket, spec)))
    if spec is not None:
        parts += [Part("Checks", _checks(spec)), Part("Permissions", _permissions(spec))]
        parts.append(Part("Rules", (Fact("", spec.rules or ""),)))
    parts.append(Part("Environment", _environment(ticket, spec, attempts, now)))
    parts.append(Part("Logs", tuple(Fact("", path) for path in logs)))
    return parts


def _limits(ticket: TicketSnapshot, spec: TicketSpec | None) -> tuple[Fact, ...]:
    facts = [
        Fact("budget", _NONE if ticket.budget_usd is None else money(ticket.budget_usd)),
        Fact("turns", "any number" if ticket.max_turns is None else f"at most {ticket.max_turns} a prompt"),
        Fact("turns in all", _used(ticket.turns, ticket.budget_turns)),
        Fact("tokens in all", _used(ticket.tokens, ticket.budget_tokens)),
        Fact("priority", str(ticket.priority)),
        Fact("after", ", ".join(ticket.after)),
    ]
    if spec is None:
        return tuple(facts)
    now = (ticket.budget_usd, ticket.max_turns, ticket.budget_turns, ticket.budget_tokens)
    changed = now != (spec.budget_usd, spec.max_turns, spec.budget_turns, spec.budget_tokens)
    return (
        *facts,
        Fact("changed", "you set other limits than the file's" if changed else ""),
        Fact("reserve", money(spec.reserve_usd) if spec.reserve_usd is not None else "the largest call seen so far"),
        Fact("attempts", f"at most {spec.max_attempts}"),
        Fact("at a limit", "ask you" if spec.on_limit == "ask" else "raise it"),
        Fact("stalled after", f"{spec.stall_minutes:g} min without a word"),
    )


def _used(used: int, most: int | None) -> str:
    return "" if most is None else f"{used:,} of at most {most:,}"


def _checks(spec: TicketSpec) -> tuple[Fact, ...]:
    rounds = f", {spec.verify_rounds} rounds" if spec.verify else ""
    return (
        Fact("setup", f"{shlex.join(spec.setup)}   (at most {spec.setup_timeout_s:g} s)" if spec.setup else ""),
        Fact(
            "verify",
            f"{shlex.join(spec.verify)}   (at most {spec.verify_timeout_s:g} s{rounds})" if spec.verify else _NONE,
        ),
    )


def _permissions(spec: TicketSpec) -> tuple[Fact, ...]:
    return (
        Fact("mode", spec.permission_mode),
        Fact("allowed tools", ", ".join(spec.allowed_tools) or _NONE),
        Fact("denied tools", ", ".join(spec.disallowed_tools)),
        Fact("effects", ", ".join(spec.effects) or _NONE),
    )


def _environment(
    ticket: TicketSnapshot, spec: TicketSpec | None, attempts: Sequence[AttemptRecord], now: float
) -> tuple[Fact, ...]:
    last = attempts[-1] if attempts else None
    pid = "" if last is None or last.pid is None else f"{last.pid}{'' if ticket.live else ', which has ended'}"
    facts = (
        Fact("worktree", ticket.worktree or "not made yet"),
        Fact("branch", ticket.branch or ""),
        Fact("base", ticket.base_commit or (spec.base if spec is not None and spec.base else "")),
        Fact("fork of", ticket.parent or ""),
        Fact("session", ticket.session_id or _NONE),
        Fact("model", ticket.model or "the default"),
        Fact("agent's pid", pid),
        Fact("started", stamp(ticket.started, now) if ticket.started else ""),
        Fact("ended", stamp(ticket.ended, now) if ticket.ended else ""),
        Fact("instructions", "changed since the session was told them" if ticket.stale_instructions else ""),
    )
    if spec is None:
        return facts
    more = (
        Fact("fallback model", spec.fallback_model or ""),
        Fact("copied files", ", ".join(spec.copy)),
        Fact("CLAUDE.md", "loaded, with the repository's settings and hooks" if spec.project_instructions else ""),
    )
    return (*facts, *more)
