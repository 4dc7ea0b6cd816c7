"""Runs effects: commands, Python handlers and probes, each with its own deadline, in tasks that outlive agents.

An interrupt, a disconnect or a dead agent never cuts an effect off. What ends without proof ends as unresolved. Knows
no SDK and no model; who asked is somebody else's business.
"""

from __future__ import annotations

import inspect
import os
import shutil
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core import payloads
from supervisor.core.effects import EffectRecord, EffectState, Refused
from supervisor.core.errors import LateSettle
from supervisor.core.text import tail
from supervisor.engine import effect_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from anyio.abc import TaskGroup

    from supervisor.core.payloads import Json
    from supervisor.core.spec import EffectSpec
    from supervisor.engine.desk import EffectDesk
    from supervisor.engine.effect_command import Ran

EXIT_REFUSED = 65
"""An effect command ends so when the effect was certainly not applied; a probe when it is proved not applied."""
EXIT_PENDING = 75
"""A probe ends so when the other system has not made up its mind."""
_ERROR_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class EffectContext:
    """What a Python handler or probe is told besides the payload."""

    key: str
    """To be passed to the other system, where it takes one; stable over retries."""
    ticket: str
    claimed_at: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an effect ended."""

    state: EffectState
    outcome: Json = None
    error: str = ""


class EffectRunner:
    """Runs the effects of one batch. ``group`` must stay open longer than any agent."""

    def __init__(
        self,
        desk: EffectDesk,
        specs: Mapping[str, EffectSpec],
        group: TaskGroup,
        home: Path,
        recorder: Callable[[EffectSpec, EffectRecord], Verdict] | None = None,
    ) -> None:
        """Prepare to run effects.

        Args:
            desk: where they are claimed and ended.
            specs: the batch's effects by name.
            group: the tasks they run in.
            home: directory commands start in, and where handlers are looked for.
            recorder: answers instead of running anything; for rehearsals.
        """
        self.desk = desk
        self.specs = specs
        self._group = group
        self._home = home
        self._recorder = recorder
        self._running: dict[str, anyio.CancelScope] = {}
        self._idle = anyio.Event()

    @property
    def running(self) -> tuple[str, ...]:
        """Keys of the effects under way."""
        return tuple(self._running)

    async def wait_idle(self) -> None:
        """Wait until no effect is under way."""
        while self._running:
            self._idle = anyio.Event()
            await self._idle.wait()

    def abandon_running(self) -> None:
        """Stop waiting for effects under way: they end as unresolved."""
        for scope in self._running.values():
            scope.cancel()

    async def run(self, spec: EffectSpec, held: EffectRecord) -> EffectRecord:
        """Run a claimed effect to its end and return its record. A cancelled caller does not cut it off."""
        ended: list[EffectRecord] = []
        over = anyio.Event()

        async def go() -> None:
            try:
                ended.append(await self._run(spec, held))
            finally:
                over.set()

        self._group.start_soon(go)
        await over.wait()
        return ended[0] if ended else held

    async def _run(self, spec: EffectSpec, held: EffectRecord) -> EffectRecord:
        scope = anyio.CancelScope()
        self._running[held.key] = scope
        verdict = Verdict(EffectState.UNRESOLVED, error="it was left while it was under way")
        try:
            with scope:
                held, verdict = await self._in_time(spec, held)
        finally:
            with anyio.CancelScope(shield=True):
                record = await self._settle(held, verdict)
            self._running.pop(held.key, None)
            self._idle.set()
        return record

    async def _settle(self, held: EffectRecord, verdict: Verdict) -> EffectRecord:
        try:
            return await self.desk.settle(held, verdict.state, outcome=verdict.outcome, error=verdict.error)
        except LateSettle:  # somebody took the claim away; what we saw is in the log
            await self.desk.refresh(held)
            return held

    async def _in_time(self, spec: EffectSpec, held: EffectRecord) -> tuple[EffectRecord, Verdict]:
        with anyio.move_on_after(spec.timeout_s) as deadline:
            if self._recorder is not None:
                return held, self._recorder(spec, held)
            if spec.command is not None:
                return await self._command(spec, held)
            return held, await self._handler(spec, held)
        assert deadline.cancelled_caught
        return held, Verdict(EffectState.UNRESOLVED, error=f"no end after {spec.timeout_s:g} s")

    async def _command(self, spec: EffectSpec, held: EffectRecord) -> tuple[EffectRecord, Verdict]:
        argv = spec.command or ()
        env = effect_command.environment(spec.env, key=held.remote_key, ticket=held.ticket)
        if shutil.which(argv[0], path=env.get("PATH")) is None:
            return held, Verdict(EffectState.REFUSED, error=f"{argv[0]}: command not found")
        ledger = self.desk.ledger

        async def note(pid: int, start: int | None) -> None:
            nonlocal held
            held = await ledger.record_command(held, pid, start)

        ran = await effect_command.run(
            argv, self._home, env, payloads.canonical(held.payload).encode(), spec.max_output_bytes, note
        )
        return held, _of_command(ran)

    async def _handler(self, spec: EffectSpec, held: EffectRecord) -> Verdict:
        context = EffectContext(held.remote_key, held.ticket, held.claimed_at)
        try:
            function = await anyio.to_thread.run_sync(self._find, spec.handler or "")
        except (ImportError, AttributeError) as error:
            return Verdict(EffectState.REFUSED, error=f"{spec.handler}: {error}")
        try:
            outcome = await _called(function, held.payload, context)
        except Refused as refusal:
            return Verdict(EffectState.REFUSED, error=str(refusal))
        except Exception as error:
            return Verdict(EffectState.UNRESOLVED, error=f"{type(error).__name__}: {error}"[:_ERROR_CHARS])
        return Verdict(EffectState.DONE, outcome)

    def _find(self, name: str) -> Callable[..., Any]:
        """Import a handler; its module may stand beside the batch's file."""
        if str(self._home) not in sys.path:
            sys.path.append(str(self._home))
        module, _, function = name.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), function)
        return found

    async def probe(self, record: EffectRecord) -> Verdict | str:
        """Ask the other system whether an effect was applied; return a proof, or in words why there is none."""
        spec = self.specs.get(record.effect)
        if self._recorder is not None:
            return "probes are not run in a rehearsal"
        if spec is None or (spec.probe is None and spec.probe_handler is None):
            return "this effect has no probe"
        with anyio.move_on_after(spec.timeout_s):
            return await self._probe(spec, record)
        return f"the probe did not end in {spec.timeout_s:g} s: nothing is known"

    async def _probe(self, spec: EffectSpec, record: EffectRecord) -> Verdict | str:
        if spec.probe is None:
            return await self._probe_handler(spec, record)
        env = effect_command.environment(spec.env, key=record.remote_key, ticket=record.ticket)
        asked: Json = {"key": record.remote_key, "payload": record.payload, "claimed_at": record.claimed_at}
        ran = await effect_command.run(
            spec.probe, self._home, env, payloads.canonical(asked).encode(), spec.max_output_bytes, None
        )
        if ran.exit_code == 0:
            return Verdict(EffectState.DONE, ran.output)
        if ran.exit_code == EXIT_REFUSED:
            return Verdict(EffectState.NOT_DONE, error=ran.error or ran.output)
        if ran.exit_code == EXIT_PENDING:
            return "the other system has not made up its mind yet: ask again later"
        return f"the probe could not tell (exit {ran.exit_code}): {tail(ran.error, 300)}"

    async def _probe_handler(self, spec: EffectSpec, record: EffectRecord) -> Verdict | str:
        context = EffectContext(record.remote_key, record.ticket, record.claimed_at)
        try:
            function = await anyio.to_thread.run_sync(self._find, spec.probe_handler or "")
            found = await _called(function, record.payload, context)
        except Refused as proof:
            return Verdict(EffectState.NOT_DONE, error=str(proof))
        except Exception as error:
            return f"the probe failed: {type(error).__name__}: {error}"
        return "the probe could not tell" if found is None else Verdict(EffectState.DONE, found)


def _of_command(ran: Ran) -> Verdict:
    if ran.exit_code == 0:
        return Verdict(EffectState.DONE, ran.output)
    if ran.exit_code == EXIT_REFUSED:
        return Verdict(EffectState.REFUSED, error=ran.error or ran.output or "it refused")
    return Verdict(EffectState.UNRESOLVED, error=f"exit {ran.exit_code}: {tail(ran.error or ran.output, _ERROR_CHARS)}")


async def _called(function: Callable[..., Any], payload: Json, context: EffectContext) -> Any:
    """Call a handler: an async one here, any other in a thread, where it may block as long as it likes."""
    if inspect.iscoroutinefunction(function):
        return await function(payload, context)
    return await anyio.to_thread.run_sync(function, payload, context, abandon_on_cancel=True)


def secrets_of(specs: Mapping[str, EffectSpec]) -> dict[str, str]:
    """Return the values that must never be written down: what effects get by name, and whatever looks like a secret."""
    named = {name: os.environ[name] for spec in specs.values() for name in spec.env if os.environ.get(name)}
    return payloads.secrets_of(os.environ) | named
