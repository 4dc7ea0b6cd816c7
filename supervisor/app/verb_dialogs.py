"""What a verb's key leads to: its dialog, a question, or the verb at once; and what the operator is told of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from supervisor.app.drafts import Drafts
from supervisor.app.limits import is_at_limit
from supervisor.app.orders import Order, Sorted, left_out, reasons, report, sort_out, whom
from supervisor.app.screens.confirm import ConfirmScreen
from supervisor.app.screens.fork import ForkScreen
from supervisor.app.screens.limits import LimitsScreen
from supervisor.app.screens.priority import PriorityScreen
from supervisor.app.screens.rewind import RewindScreen
from supervisor.app.screens.start_over import StartOverScreen
from supervisor.app.screens.tell import TellScreen
from supervisor.app.undo import undo_of
from supervisor.app.verb_words import warning
from supervisor.core.errors import SupervisorError
from supervisor.core.model import State
from supervisor.core.rewinds import Source
from supervisor.core.verbs import (
    BUDGET,
    CANCEL,
    FORK,
    INTERRUPT,
    MESSAGE,
    NOT_BY_ALL,
    PRIORITY,
    RESUME,
    REWIND,
    START_OVER,
)
from widgets.cells import drawable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.notifications import SeverityLevel
    from textual.screen import Screen

    from supervisor.app.ports import BatchPort
    from supervisor.app.screens.dialog import VerbDialog
    from supervisor.app.undo import Undo
    from supervisor.core.events import Event
    from supervisor.core.model import TicketSnapshot
    from supervisor.core.rewinds import Checkpoint
    from supervisor.core.verbs import Verb

_STOPPING = "the supervisor takes no verbs now: it is stopping, or has not begun yet"
_TOLD_S = 4
_FINISHED = (State.DONE, State.CANCELLED)


class VerbDesk:
    """Gives verbs to tickets. It outlives its dialogs, and keeps the drafts of messages."""

    def __init__(self, port: BatchPort, given: Callable[[], None]) -> None:
        """Make a desk.

        Args:
            port: The batch.
            given: Called when verbs were given, so that their marks are drawn at once.
        """
        self._port, self._given = port, given
        self._drafts = Drafts(port)
        self._dialogs: dict[Verb, Callable[[Screen[Any], tuple[str, ...], str], VerbDialog]] = {
            MESSAGE: lambda _, ids, note: TellScreen(port, ids, note, drafts=self._drafts),
            BUDGET: lambda _, ids, note: LimitsScreen(port, ids, note),
            PRIORITY: lambda _, ids, note: PriorityScreen(port, ids, note),
            START_OVER: lambda _, ids, note: StartOverScreen(port, ids, note),
            FORK: lambda _, ids, note: ForkScreen(port, ids, note),
            REWIND: lambda screen, ids, note: RewindScreen(port, ids, note, fork=partial(self._fork, screen)),
        }

    def give(self, screen: Screen[Any], verb: Verb, tickets: Sequence[TicketSnapshot], hidden: str = "") -> None:
        """Give a verb to tickets, asking first for what it has to be told.

        Args:
            screen: The screen the operator is at.
            verb: The verb.
            tickets: Whom it is for. Those that it does not apply to are named with the reason.
            hidden: Which of them the operator does not see, in words that are safe to draw; empty for none.
        """
        found = who_can(verb, tickets)
        if not verb.on_many and len(tickets) > 1:
            self._refuse(screen, f"{verb.label} takes one ticket at a time: {len(tickets)} are marked")
        elif not found.accepted:
            if found.refused:
                self._refuse(screen, reasons(found.refused[:1]))
        else:
            chosen = [ticket for ticket in tickets if ticket.id in found.accepted]
            self._ask(screen, verb, chosen, hidden, found.refused)

    def _ask(
        self,
        screen: Screen[Any],
        verb: Verb,
        tickets: Sequence[TicketSnapshot],
        hidden: str,
        refused: tuple[tuple[str, str], ...],
    ) -> None:
        ids, others = tuple(ticket.id for ticket in tickets), left_out(refused)
        note = _joined(hidden, others)
        send = partial(self.send, screen, refused=refused)
        make = self._dialogs.get(verb)
        if make is not None:
            screen.app.push_screen(make(screen, ids, note), lambda orders: send(orders or ()))
        elif verb is RESUME and any(map(is_at_limit, tickets)):
            dialog = LimitsScreen(self._port, ids, note, resume=True)
            screen.app.push_screen(dialog, lambda orders: send(orders or ()))
        elif hidden or is_asked_first(verb, tickets, len(refused)):
            words = _joined(hidden, warning(verb, tickets), others)
            question = ConfirmScreen(f"{verb.label.capitalize()} {whom(ids)}?", words, verb.label)
            screen.app.push_screen(question, lambda yes: send((Order(verb, ids),)) if yes else None)
        else:
            send((Order(verb, ids),))

    def _fork(self, screen: Screen[Any], ticket: str, before: Checkpoint) -> None:
        dialog = ForkScreen(self._port, (ticket,), before=before)
        screen.app.push_screen(dialog, lambda orders: self.send(screen, orders or ()))

    def rewind(self, screen: Screen[Any], ticket: TicketSnapshot, at: str) -> None:
        """Open the rewind dialog of a ticket at one of its prompts, given by uuid."""
        why = REWIND.refusal(ticket)
        if why is not None:
            self._refuse(screen, why)
            return
        dialog = RewindScreen(self._port, (ticket.id,), fork=partial(self._fork, screen), at=at)
        screen.app.push_screen(dialog, lambda orders: self.send(screen, orders or ()))

    def undo(self, screen: Screen[Any], ticket: TicketSnapshot) -> None:
        """Bring back the files that were taken back last; ask first if the agent has worked on since."""
        why = REWIND.refusal(ticket)
        if why is not None:
            self._refuse(screen, why)
            return

        def answered(events: tuple[Event, ...] | SupervisorError) -> None:
            if isinstance(events, SupervisorError):
                self._refuse(screen, str(events))
            else:
                self._undo(screen, ticket.id, undo_of(events))

        self._port.look(lambda reader: reader.events(ticket.id), answered)

    def _undo(self, screen: Screen[Any], ticket: str, found: Undo | None) -> None:
        if found is None:
            self._refuse(screen, f"no files of {ticket} were taken back: there is nothing to undo")
            return
        order = Order(REWIND, (ticket,), {"source": Source.UNDO.value, "to": found.snapshot})
        if not found.prompts_since:
            self.send(screen, (order,))
        elif screen.is_active:
            many = "1 prompt" if found.prompts_since == 1 else f"{found.prompts_since} prompts"
            words = f"The files of {ticket} would be taken back to {found.to}. The agent has worked on {many} since."
            words = f"{drawable(words)} A snapshot keeps that: u once more brings it back."
            question = ConfirmScreen("Undo what is older than the agent's last work?", words, "undo")
            screen.app.push_screen(question, lambda yes: self.send(screen, (order,)) if yes else None)

    def send(self, screen: Screen[Any], orders: Sequence[Order], refused: tuple[tuple[str, str], ...] = ()) -> None:
        """Submit orders, one after the other, and say what became of them where that does not go without saying.

        A ticket that refuses an order is given none of the later ones.
        """
        accepted: tuple[str, ...] = ()
        for order in orders:
            known = {ticket for ticket, _ in refused}
            found = self._submit(Order(order.verb, tuple(t for t in order.tickets if t not in known), order.told))
            accepted, refused = found.accepted, (*refused, *found.refused)
        if orders:
            self._report(screen, orders[-1].verb, Sorted(accepted, refused))
            self._given()

    def _submit(self, order: Order) -> Sorted:
        found = sort_out(self._port.board, order)
        if found.accepted:
            self._port.submit(order.verb.name, found.accepted, order.told)
            untaken = [t for t in found.accepted if self._port.board[t].pending != order.verb.name]
            found = found.but([(ticket, _STOPPING) for ticket in untaken])
        if order.verb is MESSAGE and found.accepted:
            self._drafts.drop(order.tickets)
        return found

    def _report(self, screen: Screen[Any], verb: Verb, found: Sorted) -> None:
        if found.refused and not found.accepted and len(found.refused) == 1:
            self._refuse(screen, reasons(found.refused))
        elif len(found.accepted) + len(found.refused) > 1:
            words = report(verb.label, found)
            screen.notify(words, severity=severity(bool(found.refused)), markup=False, timeout=_TOLD_S)

    def _refuse(self, screen: Screen[Any], words: str) -> None:
        screen.notify(drawable(words), severity="warning", markup=False, timeout=_TOLD_S)


def severity(is_refusal: bool) -> SeverityLevel:
    """Return how loud a notice is."""
    return "warning" if is_refusal else "information"


def who_can(verb: Verb, tickets: Sequence[TicketSnapshot]) -> Sorted:
    """Return to which tickets a verb applies, whatever it is told.

    Among tickets of which some are not finished, those that are finished are spared what would begin them again.
    """
    spares = verb in NOT_BY_ALL and any(ticket.state not in _FINISHED for ticket in tickets)
    reasons = {ticket.id: verb.refusal(ticket) or (spares and _spared(ticket)) for ticket in tickets}
    refused = tuple((ticket, why) for ticket, why in reasons.items() if why)
    return Sorted(tuple(ticket for ticket, why in reasons.items() if not why), refused)


def _spared(ticket: TicketSnapshot) -> str:
    """Return why a finished ticket is left out of many; empty for one that is not finished."""
    if ticket.state not in _FINISHED:
        return ""
    return f"{ticket.id} is {ticket.state.value}: finished work is begun again only by itself"


def is_asked_first(verb: Verb, tickets: Sequence[TicketSnapshot], refused: int = 0) -> bool:
    """Return whether a verb without a dialog asks before it stops tickets: one alone only if it is given up at work.

    Several are asked for as well where only one of the marked takes it: the same keys go the same way. So is another
    turn for work that is done.
    """
    if verb is RESUME:
        return any(ticket.state is State.DONE for ticket in tickets)
    if verb not in (INTERRUPT, CANCEL):
        return False
    return len(tickets) + refused > 1 or (verb is CANCEL and tickets[0].holds_slot)


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
