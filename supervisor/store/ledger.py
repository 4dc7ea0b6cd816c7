"""The ledger of effects for the engine: an async front over ``claims``, ``decisions`` and ``chain``.

Each method is one transaction on the writer's thread; when it returns, what it did is on the disk. Secrets are taken
out of everything on its way in.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.core.effects import Answer, EffectState
from supervisor.core.errors import EffectsHeld, LateSettle, StoreError, UnknownEffect
from supervisor.core.payloads import redact, redact_value
from supervisor.store import chain, claims, decisions, effect_rows
from supervisor.store.owner import is_proved_dead, this_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from supervisor.core.effects import Claim, EffectRecord, EffectRequest, LogRow, Owner
    from supervisor.core.payloads import Json
    from supervisor.core.rulings import Decision
    from supervisor.store.database import Database
    from supervisor.store.watermark import Watermark


class Ledger:
    """Claims, ends and decides effects. One for each start of a supervisor: its epoch fences it off from all others."""

    def __init__(
        self,
        database: Database,
        *,
        owner: Owner | None = None,
        clock: Callable[[], float] = time.time,
        secrets: Mapping[str, str] | None = None,
        watermark: Watermark | None = None,
    ) -> None:
        """Prepare a start's ledger.

        Args:
            database: where it is kept.
            owner: who claims; this process where it is not given.
            clock: seconds since the epoch.
            secrets: names and values of what must not be written down.
            watermark: how far the ledger had come; None where nobody keeps that.
        """
        self._database = database
        self._owner = owner or this_process()
        self._clock = clock
        self._secrets = dict(secrets or {})
        self._watermark = watermark
        self._epoch: int | None = None

    async def open(self) -> int:
        """Begin an epoch and return its number. The database must be open. Raises StoreError."""
        if self._watermark is not None and not await self._database.run(self._watermark.compare):
            await self._database.run(self._watermark.advance)
        self._epoch = await self._database.transact(claims.open_epoch, self._owner, self._clock())
        return self._epoch

    async def close(self) -> None:
        """Note how far the ledger has come, decisions included. Raises StoreError."""
        if self._watermark is not None:
            await self._database.run(self._watermark.advance)

    @property
    def held(self) -> str:
        """Why no effect may be claimed, in words for the operator; empty where they may."""
        return self._watermark.held if self._watermark is not None else ""

    @property
    def epoch(self) -> int:
        """The number of this start. Raises StoreError before ``open``."""
        if self._epoch is None:
            raise StoreError("the ledger is not open", "open it before the first claim")
        return self._epoch

    async def claim(self, request: EffectRequest) -> Claim:
        """Claim an effect. Run it only when the answer is ``mine``, and then end it with ``settle``.

        Raises StoreError: then the effect must not run. EffectsHeld: nor may any other. ValueError when the payload is
        no JSON.
        """
        if self.held:
            raise EffectsHeld(self.held)
        payload = redact_value(request.payload, self._secrets)
        clean = replace(request, payload=payload, said=redact(request.said, self._secrets))
        claim = await self._database.transact(claims.claim, clean, self.epoch, self._clock())
        if claim.answer is Answer.MINE and self._watermark is not None:
            await self._note_claim(self._watermark, claim.record)
        return claim

    async def _note_claim(self, watermark: Watermark, held: EffectRecord) -> None:
        """Let a copy of the database that was made before this claim be known as older, before its effect runs."""
        try:
            await self._database.run(watermark.advance)
        except StoreError:
            await self.settle(held, EffectState.REFUSED, error="it could not be noted how far the ledger has come")
            raise

    async def record_command(self, held: EffectRecord, pid: int, start: int | None) -> EffectRecord:
        """Write down the process group that runs a claimed effect, before it is let go. Raises LateSettle."""
        return await self._database.transact(claims.record_command, held, pid, start)

    async def settle(
        self, held: EffectRecord, state: EffectState, *, outcome: Json = None, error: str = "", reason: str = ""
    ) -> EffectRecord:
        """End a claim of ours as done, refused or unresolved; ``held`` is the record the claim returned.

        Raises LateSettle when the claim was taken away meanwhile; what was reported is then kept in the log.
        """
        outcome, error = redact_value(outcome, self._secrets), redact(error, self._secrets)
        settle, now = claims.settle, self._clock()
        try:
            return await self._database.transact(
                settle, held, state, now, outcome=outcome, error=error, reason=redact(reason, self._secrets)
            )
        except LateSettle:
            await self._database.transact(claims.note_late, held, state, now, outcome=outcome, error=error)
            raise

    async def insert_done(self, request: EffectRequest, outcome: Json) -> EffectRecord:
        """Write the outcome of an ``idempotent`` effect that ran without a claim; return what the ledger says now."""
        clean = replace(request, payload=redact_value(request.payload, self._secrets))
        kept = redact_value(outcome, self._secrets)
        return await self._database.transact(claims.insert_done, clean, kept, self.epoch, self._clock())

    async def orphaned_claims(self, is_dead: Callable[[Owner], bool] = is_proved_dead) -> tuple[EffectRecord, ...]:
        """Move claims whose owner and command are proved dead to unresolved, and return those moved."""
        return await self._database.transact(claims.orphaned_claims, is_dead, self._clock())

    async def decide(self, record: EffectRecord, decision: Decision) -> EffectRecord:
        """Carry out a decision. Raises StaleDecision, DecisionRefused and UnknownEffect."""
        clean = replace(
            decision,
            why=redact(decision.why, self._secrets),
            evidence=redact(decision.evidence, self._secrets),
            outcome=redact_value(decision.outcome, self._secrets),
        )
        return await self._database.transact(decisions.decide, record.scope, record.op, clean, self._clock())

    async def find(self, scope: str, op: str) -> EffectRecord | None:
        """Return one effect, or None where nobody asked for it yet."""
        return await self._database.run(effect_rows.find, scope, op)

    async def by_key(self, key: str) -> EffectRecord:
        """Return the effect of a key as people write it. Raises UnknownEffect."""
        where = "WHERE iif(e.scope = '', e.op, e.scope || ':' || e.op) = ?"
        found = await self._database.run(effect_rows.select, where, [key])
        if not found:
            raise UnknownEffect(key)
        return found[0]

    async def records(self, states: Iterable[EffectState] | None = None) -> tuple[EffectRecord, ...]:
        """Return the effects in the given states, or all of them, by key."""
        chosen = [state.value for state in (EffectState if states is None else states)]
        where = f"WHERE e.state IN ({', '.join('?' * len(chosen))})"
        return await self._database.run(effect_rows.select, where, chosen)

    async def log(self, record: EffectRecord) -> tuple[LogRow, ...]:
        """Return the history of one effect, oldest first."""
        return await self._database.run(chain.log, record.scope, record.op)

    async def verify(self) -> tuple[str, ...]:
        """Return what is wrong with the ledger, in sentences; empty when all of it fits together."""
        return await self._database.run(chain.verify)
