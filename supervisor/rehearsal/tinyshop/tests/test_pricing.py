import unittest
from decimal import Decimal

from tinyshop.pricing import discounted, to_cents


class PricingTest(unittest.TestCase):
    def test_no_discount(self) -> None:
        self.assertEqual(discounted([Decimal("4.95"), Decimal("3.35")], Decimal(0)), Decimal("8.30"))

    def test_half_a_cent_goes_up(self) -> None:
        self.assertEqual(to_cents(Decimal("0.125")), Decimal("0.13"))

    def test_discount_is_rounded_once(self) -> None:
        # Three times 0.995 is 2.985: 2.99, and not three times 1.00.
        self.assertEqual(discounted([Decimal("1.99")] * 3, Decimal(50)), Decimal("2.99"))
