"""``supervise doctor``: whether a batch and its machine are in order, and what can be mended."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import (
    add_command,
    add_file,
    add_state_dir,
    complain,
    has_terminal,
    is_asked,
    say,
    where,
)
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from supervisor.cli.common import Commands
    from supervisor.core.spec import BatchSpec
    from supervisor.store.repair import Repaired

COMMANDS = ("doctor",)
_DOCTOR_CODES = """\
exit codes:
  0  nothing is wrong; warnings do not count
  1  something is wrong, or what was asked for was not done
  2  bad usage, or there is no such batch
"""
_SHOWN = 20
"""Most names that are printed in full."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    what = "Look whether this machine and a batch's state are in order."
    doctor = add_command(commands, "doctor", what, "supervise doctor --json", _DOCTOR_CODES)
    _batch(doctor)
    acts = doctor.add_mutually_exclusive_group()
    acts.add_argument(
        "--repair",
        action="store_true",
        help="set a damaged database aside and make a new one of what can be read; effects that cannot be proved"
        " become unresolved",
    )
    acts.add_argument(
        "--accept-older",
        action="store_true",
        help="let effects run on from a database that is older than one that was here, as after a restore",
    )
    doctor.add_argument("--yes", action="store_true", help="do not ask")
    doctor.set_defaults(do=_doctor)


def _batch(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    add_state_dir(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _doctor(args: argparse.Namespace) -> int:
    if args.repair:
        return _repair(args)
    if args.accept_older:
        return _accept(args)
    from supervisor import doctor

    spec, faults = _read(args.file)
    found = doctor.examine(args.file, spec, faults, where(args), os.environ)
    is_well = all(finding.level is not doctor.Level.FAULT for finding in found)
    if args.json:
        data = {"ok": is_well, "state_dir": str(where(args)), "findings": doctor.as_data(found)}
        say(json.dumps(data, indent=2))
    else:
        say(doctor.text(found))
    return 0 if is_well else 1


def _read(file: Path) -> tuple[BatchSpec | None, list[str]]:
    """Return the batch, or what is wrong with its file; neither where there is none."""
    from supervisor.config import load
    from supervisor.core.errors import ConfigError
    from supervisor.rehearsal.script import faults

    if not file.exists():
        return None, []
    try:
        return load(file, check_steps=faults), []
    except ConfigError as error:
        return None, str(error).splitlines()


def _repair(args: argparse.Namespace) -> int:
    from supervisor import doctor

    state_dir = where(args)
    question = (
        f"The database in {safe_line(str(state_dir))} is read through; if it is damaged, it is set aside, and a new one"
        " is made of what can be read. Effects whose end cannot be proved then wait for you. Go on?"
    )
    if (code := _refused(args, "--repair", question)) is not None:
        return code
    done = doctor.mend(state_dir)
    if args.json:
        say(json.dumps({"repaired": None if done is None else _as_data(done)}))
    else:
        say("nothing is wrong with the database" if done is None else _told(done))
    return 0


def _as_data(done: Repaired) -> dict[str, Any]:
    lists = {name: list(getattr(done, name)) for name in ("torn", "tickets", "unresolved")}
    return {"aside": str(done.aside), "rows": done.rows, **lists, "held": done.held}


def _told(done: Repaired) -> str:
    rows = ", ".join(f"{count} {name}" for name, count in sorted(done.rows.items()) if count)
    lines = [f"repaired; the damaged database is kept as {done.aside}", f"saved: {rows}"]
    if done.torn:
        lines.append(f"not all could be read of: {', '.join(done.torn)}")
    if done.tickets:
        lines.append(f"tickets made again from what else is known of them: {_names(done.tickets)}")
    if done.unresolved:
        lines.append(f"effects to be settled, see `supervise effects list`: {_names(done.unresolved)}")
    if done.held:
        lines.append(f"{done.held}: effects are held; look at them, then `supervise doctor --accept-older`")
    return "\n".join(safe_line(line) for line in lines)


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _accept(args: argparse.Namespace) -> int:
    from supervisor import doctor

    state_dir = where(args)
    seen = doctor.look(state_dir)
    if seen.damage:
        complain(f"supervise: the database is damaged: {safe_line(seen.damage[0])}: run `supervise doctor --repair`")
        return 1
    if not seen.held:
        say(json.dumps({"accepted": False}) if args.json else "effects are not held: there is nothing to accept")
        return 0
    complain(safe_line(seen.held))
    if seen.may_run:
        complain(f"these may run again, whatever has become of them since: {safe_line(_names(seen.may_run))}")
    question = "Effects that ran after this database was copied are not known to it, and may happen twice. Accept it?"
    if (code := _refused(args, "--accept-older", question)) is not None:
        return code
    doctor.accept(state_dir)
    say(json.dumps({"accepted": True}) if args.json else "accepted: effects may run again from the next start on")
    return 0


def _refused(args: argparse.Namespace, act: str, question: str) -> int | None:
    """Ask, unless told not to; return None for yes, else the exit code."""
    if args.yes:
        return None
    if not has_terminal():
        complain(f"supervise: nobody can be asked here: give --yes with {act} if you are sure")
        return 2
    if is_asked(question):
        return None
    complain("nothing was changed")
    return 1
