"""What an API error reads like to the operator: said once."""

from __future__ import annotations

import pytest

from supervisor.engine.governor import fault


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (400, "API Error: 400 messages.3: cannot be understood", "API 400: messages.3: cannot be understood"),
        (400, "API Error: 4001 things", "API 400: 4001 things"),
        (None, "API Error: no answer", "API unreachable: no answer"),
        (529, "API Error: 529", "API 529"),
        (500, "overloaded", "API 500: overloaded"),
        (500, "", "API 500"),
    ],
)
def test_the_status_is_told_once(status: int | None, said: str, words: str) -> None:
    assert fault(status, said) == words
