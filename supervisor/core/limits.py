"""What the API lets us do and when: the windows of a subscription, waits after failures, and the gate for new starts.

Pure: times are handed in as seconds since the epoch, and chance as numbers from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_MAX_BACKOFF_S = 300.0
_FASTEST_S = 0.125
"""Least time between two starts while the API has had trouble lately."""
_SLOWEST_S = 4.0
"""Most time between two starts: it is the one that tries which keeps us from storming, not the distance."""
_SHARE = 0.2
"""The first time between two starts, as a share of the first wait."""
_SETTLE_S = 1.0
"""An answer that comes so soon after a failure was under way before it, and proves nothing."""
_TRY_S = 60.0
"""So long the others wait for how the one that tries fares; it may be busy with something else before it asks."""
_CALM_S = 60.0
"""So long after the last failure starts are no longer spaced."""
_AFTER_RESET_S = 5.0
"""A window is tried at most so long after it has begun again."""


@dataclass(frozen=True, slots=True)
class Window:
    """One window of a subscription."""

    name: str
    """As the SDK calls it: ``five_hour``, ``seven_day``, ``seven_day_opus``, …"""
    used: float | None = None
    """Which part of it is used up, 0 to 1."""
    resets_at: float | None = None
    status: str = ""


@dataclass(slots=True)
class Steady:
    """A clock that never goes back and never stands still, made of two that do.

    The wall clock can be set, and a running one stands still while the machine sleeps: whichever went further is
    believed.
    """

    _now: float | None = None
    _wall: float = 0.0
    _running: float = 0.0

    def now(self, wall: float, running: float) -> float:
        """Return the time, in seconds since the epoch as it was when first asked."""
        gone = max(0.0, wall - self._wall, running - self._running)
        self._now = wall if self._now is None else self._now + gone
        self._wall, self._running = wall, running
        return self._now


def backoff(rounds: int, first_s: float, chance: float) -> float:
    """Return how long to wait after ``rounds`` failures in a row: doubled each time, at most five minutes.

    ``chance`` (0 to 1) spreads those that failed together over the second half of the wait.
    """
    longest = min(_MAX_BACKOFF_S, first_s * 2.0 ** min(16, max(0, rounds - 1)))
    return longest * (0.5 + chance / 2)


def family(window: str) -> str:
    """Return the family of models that a window is about, such as ``opus``; empty for one that is about all."""
    return window.removeprefix("seven_day_") if window.startswith("seven_day_") else ""


@dataclass(slots=True)
class Gate:
    """When the next agent may start. One for the batch, so that tickets that failed together do not retry together.

    After a failure no agent starts for a while; then one does, and the others only once it has had an answer. From
    then on starts are spaced, at first widely: the distance doubles with each failure and halves with each answer.
    """

    closed_until: float = 0.0
    """Nothing starts before."""
    rounds: int = 0
    """Failures in a row, those that came together counted once."""
    interval_s: float = 0.0
    """Time between two starts; 0 while there is no trouble."""
    trying: str | None = None
    """The ticket that has been let through to see whether the API is back."""
    is_proved: bool = True
    """An agent has had an answer since the last failure."""
    _is_told: bool = False
    """The API itself has said until when: an answer to somebody else does not open the gate earlier."""
    _tried_at: float = 0.0
    _failed_at: float = 0.0
    _eased_at: float = 0.0
    _next_start: float = 0.0
    _closed_for: dict[str, float] = field(default_factory=dict)
    """By family of models, when their window begins again."""

    def wait(self, now: float, model: str | None = None) -> float:
        """Return in how many seconds another agent may start, 0 for now; it may be earlier if one has an answer.

        Args:
            now: the time.
            model: the model it is started with, as its ticket names it.
        """
        closed = max([self.closed_until, *(at for name, at in self._closed_for.items() if name in (model or ""))])
        if now < closed:
            return closed - now
        if self.trying is not None and now < self._tried_at + _TRY_S:
            return self._tried_at + _TRY_S - now
        if self.interval_s <= _FASTEST_S and now - max(self._failed_at, self.closed_until) >= _CALM_S:
            self.interval_s = 0.0
        return max(0.0, self._next_start - now) if self.interval_s else 0.0

    @property
    def is_pacing(self) -> bool:
        """Whether starts are spaced, or only one is let through."""
        return self.interval_s > 0.0 or not self.is_proved

    def start(self, now: float, ticket: str, chance: float) -> None:
        """An agent starts."""
        if not self.is_proved:
            self.trying, self._tried_at = ticket, now
        if self.interval_s:
            self._next_start = now + self.interval_s * (1 + chance / 4)

    def ended(self, ticket: str) -> None:
        """A ticket's agent has ended; if it was the one that tried, another may."""
        if self.trying == ticket:
            self.trying = None

    def slow(self, now: float, first_s: float) -> None:
        """The API asks for patience: starts are spaced twice as widely. What comes together counts once."""
        if now < self.closed_until or now - self._failed_at < self.interval_s:
            return
        self._failed_at = now
        self.interval_s = min(_SLOWEST_S, max(_SHARE * first_s, 2 * self.interval_s))

    def failed(self, now: float, first_s: float, chance: float) -> None:
        """The API has failed a request for good: nothing starts for a while. What comes together counts once."""
        self.trying, self.is_proved = None, False
        if now < self.closed_until:
            self._failed_at = now
            return
        self.slow(now, first_s)
        self.rounds, self._failed_at, self._is_told = self.rounds + 1, now, False
        self.closed_until = now + backoff(self.rounds, first_s, chance)

    def told(self, now: float, until: float, first_s: float) -> None:
        """The API has said when it wants to be asked again."""
        self.slow(now, first_s)
        if until > self.closed_until:
            self.closed_until, self._is_told = until, True
        self._failed_at, self.is_proved = now, False

    def rejected(self, now: float, resets_at: float, window: str, first_s: float, chance: float) -> float:
        """A window is used up; return when it may be tried again, a moment after it has begun anew."""
        until = resets_at + min(_AFTER_RESET_S, first_s) * (0.2 + 0.8 * chance)
        if name := family(window):
            self._closed_for[name] = until
            return until
        if resets_at > self.closed_until or not self._is_told:
            self.told(now, until, first_s)
        return self.closed_until

    def answered(self, now: float) -> None:
        """An agent has had an answer."""
        if not self.is_pacing or now - self._failed_at < _SETTLE_S or (self._is_told and now < self.closed_until):
            return
        self.rounds, self.trying, self.is_proved = 0, None, True
        self.closed_until = min(now, self.closed_until)
        if self.interval_s and now - self._eased_at >= self.interval_s:
            self._eased_at = now
            self.interval_s = max(min(_FASTEST_S, self.interval_s), self.interval_s / 2)
