"""The control socket: whatever a client sends or leaves out, it is answered, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import threading
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.control_client import ask
from supervisor.core.errors import StoreError
from supervisor.engine import address
from supervisor.engine import socket as control
from supervisor.engine.address import MAX_REQUEST, SOCKET
from supervisor.engine.batch import STATE_DIR
from supervisor.engine.lock import BatchLock
from supervisor.engine.socket import serve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.anyio


async def _echo(request: dict[str, Any]) -> dict[str, Any]:
    if request.get("do") == "fail":
        raise RuntimeError("a bug")
    if request.get("do") == "refuse":
        raise StoreError("the disk is full")
    return {"you said": request}


@asynccontextmanager
async def _serving(state_dir: Path) -> AsyncIterator[None]:
    with BatchLock(state_dir / "lock"):
        async with anyio.create_task_group() as group:
            await group.start(serve, state_dir / SOCKET, _echo)
            yield
            group.cancel_scope.cancel()


async def _ask(state_dir: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    return await anyio.to_thread.run_sync(ask, state_dir, request)


def _connected(state_dir: Path) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(10)
    client.connect(str(state_dir / SOCKET))
    return client


def _raw(state_dir: Path, sent: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back until the other side closes."""
    with _connected(state_dir) as client:
        with suppress(OSError):  # it may be answered, and closed, before it is heard out
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
        parts = []
        with suppress(ConnectionResetError):
            while part := client.recv(65_536):
                parts.append(part)
    return b"".join(parts)


async def test_a_client_that_comes_in_the_moment_of_the_end(tmp_path: Path) -> None:
    complaints: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    async with anyio.create_task_group() as group:
        await group.start(serve, tmp_path / SOCKET, _echo)
        await anyio.wait_all_tasks_blocked()
        with _connected(tmp_path):
            loop.call_soon(group.cancel_scope.cancel)  # runs after the loop has seen the client, before it is let in
            with suppress(anyio.get_cancelled_exc_class()):
                await anyio.sleep_forever()
    assert complaints == []


async def test_a_request_is_answered(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        assert await _ask(tmp_path, {"do": "it", "to": "\udc80é"}) == {"you said": {"do": "it", "to": "\udc80é"}}


async def test_only_the_owner_may_use_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with _serving(tmp_path):
            assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600
    finally:
        os.umask(before)


async def test_it_is_gone_when_nobody_listens(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        assert (tmp_path / SOCKET).is_socket()
    assert not (tmp_path / SOCKET).exists()
    assert await _ask(tmp_path, {}) is None


async def test_no_directory_no_supervisor(tmp_path: Path) -> None:
    assert await _ask(tmp_path / "nowhere", {}) is None


async def test_the_socket_of_a_dead_supervisor_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / SOCKET))
    assert (tmp_path / SOCKET).is_socket()
    assert await _ask(tmp_path, {}) is None, "nobody holds the lock"
    async with _serving(tmp_path):
        assert await _ask(tmp_path, {}) == {"you said": {}}


async def test_something_else_in_its_place_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / SOCKET).write_text("mine")
    with pytest.raises(OSError, match="in use"):
        await serve(tmp_path / SOCKET, _echo)
    assert (tmp_path / SOCKET).read_text() == "mine"


