"""The ledger as a running batch sees it: every effect on the board, decisions carried out, and who waits is woken."""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from supervisor.core.effects import Answer, EffectRecord, EffectState, EffectView, decision
from supervisor.core.errors import StoreError
from supervisor.core.rulings import Decision, DecisionVerb
from supervisor.store.owner import is_proved_dead

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.core.board import Board
    from supervisor.core.effects import Claim, EffectRequest, LogRow
    from supervisor.core.payloads import Json
    from supervisor.core.spec import EffectSpec
    from supervisor.engine.effects import Verdict
    from supervisor.store.ledger import Ledger

OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What an operator asks of one effect, from a screen or a shell."""

    key: str
    verb: DecisionVerb
    seen_version: int
    """The version that was shown; a stale one is refused."""
    why: str = ""
    evidence: str = ""
    outcome: Json = None
    ticket: str | None = None
    """With a grant: the ticket that may run it; None means the one that asked last."""
    actor: str = OPERATOR


class EffectDesk:
    """Where effects are claimed, ended and decided while a batch runs."""

    def __init__(self, ledger: Ledger, board: Board, specs: Mapping[str, EffectSpec]) -> None:
        self.ledger = ledger
        self._board = board
        self._specs = specs
        self._changed = anyio.Event()
        self._unsettled: tuple[int, tuple[EffectView, ...]] = (-1, ())
        """The version of the board's effects, and those of them that wait or are under way."""
        self.on_decided: Callable[[EffectRecord], None] = lambda _: None
        """Called when an effect no longer waits for the operator."""
        self.on_ended: Callable[[EffectRecord], None] = lambda _: None
        """Called when a claimed effect has ended, however it did."""
        self.is_executing: Callable[[str], bool] = lambda _: False
        """Whether something of ours still works on the effect of a key, a thread that was given up on included."""

    async def open(self) -> tuple[EffectRecord, ...]:
        """Begin this start's epoch, find claims whose owner is proved dead, and show everything.

        Returns the orphaned claims, which are unresolved now. Raises StoreError.
        """
        await self.ledger.open()
        orphans = await self.ledger.orphaned_claims()
        for record in await self.ledger.records():
            await self._show(record)
        return orphans

    async def claim(self, request: EffectRequest) -> Claim:
        """Claim an effect; see ``Ledger.claim``. Where it cannot be shown it is not run, and is written off."""
        claim = await self.ledger.claim(request)
        try:
            await self._show(claim.record)
        except StoreError as fault:
            if claim.answer is Answer.MINE:
                with suppress(StoreError):  # else it is found without an end at the next start
                    await self.ledger.settle(claim.record, EffectState.REFUSED, error=f"it was not run: {fault}")
            raise
        return claim

    async def settle(
        self, held: EffectRecord, state: EffectState, *, outcome: Json = None, error: str = "", reason: str = ""
    ) -> EffectRecord:
        """End a claim of ours; see ``Ledger.settle``."""
        record = await self.ledger.settle(held, state, outcome=outcome, error=error, reason=reason)
        await self._show(record)
        self.on_ended(record)
        return record

    async def take_orphans(self) -> tuple[EffectRecord, ...]:
        """Look again at claims of earlier starts: those whose owner and command are proved dead now are unresolved."""
        orphans = await self.ledger.orphaned_claims()
        for record in orphans:
            await self._show(record)
            self.on_ended(record)
        return orphans

    @property
    def has_foreign_claims(self) -> bool:
        """Whether a claim of an earlier start, or of somebody else, is still open."""
        return any(
            v.record.state is EffectState.CLAIMED and v.record.epoch != self.ledger.epoch for v in self._board.effects()
        )

    async def rule(self, ruling: Ruling) -> EffectRecord:
        """Carry out what the operator decided, and wake who waits for it.

        Raises UnknownEffect, StaleDecision and DecisionRefused, whose texts are for the operator, and StoreError.
        """
        held = await self.ledger.by_key(ruling.key)
        wanted = Decision(
            ruling.verb,
            str(uuid.uuid4()),
            ruling.actor,
            ruling.seen_version,
            ruling.why,
            ruling.evidence,
            ruling.outcome,
            ruling.ticket,
        )
        record = await self.ledger.decide(held, wanted)
        await self._show(record)
        if ruling.verb is not DecisionVerb.NOTE:
            self.on_decided(record)
        return record

    async def once_more(self, ruling: Ruling) -> EffectRecord:
        """Decide that it may run once more: one row in the log, which claims nothing of what became of the first run.

        Raises as ``rule`` does.
        """
        return await self.rule(replace(ruling, verb=DecisionVerb.GRANT))

    async def take_proof(self, record: EffectRecord, found: Verdict | str) -> str | None:
        """Let a probe's proof settle an effect; return None if it did, else in words why not.

        It settles ``done`` by itself and ``not_done`` only on proof. Anything else changes nothing.
        """
        if isinstance(found, str):
            await self.refresh(record)
            return found
        verb = DecisionVerb.DONE if found.state is EffectState.DONE else DecisionVerb.NOT_DONE
        words = found.error or "the other system says so"
        proof = Decision(
            verb,
            str(uuid.uuid4()),
            f"probe of {record.effect}",
            record.version,
            words,
            words,
            found.outcome,
            None,
            "probe",
        )
        settled = await self.ledger.decide(record, proof)
        await self._show(settled)
        self.on_decided(settled)
        return None

    async def wait_for_decision(self, record: EffectRecord) -> EffectRecord:
        """Wait until an effect that was requested is no longer; return it as it is then."""
        while True:
            changed = self._changed
            now = await self.ledger.find(record.scope, record.op)
            if now is None or now.state is not EffectState.REQUESTED:
                return now or record
            await changed.wait()

    def waiting_for(self, ticket: str) -> tuple[EffectRecord, ...]:
        """Return the effects a ticket asked for that only the operator can settle, whoever of its lineage ran them."""
        return tuple(v.record for v in self._unsettled_now() if v.waits and ticket in v.askers)

    def under_way(self, ticket: str) -> tuple[EffectRecord, ...]:
        """Return the effects a ticket asked for that are claimed and have not ended."""
        claimed = EffectState.CLAIMED
        return tuple(v.record for v in self._unsettled_now() if v.record.state is claimed and ticket in v.askers)

    def _unsettled_now(self) -> tuple[EffectView, ...]:
        """Return the effects that wait or are under way: few of many, looked for as each ticket starts and ends."""
        version, board = self._board.effects_version, self._board
        if self._unsettled[0] != version:
            open_ = (v for v in board.effects() if v.waits or v.record.state is EffectState.CLAIMED)
            self._unsettled = version, tuple(open_)
        return self._unsettled[1]

    def askers(self, record: EffectRecord) -> frozenset[str]:
        """Return the tickets that wait for how an effect goes on."""
        view = self._board.effect(record.key)
        return view.askers if view is not None else frozenset({record.ticket})

    def decision(self, record: EffectRecord) -> LogRow | None:
        """Return the decision or the proof that brought an effect to where it is; None where neither did."""
        view = self._board.effect(record.key)
        return decision(view.log) if view is not None and view.record.version == record.version else None

    async def refresh(self, record: EffectRecord, *, busy: bool = False) -> None:
        """Show an effect again, after something about it changed."""
        await self._show(await self.ledger.find(record.scope, record.op) or record, busy=busy)

    async def _show(self, record: EffectRecord, *, busy: bool = False) -> None:
        log = await self.ledger.log(record)
        spec = self._specs.get(record.effect)
        has_probe = spec is not None and (spec.probe is not None or spec.probe_handler is not None)
        self._board.show_effect(EffectView(record, log, await self._is_dead(record), has_probe, busy))
        self._changed.set()
        self._changed = anyio.Event()

    async def _is_dead(self, record: EffectRecord) -> bool:
        """Whether nothing of the last claim can still be running."""
        if record.owner is None:
            return True
        owner, command = record.owner, record.command
        if record.epoch == self.ledger.epoch:
            dead = record.state is not EffectState.CLAIMED and not self.is_executing(record.key)
        else:
            dead = await anyio.to_thread.run_sync(is_proved_dead, owner)
        return dead and (command is None or await anyio.to_thread.run_sync(is_proved_dead, command))
