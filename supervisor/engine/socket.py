"""The control socket: how other shells reach a running supervisor.

Owns the transport only: lines in, lines out, and that nothing a client sends or leaves out can do harm. What a request
means is in ``requests``. The event loop's own calls are used to talk: they bear being cancelled at any moment.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core.errors import SupervisorError
from supervisor.engine.address import MAX_REQUEST, short

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from anyio.abc import TaskGroup, TaskStatus

    Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

log = logging.getLogger("supervisor.socket")
IDLE_S = 5.0
"""How long a client may take for one request, or for taking in one answer."""
MAX_CLIENTS = 64
"""Clients that are served at the same time; more of them wait until they are let in."""
_BACKLOG = 1024
_RETRY_S = 0.1
_CHUNK = 65_536


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
    with _listen(path) as listener:
        try:
            async with anyio.create_task_group() as clients:
                task_status.started()
                await _let_in(listener, clients, answer)
        finally:
            path.unlink(missing_ok=True)


def _listen(path: Path) -> socket.socket:
    """Make the socket, for its owner only from the first moment on."""
    if path.is_socket():
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with short(path) as name:
            listener.bind(name)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    listener.setblocking(False)
    return listener


async def _let_in(listener: socket.socket, clients: TaskGroup, answer: Answer) -> None:
    places = anyio.Semaphore(MAX_CLIENTS)
    while True:
        await places.acquire()
        try:
            client = await _next(listener)
        except OSError:  # too many open files, say: that passes
            places.release()
            await anyio.sleep(_RETRY_S)
        else:
            clients.start_soon(_serve_one, client, answer, places)


async def _next(listener: socket.socket) -> socket.socket:
    """Wait for a client. The loop's ``sock_accept`` would lose, with a complaint on standard error, one that comes in
    the moment it is cancelled (Python 3.11)."""
    while True:
        try:
            client, _ = listener.accept()
        except BlockingIOError:
            await anyio.wait_readable(listener)
        else:
            client.setblocking(False)
            return client


async def _serve_one(client: socket.socket, answer: Answer, places: anyio.Semaphore) -> None:
    """Answer one client's requests, one after another, until it leaves."""
    try:
        with client:
            await _converse(client, answer)
    except (_Gone, OSError):
        pass
    finally:
        places.release()


async def _converse(client: socket.socket, answer: Answer) -> None:
    rest = b""
    while True:
        try:
            line, rest = await _line(client, rest)
            request = _parse(line)
        except _Unreadable as error:  # what follows may be the rest of the same nonsense
            await _reply(client, {"error": str(error)})
            return
        await _reply(client, await _answer(answer, request))


async def _line(client: socket.socket, start: bytes) -> tuple[bytes, bytes]:
    """Return the next line, and what came in after it."""
    parts, size = [start], len(start)
    with anyio.move_on_after(IDLE_S):
        while b"\n" not in parts[-1] and size < MAX_REQUEST:
            part = await asyncio.get_running_loop().sock_recv(client, _CHUNK)
            if not part:
                raise _Gone
            parts.append(part)
            size += len(part)
        line, _, rest = b"".join(parts).partition(b"\n")
        if len(line) >= MAX_REQUEST:
            raise _Unreadable(f"a request may have at most {MAX_REQUEST:,} bytes")
        return line, rest
    raise _Gone


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


async def _reply(client: socket.socket, answer: dict[str, Any]) -> None:
    line = json.dumps(answer, default=str).encode() + b"\n"
    with anyio.move_on_after(IDLE_S):
        await asyncio.get_running_loop().sock_sendall(client, line)
        return
    raise _Gone
