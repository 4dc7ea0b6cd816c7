import unittest
from decimal import Decimal

from tinyshop.cart import Cart
from tinyshop.catalog import SAMPLE


class CartTest(unittest.TestCase):
    def test_total(self) -> None:
        cart = Cart()
        cart.add(SAMPLE.get("TEA-01"), 2)
        cart.add(SAMPLE.get("POT-01"))
        self.assertEqual(cart.total(), Decimal("48.90"))

    def test_an_empty_cart_costs_nothing(self) -> None:
        self.assertEqual(Cart().total(), Decimal(0))
