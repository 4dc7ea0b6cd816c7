"""Discounts."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def to_cents(amount: Decimal) -> Decimal:
    """Round to cents, half up."""
    return amount.quantize(CENT, ROUND_HALF_UP)


def discounted(prices: list[Decimal], percent: Decimal) -> Decimal:
    """Return what the prices come to after a discount in percent."""
    factor = 1 - percent / 100
    return sum((to_cents(price * factor) for price in prices), Decimal(0))
