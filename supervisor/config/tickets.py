"""``[defaults]`` and ``[[ticket]]`` -> TicketSpecs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from supervisor.config import order, tables
from supervisor.config.checks import show
from supervisor.config.prompts import prompt_of
from supervisor.core.spec import DEFAULT_RESERVE_USD, TicketSpec
from supervisor.core.text import is_blank

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.config.faults import Faults


class StepFault(Protocol):
    """One thing wrong with a rehearsal step: its place from 0, the key, and what is wrong."""

    @property
    def index(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def message(self) -> str: ...


CheckSteps = Callable[[Any], Iterable[StepFault]]
"""Returns what is wrong with the raw tables of ``[[ticket.rehearsal]]``."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a ticket's table is read against."""

    folder: Path
    effects: Collection[str]
    strange: bool
    """The file has a table of an unknown name, which may be the one of the tickets."""
    check_steps: CheckSteps | None
    faults: Faults


def read_tickets(raw: Mapping[str, Any], around: Surroundings) -> tuple[TicketSpec, ...]:
    """Return the tickets of a file that are right, in file order, with the defaults folded in."""
    defaults = _defaults(raw.get("defaults", {}), around)
    entries = raw.get("ticket", [])
    if not isinstance(entries, list):
        around.faults.add("[ticket]", f"must be a list of tables, not {show(entries)}", "write [[ticket]]")
        return ()
    if not entries and not around.strange:
        around.faults.add("", "has no tickets", 'a batch needs at least one [[ticket]] with id = "…" and prompt = "…"')
    places = [_place(number, entry) for number, entry in enumerate(entries, 1)]
    tickets = [_ticket(entry, place, defaults, around) for place, entry in zip(places, entries, strict=True)]
    _check_order(list(zip(places, entries, strict=True)), around.faults)
    return tuple(ticket for ticket in tickets if ticket is not None)


def _place(number: int, entry: object) -> str:
    ticket_id = entry.get("id") if isinstance(entry, Mapping) else None
    return f'[[ticket]] {number} "{ticket_id[:100]}"' if isinstance(ticket_id, str) else f"[[ticket]] {number}"


def _defaults(raw: object, around: Surroundings) -> dict[str, Any]:
    good = tables.read(raw, tables.DEFAULTS, "[defaults]", around.faults)
    _check_effects(good, "[defaults]", around)
    _check_money(good, "[defaults]", around.faults)
    return good


def _ticket(raw: object, place: str, defaults: Mapping[str, Any], around: Surroundings) -> TicketSpec | None:
    own = tables.read(raw, tables.TICKET, place, around.faults)
    if not isinstance(raw, Mapping):
        return None
    good = {**defaults, **own, "vars": {**defaults.get("vars", {}), **own.get("vars", {})}}
    if "id" not in raw:
        around.faults.add(place, "has no id", 'every ticket needs one, such as id = "001-login"')
    _check_effects(own, place, around)
    money = {"budget_usd", "reserve_usd"} & raw.keys()
    if money and money <= own.keys():
        _check_money(good, place, around.faults)
    _check_steps(own, place, around)
    prompt = prompt_of(raw, good, around.folder, place, around.faults)
    if prompt is None or "id" not in good:
        return None
    title = good["id"] if is_blank(good.get("title", "")) else good["title"].strip()
    given = {key: value for key, value in good.items() if key not in {"vars", "prompt_file"}}
    return TicketSpec(**{**given, "prompt": prompt, "title": title})


def _check_effects(good: Mapping[str, Any], place: str, around: Surroundings) -> None:
    for name in good.get("effects", ()):
        if name not in around.effects:
            around.faults.unknown(f"{place} effects", "effect", name, around.effects)


def _check_money(good: Mapping[str, Any], place: str, faults: Faults) -> None:
    """Note a budget that the reserve uses up, so that the ticket could never start."""
    budget, reserve = good.get("budget_usd"), good.get("reserve_usd", DEFAULT_RESERVE_USD)
    if budget is not None and budget <= reserve:
        hint = "" if "reserve_usd" in good else "that is kept free unless reserve_usd says less"
        faults.add(f"{place} budget_usd", f"must be more than the reserve of {reserve:g}, not {budget:g}", hint)
    ceiling = good.get("ceiling_usd")
    if budget is not None and ceiling is not None and ceiling < budget:
        faults.add(f"{place} ceiling_usd", f"must be at least the budget of {budget:g}, not {ceiling:g}")


def _check_steps(own: Mapping[str, Any], place: str, around: Surroundings) -> None:
    if around.check_steps is None or "rehearsal" not in own:
        return
    for fault in around.check_steps(own["rehearsal"]):
        around.faults.add(f"{place} rehearsal {fault.index + 1} {fault.key}".rstrip(), fault.message)


def _check_order(entries: list[tuple[str, Any]], faults: Faults) -> None:
    named = [(place, raw) for place, raw in entries if isinstance(raw, Mapping) and isinstance(raw.get("id"), str)]
    order.check_ids(((place, raw["id"]) for place, raw in named), faults)
    places = {raw["id"]: place for place, raw in reversed(named)}
    after = {raw["id"]: _names(raw.get("after")) for _, raw in reversed(named)}
    order.check_after(places, dict(reversed(after.items())), faults)


def _names(after: object) -> list[str]:
    names = after if isinstance(after, list) else []
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))
