"""How far a ledger has come, kept outside of it: the one thing that a restored older copy cannot bring back.

An older copy of the database has forgotten effects that were run since, and would run them again. So the number and
hash of the ledger's newest row are kept in a small file beside the database, and in another one in the user's own
state directory for when the whole state directory is put back. Both are on the disk after a claim is committed and
before its effect runs; more often is not needed, since only claims have consequences elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.core.errors import StoreError
from supervisor.store import chain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlite_utils import Database as Connection

NEAR = "ledger.mark"
"""The file's name beside the database."""
_SLOT = 2048
"""Bytes for one mark; a file holds two, which are written by turns."""
MOST_MARKS = 1_000
"""So many batches' marks stay in the user's directory, 4 KB each."""
_LEDGER = re.compile(r"[0-9a-f]{16}")
"""How ledgers are named; other things may lie in the same directory."""
_MOST_WORDS = 250
"""Most characters of a reason; none takes more than six bytes."""
ACCEPT = "effects are held until you accept it: `supervise doctor --accept-older`"


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a ledger had come at some time."""

    ledger: str
    """Its id."""
    seq: int
    """Number of its newest row; 0 where it has none."""
    hash: str
    """That row's hash; the ledger's id where it has none."""
    at: float
    held: str = ""
    """Why effects are held whatever the ledger says; set by a repair that could not save all of it."""


def users_directory(env: Mapping[str, str] = os.environ) -> Path | None:
    """Return the directory of this user's marks; None where the user has no home."""
    named = env.get("XDG_STATE_HOME", "")
    if os.path.isabs(named):  # noqa: PTH117 - the standard says to ignore a relative one
        return Path(named) / "supervise"
    with suppress(RuntimeError):
        return Path.home() / ".local" / "state" / "supervise"
    return None


class Watermark:
    """The marks of one batch's ledger. For use on the store's thread."""

    def __init__(self, state_dir: Path, users: Path | None, *, clock: Callable[[], float] = time.time) -> None:
        """Prepare to read and write marks.

        Args:
            state_dir: the first file is here.
            users: the second one is here, under the ledger's id; None for no second one.
            clock: seconds since the epoch.
        """
        self._near = state_dir / NEAR
        self._users = users
        self._clock = clock
        self.held = ""
        """Why effects are held, as ``compare`` found it. The marks then stay as they are."""

    def compare(self, db: Connection) -> str:
        """Return why effects must be held, in words for the operator; empty where the ledger is as far as its marks."""
        ident, (seq, _) = _ledger_id(db), chain.head(db)
        near, far = read(self._near), read(self._far(ident))
        found = (_behind(db, ident, seq, mark) for mark in (near, far) if mark is not None)
        self.held = next((words for words in found if words), "")
        return self.held

    def advance(self, db: Connection) -> None:
        """Put the marks where the ledger is now. Does nothing while effects are held.

        Raises StoreError when the first one cannot be written; without the second one we go on.
        """
        if not self.held:
            self._write(db)

    def accept(self, db: Connection, held: str = "") -> None:
        """Put the marks where the ledger is now, whatever they say; with ``held`` effects are held for that reason."""
        self._write(db, held)
        self.held = held

    def _write(self, db: Connection, held: str = "") -> None:
        seq, last = chain.head(db)
        mark = Mark(_ledger_id(db), seq, last, self._clock(), held)
        try:
            _put(self._near, mark)
        except OSError as error:
            raise StoreError(
                f"{self._near}: {error.strerror or error}", "make the state directory writable, and free some space"
            ) from error
        far = self._far(mark.ledger)
        if far is not None:
            with suppress(OSError):
                far.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not far.exists():
                    _make_room(far.parent)
                _put(far, mark)

    def _far(self, ledger: str) -> Path | None:
        return self._users / ledger if self._users is not None else None


def _make_room(users: Path) -> None:
    """Remove the marks of batches whose effects were claimed longest ago, beyond the bound. Raises OSError.

    A copy of such a batch is still known as older by the mark beside its database, unless that was replaced too.
    """
    marks = sorted((p for p in users.iterdir() if _LEDGER.fullmatch(p.name)), key=lambda path: path.stat().st_mtime)
    for old in marks[: max(0, len(marks) - MOST_MARKS + 1)]:
        old.unlink(missing_ok=True)


def _ledger_id(db: Connection) -> str:
    return str(db.execute("SELECT id FROM ledger").fetchone()[0])


def _behind(db: Connection, ident: str, seq: int, mark: Mark) -> str:
    """Return why a ledger must not go on from where it is, seen from a mark."""
    if mark.held:
        return f"{mark.held}: {ACCEPT}"
    if mark.ledger != ident:
        return f"this database is not the one that was here on {_day(mark.at)}: {ACCEPT}"
    if mark.seq > seq:
        return (
            f"this database is older than the one of {_day(mark.at)}, which had {mark.seq - seq} more entries in its"
            f" ledger: {ACCEPT}"
        )
    row = db.execute("SELECT hash FROM effect_log WHERE seq = ?", [mark.seq]).fetchone()
    if (row[0] if row else ident) != mark.hash:
        return f"this database went another way than the one of {_day(mark.at)}: {ACCEPT}"
    return ""


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def read(path: Path | None) -> Mark | None:
    """Return the newest mark of a file; None where no file can be read. A mark without sense holds effects."""
    try:
        data = path.read_bytes() if path is not None else None
    except OSError:
        data = None
    if data is None:
        return None
    found = _newest(data)
    return found[1] if found is not None else Mark("", 0, "", 0.0, f"the mark {path} makes no sense")


def _newest(data: bytes) -> tuple[int, Mark] | None:
    """Return the newest mark that is whole, and how many were written before it."""
    found = (_parsed(data[start : start + _SLOT]) for start in (0, _SLOT))
    return max((f for f in found if f is not None), key=lambda f: f[0], default=None)


def _parsed(slot: bytes) -> tuple[int, Mark] | None:
    text, _, check = slot.rstrip().rpartition(b" ")
    if not text or check != _check(text):
        return None
    try:
        turn, values = json.loads(text)
        return int(turn), Mark(**values)
    except (ValueError, TypeError):  # of another version
        return None


def _check(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode()


def _put(path: Path, mark: Mark) -> None:
    """Write a mark over the older one of the two that a file holds: whenever the power goes, a whole one is there.

    It stays in its place and size, so that one flush is enough; a new file for each mark would take several.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        _begin(path, mark)
        return
    try:
        data = os.pread(fd, 2 * _SLOT, 0)
        newest = _newest(data)
        turn = newest[0] + 1 if newest is not None else 0
        os.pwrite(fd, _spelled(turn, mark), turn % 2 * _SLOT)
        os.fsync(fd) if len(data) < 2 * _SLOT else os.fdatasync(fd)
    finally:
        os.close(fd)


def _begin(path: Path, mark: Mark) -> None:
    draft = path.with_name(f"{path.name}.new")
    with draft.open("wb") as file:
        file.write(_spelled(0, mark) + b" " * (_SLOT - 1) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.chmod(0o600)
    draft.replace(path)
    sync_directory(path.parent)


def _spelled(turn: int, mark: Mark) -> bytes:
    values = asdict(mark)
    values["held"] = mark.held[:_MOST_WORDS]
    text = json.dumps([turn, values], ensure_ascii=False).encode(errors="replace")
    return (text + b" " + _check(text)).ljust(_SLOT - 1) + b"\n"


def sync_directory(path: Path) -> None:
    """Let the names in a directory last."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
