"""The scripted Messages API as a client sees it: a real server, plain HTTP, no CLI."""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.rehearsal import harness
from supervisor.rehearsal.harness import RehearsalError, RehearsalServer
from supervisor.rehearsal.witness import read_log

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import Process

pytestmark = pytest.mark.anyio

ARGV = [sys.executable, "-m", "supervisor.rehearsal.server", "--scripts", "scripts.json", "--log", "served.jsonl"]
ASK = {"model": "sonnet", "messages": [{"role": "user", "content": "a secret prompt"}], "tools": [{"name": "Bash"}]}


def post_now(url: str, body: object, path: str = "/v1/messages", **headers: str) -> tuple[int, dict[str, str], bytes]:
    host, _, base = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=10)
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", f"/{base}{path}", data, {"x-api-key": "sk-secret", **headers})
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


async def post(url: str, body: object, path: str = "/v1/messages", **headers: str) -> tuple[int, dict[str, str], Any]:
    call = partial(post_now, url, body, path, **headers)
    status, answer_headers, data = await anyio.to_thread.run_sync(call)
    return status, answer_headers, data if b"event:" in data else json.loads(data)


def text_of(answer: tuple[int, dict[str, str], Any]) -> str:
    return str(answer[2]["content"][0]["text"])


async def test_a_whole_message_and_a_stream(tmp_path: Path) -> None:
    async with RehearsalServer(tmp_path, {"t": [{"text": "one step"}]}) as server:
        status, _, whole = await post(server.base_url("t"), ASK)
        assert (status, whole["content"], whole["model"]) == (200, [{"type": "text", "text": "one step"}], "sonnet")
        status, headers, stream = await post(server.base_url("t"), {**ASK, "stream": True})
        assert headers["content-type"] == "text/event-stream"
        assert stream.count(b'"text_delta"') == 2
        assert stream.endswith(b'data: {"type": "message_stop"}\n\n')


async def test_the_next_step_follows_the_marks(tmp_path: Path) -> None:
    steps = [{"tool": "Bash", "input": {"command": "ls"}}, {"text": "end"}]
    async with RehearsalServer(tmp_path, {"a/b [/ 修复": steps}) as server:
        url = server.base_url("a/b [/ 修复")
        _, _, first = await post(url, ASK)
        said = {"role": "assistant", "content": first["content"]}
        second = await post(url, {**ASK, "messages": [*ASK["messages"], said]})
        assert (first["stop_reason"], text_of(second)) == ("tool_use", "end")
        assert {line.ticket for line in server.served()} == {"a/b [/ 修复"}


async def test_an_error_is_counted_across_a_restart(tmp_path: Path) -> None:
    script = {"t": [{"status": 529, "times": 2, "retry_after": 1.5, "headers": {"x-more": "1"}}, {"text": "up again"}]}
    async with RehearsalServer(tmp_path, script) as server:
        status, headers, body = await post(server.base_url("t"), ASK)
        assert (status, headers["retry-after"], headers["x-more"]) == (529, "1.5", "1")
        assert body["error"]["type"] == "overloaded_error"
    async with RehearsalServer(tmp_path, script) as server:
        assert (await post(server.base_url("t"), ASK))[0] == 529
        assert text_of(await post(server.base_url("t"), ASK)) == "up again"
        assert [line.status for line in server.served() if line.event == "served"] == [529, 529, 200]
        assert [line.event for line in server.served()].count("error") == 2


@pytest.mark.parametrize("stream", [True, False])
async def test_a_drop_cuts_the_answer(tmp_path: Path, stream: bool) -> None:
    script = {"t": [{"drop": True, "text": "one two three four"}, {"text": "up again"}]}
    async with RehearsalServer(tmp_path, script) as server:
        with pytest.raises(http.client.IncompleteRead):
            await post(server.base_url("t"), {**ASK, "stream": stream})
        assert text_of(await post(server.base_url("t"), ASK)) == "up again"
        assert [line.event for line in server.served()] == ["served", "cut", "served", "finished"]


async def test_an_endless_stream_ends_with_its_client(tmp_path: Path) -> None:
    script = {"t": [{"endless": True, "text": "on", "chunk_s": 0.001}, {"text": "after"}]}
    async with RehearsalServer(tmp_path, script) as server:
        async with await anyio.connect_tcp("127.0.0.1", server.port) as client:
            await client.send(request(server, "t", {**ASK, "stream": True}))
            heard = b""
            while heard.count(b"text_delta") < 20:
                heard += await client.receive()
        with anyio.fail_after(30):
            await logged(server, "cut")
        assert text_of(await post(server.base_url("t"), ASK)) == "after"


async def test_a_client_that_does_not_wait_is_cut(tmp_path: Path) -> None:
    async with RehearsalServer(tmp_path, {"t": [{"text": "late", "delay_s": 600}]}) as server:
        async with await anyio.connect_tcp("127.0.0.1", server.port) as client:
            await client.send(request(server, "t", ASK))
            await logged(server, "served")
        with anyio.fail_after(30):
            await logged(server, "cut")


