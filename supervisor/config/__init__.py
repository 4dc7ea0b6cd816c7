"""tickets.toml -> the models of ``supervisor.core.spec``.

The only place that reports faults of the file: all of them in one pass, each with file, place, what is wrong and the
nearest right name. Reads the file and the prompt files it names, and nothing else; writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from supervisor.config import reader, tables
from supervisor.config.checks import show
from supervisor.config.effects import read_effects
from supervisor.config.faults import Faults
from supervisor.config.summary import notes, summary
from supervisor.config.tickets import CheckSteps, StepFault, Surroundings, read_tickets
from supervisor.core.errors import ConfigError, Fault
from supervisor.core.spec import BatchSpec

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CheckSteps", "ConfigError", "Fault", "StepFault", "load", "notes", "parse", "summary"]

_TOP = ("batch", "defaults", "ticket", "effects")


def load(path: Path, check_steps: CheckSteps | None = None) -> BatchSpec:
    """Return the batch that a tickets.toml describes.

    Args:
        path: The file; paths in it are relative to its directory.
        check_steps: Checks the steps of ``[[ticket.rehearsal]]``; without it they are taken as they are.

    Raises:
        ConfigError: The file cannot be used; holds everything that is wrong with it.
    """
    return parse(reader.read(path, Faults(str(path))), path, check_steps)


def parse(raw: Mapping[str, Any], path: Path, check_steps: CheckSteps | None = None) -> BatchSpec:
    """Return the batch that the tables of a file describe; as `load`, for tables that were read already."""
    faults = Faults(str(path))
    strange = [key for key in raw if key not in _TOP]
    for key in strange:
        what = "table" if isinstance(raw[key], dict | list) else "key"
        faults.add("", f'unknown {what} "{key}"', tables.right_key(key, _TOP, faults))
    path = path.absolute()
    batch = _batch(raw.get("batch", {}), path, faults)
    named = raw.get("effects", {})
    effects = read_effects(named, faults)
    names = named if isinstance(named, Mapping) else ()
    tickets = read_tickets(raw, Surroundings(path.parent, names, bool(strange), check_steps, faults))
    faults.stop()
    return BatchSpec(path=path, tickets=tickets, effects=effects, **batch)


def _batch(raw: object, path: Path, faults: Faults) -> dict[str, Any]:
    good = tables.read(raw, tables.BATCH, "[batch]", faults)
    good.setdefault("name", path.parent.name or "batch")
    repo = good.get("repo", ".")
    good["repo"] = _directory(path.parent / repo)
    if good["repo"] is None:
        faults.add("[batch] repo", f"no such directory: {show(repo)}", f"looked in {path.parent}")
    return good


def _directory(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True) if path.is_dir() else None
    except (OSError, RuntimeError):  # a name that is too long; links in a circle
        return None
