import unittest
from decimal import Decimal

from tinyshop.cart import Cart
from tinyshop.catalog import Product
from tinyshop.shipping import cost


def parcel(weight_g: int) -> Cart:
    cart = Cart()
    cart.add(Product("X", "Thing", Decimal(1), weight_g))
    return cart


class ShippingTest(unittest.TestCase):
    def test_light(self) -> None:
        self.assertEqual(cost(parcel(200)), Decimal("4.90"))

    def test_too_heavy(self) -> None:
        with self.assertRaises(ValueError):
            cost(parcel(20001))
