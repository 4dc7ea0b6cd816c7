"""Real agents against the scripted API: a batch beside ``xargs``, and twenty busy tickets interrupted at once."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from supervisor.core.model import State
from tests.bench.figures import Figure
from tests.e2e.stage import Stage, agents, bash, say, ticket, until

PROMPTS, SLOTS, BUSY = 24, 4, 20
_SCRIPT: list[dict[str, Any]] = [
    {**bash("true", text="I look."), "delay_s": 0.3},
    {**say("Done."), "delay_s": 0.3},
]
_XARGS = (
    "printf '%s\\n' {names} | xargs -P{slots} -INAME env ANTHROPIC_BASE_URL={url} {cli} -p 'Do NAME.' {options}"
    " >/dev/null"
)


async def by_us(root: Path) -> float:
    """Return the seconds a batch of short tickets takes, worktrees and all."""
    stage, names = Stage(root), [f"{n:03}" for n in range(PROMPTS)]
    async with stage.batch(stage.spec(*map(ticket, names), slots=SLOTS), dict.fromkeys(names, _SCRIPT)) as batch:
        began = time.monotonic()
        await batch.pool.run()
        took = time.monotonic() - began
        assert {t.state for t in batch.board} == {State.DONE}
    return took


async def by_xargs(root: Path) -> float:
    """Return the seconds the same prompts take with ``xargs -P4 claude -p``, in one directory."""
    stage, names = Stage(root), [f"{n:03}" for n in range(PROMPTS)]
    async with stage.batch(stage.spec(), dict.fromkeys(names, _SCRIPT)):
        launch = stage.launch()
        url = launch.env("NAME")["ANTHROPIC_BASE_URL"]
        options = "--model sonnet --permission-mode acceptEdits --allowedTools Bash"
        command = _XARGS.format(
            names=" ".join(names), slots=SLOTS, url=url, cli=shlex.quote(str(stage.cli)), options=options
        )
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC", "CLAUDE"))}
        env = {**inherited, **launch.env("NAME")}
        began = time.monotonic()
        await anyio.run_process(["sh", "-c", command], cwd=stage.repo, env=env, stderr=subprocess.STDOUT)
        took = time.monotonic() - began
        served = {name for name in names if stage.served(name)}
        assert served == set(names), "xargs did the same work"
    return took


async def interrupt(root: Path) -> tuple[float, int]:
    """Return the seconds from one interrupt of twenty busy tickets to the last one's rest, and agents left over."""
    stage, names = Stage(root), [f"{n:03}" for n in range(BUSY)]
    endless = [{"endless": True, "times": -1, "text": "and so on"}]
    async with stage.batch(stage.spec(*map(ticket, names), slots=BUSY), dict.fromkeys(names, endless)) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await until(lambda: all(stage.served(name) for name in names), 180)
            began = time.monotonic()
            batch.submit("interrupt", names)
            await until(lambda: all(t.state is State.PAUSED for t in batch.board), 60)
            took = time.monotonic() - began
        return took, len(agents())


def figures() -> list[Figure]:
    """Measure, and return the figures."""
    with tempfile.TemporaryDirectory() as place:
        roots = [Path(place) / name for name in ("ours", "xargs", "busy")]
        for root in roots:
            root.mkdir()
        ours, theirs = anyio.run(by_us, roots[0]), anyio.run(by_xargs, roots[1])
        took, left = anyio.run(interrupt, roots[2])
    return [
        Figure(f"{PROMPTS} short tickets on {SLOTS} slots", ours, "s"),
        Figure("the same prompts by xargs -P4 claude -p", theirs, "s"),
        Figure("ours to xargs", ours / theirs, "times", "<= 1"),
        Figure(f"interrupting {BUSY} busy tickets", took, "s", "<= 2"),
        Figure("agents left after it", left, "", "<= 0"),
    ]


if __name__ == "__main__":
    print(json.dumps([f.line() for f in figures()], indent=2))
