"""Plays one step as the answer to one request, over ASGI, and tells how it ended."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from starlette.responses import Response

from supervisor.rehearsal import wire
from supervisor.rehearsal.script import ENDLESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.types import Receive, Scope, Send

    from supervisor.rehearsal.steps import Outage, Step
    from supervisor.rehearsal.witness import WitnessEvent

ENDLESS_CHUNK_S = 0.05
"""Pace of an endless stream that names none, in seconds: alive, and cheap for whoever reads it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A step and what the request wants of it."""

    step: Step
    owner: str
    """Ticket the tool_use ids are minted for."""
    index: int
    model: str
    stream: bool


class StepReply(Response):
    """Answers with a step, however the step ends. Stops as soon as the client is gone."""

    def __init__(self, reply: Reply, ended: Callable[[WitnessEvent], None]) -> None:
        super().__init__()
        self._reply = reply
        self._step = reply.step
        self._ended = ended
        self._told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Play the step; returning before the body is complete makes the server drop the connection."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_until_gone, receive, group.cancel_scope)
                await self._play(send)
                group.cancel_scope.cancel()
        finally:
            self._tell("cut")

    async def _play(self, send: Send) -> None:
        await anyio.sleep(self._step.delay_s)
        outage = self._step.outage
        if outage and outage.kind == "status":
            await self._fail(send, outage)
        elif self._reply.stream:
            await self._stream(send, outage)
        else:
            await self._whole(send, outage)

    async def _fail(self, send: Send, outage: Outage) -> None:
        words = self._step.text or outage.error_type
        extra = {} if outage.retry_after is None else {"retry-after": f"{outage.retry_after:g}"}
        body = json.dumps(wire.error(outage.error_type, words)).encode()
        self._tell("error")
        await self._start(send, outage.status, "application/json", extra)
        await _body(send, body, more=False)

    async def _whole(self, send: Send, outage: Outage | None) -> None:
        if outage and outage.kind == "endless":
            await anyio.sleep_forever()
        body = json.dumps(self._message()).encode()
        await self._start(send, 200, "application/json")
        if outage:
            return await _body(send, body[: len(body) // 2])
        self._tell("finished")
        return await _body(send, body, more=False)

    async def _stream(self, send: Send, outage: Outage | None) -> None:
        await self._start(send, 200, "text/event-stream")
        if outage is None:
            return await self._all(send)
        return await (self._half(send) if outage.kind == "drop" else self._for_ever(send))

    async def _all(self, send: Send) -> None:
        paced, tail = _split(list(wire.frames(self._message())))
        if self._step.chunk_s:
            await self._pace(send, paced, self._step.chunk_s)
            paced = []
        # Told before the last byte leaves, so whoever has the whole answer finds it in the log.
        self._tell("finished")
        await _body(send, b"".join(frame.data for frame in [*paced, *tail]), more=False)

    async def _half(self, send: Send) -> None:
        everything = list(wire.frames(self._message()))
        await self._pace(send, everything[: len(everything) // 2], self._step.chunk_s)

    async def _for_ever(self, send: Send) -> None:
        empty = {"type": "text", "text": ""}
        start = wire.event("content_block_start", index=0, content_block=empty)
        await self._pace(send, [*wire.opening(self._message()), start], 0)
        words = wire.delta(0, type="text_delta", text=f"{self._step.text} " if self._step.text else ENDLESS)
        await self._pace(send, itertools.repeat(words), self._step.chunk_s or ENDLESS_CHUNK_S)

    async def _pace(self, send: Send, frames: Iterable[wire.Frame], pause: float) -> None:
        for frame in frames:
            await _body(send, frame.data)
            if frame.is_delta:
                await anyio.sleep(pause)

    async def _start(self, send: Send, status: int, kind: str, extra: dict[str, str] | None = None) -> None:
        named = {"content-type": kind, **(extra or {}), **self._step.headers}
        pairs = [(name.lower().encode(), value.encode()) for name, value in named.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})

    def _message(self) -> dict[str, object]:
        blocks = wire.content(self._step, self._reply.owner, self._reply.index)
        return wire.message(self._reply.model, blocks, self._step.usage)

    def _tell(self, event: WitnessEvent) -> None:
        if not self._told:
            self._told = True
            self._ended(event)


def _split(frames: list[wire.Frame]) -> tuple[list[wire.Frame], list[wire.Frame]]:
    """Cut after the last delta: what stands before it is paced, the rest closes the message."""
    last = max((place for place, frame in enumerate(frames) if frame.is_delta), default=-1)
    return frames[: last + 1], frames[last + 1 :]


async def _body(send: Send, data: bytes, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": more})


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
