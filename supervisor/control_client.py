"""Asks a running supervisor something, from another process. Plain blocking sockets, and nothing heavy to import."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from supervisor.core.errors import StoreError
from supervisor.engine.address import MAX_REQUEST, SOCKET, short

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.engine.process import ProcessId

_LOOK_S = 0.02
_CHUNK = 65_536
_NOBODY = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError, BlockingIOError)
"""What connecting raises where nobody listens (yet); the last one where too many wait to be let in."""


def ask(state_dir: Path, request: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any] | None:
    """Return the answer of the supervisor that runs on a state directory; None where none runs there.

    One that is just starting or stopping holds the lock without listening; it is asked again until ``timeout_s``.

    Raises:
        StoreError: it does not answer, or went away before it did: what was asked may or may not be done.
    """
    line = json.dumps(request).encode() + b"\n"
    if len(line) > MAX_REQUEST:
        raise StoreError(
            f"this is {len(line):,} bytes, and a request may have {MAX_REQUEST:,}", "say it in fewer words"
        )
    deadline = time.monotonic() + timeout_s
    while True:
        with suppress(*_NOBODY):
            return _exchange(state_dir / SOCKET, line, deadline)
        running = _holder(state_dir)
        if running is None:
            return None
        if time.monotonic() >= deadline:
            raise StoreError(
                f"the supervisor (pid {running.pid}) does not answer", "try again, or look at its terminal"
            )
        time.sleep(_LOOK_S)


def _holder(state_dir: Path) -> ProcessId | None:
    from supervisor.engine.lock import holder  # loads the engine's event loop, which asking does not need

    return holder(state_dir / "lock")


def _exchange(path: Path, line: bytes, deadline: float) -> dict[str, Any]:
    """Send one request and return its answer. Raises one of _NOBODY before anything was sent."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_left(deadline))
        try:
            with short(path) as name:
                client.connect(name)
        except PermissionError as error:
            raise StoreError(f"cannot use {path}: {error.strerror}", "ask as the user who started it") from None
        try:
            answer = json.loads(_talk(client, line, deadline))
        except TimeoutError:
            raise StoreError("the supervisor takes too long to answer", "see `supervise status`") from None
        except (OSError, ValueError):
            raise StoreError("the supervisor went away before it answered", "see `supervise status`") from None
    return answer if isinstance(answer, dict) else {"error": "the supervisor's answer makes no sense"}


def _talk(client: socket.socket, line: bytes, deadline: float) -> bytes:
    with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before it heard us out
        client.sendall(line)
    parts: list[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        client.settimeout(_left(deadline))
        part = client.recv(_CHUNK)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def _left(deadline: float) -> float:
    return max(0.01, deadline - time.monotonic())
