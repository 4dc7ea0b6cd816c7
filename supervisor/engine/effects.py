"""Runs effects: commands, Python handlers and probes, each with its own deadline, in tasks that outlive agents.

An interrupt, a disconnect or a dead agent never cuts an effect off. What ends without proof ends as unresolved. Knows
no SDK and no model; who asked is somebody else's business.
"""

from __future__ import annotations

import inspect
import logging
import os
import shutil
import sys
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core import payloads
from supervisor.core.effects import EffectRecord, EffectState, Refused
from supervisor.core.errors import LateSettle, StoreError
from supervisor.core.redaction import Redactor
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

log = logging.getLogger("supervisor.effects")
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
        self._secrets = secrets_of(specs)
        self._clear = Redactor(self._secrets)
        self._running: dict[str, anyio.CancelScope] = {}
        self._threads: Counter[str] = Counter()
        """Handlers at work in threads, those given up on included."""
        desk.is_executing = self.is_executing
        self._ended = anyio.Event()

    @property
    def running(self) -> tuple[str, ...]:
        """Keys of the effects under way."""
        return tuple(self._running)

    def is_executing(self, key: str) -> bool:
        """Return whether anything still works on an effect: one that ran out of time may, in its thread."""
        return key in self._running or self._threads[key] > 0

    async def wait_idle(self) -> None:
        """Wait until no effect is under way."""
        while self._running:
            await self._ended.wait()

    async def wait_change(self) -> None:
        """Wait until an effect under way has ended."""
        if self._running:
            await self._ended.wait()

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
            except StoreError:
                raise
            except Exception:  # one effect's fault is its own: the claim stays, and is found at the next start
                log.exception("effect %s", held.key)
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
                verdict = _storable(verdict)
        except Exception as error:  # whatever broke, it may have happened
            verdict = Verdict(EffectState.UNRESOLVED, error=f"{type(error).__name__}: {error}"[:_ERROR_CHARS])
        finally:
            with anyio.CancelScope(shield=True):
                record = await self._settle(held, verdict)
            self._running.pop(held.key, None)
            self._ended.set()
            self._ended = anyio.Event()
        return record

    async def _settle(self, held: EffectRecord, verdict: Verdict) -> EffectRecord:
        try:
            return await self.desk.settle(held, verdict.state, outcome=verdict.outcome, error=verdict.error)
        except LateSettle:  # somebody took the claim away; what we saw is in the log
            await self.desk.refresh(held)
            return await self.desk.ledger.find(held.scope, held.op) or held

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
        program = str(self._home / argv[0]) if "/" in argv[0] else argv[0]
        if shutil.which(program, path=env.get("PATH")) is None:
            return held, Verdict(EffectState.REFUSED, error=f"{argv[0]}: command not found")
        ledger = self.desk.ledger

        async def note(pid: int, start: int | None) -> None:
            nonlocal held
            held = await ledger.record_command(held, pid, start)

        given = payloads.canonical(held.payload).encode()
        try:
            ran = await effect_command.run(argv, self._home, env, given, spec.max_output_bytes, note, self._clear)
        except OSError as error:  # the process was never made
            return held, Verdict(EffectState.REFUSED, error=f"{argv[0]}: {error.strerror or error}")
        return held, self._of_command(ran)

    def _of_command(self, ran: Ran) -> Verdict:
        output, error = ran.output, ran.error
        if ran.exit_code == 0:
            return Verdict(EffectState.DONE, output)
        if ran.exit_code == EXIT_REFUSED:
            return Verdict(EffectState.REFUSED, error=error or output or "it refused")
        return Verdict(EffectState.UNRESOLVED, error=f"exit {ran.exit_code}: {tail(error or output, _ERROR_CHARS)}")

    async def _handler(self, spec: EffectSpec, held: EffectRecord) -> Verdict:
        context = EffectContext(held.remote_key, held.ticket, held.claimed_at)
        try:
            function = await anyio.to_thread.run_sync(self._find, spec.handler or "")
        except Exception as error:  # a module may fail in any way while it is imported; nothing was called yet
            return Verdict(EffectState.REFUSED, error=f"{spec.handler}: {type(error).__name__}: {error}"[:_ERROR_CHARS])
        try:
            outcome = await self._called(function, held, context)
        except Refused as refusal:
            return Verdict(EffectState.REFUSED, error=str(refusal))
        except Exception as error:
            return Verdict(EffectState.UNRESOLVED, error=f"{type(error).__name__}: {error}"[:_ERROR_CHARS])
        return Verdict(EffectState.DONE, outcome)

    async def _called(self, function: Callable[..., Any], held: EffectRecord, context: EffectContext) -> Any:
        """Call a handler: an async one here, any other in a thread, where it may block as long as it likes."""
        if inspect.iscoroutinefunction(function):
            return await function(held.payload, context)

        def work() -> Any:
            try:
                return function(held.payload, context)
            finally:
                self._threads[held.key] -= 1

        self._threads[held.key] += 1
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    def _find(self, name: str) -> Callable[..., Any]:
        """Import a handler; its module may stand beside the batch's file."""
        if str(self._home) not in sys.path:
            sys.path.append(str(self._home))
        module, _, function = name.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), function)
        return found

    def secret_in(self, payload: Json) -> str | None:
        """Return the name of a variable whose secret value a payload holds: it would stay readable in the ledger."""
        words = payloads.canonical(payload)
        return next((n for n, v in self._secrets.items() if len(v) >= payloads.MIN_SECRET and v in words), None)

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
            spec.probe, self._home, env, payloads.canonical(asked).encode(), spec.max_output_bytes, None, self._clear
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
            found = await self._called(function, record, context)
        except Refused as proof:
            return Verdict(EffectState.NOT_DONE, error=str(proof))
        except Exception as error:
            return f"the probe failed: {type(error).__name__}: {error}"
        return "the probe could not tell" if found is None else Verdict(EffectState.DONE, found)


def _storable(verdict: Verdict) -> Verdict:
    """Return the verdict with an outcome that JSON can hold: what was done must not be lost for how it was told."""
    try:
        payloads.canonical(verdict.outcome)
    except (TypeError, ValueError):
        return Verdict(verdict.state, repr(verdict.outcome), verdict.error)
    return verdict


def secrets_of(specs: Mapping[str, EffectSpec]) -> dict[str, str]:
    """Return the values that must never be written down: what effects get by name, and whatever looks like a secret.

    A variable whose name sounds secret but that holds a plain word (``AUTH_MODE=production``) hides nothing.
    """
    named = {name: os.environ[name] for spec in specs.values() for name in spec.env if os.environ.get(name)}
    guessed = {n: v for n, v in payloads.secrets_of(os.environ).items() if not v.isalpha()}
    return guessed | named
