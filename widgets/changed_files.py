"""A list of changed files: what happened to each, how many lines came and went, and a cursor."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType

from supervisor.core.changes import ChangeKind
from supervisor.core.text import clip
from widgets.cells import Cell, Piece, Tone, drawable, fit, width_of
from widgets.pick_list import PickList, PickRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from supervisor.core.changes import Changes, FileChange

SIGNS: Mapping[ChangeKind, str] = MappingProxyType(
    {
        ChangeKind.ADDED: "A",
        ChangeKind.MODIFIED: "M",
        ChangeKind.DELETED: "D",
        ChangeKind.RENAMED: "R",
        ChangeKind.TYPECHANGE: "T",
    }
)
_TONES = {ChangeKind.ADDED: Tone.ADDED, ChangeKind.DELETED: Tone.REMOVED}


def sign(change: FileChange | None) -> Piece:
    """Return one letter for what happened to a file; a dot where nothing did."""
    if change is None:
        return "·", Tone.FAINT
    return SIGNS[change.kind], _TONES.get(change.kind, Tone.PLAIN)


def counts(change: FileChange) -> Cell:
    """Return how many lines came and went, such as ``+3 −1``; ``binary`` where git counts none."""
    if change.binary:
        return (("binary", Tone.FAINT),)
    pieces: list[Piece] = [(f"+{change.insertions}", Tone.ADDED)] if change.insertions else []
    if change.deletions:
        pieces.append((f"{' ' if pieces else ''}−{change.deletions}", Tone.REMOVED))
    return tuple(pieces)


def short_path(path: str, cells: int) -> str:
    """Return a path that is safe to draw, cut at its beginning: the end tells files apart."""
    words = drawable(path)
    if cell_len(words) <= cells:
        return words
    words = words[-max(1, cells - 1) :]  # no character takes less than a cell, but for marks
    while cell_len(words) > cells - 1:
        words = words[1:]
    return f"…{words}"


def file_cell(change: FileChange, width: int) -> Cell:
    """Return the line of a file, as wide as told: what happened, where, and how much."""
    amount = counts(change)
    room = width - 2 - width_of(amount) - 1
    if room < 8:
        amount, room = (), width - 3
    path = short_path(change.path, room)
    if change.old_path is not None:
        old = f"  was {drawable(change.old_path)}"
        path = f"{path}{clip(old, room - cell_len(path), cell_len) if cell_len(path) + 10 < room else ''}"
    return (sign(change), (f" {fit(path, room)} ", Tone.PLAIN), *amount)


def total_words(changes: Changes) -> str:
    """Return how much changed, such as ``3 files  +12 −4``."""
    count = f"{len(changes.files)}{'+' if changes.truncated else ''}"
    files = f"{count} file{'' if count == '1' else 's'}"
    return f"{files}  +{changes.insertions} −{changes.deletions}" if changes.files else "no changes"


class FileList(PickList, inherit_bindings=False):
    """Files under one another. Pages are left to whoever shows the file, so that its keys scroll that."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Next file", show=False),
        Binding("k,up", "move(-1)", "Previous file", show=False),
        Binding("home", "edge(0)", "First file", show=False),
        Binding("end,G", "edge(-1)", "Last file", show=False),
    ]


class ChangedFiles(FileList):
    """The files that one ticket changed."""

    DEFAULT_CSS = """
    ChangedFiles { overflow-y: scroll; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._files: tuple[FileChange, ...] = ()
        self._below: Cell = ()
        self._shown: object = None

    def show_files(self, files: Sequence[FileChange], notice: Cell = ()) -> None:
        """Show these files, and below them a notice; draws again only if something reads differently."""
        self._files, self._below = tuple(files), notice
        self._draw_files()

    def on_resize(self) -> None:
        """Fit the paths to the new width."""
        self._draw_files()
        super().on_resize()

    def _draw_files(self) -> None:
        width = self.scrollable_content_region.width
        if width and (self._files, self._below, width) != self._shown:
            self._shown = (self._files, self._below, width)
            rows = [PickRow(change.path, file_cell(change, max(8, width - 2))) for change in self._files]
            self.show(rows, self._below)
