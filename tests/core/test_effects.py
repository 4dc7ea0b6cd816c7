"""Effects without a database: what a claim is answered, what a payload is, and what never reaches the disk."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.effects import MOVES, Answer, EffectRecord, EffectRequest, EffectState
from supervisor.core.payloads import (
    MAX_DIFFERENCES,
    Difference,
    KeyFault,
    build_op,
    canonical,
    differences,
    fingerprint,
    redact,
    redact_value,
    remote_key,
    secrets_of,
)
from supervisor.core.rulings import DECISIONS, judge

ASKED = EffectRequest("001", "deploy", "once", ticket="001", payload={"to": "staging"})
OTHER = replace(ASKED, payload={"to": "production"})


def _held(state: EffectState, **changes: object) -> EffectRecord:
    first = EffectRecord(
        "001", "deploy", "once", "deploy", "001", state, 1, 1, 1, fingerprint(ASKED.payload), ASKED.payload, "k",
        first_claimed_at=100.0, claimed_at=100.0,
    )  # fmt: skip
    return replace(first, **changes)


S, A = EffectState, Answer


@pytest.mark.parametrize(
    ("state", "same", "other"),
    [
        (S.REQUESTED, (A.REQUESTED, None), (A.CONFLICT, None)),
        (S.CLAIMED, (A.IN_PROGRESS, None), (A.CONFLICT, None)),
        (S.DONE, (A.DONE, None), (A.CONFLICT, None)),
        (S.REFUSED, (A.MINE, S.CLAIMED), (A.MINE, S.CLAIMED)),
        (S.UNRESOLVED, (A.UNRESOLVED, None), (A.UNRESOLVED, None)),
        (S.NOT_DONE, (A.NOT_DONE, None), (A.CONFLICT, None)),
        (S.GRANTED, (A.MINE, S.CLAIMED), (A.CONFLICT, None)),
        (S.DENIED, (A.DENIED, None), (A.DENIED, None)),
        (S.ABANDONED, (A.ABANDONED, None), (A.ABANDONED, None)),
    ],
)
def test_a_known_effect_answers_by_its_state_and_payload(
    state: EffectState, same: tuple[Answer, EffectState | None], other: tuple[Answer, EffectState | None]
) -> None:
    assert judge(_held(state), ASKED, 200.0) == same
    assert judge(_held(state), OTHER, 200.0) == other


def test_a_refused_effect_that_needs_approval_asks_again() -> None:
    assert judge(_held(S.REFUSED), replace(OTHER, approval=True), 1.0) == (A.REQUESTED, S.REQUESTED)


def test_after_a_denial_only_another_payload_is_put_to_the_operator() -> None:
    assert judge(_held(S.DENIED), replace(OTHER, approval=True), 1.0) == (A.REQUESTED, S.REQUESTED)
    assert judge(_held(S.DENIED), replace(ASKED, approval=True), 1.0) == (A.DENIED, None)


def test_a_grant_is_for_one_ticket() -> None:
    granted = _held(S.GRANTED, granted_to="001.2")
    assert judge(granted, ASKED, 1.0) == (A.IN_PROGRESS, None)
    assert judge(granted, replace(ASKED, ticket="001.2"), 1.0) == (A.MINE, S.CLAIMED)


@pytest.mark.parametrize("state", [S.UNRESOLVED, S.NOT_DONE])
def test_only_what_may_be_repeated_is_repeated(state: EffectState) -> None:
    repeatable = replace(ASKED, kind="idempotent")
    assert judge(_held(state, kind="idempotent"), repeatable, 9e9) == (A.MINE, S.CLAIMED)
    assert judge(_held(state), repeatable, 9e9)[1] is None, "it was claimed as once"
    assert judge(_held(state, kind="idempotent"), ASKED, 9e9)[1] is None, "it is asked for as once"
    assert judge(_held(state, kind="idempotent"), replace(OTHER, kind="idempotent"), 9e9)[1] is None


@pytest.mark.parametrize(
    ("at", "window_s", "again"),
    [
        (150.0, 3600.0, True),
        (100.0 + 3600.0 - 60.0, 3600.0, True),
        (100.0 + 3600.0 - 59.0, 3600.0, False),
        (99.0, 3600.0, False),
        (150.0, None, False),
    ],
    ids=["inside", "at the margin", "past the margin", "clock set back", "no window known"],
)
def test_a_keyed_effect_is_repeated_only_inside_the_remotes_window(
    at: float, window_s: float | None, again: bool
) -> None:
    held = _held(S.UNRESOLVED, kind="keyed", window_s=window_s)
    asked = replace(ASKED, kind="keyed", window_s=window_s)
    assert judge(held, asked, at) == ((A.MINE, S.CLAIMED) if again else (A.UNRESOLVED, None))


def test_every_ruling_and_decision_is_a_legal_move() -> None:
    for state in EffectState:
        for approval in (False, True):
            for kind in ("once", "idempotent"):
                for asked in (ASKED, OTHER):
                    _, to = judge(_held(state, kind=kind), replace(asked, kind=kind, approval=approval), 1.0)
                    assert to is None or to in MOVES[state]
    for states, to in DECISIONS.values():
        assert all(to is None or to in MOVES[state] for state in states)


def test_done_is_final_and_every_other_state_can_end() -> None:
    assert MOVES[S.DONE] == frozenset()
    for state in EffectState:
        seen, todo = {state}, [state]
        while todo:
            for to in MOVES[todo.pop()] - seen:
                seen.add(to)
                todo.append(to)
        assert S.DONE in seen


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=12,
)


@given(json_values, json_values)
def test_payloads_differ_exactly_where_their_fingerprints_do(old: object, new: object) -> None:
    assert (fingerprint(old) == fingerprint(new)) == (not differences(old, new))


def test_spelling_does_not_make_another_payload() -> None:
    assert canonical({"b": 1.0, "a": [2, {"y": "é", "x": None}]}) == '{"a":[2,{"x":null,"y":"\\u00e9"}],"b":1}'
    assert fingerprint({"n": 1}) == fingerprint({"n": 1.0}) != fingerprint({"n": True})


def test_a_difference_names_the_field() -> None:
    old = {"pr": 17, "body": "first", "labels": ["a", "b"], "gone": True}
    new = {"pr": 17, "body": "second", "labels": ["a", "c", "d"], "meta": {"x": 1}}
    assert differences(old, new) == (
        Difference("body", "first", "second"),
        Difference("gone", "true", None),
        Difference("labels[1]", "b", "c"),
        Difference("labels[2]", None, "d"),
        Difference("meta", None, '{"x": 1}'),
    )
    assert differences("a", {"a": 1}) == (Difference("", "a", '{"a": 1}'),)
    assert len(differences(list(range(999)), list(range(1, 1000)))) == MAX_DIFFERENCES


def test_a_key_takes_its_business_id_from_the_payload() -> None:
    assert build_op("deploy") == "deploy"
    assert build_op("comment", "{repo}#{pr}", {"repo": "tinyshop", "pr": 17}) == "comment:tinyshop#17"
    for payload in ({}, {"pr": None}, {"pr": ""}, {"pr": [17]}, {"pr": {"n": 1}}):
        with pytest.raises(KeyFault, match='"pr"'):
            build_op("comment", "{pr}", payload)


def test_long_business_ids_stay_apart() -> None:
    one, two = (build_op("note", "{text}", {"text": "x" * 500 + end}) for end in "ab")
    assert one != two
    assert len(one) < 200


def test_a_remote_key_is_plain_and_belongs_to_one_ledger() -> None:
    key = remote_key("ledger-a", "001-é", "comment:a b\n\0", 1)
    assert key.isascii()
    assert key.isprintable()
    assert " " not in key
    assert len(key) <= 97
    others = [("ledger-b", "001-é", "comment:a b\n\0", 1), ("ledger-a", "001-é:comment", "a b\n\0", 1)]
    others.append(("ledger-a", "001-é", "comment:a b\n\0", 2))
    assert key not in {remote_key(*other) for other in others}


def test_secrets_are_replaced_by_their_names() -> None:
    secrets = {"TOKEN": "s3cret", "LONGER_TOKEN": "s3cret-and/more", "SHORT": "abc", "EMPTY": ""}
    assert redact("a s3cret-and/more b s3cret c abc", secrets) == "a [LONGER_TOKEN] b [TOKEN] c abc"
    assert redact("url?t=s3cret-and%2Fmore", secrets) == "url?t=[LONGER_TOKEN]"
    assert redact_value({"s3cret": ["x s3cret", 1, None]}, secrets) == {"[TOKEN]": ["x [TOKEN]", 1, None]}


def test_secrets_are_known_by_the_names_of_their_variables() -> None:
    names = ("GITHUB_TOKEN", "API_KEY", "DB_PASSWORD", "PATH", "HOME", "AUTHOR", "KEYS")
    environment = dict.fromkeys(names, "x")
    assert set(secrets_of(environment)) == {"GITHUB_TOKEN", "API_KEY", "DB_PASSWORD", "KEYS"}


def test_a_card_knows_how_long_the_remote_remembers() -> None:
    held = _held(S.UNRESOLVED, kind="keyed", window_s=60.0)
    assert held.window_left_s(130.0) == 30.0
    assert held.window_left_s(500.0) == 0.0
    assert _held(S.UNRESOLVED).window_left_s(130.0) is None
    assert held.key == "001:deploy"
    assert replace(held, outcome={"id": 1}).outcome_text == '{"id": 1}'