async def test_what_is_not_a_request_is_refused_in_the_apis_shape(tmp_path: Path) -> None:
    async with RehearsalServer(tmp_path, {}) as server:
        url = server.base_url("t")
        for bad in (b"{", b"[]", b"\xff", b"{}", b'{"messages": 3}'):
            status, _, body = await post(url, bad)
            assert (status, body["type"], body["error"]["type"]) == (400, "error", "invalid_request_error")
        status, _, body = await post(url, ASK, "/v1/nothing")
        assert (status, body["error"]["type"]) == (404, "not_found_error")
        status, _, body = await post(url, ASK, "/v1/messages/count_tokens")
        assert (status, body["input_tokens"] > 0) == (200, True)
        assert server.served() == []


async def test_subagents_and_side_requests_leave_the_script_alone(tmp_path: Path) -> None:
    async with RehearsalServer(tmp_path, {"t": [{"text": "the step"}]}) as server:
        url = server.base_url("t")
        await post(url, ASK, **{"x-claude-code-agent-id": "a1"})
        await post(url, {key: value for key, value in ASK.items() if key != "tools"})
        await post(url, {**ASK, "messages": [{"role": "user", "content": "Do NOT call any tools: <summary>"}]})
        assert text_of(await post(url, ASK, **{"x-claude-code-session-id": "s1"})) == "the step"
        told = [(line.step, line.agent, line.session) for line in server.served() if line.event == "served"]
        assert told == [(None, "a1", None), (None, None, None), (None, None, None), (0, None, "s1")]


async def test_the_log_holds_no_prompt_and_no_key(tmp_path: Path) -> None:
    async with RehearsalServer(tmp_path, {}) as server:
        await post(server.base_url("t"), ASK)
        written = server.log.read_bytes()
        assert b"secret" not in written
        assert written.count(b"\n") == 2
        assert server.log.stat().st_mode & 0o077 == 0
        assert server.served()[0].usage == {
            "input_tokens": 1200,
            "output_tokens": 240,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }


async def test_thirty_streams_at_once(tmp_path: Path) -> None:
    scripts = {f"t{i}": [{"text": f"{'word ' * 60}{i}", "chunk_s": 0.002}] for i in range(30)}
    answers = {}

    async def ask(server: RehearsalServer, ticket: str) -> None:
        answers[ticket] = (await post(server.base_url(ticket), {**ASK, "stream": True}))[2]

    async with RehearsalServer(tmp_path, scripts) as server, anyio.create_task_group() as group:
        for ticket in scripts:
            group.start_soon(ask, server, ticket)
    assert all(answers[f"t{i}"].count(b"text_delta") == 61 for i in range(30))
    assert len(server.served()) == 60


async def test_it_listens_on_loopback_only(tmp_path: Path) -> None:
    async with RehearsalServer(tmp_path, {}) as server:
        # A server on every address would answer on any of 127.0.0.0/8.
        with pytest.raises(OSError, match=r"."):
            await anyio.connect_tcp("127.0.0.2", server.port)


async def test_a_script_that_cannot_be_played_is_told(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=r"step 1, txt: unknown key; did you mean \"text\"\? \(ticket bad\)"):
        await RehearsalServer(tmp_path, {"bad": [{"txt": "a"}]}).start()


@pytest.mark.parametrize("end", ["stdin", "term"])
async def test_it_ends_with_its_starter(tmp_path: Path, end: str) -> None:
    (tmp_path / "scripts.json").write_text('{"t": [{"endless": true}]}')
    async with await anyio.open_process(ARGV, cwd=tmp_path, env=environment()) as process:
        assert process.stdin is not None
        port = await port_of(process)
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            await client.send(request(port, "t", {**ASK, "stream": True}))
            await client.receive()
            if end == "stdin":
                await process.stdin.aclose()
            else:
                process.terminate()
            with anyio.fail_after(30):
                assert await process.wait() == 0
    assert [line.event for line in read_log(tmp_path / "served.jsonl")] == ["served", "cut"]


async def test_it_ends_when_its_parent_is_gone(tmp_path: Path) -> None:
    (tmp_path / "scripts.json").write_text("{}")
    async with await anyio.open_process([sys.executable, "-c", "input()"]) as parent:
        argv = [*ARGV, "--parent", str(parent.pid)]
        async with await anyio.open_process(argv, cwd=tmp_path, env=environment()) as process:
            await port_of(process)
            parent.kill()
            await parent.wait()
            with anyio.fail_after(30):
                assert await process.wait() == 0


async def test_a_server_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "STOP_S", 0.1)
    async with RehearsalServer(tmp_path, {}) as server:
        assert server.pid is not None
        os.kill(server.pid, signal.SIGSTOP)
        with anyio.fail_after(30):
            await server.aclose()
        with pytest.raises(OSError, match=r"failed|refused"):
            await anyio.connect_tcp("127.0.0.1", server.port)


async def port_of(process: Process) -> int:
    assert process.stdout is not None
    return int(json.loads(await process.stdout.receive())["port"])


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def request(server: RehearsalServer | int, ticket: str, body: object) -> bytes:
    port = server if isinstance(server, int) else server.port
    data = json.dumps(body).encode()
    head = f"POST /t/{ticket}/v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


async def logged(server: RehearsalServer, event: str) -> None:
    while not any(line.event == event for line in server.served()):  # noqa: ASYNC110 - another process writes it
        await anyio.sleep(0.01)
