"""Value added tax."""

from decimal import Decimal

from tinyshop.pricing import to_cents

RATES = {"standard": Decimal("0.19"), "reduced": Decimal("0.07"), "none": Decimal(0)}


def tax_on(net: Decimal, quantity: int, rate: str = "standard") -> Decimal:
    """Return the tax on a line. Returned goods have a negative quantity and give the tax back."""
    return to_cents(net * abs(quantity) * RATES[rate])
