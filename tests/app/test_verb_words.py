"""Words and sums of the dialogs, without a screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from supervisor.app.limits import facts, facts_of_many, higher_budget, higher_turns, outcome, suggested, told_limits
from supervisor.app.lookup import Lookup
from supervisor.app.messages import fate
from supervisor.app.orders import Order, Sorted, left_out, reasons, report, sort_out
from supervisor.app.stays import staying
from supervisor.app.verb_words import warning
from supervisor.core.budget import MIN_CAP_USD, attempt_cap
from supervisor.core.changes import ChangeKind, Changes, FileChange, LeftOut
from supervisor.core.effects import EffectState
from supervisor.core.model import BatchTotals, State, TicketSnapshot, Why
from supervisor.core.rewinds import RewindPreview, Source
from supervisor.core.starts import starts_when
from supervisor.core.verb_args import BadArgs
from supervisor.core.verbs import BUDGET, CANCEL, INTERRUPT, RESUME, START_OVER, VERBS, Verb
from tests.screens.effect_scenes import record, view
from tests.screens.scenes import HOSTILE, Story, busy
from widgets.cells import joined, width_of
from widgets.rewind_words import changes_words, effects_words, preview_lines


def ticket(**more: object) -> TicketSnapshot:
    """Return a ticket that stands at a limit."""
    known = TicketSnapshot("001", state=State.NEEDS_YOU, why=Why.LIMIT, budget_usd=1.0, reserve_usd=0.1)
    return replace(known, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("budget", "spent", "reserve", "higher"),
    [(1.0, 0.95, 0.1, 1.6), (1.0, 1.4, 0.1, 2.2), (0.0, 0.0, 0.0, 0.1), (10.0, 9.99, 0.5, 15.5)],
)
def test_a_higher_budget_is_half_as_much_again_and_the_reserve(
    budget: float, spent: float, reserve: float, higher: float
) -> None:
    found = higher_budget(ticket(budget_usd=budget, spent_usd=spent, reserve_usd=reserve))
    assert found is not None
    assert found == pytest.approx(higher)
    cap = attempt_cap(found - spent, reserve or 0.05, None, 1)
    assert cap is not None
    assert cap >= MIN_CAP_USD


def test_a_budget_that_is_not_used_up_is_left_alone() -> None:
    assert higher_budget(ticket(spent_usd=0.2)) is None
    assert higher_budget(ticket(budget_usd=None)) is None
    assert suggested([ticket(spent_usd=0.2)]) == ("", "")


def test_turns_are_doubled_only_where_they_ran_out() -> None:
    by_turns = ticket(spent_usd=0.2, subtype="error_max_turns", max_turns=15)
    assert higher_turns(by_turns) == 30
    assert higher_turns(replace(by_turns, subtype="error_max_budget_usd")) is None
    assert suggested([by_turns]) == ("", "30")
    assert suggested([replace(by_turns, spent_usd=0.95)]) == ("1.60", "30")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("", ""), {}),
        ((" $ 2.50 ", " 12 "), {"budget_usd": 2.5, "max_turns": 12}),
        (("+1", ""), {"raise_usd": 1.0}),
        (("−0.5", ""), {"raise_usd": -0.5}),
        (("None", ""), {"no_budget": True}),
    ],
)
def test_what_the_operator_types(words: tuple[str, str], told: dict[str, object]) -> None:
    assert told_limits(*words) == told


@pytest.mark.parametrize("words", [("2,50", ""), ("+", ""), ("1.2.3", ""), ("", "1.5"), ("", "many")])
def test_what_makes_no_sense_is_refused(words: tuple[str, str]) -> None:
    with pytest.raises(BadArgs, match="is no"):
        told_limits(*words)


def test_the_figures_of_a_ticket() -> None:
    assert facts(ticket(spent_usd=1.2, estimated_usd=0.1, max_turns=9)) == (
        "spent ≈$1.20 of $1.00  headroom −$0.20  reserve $0.10  at most 9 turns a prompt"
    )
    assert facts(ticket(budget_usd=None)) == "spent $0.00  no budget of its own  any number of turns"
    many = [ticket(spent_usd=0.5), ticket(budget_usd=2.5), ticket(budget_usd=None)]
    assert facts_of_many(many) == "$0.50 spent together  budgets $1.00 to $2.50"
    assert outcome(ticket(spent_usd=0.95), {"budget_usd": 1.0}).endswith("too little to go on with")


@pytest.mark.parametrize(
    ("state", "live", "attempts", "words"),
    [
        (State.RUNNING, True, 1, "the agent gets this when its turn ends"),
        (State.NEEDS_YOU, True, 1, "its agent waits for your answer"),
        (State.NEEDS_YOU, False, 1, "it goes on with this as soon as a slot is free"),
        (State.QUEUED, False, 0, "it begins with this as soon as a slot is free"),
        (State.QUEUED, False, 2, "it goes on with this as soon as a slot is free"),
        (State.PARKED, False, 1, "it goes on with this when its time comes"),
    ],
)
def test_what_becomes_of_a_message(state: State, live: bool, attempts: int, words: str) -> None:
    assert words in fate([TicketSnapshot("001", state=state, live=live, attempts=attempts)])


def test_a_message_says_what_it_has_to_wait_for() -> None:
    held = TicketSnapshot("001", state=State.NEEDS_YOU, held_by="is waiting for its effect 001:post: settle it first")
    assert "it is waiting for its effect 001:post: settle it first; then it goes on with this" in fate([held])
    paused = starts_when(BatchTotals(starting_paused=True))
    assert "it begins with this once tickets start again: starting is paused" in fate([TicketSnapshot("1")], paused)


def test_what_becomes_of_a_message_to_several() -> None:
    states = (State.RUNNING, State.PAUSED, State.DONE, State.QUEUED)
    assert fate([TicketSnapshot(state, state=state) for state in states]) == (
        "1 has an agent at work, which gets it when its turn ends; 2 rest and go on with it; "
        "1 waits for its turn and begins with it."
    )


def test_an_agent_that_waits_is_not_at_work_and_a_cancelled_ticket_gets_nothing() -> None:
    states = (State.RUNNING, State.NEEDS_YOU, State.CANCELLED)
    assert fate([TicketSnapshot(state, state=state, live=state is not State.CANCELLED) for state in states]) == (
        "1 has an agent at work, which gets it when its turn ends; "
        "1 has an agent that waits for you, which gets it when its turn ends; 1 is cancelled by now and gets nothing."
    )
    assert fate([TicketSnapshot("1", state=State.CANCELLED)]).endswith("resume it first, it takes no message.")


RUNS, ASKS, STOPS, QUEUES = (
    TicketSnapshot("1", state=State.RUNNING, live=True),
    TicketSnapshot("2", state=State.NEEDS_YOU, why=Why.QUESTION, live=True),
    TicketSnapshot("3", state=State.NEEDS_YOU, why=Why.LIMIT),
    TicketSnapshot("4"),
)


@pytest.mark.parametrize(
    ("verb", "tickets", "words"),
    [
        (CANCEL, [RUNS, ASKS, STOPS, QUEUES], "1 at work, 2 waiting for you, 1 not at work. Turns under way stop. T"),
        (CANCEL, [ASKS, ASKS], "2 waiting for you. Turns under way stop. T"),
        (CANCEL, [STOPS, QUEUES, QUEUES], "1 waiting for you, 2 not at work. Their sessions"),
        (CANCEL, [QUEUES, QUEUES], "2 not at work. Their sessions"),
        (CANCEL, [RUNS], "It is at work: its turn stops. Its session"),
        (CANCEL, [ASKS], "It waits for you: its turn stops. Its session"),
        (CANCEL, [STOPS], "Its session"),
        (
            INTERRUPT,
            [RUNS, ASKS, QUEUES],
            "1 at work, 1 waiting for you: their turns stop. 1 not at work: held back. T",
        ),
        (INTERRUPT, [ASKS, QUEUES], "1 waiting for you: its turn stops. 1 not at work: held back. They"),
        (INTERRUPT, [RUNS, ASKS], "1 at work, 1 waiting for you: their turns stop. They"),
        (INTERRUPT, [RUNS, RUNS], "Their turns stop. They"),
        (INTERRUPT, [QUEUES, QUEUES], "None of them is at work: they are held back. They"),
        (INTERRUPT, [RUNS], "Its turn stops. It rests"),
        (INTERRUPT, [ASKS], "It waits for you: its turn stops. It rests"),
        (INTERRUPT, [QUEUES], "It is not at work: it is held back. It rests"),
        (RESUME, [STOPS], ""),
        (START_OVER, [STOPS], ""),
    ],
)
def test_what_is_at_work_what_waits_and_what_does_neither(
    verb: Verb, tickets: list[TicketSnapshot], words: str
) -> None:
    said = warning(verb, tickets)
    assert said.startswith(words)
    assert bool(said) is bool(words)


def test_who_is_left_alone_is_named_with_the_reason() -> None:
    assert left_out(()) == ""
    assert left_out((("1", "1 is done: no"),)) == "1 more marked is left alone. 1 is done: no."
    refused = (*((f"{n}", f"{n} is done: no") for n in range(6)), ("x\x1b", "x\x1b has not begun: there is nothing"))
    assert left_out(refused) == (
        "7 more marked are left alone. 0, 1, 2 and 3 more are done: no; x␛ has not begun: there is nothing."
    )
    queued = tuple((f"{n}", f"{n} has not begun: nothing") for n in range(2))
    assert left_out(queued) == "2 more marked are left alone. 0, 1 have not begun: nothing."
    assert reasons(queued) == "2 have not begun: nothing"


def test_orders_are_sorted_ticket_by_ticket() -> None:
    found = sort_out(busy(), Order(BUDGET, ("001-rounding", "008-docs"), {"raise_usd": 1.0}))
    assert found.accepted == ("001-rounding",)
    assert report("budget", found) == "budget: 1 accepted, 1 refused: 008-docs has no budget that could be raised"
    refused = tuple((str(n), f"{n} [/]\x1b is done") for n in range(5))
    assert reasons(refused) == "0 [/]␛ is done; 1 [/]␛ is done; 2 [/]␛ is done; and 2 more"
    refused = (("1", "1 is done: no"), ("2", "2 is paused: no"), ("3", "3 is done: no"), ("4", "no \x1b"))
    assert reasons(refused) == "2 are done: no; 2 is paused: no; 4: no ␛"
    assert Sorted(("1", "2")).but([("2", "no")]) == Sorted(("1",), (("2", "no"),))
    assert sort_out(busy(), Order(INTERRUPT, ("002-images",))).accepted == ()


def test_effects_of_the_family_stay_done() -> None:
    story = Story()
    for ident, parent in (("001", None), ("001.2", "001"), ("002", None)):
        story.add(ident, parent=parent)
    for ident, op, state in (("001", "a", EffectState.DONE), ("001", "b", EffectState.DENIED), ("002", "c", "done")):
        story.board.show_effect(view(record(ident, op, EffectState(state))))
    assert [r.op for r in staying(story.board, story.board["001.2"])] == ["a"]
    both = (record("001", "a", EffectState.DONE), record("001", "b", EffectState.UNRESOLVED))
    assert effects_words(both) == "stay done: a; may have happened: b"
    assert effects_words(()) == ""


@pytest.mark.parametrize("width", [8, 30, 80])
def test_a_dry_run_fits_any_width_and_is_harmless(width: int) -> None:
    files = tuple(FileChange(text, ChangeKind.RENAMED, 1, None, text) for text in HOSTILE)
    left = tuple(LeftOut(text, text) for text in HOSTILE)
    found = RewindPreview(
        "001", Source.SNAPSHOT, "x", Changes(files, True), left, left, files, False, (), HOSTILE, "no [/]\x1b"
    )
    lines = preview_lines(found, width)
    assert all(width_of(line) <= width for line in lines)
    assert not set("".join(map(joined, lines))) & set("\x1b\x07\x00\x9b\u202e\u2066\r\t\n\ud83d")


def test_many_files_are_listed_in_part() -> None:
    files = tuple(FileChange(f"f{n}", ChangeKind.MODIFIED, 1, 1) for n in range(500))
    words = "\n".join(map(joined, preview_lines(RewindPreview("1", Source.SNAPSHOT, "x", Changes(files)), 60)))
    assert "Would change 500 files, +500 −500" in words
    assert "and 300 more" in words
    nothing = preview_lines(RewindPreview("1", Source.SNAPSHOT, "x", Changes(())), 60)
    assert "Would change no file" in map(joined, nothing)
    assert changes_words(Changes()) == "no file changes"
    assert changes_words(Changes(files[:1])) == "1 file, +1 −1"


class _Port:
    """Keeps questions to be answered by hand."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, object]] = []

    def look(self, work: object, answered: object) -> None:
        self.asked.append((work, answered))


def test_lookups_ask_one_at_a_time_and_only_the_latest_counts() -> None:
    port, found = _Port(), list[object]()
    lookup: Lookup[object] = Lookup(port, found.append)  # type: ignore[arg-type]
    for work in ("a", "b", "c"):
        lookup.ask(work)  # type: ignore[arg-type]
    assert [work for work, _ in port.asked] == ["a"]
    port.asked[0][1]("A")  # type: ignore[operator]
    assert ([work for work, _ in port.asked], found) == (["a", "c"], [])
    port.asked[1][1]("C")  # type: ignore[operator]
    assert (found, lookup.is_open) == (["C"], False)
    lookup.ask("d")  # type: ignore[arg-type]
    lookup.drop()
    port.asked[2][1]("D")  # type: ignore[operator]
    assert found == ["C"]


def test_the_keys_of_verbs_are_all_different() -> None:
    assert len({verb.key for verb in VERBS}) == len(VERBS)
