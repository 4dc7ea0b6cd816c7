"""Parcels and what they cost."""

from decimal import Decimal

from tinyshop.cart import Cart

STEPS = [(1000, Decimal("4.90")), (5000, Decimal("6.90")), (20000, Decimal("12.90"))]
"""Heaviest weight in grams, and the price up to it."""


def weight_g(cart: Cart) -> int:
    """Return the weight of everything in the cart, in grams."""
    return sum(product.weight_g * quantity for product, quantity in cart.lines)


def cost(cart: Cart) -> Decimal:
    """Return the price of the parcel. Raises ValueError where it is too heavy."""
    weight = weight_g(cart)
    for heaviest, price in STEPS:
        if weight < heaviest:
            return price
    raise ValueError(f"a parcel of {weight} g is too heavy")
