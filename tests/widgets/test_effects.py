"""Lines of effects: fields of payloads, times, and cards that never outgrow their width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.core.effects import EffectState
from tests.screens.effect_scenes import KEYED, STUCK, record, row, view
from tests.screens.scenes import HOSTILE, NOW
from widgets.card_layout import card_rule
from widgets.cells import joined, width_of
from widgets.effect_layout import effect_lines
from widgets.effect_words import MAX_FIELDS, fields, payload_summary, ran_until, span, stamp, waits_for
from widgets.items import INBOX, LEDGER, arrange, effect_item, header, line

if TYPE_CHECKING:
    from supervisor.core.payloads import Json

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def test_nested_fields_get_paths() -> None:
    payload: Json = {
        "a": {"b": 1, "c": {"d": "x"}},
        "labels": ["p", "q"],
        "items": [{"n": 1}],
        "none": None,
        "empty": {},
    }
    assert fields(payload) == (
        [
            ("a.b", "1"),
            ("a.c.d", "x"),
            ("labels", '["p", "q"]'),
            ("items[0].n", "1"),
            ("none", "null"),
            ("empty", "{}"),
        ],
        False,
    )
    assert fields("text") == ([("", "text")], False)


def test_deep_and_many_fields_are_bounded() -> None:
    deep: object = 1
    for _ in range(200):
        deep = {"d": deep}
    assert len(fields(deep)[0]) == 1  # type: ignore[arg-type]
    shown, is_cut = fields({str(n): n for n in range(100_000)})
    assert (len(shown), is_cut) == (MAX_FIELDS, True)
    assert len(effect_lines(view(record("t", "op", EffectState.UNRESOLVED, {"x": "y\n" * 10**6})), NOW, 80)) < 120


@given(json_values, st.integers(8, 120))
@settings(max_examples=150)
def test_no_line_is_wider_than_its_card(payload: object, width: int) -> None:
    held = record("t", "op", EffectState.UNRESOLVED, payload, kind="keyed", window_s=600.0, error="e " * 100)  # type: ignore[arg-type]
    assert all(width_of(cell) <= width for cell in effect_lines(view(held), NOW, width))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("width", [8, 40, 80])
def test_hostile_words_stay_in_their_lines(text: str, width: int) -> None:
    held = record(text, f"op:{text}", EffectState.UNRESOLVED, {text: text}, error=text, said=text, outcome=text)
    shown = view(held)
    assert width_of(card_rule(effect_item(shown), NOW, width)) <= width
    for cell in effect_lines(shown, NOW, width):
        assert width_of(cell) <= width
        assert not set(joined(cell)) & set("\x1b\x07\x00\x9b\u202e\u2066\ud83d\r\t\n")
    for columns in (INBOX, LEDGER):
        item = effect_item(shown)
        cells = arrange(columns, [item], NOW, max(60, width))
        assert width_of(line(item, columns, cells, NOW)) == width_of((header(columns, cells),))


def test_an_orphan_does_not_claim_to_know_when_it_ended() -> None:
    held = record("t", "op", EffectState.UNRESOLVED, error="its owner died")
    orphan = row(held, "orphan", "claimed", "unresolved", NOW)
    assert ran_until(view(held)) == "unresolved after 2.1 s"
    assert ran_until(type(view(held))(held, (view(held).log[0], orphan))) == "its run left no outcome"


def test_words() -> None:
    assert payload_summary(STUCK.payload) == "environment staging, build 418"
    assert payload_summary({}) == payload_summary(None) == ""
    assert waits_for(view(record("t", "op", EffectState.REQUESTED))) == "wants your approval"
    assert [span(s) for s in (0.04, 2.1, 48, 200)] == ["0.0 s", "2.1 s", "48 s", "3 min"]
    assert len(stamp(NOW, NOW)) == 8
    assert len(stamp(NOW - 90_000, NOW)) == 14


def test_a_forgotten_key_is_said() -> None:
    lines = [joined(cell) for cell in effect_lines(view(KEYED), NOW + 3600, 80)]
    assert any("may have forgotten it" in text for text in lines)
