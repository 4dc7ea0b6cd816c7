"""EffectLog with coroutine functions: the same promises, and a cancellation that leaves nothing half known."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from tests.store.effect_logs import CLAIMED, KEY, KNOWN, RAN, World

if TYPE_CHECKING:
    from supervisor.store.effect_log import EffectLog

pytestmark = pytest.mark.anyio


async def test_a_coroutine_function_is_awaited(log: EffectLog, world: World) -> None:
    async def effect() -> str:
        await anyio.lowlevel.checkpoint()
        return world.comment()

    assert await log.claim_then_run(KEY, effect) == RAN
    assert await log.claim_then_run(KEY, effect) == KNOWN
    assert await log.compute_then_insert("other", effect) == RAN
    assert await log.compute_then_insert("other", effect) == KNOWN
    assert world.calls == 2


async def test_a_coroutine_that_nobody_awaits_is_no_outcome(log: EffectLog, world: World) -> None:
    async def effect() -> str:
        return world.comment()

    with pytest.raises(TypeError, match="coroutine function"):
        log.claim_then_run(KEY, lambda: effect())
    assert await log.claim_then_run(KEY, effect) == RAN, "it never began, so the key is free"


@pytest.mark.parametrize("native", [False, True])
async def test_a_cancelled_effect_stays_claimed(log: EffectLog, world: World, native: bool) -> None:
    begun = asyncio.Event()

    async def effect() -> str:
        world.calls += 1
        begun.set()
        await asyncio.Event().wait()
        return "never"

    if native:
        task = asyncio.ensure_future(log.claim_then_run(KEY, effect))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        async with anyio.create_task_group() as group:

            async def run() -> None:
                await log.claim_then_run(KEY, effect)

            group.start_soon(run)
            await begun.wait()
            group.cancel_scope.cancel()
    assert await log.claim_then_run(KEY, effect) == CLAIMED
    assert world.calls == 1


@pytest.mark.parametrize("native", [False, True])
async def test_a_caller_that_is_cancelled_before_the_effect_begins_sets_the_key_free(
    log: EffectLog, world: World, native: bool
) -> None:
    async def effect() -> str:
        return world.comment()

    if native:
        log._lock.acquire()
        task = asyncio.ensure_future(log.claim_then_run(KEY, effect))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        log._lock.release()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await log.claim_then_run(KEY, effect)
        assert scope.cancelled_caught
    assert world.calls == 0
    assert await log.claim_then_run(KEY, effect) == RAN
