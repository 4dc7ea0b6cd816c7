"""Boards with effects on them, and a port that takes notes of decisions and answers them when told to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from supervisor.core.effects import EffectRecord, EffectState, EffectView, LogRow, Owner
from supervisor.core.model import State, Why
from supervisor.core.payloads import fingerprint
from tests.screens.scenes import HOSTILE, NOW, Story, busy

if TYPE_CHECKING:
    from supervisor.core.board import Board
    from supervisor.core.payloads import Json

S = EffectState
GONE = Owner("workshop", 4121, 99)
"""An owner that ended with an earlier run."""


def record(ticket: str, op: str, state: EffectState, payload: Json = None, **more: Any) -> EffectRecord:
    """Return an effect of a ticket, claimed four minutes ago."""
    asked_only = state is S.REQUESTED
    facts: dict[str, Any] = {
        "kind": "once",
        "version": 2,
        "attempt": 0 if asked_only else 1,
        "owner": None if asked_only else GONE,
        "claimed_at": None if asked_only else NOW - 242.1,
        "first_claimed_at": None if asked_only else NOW - 242.1,
        "settled_at": None if asked_only or state is S.CLAIMED else NOW - 240,
        "requested_at": NOW - 90 if asked_only else None,
        "remote_key": f"{ticket}-{op}-5f0c1b2a3d4e5f60",
    } | more
    scope, effect = facts.pop("scope", ticket), op.partition(":")[0]
    return EffectRecord(
        scope, op, facts.pop("kind"), effect, ticket, state, generation=1, fingerprint=fingerprint(payload),
        payload=payload, **facts,
    )  # fmt: skip


def row(held: EffectRecord, verb: str, before: str | None, to: str, at: float, **more: Any) -> LogRow:
    """Return a line of the log."""
    facts: dict[str, Any] = {"actor_kind": "engine", "actor": "epoch 3", "reason": "", "evidence": ""} | more
    return LogRow(
        1, held.scope, held.op, verb, before, to, held.version, facts["actor_kind"], facts["actor"], facts["reason"],
        facts["evidence"], None, None, 3, held.fingerprint, None, None, at, "", "",
    )  # fmt: skip


def view(held: EffectRecord, **more: Any) -> EffectView:
    """Return an effect with the log that its state implies."""
    asked = {"actor_kind": "agent", "actor": held.ticket}
    if held.state is S.REQUESTED:
        log = [row(held, "claim", None, "requested", NOW - 90, **asked)]
    else:
        log = [row(held, "claim", None, "claimed", held.claimed_at or 0.0, **asked)]
        if held.state is not S.CLAIMED:
            log.append(row(held, "settle", "claimed", held.state.value, held.settled_at or 0.0, evidence=held.error))
    return EffectView(held, tuple(log), **({"owner_dead": True} | more))


STUCK = record(
    "003-deploy",
    "deploy",
    S.UNRESOLVED,
    {"environment": "staging", "build": 418},
    error="ConnectionResetError: connection reset after send",
    said="All tests pass; deploying build 418 to staging.",
)
ASKED = record(
    "010-mail",
    "send-mail",
    S.REQUESTED,
    {
        "to": {"list": "customers", "segment": "eu"},
        "subject": "Your receipts come by mail now",
        "body": "Dear customer,\n\nfrom today on your receipts come by mail.\nYou can turn this off in your settings.",
    },
    said="The template is ready. I would like to tell the customers.",
)
KEYED = record(
    "005-export",
    "publish:orders",
    S.UNRESOLVED,
    {"table": "orders"},
    kind="keyed",
    window_s=600.0,
    error="timed out after 30 s",
    claimed_at=NOW - 100.0,
    first_claimed_at=NOW - 100.0,
    settled_at=NOW - 70.0,
)


def stuck() -> Board:
    """Return the busy batch with a deploy nobody knows the end of, a mail to approve, and a few settled effects."""
    board = busy()
    board.show_effect(view(STUCK))
    board.show_effect(view(ASKED))
    board.show_effect(view(KEYED, has_probe=True))
    done = record("002-images", "upload", S.DONE, {"files": ["a.png", "b.png"]}, kind="idempotent", outcome="2 files")
    board.show_effect(view(done))
    running = record("001-rounding", "comment", S.CLAIMED, {"issue": 12}, claimed_at=NOW - 5, timeout_s=120.0)
    board.show_effect(view(running, owner_dead=False))
    board.show_effect(view(record("004-search", "reindex", S.NOT_DONE, {"index": "products"})))
    return board


def settled(held: EffectRecord, state: EffectState, **more: Any) -> EffectView:
    """Return an effect after a decision."""
    after = replace(held, state=state, version=held.version + 1, settled_at=NOW, **more)
    log = [
        *view(held).log,
        row(after, state.value, held.state.value, state.value, NOW, actor_kind="operator", actor=""),
    ]
    return EffectView(after, tuple(log), owner_dead=True)


def nothing_waits() -> Board:
    """Return a batch in which nothing waits and no effect was asked for."""
    story = Story()
    story.add("001-rounding", "Discounts round the wrong way")
    story.start("001-rounding")
    return story.board


def hostile_effects() -> Board:
    """Return effects in which everything that is not ours is as bad as it gets."""
    story = Story()
    for number, text in enumerate(HOSTILE, 1):
        ticket = f"{number:03}-hard"
        story.add(ticket, text)
        story.start(ticket)
        story.move(ticket, State.NEEDS_YOU, why=Why.UNRESOLVED_EFFECT, detail=text)
        payload: Json = {text: text, "nested": {text: [text, {"deep": text}]}, "list": [text, 1, None]}
        held = record(ticket, f"deploy:{text}", S.UNRESOLVED, payload, error=text, said=f"{text}\n{text}", outcome=text)
        shown = view(held, owner_dead=False)
        told = row(held, "note", "unresolved", "unresolved", NOW, actor=text, reason=text, evidence=f"{text} seen")
        story.board.show_effect(replace(shown, log=(*shown.log, told)))
    return story.board


EFFECT_SCENES = {"stuck": stuck, "nothing-waits": nothing_waits, "hostile-effects": hostile_effects}