@pytest.mark.parametrize("has_proc", [True, False])
async def test_a_path_that_is_too_long_for_an_address(
    tmp_path: Path, has_proc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_proc:
        monkeypatch.setattr(address, "_OWN_FDS", tmp_path / "no-proc")
    state_dir = tmp_path / ("deep" * 30) / ("er" * 60)
    state_dir.mkdir(parents=True)
    async with _serving(state_dir):
        assert (state_dir / SOCKET).is_socket()
        assert await _ask(state_dir, {"do": "it"}) == {"you said": {"do": "it"}}
    assert not (state_dir / SOCKET).exists()


GARBAGE = [
    b"\n",
    b"hello\n",
    b"\xff\xfe\x00\n",
    b"[1]\n",
    b"null\n",
    b'{"do": \n',
    b"[" * 200_000 + b"\n",
    b'{"n": ' + b"9" * 10_000 + b"}\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
]


@pytest.mark.parametrize("sent", GARBAGE, ids=range(len(GARBAGE)))
async def test_garbage_is_answered_with_an_error(tmp_path: Path, sent: bytes) -> None:
    async with _serving(tmp_path):
        answer = json.loads(await anyio.to_thread.run_sync(_raw, tmp_path, sent))
        assert list(answer) == ["error"]
        assert await _ask(tmp_path, {}) == {"you said": {}}


async def test_a_request_that_is_too_long(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        answer = json.loads(await anyio.to_thread.run_sync(_raw, tmp_path, b"x" * (2 * MAX_REQUEST) + b"\n"))
        assert "1,000,000 bytes" in answer["error"]
        with pytest.raises(StoreError, match="may have 1,000,000"):
            await _ask(tmp_path, {"do": "x" * MAX_REQUEST})


async def test_the_longest_request(tmp_path: Path) -> None:
    room = MAX_REQUEST - len(json.dumps({"do": ""})) - 1
    async with _serving(tmp_path):
        answer = await _ask(tmp_path, {"do": "x" * room})
        assert answer == {"you said": {"do": "x" * room}}


async def test_half_a_request_has_no_answer(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        assert await anyio.to_thread.run_sync(_raw, tmp_path, b'{"do"') == b""
        assert await anyio.to_thread.run_sync(_raw, tmp_path, b"") == b""


async def test_several_requests_on_one_connection(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        lines = (await anyio.to_thread.run_sync(_raw, tmp_path, b'{"n": 1}\n{"n": 2}\n')).splitlines()
    assert [json.loads(line)["you said"]["n"] for line in lines] == [1, 2]


async def test_what_the_answer_raises_is_told(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        assert await _ask(tmp_path, {"do": "refuse"}) == {"error": "the disk is full", "kind": "StoreError"}
        assert await _ask(tmp_path, {"do": "fail"}) == {"error": "internal error: RuntimeError: a bug"}


async def test_a_silent_client_is_let_go_and_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "IDLE_S", 0.2)
    monkeypatch.setattr(control, "MAX_CLIENTS", 1)
    async with _serving(tmp_path):
        with _connected(tmp_path) as silent:
            silent.sendall(b'{"do"')
            assert await _ask(tmp_path, {}) == {"you said": {}}, "after the silent one has lost its place"
            assert silent.recv(1) == b""


async def test_a_client_that_does_not_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "IDLE_S", 0.2)
    async with _serving(tmp_path):
        with _connected(tmp_path) as deaf:
            await anyio.to_thread.run_sync(deaf.sendall, json.dumps({"do": "x" * 900_000}).encode() + b"\n")
            assert await _ask(tmp_path, {}) == {"you said": {}}


async def test_many_clients_at_the_same_time(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        answers: list[Any] = []

        async def one(n: int) -> None:
            limiter = anyio.CapacityLimiter(1)
            answers.append(await anyio.to_thread.run_sync(ask, tmp_path, {"n": n}, 20.0, limiter=limiter))

        async with anyio.create_task_group() as group:
            for n in range(200):
                group.start_soon(one, n)
    assert sorted(a["you said"]["n"] for a in answers) == list(range(200))


async def test_a_supervisor_that_is_just_starting_is_waited_for(tmp_path: Path) -> None:
    with BatchLock(tmp_path / "lock"):
        got: list[Any] = []
        asking = threading.Thread(target=lambda: got.append(ask(tmp_path, {"do": "it"}, 20.0)))
        asking.start()
        async with anyio.create_task_group() as group:
            await group.start(serve, tmp_path / SOCKET, _echo)
            await anyio.to_thread.run_sync(asking.join)
            group.cancel_scope.cancel()
    assert got == [{"you said": {"do": "it"}}]


async def test_a_supervisor_that_does_not_listen_is_named(tmp_path: Path) -> None:
    with BatchLock(tmp_path / "lock"), pytest.raises(StoreError, match=rf"pid {os.getpid()}\) does not answer"):
        await anyio.to_thread.run_sync(partial(ask, tmp_path, {}, timeout_s=0.05))


async def test_a_supervisor_that_dies_over_it(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / SOCKET))
        listener.listen()
        dying = threading.Thread(target=lambda: listener.accept()[0].close())
        dying.start()
        with pytest.raises(StoreError, match="went away before it answered"):
            await _ask(tmp_path, {})
        dying.join()


def test_the_light_name_of_the_state_directory_is_the_engines() -> None:
    assert address.STATE_DIR == STATE_DIR
