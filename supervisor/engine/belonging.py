"""Which batch a state directory belongs to: there is one in each.

Tickets are known by their ids, and their branches and snapshots by the batch's name too. Another batch in the same
directory would find tickets that it takes for its own, with their sessions, their money and their endings.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.core.errors import StoreError
from supervisor.engine.git import slug

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.core.model import TicketSnapshot
    from supervisor.core.spec import BatchSpec
    from supervisor.store.tickets import TicketStore

BATCH = "batch"
"""The setting that names it."""
_OTHER_PLACE = "name another directory with --state-dir"


@dataclass(frozen=True, slots=True)
class Belonging:
    """The batch that was last run in a directory."""

    name: str
    file: str = ""
    """Where its file was, as an absolute path; empty where an earlier version has not noted it."""

    def refusal(self, spec: BatchSpec, state_dir: Path) -> StoreError | None:
        """Return why another batch may not use the directory; None for the same one, also if its file was moved."""
        whose = f"the batch {self.name!r}" + (f" of {self.file}" if self.file else "")
        if slug(spec.name) != slug(self.name):
            same = self.file == str(spec.path)
            remedy = f'name it "{self.name}" again, or {_OTHER_PLACE}' if same else _OTHER_PLACE
            return StoreError(f"{state_dir} holds {whose}; {spec.path} is {spec.name!r}", remedy)
        if self.file and self.file != str(spec.path) and Path(self.file).exists():
            remedy = f"give each file a name of its own under [batch], and {_OTHER_PLACE}"
            return StoreError(f"{state_dir} holds {whose}; {spec.path} is another file", remedy)
        return None


def belonging(setting: str, tickets: Iterable[TicketSnapshot]) -> Belonging | None:
    """Return whose directory it is, by the setting, else by its tickets' branches; None where nothing tells."""
    if setting:
        return Belonging(**json.loads(setting))
    branches = (ticket.branch.split("/") for ticket in tickets if ticket.branch)
    return next((Belonging(parts[1]) for parts in branches if parts[0] == "supervise" and len(parts) > 2), None)


def refuse_to_read(setting: str, tickets: Iterable[TicketSnapshot], spec: BatchSpec, state_dir: Path) -> None:
    """Raise StoreError where what is written down in a directory is another batch's than the one that is asked for."""
    known = belonging(setting, tickets)
    if known is not None and (refusal := known.refusal(spec, state_dir)) is not None:
        where = f"name {known.file or 'the file of that batch'}, or the directory of this one with --state-dir"
        raise StoreError(refusal.message, where)


async def take(store: TicketStore, spec: BatchSpec) -> None:
    """Note whose directory it is from now on. Raises StoreError where it is another batch's."""
    setting = await store.setting(BATCH)
    known = belonging(setting, await store.snapshots())
    if known is not None and (refusal := known.refusal(spec, store.database.path.parent)) is not None:
        raise refusal
    now = json.dumps({"name": spec.name, "file": str(spec.path)})
    if now != setting:
        await store.keep_setting(BATCH, now)
