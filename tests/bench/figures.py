"""One measured figure, and how it is printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its unit and the aim it is held against."""

    what: str
    value: float
    unit: str
    aim: str = ""
    """Such as ``<= 8``; empty for a figure that only explains another."""

    @property
    def met(self) -> bool | None:
        """Whether the aim is met; None without one."""
        if not self.aim:
            return None
        sign, _, bound = self.aim.partition(" ")
        return self.value <= float(bound) if sign == "<=" else self.value >= float(bound)

    def line(self) -> str:
        """Return it as a line of the table."""
        verdict = {None: "", True: "met", False: "missed"}[self.met]
        return f"  {self.what:<56}{_short(self.value):>12} {self.unit:<8} {self.aim:<10} {verdict}".rstrip()


def _short(value: float) -> str:
    """Return three telling digits, thousands divided."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
