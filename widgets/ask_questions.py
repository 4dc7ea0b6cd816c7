"""The questions of an ask as lines: the one that is being answered with its options, the others in a line each.

Pure; makes words safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.asks import questions, reply_text
from widgets.ask_draft import MOST_DIGITS, Draft
from widgets.card_lines import WHOLE, flowed, plain
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable, drawable_lines
from widgets.effect_words import all_fields
from widgets.transcript_wrap import Line, flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.core.asks import Ask, Question
    from widgets.ask_draft import Choice

_INDENT = 2


def question_lines(ask: Ask, draft: Draft | None, width: int) -> list[Cell]:
    """Return all questions of an ask, none of the lines wider than ``width``.

    Args:
        ask: The ask.
        draft: What is chosen so far; None shows what was answered.
        width: Cells.
    """
    asked = questions(ask)
    if not asked:
        words = plain("The agent's questions cannot be read; this is what it sent.", width, WHOLE, Tone.MUTED)
        return words + [clip_pieces(row, width) for row in flowed(list(all_fields(dict(ask.input))), width, whole=True)]
    if not ask.waits:
        return [line for question in asked for line in _past(question, ask, width)]
    shown = draft or Draft.of(asked)
    lines: list[Cell] = []
    for place, question in enumerate(asked):
        if place != shown.place:
            lines.append(clip_pieces(_other(place, question, shown), width))
        else:
            lines += _current(question, shown, width)
    return lines


def _past(question: Question, ask: Ask, width: int) -> Iterator[Cell]:
    yield from plain(question.text or question.header, width, WHOLE, Tone.STRONG)
    said = ask.answers.get(question.text)
    if said is not None:
        yield from plain(f"  {reply_text(said)}", width, 12)


def _other(place: int, question: Question, draft: Draft) -> Cell:
    choice = draft.choices[place]
    sign: Piece = ("✓", Tone.ACCENT) if choice.is_made else ("·", Tone.FAINT)
    said: Piece = (f"  {_said(question, choice)}" if choice.is_made else "", Tone.PLAIN)
    return sign, (f" {place + 1}  {_name(question)}", Tone.MUTED), said


def _name(question: Question) -> str:
    return drawable(question.header or question.text)


def _said(question: Question, choice: Choice) -> str:
    labels = [question.options[option].label for option in choice.options]
    return drawable(", ".join([*labels, choice.words] if choice.words else labels))


def _current(question: Question, draft: Draft, width: int) -> list[Cell]:
    lines: list[Cell] = []
    if len(draft.questions) > 1:
        name = f"{draft.place + 1} of {len(draft.questions)}  {drawable(question.header)}".rstrip()
        lines += [(), clip_pieces(((name, Tone.ACCENT),), width)]
    elif question.header:
        lines.append(clip_pieces(((drawable(question.header), Tone.ACCENT),), width))
    lines += plain(question.text, width, WHOLE, Tone.STRONG)
    lines += plain(f"{' ' * _INDENT}{'choose any' if question.multiple else 'choose one'}", width, 2, Tone.MUTED)
    lines += [clip_pieces(row, width) for row in _options(question, draft.choice, width)]
    return [*lines, ()] if len(draft.questions) > 1 else lines


def _options(question: Question, choice: Choice, width: int) -> Iterator[Cell]:
    for place, option in enumerate(question.options):
        digit = str(place + 1) if place < MOST_DIGITS else "·"
        words: list[Piece] = [(_joined(option.label), Tone.STRONG if place in choice.options else Tone.PLAIN)]
        if option.description:
            words.append((f"  {_joined(option.description)}", Tone.MUTED))
        yield from _option(digit, tuple(words), question.multiple, place in choice.options, width)
    typed = (
        ("other: ", Tone.MUTED),
        (drawable(choice.words), Tone.STRONG) if choice.words else ("your own words", Tone.MUTED),
    )
    yield from _option("o", typed, question.multiple, bool(choice.words), width)


def _joined(text: str) -> str:
    return " ".join(drawable_lines(text, WHOLE))


def _option(key: str, words: Cell, multiple: bool, is_chosen: bool, width: int) -> Iterator[Cell]:
    box = ("[x]" if is_chosen else "[ ]") if multiple else ("(•)" if is_chosen else "( )")
    first: Cell = ((f"{' ' * _INDENT}{key} ", Tone.ACCENT), (f"{box} ", Tone.ACCENT if is_chosen else Tone.MUTED))
    again: Cell = ((" " * (_INDENT + 6), Tone.PLAIN),)
    return flow(Line(words, first, again), width)
