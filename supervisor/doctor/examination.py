"""The whole examination, in the order of the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.core.errors import PreflightError
from supervisor.core.spec import BatchSpec
from supervisor.doctor import machine, state
from supervisor.doctor.exposure import exposure
from supervisor.doctor.findings import Finding, fault, ok
from supervisor.preflight import check_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def examine(
    file: Path, spec: BatchSpec | None, faults: Sequence[str], state_dir: Path, env: Mapping[str, str]
) -> list[Finding]:
    """Look at everything. Takes a second or two, most of it for the CLI to tell its version.

    Args:
        file: the batch's file, as the operator named it.
        spec: what is in it; None where it does not exist or cannot be used.
        faults: what is wrong with it, a line for each fault.
        state_dir: the batch's state directory; may be missing.
        env: the environment that agents would inherit.
    """
    return list(_examine(file, spec, faults, state_dir, env))


def _examine(
    file: Path, spec: BatchSpec | None, faults: Sequence[str], state_dir: Path, env: Mapping[str, str]
) -> Iterator[Finding]:
    yield from machine.programs()
    yield machine.user(env)
    yield from machine.login(spec or _nothing(file), state_dir, env)
    yield from _batch(file, spec, faults)
    yield from state.place(state_dir)
    seen, found = state.database(state_dir)
    yield from found
    users = Path(env.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    yield from state.at_work(state_dir, seen, (state_dir / "claude", users))
    if spec is not None:
        yield from exposure(spec, env)


def _nothing(file: Path) -> BatchSpec:
    """A batch without tickets, for what depends on nothing else."""
    return BatchSpec("", file, file.parent, ())


def _batch(file: Path, spec: BatchSpec | None, faults: Sequence[str]) -> Iterator[Finding]:
    for words in faults:
        yield fault("batch", words, "correct the file; `supervise check` looks again")
    if spec is None:
        if not faults:
            yield ok("batch", f"{file} does not exist: looked at the machine only")
        return
    yield ok("batch", f"{spec.name}: {len(spec.tickets)} tickets, {len(spec.effects)} effects")
    try:
        anyio.run(check_places, spec)
        yield ok("repository", str(spec.repo))
    except PreflightError as error:
        yield fault("repository", error.message, error.remedy)
