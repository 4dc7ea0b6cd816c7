"""The control socket: how other shells reach a running supervisor.

Owns the transport only: lines in, lines out, and that nothing a client sends or leaves out can do harm. What a request
means is in ``requests``.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from supervisor.core.errors import SupervisorError
from supervisor.engine.address import MAX_REQUEST, short

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from anyio.abc import SocketListener, SocketStream, TaskGroup, TaskStatus

    Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

log = logging.getLogger("supervisor.socket")
IDLE_S = 5.0
"""How long a client may take for one request, or for taking in one answer."""
MAX_CLIENTS = 64
"""Clients that are served at the same time; more of them wait until they are let in."""
_RETRY_S = 0.1


class _Gone(Exception):  # noqa: N818
    """The client has left, or is too slow."""


class _Unreadable(Exception):  # noqa: N818
    """What came in is no request. The text is for the client."""


async def serve(path: Path, answer: Answer, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
    """Answer requests until cancelled; the socket is removed then.

    Args:
        path: the socket. One that is there already was left by a dead supervisor and is replaced, so the caller must
            hold the batch lock.
        answer: is given a request and returns the answer. What it raises is told to the client.
        task_status: told as soon as clients can connect.

    Raises:
        OSError: the socket cannot be made; only before ``task_status`` was told.
    """
    listener = await _listen(path)
    try:
        async with listener, anyio.create_task_group() as clients:
            task_status.started()
            await _let_in(listener, clients, answer)
    finally:
        path.unlink(missing_ok=True)


async def _listen(path: Path) -> SocketListener:
    """Make the socket. The mode is set before it listens, so nobody can connect to it earlier."""
    if path.is_socket():
        path.unlink()
    with short(path) as name:
        return await anyio.create_unix_listener(name, mode=0o600)


async def _let_in(listener: SocketListener, clients: TaskGroup, answer: Answer) -> None:
    places = anyio.Semaphore(MAX_CLIENTS)
    while True:
        await places.acquire()
        try:
            stream = await listener.accept()
        except (OSError, anyio.BrokenResourceError):  # too many open files, say: that passes
            places.release()
            await anyio.sleep(_RETRY_S)
        else:
            clients.start_soon(_serve_one, stream, answer, places)


async def _serve_one(stream: SocketStream, answer: Answer, places: anyio.Semaphore) -> None:
    """Answer one client's requests, one after another, until it leaves."""
    try:
        async with stream:
            await _converse(stream, answer)
    except (_Gone, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass
    finally:
        places.release()


async def _converse(stream: SocketStream, answer: Answer) -> None:
    incoming = BufferedByteReceiveStream(stream)
    while True:
        try:
            request = _parse(await _line(incoming))
        except _Unreadable as error:  # what follows may be the rest of the same nonsense
            await _reply(stream, {"error": str(error)})
            return
        await _reply(stream, await _answer(answer, request))


async def _line(incoming: BufferedByteReceiveStream) -> bytes:
    try:
        with anyio.fail_after(IDLE_S):
            return await incoming.receive_until(b"\n", MAX_REQUEST - 1)
    except (TimeoutError, anyio.EndOfStream, anyio.IncompleteRead):
        raise _Gone from None
    except anyio.DelimiterNotFound:
        raise _Unreadable(f"a request may have at most {MAX_REQUEST:,} bytes") from None


def _parse(line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _Unreadable(f"a request is one line of JSON: {error}") from None
    if not isinstance(request, dict):
        raise _Unreadable("a request is a JSON object")
    return request


async def _answer(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return await answer(request)
    except SupervisorError as error:
        return {"error": str(error), "kind": type(error).__name__}
    except Exception as error:  # a bug of ours must cost neither the client its answer nor the batch its life
        log.exception("request %s", request.get("do"))
        return {"error": f"internal error: {type(error).__name__}: {error}"}


async def _reply(stream: SocketStream, answer: dict[str, Any]) -> None:
    line = json.dumps(answer, default=str).encode() + b"\n"
    with anyio.move_on_after(IDLE_S) as patience:
        await stream.send(line)
    if patience.cancelled_caught:
        raise _Gone
