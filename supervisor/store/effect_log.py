"""EffectLog: run an effect at most once, for programs of any kind. The engine's own ledger in a few words.

    log = EffectLog("effects.sqlite")
    result = log.claim_then_run("001:pr-comment", post_comment)

An effect may be a plain function or a coroutine function; with the latter, the result is awaited.
"""

from __future__ import annotations

import asyncio
import fcntl
import inspect
import os
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import anyio
import anyio.lowlevel

from supervisor.core.effects import Answer, EffectRecord, EffectRequest, EffectState, Refused
from supervisor.core.errors import LateSettle, StoreError
from supervisor.core.payloads import Json, canonical, redact, secrets_of
from supervisor.store import claims, effect_rows
from supervisor.store.codec import clean
from supervisor.store.database import connect
from supervisor.store.driver import sqlite3
from supervisor.store.owner import is_proved_dead, this_process

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from types import TracebackType

    from sqlite_utils import Database as Connection

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EffectResult:
    """What came of a call."""

    ran: bool
    """This call ran the effect."""
    state: str
    """``done``; ``claimed`` where the effect was begun and nobody knows its end; or what a person decided since."""
    outcome: Json
    """What the effect returned when it was done, by whichever call; None in any other state."""


class EffectLog:
    """A file that remembers which effects were begun and what came of them.

    Any number of processes, threads and objects may use the same file at the same time. An instance that was opened
    before a fork must not be used in the child.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open or create the file. Claims of processes that have died since are from now on known as unresolved.

        Raises StoreError when the file cannot be used.
        """
        self.path = Path(path)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._db = _connect_alone(self.path)
        self._open = True
        try:
            self._epoch = self._transact(lambda: claims.open_epoch(self._db, this_process(), time.time()))
            self._transact(lambda: claims.orphaned_claims(self._db, is_proved_dead, time.time()))
        except BaseException:
            self.close()
            raise

    @overload
    def claim_then_run(  # type: ignore[overload-overlap]  # a coroutine function is told apart when it is called
        self, key: str, effect: Callable[[], Coroutine[Any, Any, object]]
    ) -> Awaitable[EffectResult]: ...
    @overload
    def claim_then_run(self, key: str, effect: Callable[[], object]) -> EffectResult: ...
    def claim_then_run(self, key: str, effect: Callable[[], Any]) -> EffectResult | Awaitable[EffectResult]:
        """Run the effect if nobody has begun it under this key, ever: at most once.

        What it returns is kept as its outcome: JSON values as they are, anything else as its ``repr``. What it raises
        is raised here; the key then stays ``claimed``, since nobody knows whether the effect was applied, and it is
        not run again. An effect that knows it was not applied raises ``Refused``, which sets the key free.

        Raises StoreError when the claim cannot be written (the effect has not run), or its outcome cannot (it has).
        """
        if _is_async(effect):
            return self._claim_then_await(key, effect)
        held, result = self._claim(key)
        if result is not None:
            return result
        try:
            outcome = _not_awaitable(effect())
        except BaseException as error:
            self._failed(held, error)
            raise
        return self._done(held, outcome)

    @overload
    def compute_then_insert(  # type: ignore[overload-overlap]  # as above
        self, key: str, effect: Callable[[], Coroutine[Any, Any, object]]
    ) -> Awaitable[EffectResult]: ...
    @overload
    def compute_then_insert(self, key: str, effect: Callable[[], object]) -> EffectResult: ...
    def compute_then_insert(self, key: str, effect: Callable[[], Any]) -> EffectResult | Awaitable[EffectResult]:
        """Run the effect unless its outcome is known, then keep the outcome: at least once.

        For effects that do no harm when they run again: two callers at the same time both run it, and so does the next
        one after a crash. All of them get the outcome that was kept first. A key that ``claim_then_run`` has claimed
        is not run here. Raises what the effect raises (nothing is kept then) and StoreError.
        """
        if _is_async(effect):
            return self._await_then_insert(key, effect)
        known = self._transact(lambda: effect_rows.find(self._db, "", clean(key)))
        if known is not None:
            return _shown(known, ran=False)
        return self._insert(key, _not_awaitable(effect()))

    def close(self) -> None:
        """Close the file. An effect that is still running can no longer be ended, and stays ``claimed``."""
        with self._lock:
            if self._open:
                self._open = False
                self._db.close()

    def __enter__(self) -> EffectLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _claim_then_await(self, key: str, effect: Callable[[], Awaitable[object]]) -> EffectResult:
        (held, result), cancelled = await _whole(lambda: self._claim(key))
        if cancelled is not None:
            if result is None:
                await _whole(lambda: self._settle(held, EffectState.REFUSED, error="cancelled before it began"))
            raise cancelled
        if result is not None:
            return result
        try:
            outcome = await effect()
        except BaseException as error:
            await _whole(partial(self._failed, held, error))
            raise
        done, cancelled = await _whole(lambda: self._done(held, outcome))
        if cancelled is not None:
            raise cancelled
        return done

    async def _await_then_insert(self, key: str, effect: Callable[[], Awaitable[object]]) -> EffectResult:
        known, cancelled = await _whole(lambda: self._transact(lambda: effect_rows.find(self._db, "", clean(key))))
        if cancelled is None and known is not None:
            return _shown(known, ran=False)
        if cancelled is None:
            outcome = await effect()
            result, cancelled = await _whole(lambda: self._insert(key, outcome))
        if cancelled is not None:
            raise cancelled
        return result

    def _claim(self, key: str) -> tuple[EffectRecord, EffectResult | None]:
        """Return the effect, and the result for a caller who may not run it."""
        request = EffectRequest("", clean(key), "once", effect=clean(key))
        claim = self._transact(lambda: claims.claim(self._db, request, self._epoch, time.time()))
        mine = claim.answer is Answer.MINE
        return claim.record, None if mine else _shown(claim.record, ran=False)

    def _failed(self, held: EffectRecord, error: BaseException) -> None:
        """Write down that the effect did not end well. What it raised is more telling than a fault of ours here."""
        refused = isinstance(error, Refused | _NeverBegunError)
        text = redact(f"{type(error).__name__}: {error}", secrets_of(os.environ))
        try:
            self._settle(held, EffectState.REFUSED if refused else EffectState.UNRESOLVED, error=text)
        except StoreError as fault:
            error.add_note(f"and the ledger could not be told: {fault}")

    def _done(self, held: EffectRecord, outcome: object) -> EffectResult:
        kept = _json(outcome)
        return _shown(self._settle(held, EffectState.DONE, outcome=kept), ran=True)

    def _settle(self, held: EffectRecord, state: EffectState, *, outcome: Json = None, error: str = "") -> EffectRecord:
        now = time.time()
        told: dict[str, Any] = {"outcome": outcome, "error": error}
        try:
            return self._transact(lambda: claims.settle(self._db, held, state, now, **told))
        except LateSettle:
            self._transact(lambda: claims.note_late(self._db, held, state, now, **told))
            raise

    def _insert(self, key: str, outcome: object) -> EffectResult:
        request = EffectRequest("", clean(key), "idempotent", effect=clean(key))
        kept, now = _json(outcome), time.time()
        return _shown(self._transact(lambda: claims.insert_done(self._db, request, kept, self._epoch, now)), ran=True)

    def _transact(self, work: Callable[[], T]) -> T:
        """Run one unit of work in a transaction of its own. Raises StoreError for any fault of the database."""
        if os.getpid() != self._pid:
            raise StoreError(f"{self.path} was opened before this process was forked", "open it again in the child")
        with self._lock:
            if not self._open:
                raise StoreError(f"{self.path} is closed", "open it again")
            try:
                return self._transaction(work)
            except sqlite3.Error as error:
                raise StoreError(f"{self.path}: {error}", "check that the file is writable and has space") from error

    def _transaction(self, work: Callable[[], T]) -> T:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            result = work()
            self._db.commit()
        except BaseException:
            self._db.rollback()
            raise
        return result


