"""``supervise backup`` and ``supervise restore``: a batch's state copied, and put back where there is none."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.cli.common import DEFAULT_FILE, add_command, add_state_dir, say, users_home, where
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    import argparse

    from supervisor.cli.common import Commands
    from supervisor.store.backup import Backup, Find

COMMANDS = ("backup", "restore")
_OWN, _USERS = "claude", "claude-user"
"""Under these names a backup holds conversations: those of the batch's own configuration directory, and the user's."""
_HELD = """\
Effects that ran after the backup was made are not known to it. Where this machine knows of such
effects, further ones are held until you accept that: supervise doctor --accept-older.
"""
_BACKUP_END = f"""\
A backup holds what the supervisor knows (state.db), the ticket file, and the conversations of the
tickets as far as they can be found: {_OWN}/ as in the state directory, {_USERS}/ as in
$CLAUDE_CONFIG_DIR or ~/.claude. The work itself is in the git repository, on branches and under
refs/supervisor: it is not in the backup, so keep the repository too.

To put a backup back:
  1. stop the supervisor, and move the state directory away
  2. supervise restore DIR
  3. supervise run; worktrees that are gone are made again, with the files as they were last kept
By hand, into a state directory that is to stay: remove state.db, state.db-wal and state.db-shm
there, copy the backup's state.db in their place, and conversations that are missing from
{_OWN}/projects and {_USERS}/projects to where they came from.
{_HELD}
exit codes:
  0  the backup was made, read through and found whole
  2  it was not made; nothing is left of it
"""
_RESTORE_END = f"""\
Nothing is written over. The state directory must be empty or not exist; conversations that are
there already stay as they are, and your ticket file is left alone: compare it with the backup's.
{_HELD}
exit codes:
  0  it was read through, found whole, and put in its place
  2  it was not; the state directory is as it was
"""


def add_to(commands: Commands) -> None:
    """Add the commands."""
    what = "Copy a batch's database, file and conversations, also while it runs, and check the copy."
    backup = add_command(commands, "backup", what, "supervise backup /mnt/backup/shop-monday", _BACKUP_END)
    backup.add_argument(
        "dir", nargs="?", type=Path, metavar="DIR", help="a new directory; default: backups/TIME in the state directory"
    )
    backup.add_argument("--no-conversations", action="store_true", help="leave them out; they may be large")
    _batch(backup)
    backup.set_defaults(do=_backup)
    what = "Put a backup back, into a state directory that holds nothing yet."
    restore = add_command(commands, "restore", what, "supervise restore /mnt/backup/shop-monday", _RESTORE_END)
    restore.add_argument("dir", type=Path, metavar="DIR", help="what `supervise backup` has made")
    _batch(restore)
    restore.set_defaults(do=_restore)


def _batch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", type=Path, default=Path(DEFAULT_FILE), help=f"the batch; default: {DEFAULT_FILE}")
    add_state_dir(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _homes(state_dir: Path) -> dict[str, Path]:
    """Return where conversations are kept, by the name they have in a backup."""
    return {_OWN: state_dir / "claude", _USERS: users_home()}


def _finder(state_dir: Path) -> Find:
    from supervisor.engine.transcripts import find

    def found(session: str) -> tuple[str, Path] | None:
        for name, home in _homes(state_dir).items():
            path = find(home, session)
            if path is not None:
                return name, path
        return None

    return found


def _backup(args: argparse.Namespace) -> int:
    from supervisor.store.backup import back_up

    state_dir = where(args)
    target = args.dir or state_dir / "backups" / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    file = args.file if args.file.exists() else None
    made = back_up(state_dir, file, target.absolute(), None if args.no_conversations else _finder(state_dir))
    if args.json:
        told = {"conversations": made.conversations, "conversations_missing": made.missing}
        say(json.dumps({"path": str(made.path), "files": list(made.files), "bytes": made.size, **told}))
    else:
        say(_told(made))
    return 0


def _told(made: Backup) -> str:
    words = [", ".join(map(safe_line, made.files)), f"{made.size:,} bytes"]
    if made.conversations + made.missing:
        lost = f" ({made.missing} not found)" if made.missing else ""
        words.append(f"{made.conversations} conversation{'s' * (made.conversations != 1)}{lost}")
    return f"{safe_line(str(made.path))}: {', '.join(words)}, found whole"


def _restore(args: argparse.Namespace) -> int:
    from supervisor.engine.filesystem import refuse_unsafe
    from supervisor.store.backup import restore

    state_dir = where(args).resolve()  # the directory itself, where a link leads to it
    refuse_unsafe(state_dir)
    count = restore(args.dir.absolute(), state_dir, _homes(state_dir))
    if args.json:
        say(json.dumps({"state_dir": str(state_dir), "conversations": count}))
    else:
        conversations = f"{count} conversation{'s' * (count != 1)}"
        say(f"{safe_line(str(state_dir))}: restored, with {conversations}; go on with `supervise run`")
    return 0
