"""The scripted Messages API: ``python -m supervisor.rehearsal.server --scripts scripts.json --log served.jsonl``.

Listens on 127.0.0.1 only, prints ``{"port": N}`` when it takes requests, and ends on SIGTERM, when its standard input
closes, or when the process named by ``--parent`` is gone. The ticket is in the path (``/t/<id>/v1/messages``); the step
is found by :mod:`supervisor.rehearsal.script`. Must not import the SDK, the engine or any screen.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from supervisor.rehearsal.reply import Reply, StepReply
from supervisor.rehearsal.script import (
    CLOSING,
    DEFAULT_STEPS,
    ScriptError,
    next_step,
    owner_of,
    parse_steps,
    summary,
    wants_summary,
)
from supervisor.rehearsal.steps import Step
from supervisor.rehearsal.wire import error
from supervisor.rehearsal.witness import Served, Witness, fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType

    from starlette.requests import Request

PARENT_CHECK_S = 1.0


class Stage:
    """Answers requests from scripts."""

    def __init__(self, scripts: Mapping[str, Sequence[Step]], witness: Witness) -> None:
        self._scripts = scripts
        self._default = parse_steps(DEFAULT_STEPS)
        self._witness = witness

    def app(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(
            routes=[
                # An id may hold anything, slashes included, so it is matched as a path.
                Route("/t/{ticket:path}/v1/messages", self.messages, methods=["POST"]),
                Route("/t/{ticket:path}/v1/messages/count_tokens", self.count_tokens, methods=["POST"]),
                Route("/{rest:path}", _not_found, methods=["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]),
            ]
        )

    async def count_tokens(self, request: Request) -> Response:
        """Guess: four bytes to a token."""
        return JSONResponse({"input_tokens": max(1, len(await request.body()) // 4)})

    async def messages(self, request: Request) -> Response:
        """Answer one request of the Messages API."""
        body = _object(await request.body())
        if body is None or not isinstance(body.get("messages"), list):
            return JSONResponse(error("invalid_request_error", "the body is not a Messages request"), 400)
        return self._answer(request, body)

    def _answer(self, request: Request, body: Mapping[str, Any]) -> Response:
        ticket = request.path_params["ticket"]
        agent = request.headers.get("x-claude-code-agent-id")
        owner = owner_of(ticket, self._scripts)
        step, index = self._choose(ticket, owner, agent, body)
        line = _line(request, ticket, step, index, agent)
        self._witness.serve(line)
        reply = Reply(step, owner, index or 0, str(body.get("model")), bool(body.get("stream")))
        return StepReply(reply, lambda event: self._witness.end(line, event))

    def _choose(self, ticket: str, owner: str, agent: str | None, body: Mapping[str, Any]) -> tuple[Step, int | None]:
        if agent:
            return Step(text="I have looked into it; there is nothing to add."), None
        if not body.get("tools"):
            return Step(text="Rehearsal"), None
        steps = self._scripts.get(owner) or self._default
        if wants_summary(body["messages"]):
            return Step(text=summary(steps, owner, body["messages"])), None
        index = next_step(steps, owner, body["messages"], lambda i: self._witness.count(ticket, i))
        return (steps[index] if index < len(steps) else Step(text=CLOSING)), index


class Server(uvicorn.Server):
    """uvicorn that ends at once and with exit code 0, streams or not."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop without waiting for streams, of which some are endless."""
        self.should_exit = self.force_exit = True

    def stop(self) -> None:
        """Stop as a signal would."""
        self.handle_exit(signal.SIGTERM, None)


async def serve(app: Starlette, listener: socket.socket, parent: int | None) -> None:
    """Serve until a signal, the end of standard input, or the end of the parent."""
    server = Server(uvicorn.Config(app, log_config=None, lifespan="off", access_log=False, timeout_keep_alive=60))
    async with anyio.create_task_group() as group:
        group.start_soon(_watch_stdin, server)
        if parent is not None:
            group.start_soon(_watch_parent, server, parent)
        sys.stdout.write(json.dumps({"port": listener.getsockname()[1]}) + "\n")
        sys.stdout.flush()
        await server.serve(sockets=[listener])
        group.cancel_scope.cancel()


async def _watch_stdin(server: Server) -> None:
    # Only a pipe or a socket says when its other end is gone; a terminal or /dev/null says nothing of the kind.
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return
    while True:
        await anyio.wait_readable(0)
        if not os.read(0, 4096):
            server.stop()
            return


async def _watch_parent(server: Server, parent: int) -> None:
    ours = os.getppid() == parent
    while (os.getppid() == parent) if ours else _is_alive(parent):  # noqa: ASYNC110 - no event tells of it
        await anyio.sleep(PARENT_CHECK_S)
    server.stop()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


async def _not_found(request: Request) -> Response:
    return JSONResponse(error("not_found_error", "no such place in a rehearsal"), 404)


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(body)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _line(request: Request, ticket: str, step: Step, index: int | None, agent: str | None) -> Served:
    headers = request.headers
    key = headers.get("x-api-key") or headers.get("authorization")
    status = step.outage.status or 200 if step.outage else 200
    usage = None if step.outage and step.outage.kind == "status" else step.usage.wire()
    session = headers.get("x-claude-code-session-id")
    return Served(time.time(), ticket, session, index, "served", status, usage, agent, fingerprint(key))


def load_scripts(path: Path) -> dict[str, tuple[Step, ...]]:
    """Read ``{ticket id: [raw steps]}``. Raises OSError, ValueError (ScriptError with the ticket's name in front)."""
    scripts = {}
    for ticket, raw in json.loads(path.read_text("utf-8")).items():
        try:
            scripts[ticket] = parse_steps(raw)
        except ScriptError as fault:
            raise ScriptError(fault.index, fault.key, f"{fault.message} (ticket {ticket})") from fault
    return scripts


def main(argv: Sequence[str] | None = None) -> int:
    """Run the server. Returns the exit code: 0, or 2 when the scripts cannot be played."""
    parser = argparse.ArgumentParser(description="Scripted Messages API for rehearsals.")
    parser.add_argument("--scripts", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--parent", type=int)
    asked = parser.parse_args(argv)
    try:
        stage = Stage(load_scripts(asked.scripts), Witness(asked.log))
        listener = socket.create_server(("127.0.0.1", asked.port), backlog=256)
    except (OSError, ValueError) as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    anyio.run(serve, stage.app(), listener, asked.parent)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
