"""An agent asks for an effect: claim, wait for approval, run, and say in plain words what became of it.

One caller lives as long as an attempt. What it answers is written for the model: only what is certain, and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from supervisor.core.effects import Answer, Claim, EffectRecord, EffectRequest, EffectState
from supervisor.core.errors import StoreError
from supervisor.core.payloads import Difference, Json, KeyFault, as_text, build_op, canonical
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from supervisor.core.effects import LogRow
    from supervisor.core.spec import EffectSpec
    from supervisor.engine.effects import EffectRunner

MAX_PAYLOAD = 1_000_000
"""Characters of a payload's canonical form."""
_REASON_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What the model reads."""

    text: str
    is_error: bool = False


class Asker(Protocol):
    """The attempt that an agent's call comes from."""

    ticket: str
    scope: str
    """Root of the ticket's lineage."""
    stuck: EffectRecord | None
    """The effect that stopped it."""
    lost: str
    """Which effect was not run because the ledger could not be written, in words; empty where none was."""

    def said(self) -> str:
        """Return what the model said just before."""
        ...

    async def waits(self, record: EffectRecord) -> None:
        """The effect waits for the operator, and the model with it."""
        ...

    async def goes_on(self, record: EffectRecord) -> None:
        """The operator has answered."""
        ...

    def is_stuck(self, record: EffectRecord) -> None:
        """Nobody knows whether the effect happened: the ticket stops."""
        ...

    def is_lost(self, effect: str, fault: StoreError) -> None:
        """An effect could not be written down, and so was not run: the ticket stops, or it would end without it."""
        ...


class EffectCaller:
    """Answers the effect calls of one attempt."""

    def __init__(self, runner: EffectRunner, asker: Asker) -> None:
        self._runner = runner
        self._asker = asker
        self.active = 0
        """Calls under way: while there is one, an agent that says nothing is not stalled."""

    async def call(self, spec: EffectSpec, payload: dict[str, Json]) -> ToolAnswer:
        """Do what the model asks for, at most once. Never raises for what the model did wrong."""
        if self._asker.stuck is not None or self._asker.lost:
            return ToolAnswer("Nothing was done: another effect has to be settled first. Stop here.", is_error=True)
        self.active += 1
        try:
            return await self._call(self._request(spec, payload), spec)
        except (KeyFault, ValueError, TypeError) as fault:
            return ToolAnswer(f"Nothing was done: {fault}. Correct the input and call again.", is_error=True)
        except StoreError as fault:
            self._asker.is_lost(spec.name, fault)
            words = f"Nothing was done: the ledger cannot be written ({fault}). Stop here; the operator sees to it."
            return ToolAnswer(words, is_error=True)
        finally:
            self.active -= 1

    def _request(self, spec: EffectSpec, payload: dict[str, Json]) -> EffectRequest:
        if len(canonical(payload)) > MAX_PAYLOAD:
            raise KeyFault(f"the input is larger than {MAX_PAYLOAD} characters")
        if (name := self._runner.secret_in(payload)) is not None:
            raise KeyFault(f"the input holds the secret value of ${name}")
        return EffectRequest(
            scope=self._asker.ticket if spec.scope == "ticket" else self._asker.scope,
            op=build_op(spec.name, spec.key, payload),
            kind=spec.kind,
            effect=spec.name,
            ticket=self._asker.ticket,
            payload=payload,
            approval=spec.approval == "always",
            window_s=spec.window_s,
            timeout_s=spec.timeout_s,
            said=self._asker.said(),
        )

    async def _call(self, request: EffectRequest, spec: EffectSpec) -> ToolAnswer:
        claim = await self._runner.desk.claim(request)
        if claim.answer is Answer.REQUESTED:
            await self._asker.waits(claim.record)
            decided = await self._runner.desk.wait_for_decision(claim.record)
            await self._asker.goes_on(claim.record)
            if decided.state is not EffectState.GRANTED:
                return self._told(decided)
            claim = await self._runner.desk.claim(request)
        if claim.answer is Answer.MINE:
            return self._told(await self._runner.run(spec, claim.record))
        if claim.answer is Answer.CONFLICT:
            return _conflict(claim)
        if claim.answer is Answer.IN_PROGRESS:
            return ToolAnswer("This very effect is under way already. Do not call it again; go on.", is_error=True)
        return self._told(claim.record)

    def _told(self, record: EffectRecord) -> ToolAnswer:
        if record.state in (EffectState.UNRESOLVED, EffectState.CLAIMED):
            self._asker.is_stuck(record)
        return tell(record, self._asker.ticket, self._runner.desk.decision(record))


def tell(record: EffectRecord, ticket: str | None = None, decided: LogRow | None = None) -> ToolAnswer:
    """Return what a model is told of an effect that was asked for.

    Args:
        record: the effect.
        ticket: the model's own, if that is not the one that asked last.
        decided: the decision or proof that brought the effect to where it is.
    """
    match record.state:
        case EffectState.DONE:
            return ToolAnswer(record.outcome_text or "Done.")
        case EffectState.REFUSED:
            return ToolAnswer(f"Refused, and certainly not applied: {record.error}", is_error=True)
        case EffectState.UNRESOLVED:
            return ToolAnswer(
                f"It is not known whether this happened: {record.error or 'it was cut off'}. It will not be run again "
                "until the operator has found out. Do not try it in another way. Stop here.",
                is_error=True,
            )
        case EffectState.GRANTED if record.granted_to not in (None, ticket or record.granted_to):
            return ToolAnswer(
                f"The operator allows {record.granted_to} to run this once, and nobody else. Go on without it.",
                is_error=True,
            )
        case EffectState.GRANTED:
            return ToolAnswer(
                "The operator allows this to run once: call it with exactly the same input.", is_error=True
            )
        case EffectState.REQUESTED:
            return ToolAnswer("This waits for the operator's approval. It was not done.", is_error=True)
        case EffectState.CLAIMED:
            return ToolAnswer(
                "It is under way or was cut off: whether it happened is not known yet. Do not do it in another way.",
                is_error=True,
            )
        case EffectState.DENIED:
            reason = safe_line(decided.reason, _REASON_CHARS) if decided is not None else ""
            why = f" Their reason: {reason}" if reason else ""
            return ToolAnswer(f"The operator denied this. It was not done. Go on without it.{why}", is_error=True)
        case EffectState.NOT_DONE:
            asked = decided is not None and decided.actor_kind == "probe"
            who = "The other system was asked, and says" if asked else "The operator settled this: they say"
            return ToolAnswer(
                f"{who} that it did not happen. It is not run again unless the operator allows it: "
                "do not call it again. Go on without it.",
                is_error=True,
            )
        case EffectState.ABANDONED:
            return ToolAnswer("The operator gave this effect up. Go on without it.", is_error=True)
        case _:
            return ToolAnswer(f"This effect is {record.state.value}. Nothing was done now.", is_error=True)


def _conflict(claim: Claim) -> ToolAnswer:
    """The same key with another payload: nothing ran, and both sides are told where they differ."""
    fields = "\n".join(f"- {_difference(d)}" for d in claim.diff)
    stored = f" Its outcome was: {claim.record.outcome_text}" if claim.record.state is EffectState.DONE else ""
    return ToolAnswer(
        f"Nothing was done: this effect was asked for before with other input, and is {claim.record.state.value}."
        f"{stored}\nThe inputs differ in:\n{fields}",
        is_error=True,
    )


def _difference(d: Difference) -> str:
    shown = [as_text(value) if value is not None else "(missing)" for value in (d.old, d.new)]
    return f"{d.path or 'the input'}: before {shown[0]}, now {shown[1]}"
