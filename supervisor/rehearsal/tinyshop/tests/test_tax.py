import unittest
from decimal import Decimal

from tinyshop.tax import tax_on


class TaxTest(unittest.TestCase):
    def test_standard_rate(self) -> None:
        self.assertEqual(tax_on(Decimal("10.00"), 2), Decimal("3.80"))

    def test_returned_goods_give_the_tax_back(self) -> None:
        self.assertEqual(tax_on(Decimal("10.00"), -2), Decimal("-3.80"))

    def test_what_came_back_cancels_out(self) -> None:
        sold, returned = tax_on(Decimal("0.50"), 1, "reduced"), tax_on(Decimal("0.50"), -1, "reduced")
        self.assertEqual(sold + returned, Decimal(0))

    def test_no_tax_has_no_sign(self) -> None:
        # It stands on the receipt, where "-0.00" looks wrong.
        self.assertEqual(str(tax_on(Decimal("10.00"), -1, "none")), "0.00")