def _connect_alone(path: Path) -> Connection:
    """Open the database while no other instance is opening one in the same directory.

    SQLite does not wait when two processes turn a new file to WAL at once, and the schema is made in several steps.
    """
    try:
        directory = os.open(path.absolute().parent, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}", "check that its directory exists") from error
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        return connect(path)
    finally:
        fcntl.flock(directory, fcntl.LOCK_UN)
        os.close(directory)


class _NeverBegunError(TypeError):
    """A coroutine was made and never run."""


def _is_async(effect: Callable[[], Any]) -> bool:
    return inspect.iscoroutinefunction(effect) or inspect.iscoroutinefunction(getattr(effect, "__call__", None))  # noqa: B004


def _not_awaitable(outcome: object) -> object:
    """Return an outcome. Raises TypeError for something that still wants to be awaited: it is no outcome yet."""
    if inspect.iscoroutine(outcome):
        outcome.close()
        raise _NeverBegunError(
            "the effect returned a coroutine: pass the coroutine function itself, and await the result"
        )
    if inspect.isawaitable(outcome):
        raise TypeError("the effect returned something to await: pass a coroutine function that awaits it")
    return outcome


def _json(outcome: object) -> Json:
    try:
        canonical(outcome)  # type: ignore[arg-type]  # whether it is JSON is the question
    except (TypeError, ValueError, RecursionError):
        return repr(outcome)
    return outcome  # type: ignore[return-value]  # it is JSON


def _shown(record: EffectRecord, *, ran: bool) -> EffectResult:
    if record.state is EffectState.UNRESOLVED:
        return EffectResult(ran, EffectState.CLAIMED.value, None)
    return EffectResult(ran, record.state.value, record.outcome if record.state is EffectState.DONE else None)


async def _whole(work: Callable[[], T]) -> tuple[T, asyncio.CancelledError | None]:
    """Run work in a thread and wait for its end, whatever happens; return its result and a cancellation that came.

    A claim whose caller went away must be known to be held, or it would stay open as long as this process lives.
    """
    future = asyncio.get_running_loop().run_in_executor(None, work)
    cancelled = None
    with anyio.CancelScope(shield=True):
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError as error:
                cancelled = error
    try:
        await anyio.lowlevel.checkpoint_if_cancelled()
    except asyncio.CancelledError as error:
        cancelled = error
    return future.result(), cancelled
