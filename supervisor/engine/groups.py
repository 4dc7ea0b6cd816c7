"""A task group whose lone error comes out as itself.

A group wraps every error, so that ``except StoreError`` would not see a full disk. What a caller can act on is one
error: one of ours if there is one, else the first.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from supervisor.core.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from anyio.abc import TaskGroup


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """Open a task group; leave it with one plain error at most."""
    try:
        async with anyio.create_task_group() as group:
            yield group
    except BaseExceptionGroup as errors:
        raise _telling(errors) from errors


def _telling(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    leaves = list(_leaves(errors))
    return next((e for e in leaves if isinstance(e, SupervisorError)), leaves[0])


def _leaves(errors: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
