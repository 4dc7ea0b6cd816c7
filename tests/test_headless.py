"""The printer: every line comes out, whenever it is told to stop."""

from __future__ import annotations

import io
import json

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.model import State
from supervisor.headless import Printer

pytestmark = pytest.mark.anyio


async def test_a_line_that_comes_with_the_end_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    board = Board()
    printer = Printer(board, as_json=True)
    monkeypatch.setattr(printer, "_out", out)
    async with anyio.create_task_group() as group:
        group.start_soon(printer.run)
        await anyio.wait_all_tasks_blocked()
        board.apply(ev.StateChanged("001", 1.0, State.PAUSED))
        # the writer wakes, and is cancelled before its thread has begun
        await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    await printer.flush()
    assert [json.loads(line)["state"] for line in out.getvalue().splitlines()] == ["paused"]
