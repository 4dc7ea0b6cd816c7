"""How figures and states are written."""

from __future__ import annotations

import time
from typing import Any

import pytest
from rich.cells import cell_len

from supervisor.core.model import State, TicketSnapshot, Why
from widgets import formatting as fmt
from widgets.cells import Tone, joined

NOW = 1_790_000_000.0


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_every_state_has_a_glyph_of_one_cell_and_a_word() -> None:
    words = [fmt.state_words(state) for state in State]
    assert len(set(words)) == len(State)
    assert all(cell_len(word.split(" ")[0]) == 1 for word in words)
    assert max(map(cell_len, words)) <= 11
    assert fmt.state_words(State.NEEDS_YOU) == "! needs you"


@pytest.mark.parametrize(
    ("usd", "estimated", "text"),
    [
        (0, False, "$0.00"),
        (0.001, False, "<1¢"),
        (0.005, False, "$0.01"),
        (0.21, False, "$0.21"),
        (0.21, True, "≈$0.21"),
        (12.4, False, "$12.40"),
        (12.4, True, "≈$12.4"),
        (99.999, False, "$100"),
        (1234.5, False, "$1234"),
        (1234.5, True, "≈$1234"),
    ],
)
def test_money_fits_six_cells(usd: float, estimated: bool, text: str) -> None:
    assert fmt.money(usd, estimated=estimated) == text
    assert cell_len(text) <= 6


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0.79, "0.79"),
        (1, "1.00"),
        (-0.02, "-.02"),
        (-0.001, "0.00"),
        (-1.25, "-1.2"),
        (9.996, "10.0"),
        (12.46, "12.5"),
        (-10, "-10"),
        (99.96, "100"),
        (340.2, "340"),
        (-123.4, "-123"),
    ],
)
def test_short_money_fits_four_cells(usd: float, text: str) -> None:
    assert fmt.short_money(usd) == text
    assert len(text) <= 4


def test_budgets_are_written_without_idle_cents() -> None:
    assert [fmt.round_money(usd) for usd in (20, 0.5, 100)] == ["$20", "$0.50", "$100"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "0s"), (41.9, "41s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (500_000, "5d")]
)
def test_age(seconds: float, text: str) -> None:
    assert fmt.age(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(-3, "0:00"), (0.2, "0:01"), (41, "0:41"), (605, "10:05"), (3723, "1:02:03")]
)
def test_countdown_never_shows_zero_early(seconds: float, text: str) -> None:
    assert fmt.countdown(seconds) == text


@pytest.mark.parametrize(("share", "full"), [(0, 0), (0.001, 1), (0.5, 2), (1, 4), (7, 4), (-1, 0)])
def test_bar(share: float, full: int) -> None:
    filled, empty = fmt.bar(share, 4)
    assert (len(filled), len(filled + empty)) == (full, 4)


def ticket(**fields: object) -> TicketSnapshot:
    return TicketSnapshot("001-x", **fields)  # type: ignore[arg-type]


def test_headroom_warns_below_the_reserve_without_relying_on_colour() -> None:
    calm = fmt.headroom(ticket(budget_usd=1.0, spent_usd=0.21, reserve_usd=0.1))
    low = fmt.headroom(ticket(budget_usd=1.0, spent_usd=0.95, reserve_usd=0.1))
    assert joined(calm) == "━━━─ 0.79"
    assert joined(low) == "━───!0.05"
    assert Tone.WARM in {tone for _, tone in low}
    assert Tone.WARM not in {tone for _, tone in calm}


def test_headroom_counts_the_turn_under_way() -> None:
    assert joined(fmt.headroom(ticket(budget_usd=1.0, spent_usd=0.21, turn_usd=0.74, reserve_usd=0.1))) == "━───!0.05"


def test_headroom_of_overshoot_and_of_no_budget() -> None:
    assert joined(fmt.headroom(ticket(budget_usd=1.0, spent_usd=1.02))) == "────!-.02"
    assert joined(fmt.headroom(ticket())) == "no cap"


def test_a_ticket_that_is_done_needs_no_headroom() -> None:
    assert "!" not in joined(fmt.headroom(ticket(state=State.DONE, budget_usd=1.0, spent_usd=0.99, reserve_usd=0.1)))


@pytest.mark.parametrize(
    ("subtype", "reason", "text"),
    [
        ("success", "completed", "success"),
        ("success", "api_error", "api_error"),
        ("error_max_turns", None, "error_max_turns"),
        (None, "aborted_tools", "aborted_tools"),
        (None, "completed", "completed"),
        (None, None, ""),
    ],
)
def test_one_column_says_the_ending(subtype: str | None, reason: str | None, text: str) -> None:
    assert fmt.ending(ticket(subtype=subtype, terminal_reason=reason)) == text


@pytest.mark.parametrize("now", [{"state": State.RUNNING}, {"state": State.STARTING}, {"live": True}])
def test_a_ticket_under_way_has_no_ending(now: dict[str, Any]) -> None:
    assert fmt.ending(ticket(subtype="error_during_execution", terminal_reason="aborted_streaming", **now)) == ""


def test_a_countdown_is_never_cut() -> None:
    def column(words: str, cells: int) -> str:
        return "".join(fmt.with_time_left(words, "0:41", cells, cell_len))

    assert column("API 529", 30) == "API 529, again in 0:41"
    assert column("API 529", 16) == "API 529 · 0:41"
    assert column("API unreachable", 12) == "API un… 0:41"
    assert column("", 12) == "0:41"


def test_what_it_waits_for() -> None:
    assert fmt.reason(ticket(state=State.NEEDS_YOU, why=Why.LIMIT)) == "limit reached"
    assert fmt.reason(ticket(state=State.NEEDS_YOU, why=Why.LIMIT, detail="budget reached")) == "budget reached"
    assert fmt.reason(ticket(after=("000-a", "000-b"))) == "after 000-a"
    assert fmt.reason(ticket(after=("000-a",), detail="blocked by 000-a")) == "blocked by 000-a"
    assert fmt.reason(ticket(state=State.DONE, denials=2, detail="verified")) == "2 denied, verified"
    assert fmt.reason(ticket(state=State.DONE, denials=2)) == "2 denied"


def test_a_pending_verb_stands_before_everything() -> None:
    (words, tone), left = fmt.why_now(ticket(detail="thinking", pending="interrupt", until=NOW + 9), NOW)
    assert (words, tone, left) == ("interrupt …", Tone.ACCENT, "")


def test_rest_shows_fixed_times_and_work_running_ones() -> None:
    at_work = ticket(state=State.RUNNING, live=True, started=NOW - 300, last_activity=NOW - 12)
    at_rest = ticket(state=State.PAUSED, started=NOW - 300, last_activity=NOW - 12)
    assert fmt.is_ticking(at_work)
    assert not fmt.is_ticking(at_rest)
    assert (fmt.ran_for(at_work, NOW), fmt.last_seen(at_work, NOW)) == ("5m", "12s")
    assert {fmt.ran_for(at_rest, NOW + later) for later in (0, 3600)} == {"4m"}
    assert {fmt.last_seen(at_rest, NOW + later) for later in (0, 3600)} == {"14:13"}
    assert (fmt.ran_for(ticket(), NOW), fmt.last_seen(ticket(), NOW)) == ("", "")
