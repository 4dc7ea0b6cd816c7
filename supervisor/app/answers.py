"""What the operator can answer about an effect, in one table: digits, footer, help, dialogs and palette follow it.

Which verb fits which state is decided in ``core.rulings``; here are the keys and the words for what could go wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core.effects import EffectState
from supervisor.core.rulings import DECISIONS, DecisionVerb
from widgets.cells import drawable
from widgets.effect_words import payload_summary
from widgets.formatting import countdown

if TYPE_CHECKING:
    from supervisor.core.effects import EffectView

_REQUESTED, _UNRESOLVED = frozenset({EffectState.REQUESTED}), frozenset({EffectState.UNRESOLVED})


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and when it can be given."""

    digit: str
    label: str
    """A few words for the line of answers."""
    help: str
    """One sentence for the help screen and the palette."""
    states: frozenset[EffectState]
    verb: DecisionVerb | None = None
    """None asks the other system instead of deciding."""
    once_more: bool = False
    """Let it run again, also where nobody has found out what became of it."""
    at_once: bool = False
    """Needs no dialog."""
    takes_outcome: bool = False

    def applies(self, view: EffectView) -> bool:
        """Return whether it can be given now."""
        return self.refusal(view) is None

    def refusal(self, view: EffectView) -> str | None:
        """Return why it cannot be given; None when it can."""
        record = view.record
        if record.state not in self.states:
            state = record.state.value.replace("_", " ")
            return f"{drawable(record.key)} is {state}: {self.label} does not apply"
        if self.verb is None and not view.has_probe:
            return f"no probe is set for {drawable(record.effect)}"
        if self.verb is None and view.busy:
            return "a probe is under way already"
        return None

    def typed_name(self, view: EffectView) -> str:
        """Return what must be typed to override a doubt; empty where there is none."""
        doubted = (self.once_more or self.verb is DecisionVerb.FENCE) and not view.owner_dead
        return view.record.effect if doubted else ""


def _states(verb: DecisionVerb) -> frozenset[EffectState]:
    return DECISIONS[verb][0]


ANSWERS: tuple[Answer, ...] = (
    Answer("1", "approve", "Let it run, once, with this payload.", _REQUESTED, DecisionVerb.APPROVE, at_once=True),
    Answer("2", "deny", "Do not let it run; the agent is told why.", _REQUESTED, DecisionVerb.DENY),
    Answer(
        "1",
        "it happened",
        "Settle it as done, with what came of it.",
        _states(DecisionVerb.DONE) - _REQUESTED,
        DecisionVerb.DONE,
        takes_outcome=True,
    ),
    Answer("2", "it did not", "Settle it as not done; it is not run again.", _UNRESOLVED, DecisionVerb.NOT_DONE),
    Answer(
        "3",
        "run it once more",
        "Let it run one more time, whatever became of it.",
        _states(DecisionVerb.GRANT) | _UNRESOLVED,
        DecisionVerb.GRANT,
        once_more=True,
    ),
    Answer("4", "abandon", "It never runs; the agent is told.", _states(DecisionVerb.ABANDON), DecisionVerb.ABANDON),
    Answer("5", "probe", "Ask the other system whether it happened.", _UNRESOLVED | {EffectState.CLAIMED}),
    Answer(
        "6", "note", "Write something into its log; nothing changes.", _states(DecisionVerb.NOTE), DecisionVerb.NOTE
    ),
    Answer(
        "7",
        "take it away",
        "Take a claim from an owner whose death cannot be proved.",
        _states(DecisionVerb.FENCE),
        DecisionVerb.FENCE,
    ),
)
"""In the order of their digits; at most one of a digit applies to a state."""

DIGITS = tuple(sorted({answer.digit for answer in ANSWERS}))


def offered(view: EffectView) -> list[Answer]:
    """Return the answers that can be given now."""
    return [answer for answer in ANSWERS if answer.applies(view)]


def answer_for(digit: str, view: EffectView) -> Answer:
    """Return the answer a digit stands for: the one that applies, else the one that says best why it does not."""
    of_digit = [answer for answer in ANSWERS if answer.digit == digit]
    return next((a for a in of_digit if a.applies(view)), of_digit[-1])


def question(answer: Answer, view: EffectView) -> str:
    """Return the title of a dialog, safe to draw."""
    name = f"{drawable(view.record.effect)} of {drawable(view.record.ticket)}"
    return f"{answer.label[:1].upper()}{answer.label[1:]}: {name}"


def danger(answer: Answer, view: EffectView, now: float) -> str:
    """Return in concrete words what could go wrong, safe to draw."""
    name, payload = drawable(view.record.effect), payload_summary(view.record.payload)
    what = f"{name} ({payload})" if payload else name
    match answer.verb:
        case DecisionVerb.DONE:
            return f"If {what} did not happen after all, nobody will do it: the agent is told that it is done."
        case DecisionVerb.NOT_DONE:
            told = f"The agent is told that {what} did not happen, and that it is not run again unless you allow it."
            return f"{told} If it did happen, that is false, and the agent may do it in another way."
        case DecisionVerb.GRANT:
            return _danger_of_more(view, what, now)
        case DecisionVerb.ABANDON:
            return f"{what} will never run again, and if it has not happened it never will. The agent is told so."
        case DecisionVerb.DENY:
            return f"{what} does not run. The agent is told that you denied it, and why."
        case DecisionVerb.FENCE:
            return f"If its owner still runs, {what} may yet happen; what it reports then is kept in the log only."
        case _:
            return "The note stays in the log for good."


def _danger_of_more(view: EffectView, what: str, now: float) -> str:
    if not view.record.attempt:
        return f"{what} has not run yet. It runs once, when the agent asks again."
    words = f"If the first {what} did go through, it will happen twice."
    left = view.record.window_left_s(now)
    if left:
        return f"{words} The other system should drop a repeat for another {countdown(left)}."
    if left is not None:
        return f"{words} The other system may have forgotten its key, and will not drop a repeat."
    return words
