"""The composition root: engine, signals and screen (or printer) as siblings in one task group.

The screen is a sibling of the engine and not its host: a screen that hosts the engine would cut its clean-up off, and
an engine that cancels the screen would leave the terminal in a mess. So the engine says when it has stopped, and only
then does the screen end.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio

from supervisor.core.text import safe_line
from supervisor.engine import logbook, requests
from supervisor.engine.address import SOCKET
from supervisor.engine.batch import Batch, open_batch
from supervisor.engine.effects import secrets_of
from supervisor.engine.socket import serve
from supervisor.headless import Printer
from supervisor.leaving import counts, exit_code

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from anyio.abc import TaskGroup, TaskStatus

    from supervisor.core.spec import BatchSpec
    from supervisor.engine.context import Engine, Launch

_SAID_S = 15.0
"""How long a screen shows what is told once."""
_LAST_LINES_S = 2.0
"""How long a reader that has stopped reading may delay our end."""
EXIT_FAULT = 70
"""Exit code when the screen ended by a fault of its own: what the tickets came to is not all there is to say."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Ending:
    """How the run is told to end."""

    signal: signal.Signals | None = None
    screen_fell: bool = False
    """The screen ended by a fault of its own, and the batch because of that."""
    has_screen: bool = False
    """With a screen nothing but a signal, a fault or the operator ends the batch."""

    def code(self, batch: Batch) -> int:
        """Return the exit code: 128 + the signal, or that of a fault, else what the tickets call for."""
        if self.signal is not None:
            return 128 + self.signal
        return EXIT_FAULT if self.screen_fell else exit_code(batch.board, quit_=self.has_screen)


async def run_batch(
    spec: BatchSpec,
    state_dir: Path,
    launch: Launch,
    *,
    headless: bool,
    as_json: bool = False,
    rehearsal: bool = False,
    adjust: Callable[[Engine], None] | None = None,
    again: str = "",
    said: str = "",
) -> int:
    """Run a batch to its end and return the exit code. Raises StoreError and LockedError.

    Args:
        spec: the batch.
        state_dir: made by ``make_state_dir``.
        launch: how agents are started.
        headless: print lines instead of drawing.
        as_json: print them as JSON.
        rehearsal: say so on the screen.
        adjust: as for ``open_batch``.
        again: the command that goes on with the batch; empty where nothing is left to go on with.
        said: what the operator is told once, at the beginning.
    """
    with logbook.keep(state_dir, secrets_of(spec.effects)):
        async with open_batch(spec, state_dir, launch, adjust=adjust) as batch:
            batch.board.announce(rehearsal=rehearsal)
            if headless:
                return await _print(batch, as_json, again, said)
            return await _draw(batch, again, said)


async def _watch_signals(batch: Batch, ending: Ending, *, task_status: TaskStatus[None]) -> None:
    """The first signal lets everything rest, a second one stops waiting for agents."""
    with anyio.open_signal_receiver(*SIGNALS) as received:
        task_status.started()
        async for number in received:
            if ending.signal is None:
                ending.signal = number
                batch.request_stop()
            else:
                batch.kill()


async def _listen(group: TaskGroup, batch: Batch) -> None:
    """Let other shells in. A disk that cannot hold a socket is no reason not to run."""
    try:
        await group.start(serve, batch.engine.state_dir / SOCKET, partial(requests.answer, batch))
    except OSError as error:
        words = f"other shells cannot reach this supervisor: {SOCKET}: {error.strerror or error}"
        batch.board.announce(notice="; ".join(filter(None, (batch.board.announced.notice, words))))


async def _print(batch: Batch, as_json: bool, again: str = "", said: str = "") -> int:
    ending = Ending()
    printer = Printer(batch.board, as_json=as_json)
    holds = batch.engine.holds
    holds.listen(lambda: printer.say(holds.words or "new tickets start again"))
    try:
        async with anyio.create_task_group() as group:
            await group.start(_watch_signals, batch, ending)
            await _listen(group, batch)
            printer.say(said)
            printer.say(batch.board.announced.notice)
            group.start_soon(printer.run)
            await batch.pool.run()
            if not printer.has_told:
                printer.say(counts(batch.board, again))
            group.cancel_scope.cancel()
    finally:
        with anyio.move_on_after(_LAST_LINES_S, shield=True):
            await printer.flush()
    return ending.code(batch)


async def _draw(batch: Batch, again: str, said: str) -> int:
    from supervisor.app.app import SuperviseApp
    from supervisor.app.own_keys import read_own_keys
    from supervisor.app.own_theme import theme_path

    keys = read_own_keys()
    _calm_collector()
    await batch.restore_pause()
    ending = Ending(has_screen=True)
    ready = anyio.Event()

    def begin() -> None:
        ready.set()
        if said:
            app.notify(safe_line(said), markup=False, timeout=_SAID_S)

    app = SuperviseApp(
        batch,
        on_ready=begin,
        keys=keys,
        theme_file=theme_path(os.environ),
        clear=batch.engine.journal.redactor.text,
    )

    fault: list[Exception] = []

    async def engine() -> None:
        await ready.wait()
        try:
            await batch.pool.run(stay=True)
        except Exception as error:  # kept back: an error here would cancel the screen and leave the terminal broken
            fault.append(error)
        finally:
            app.finish(ending.code(batch))

    async with anyio.create_task_group() as group:
        await group.start(_watch_signals, batch, ending)
        await _listen(group, batch)
        group.start_soon(engine)
        try:
            await app.run_async()
        finally:
            ending.screen_fell = not batch.pool.finished.is_set()
            batch.request_stop()
            ready.set()
            with anyio.CancelScope(shield=True):
                await batch.pool.finished.wait()
            group.cancel_scope.cancel()
    if fault:
        raise fault[0]
    if not ending.screen_fell and ending.signal is not signal.SIGHUP:
        _say_goodbye(counts(batch.board, again))
    return ending.code(batch)


def _say_goodbye(words: str) -> None:
    """Print a line where the screen was; a terminal that has gone away needs none."""
    with suppress(OSError, ValueError):
        sys.stdout.write(f"{safe_line(words)}\n")
        sys.stdout.flush()


def _calm_collector() -> None:
    """Keep the garbage collector from stopping the screen: a full collection over long transcripts takes 0.1 s.

    What is loaded now stays for good, and full collections become rare; nearly all of what comes later is freed by
    reference counts.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 100)


def exit_with(code: int) -> None:
    """Leave with the code, also when the terminal is gone and standard output can no longer be flushed."""
    if code == 128 + signal.SIGHUP:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
    sys.exit(code)
