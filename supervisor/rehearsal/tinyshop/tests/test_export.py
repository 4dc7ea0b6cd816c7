import csv
import io
import unittest

from tinyshop.cart import Cart
from tinyshop.catalog import SAMPLE
from tinyshop.export import to_csv


class ExportTest(unittest.TestCase):
    def rows(self, *skus: str) -> list[list[str]]:
        cart = Cart()
        for sku in skus:
            cart.add(SAMPLE.get(sku))
        return list(csv.reader(io.StringIO(to_csv(cart))))

    def test_plain(self) -> None:
        self.assertEqual(self.rows("TEA-01")[1], ["TEA-01", "Green Tea", "1", "4.95"])

    def test_a_comma_in_a_name(self) -> None:
        self.assertEqual(self.rows("TEA-02")[1], ["TEA-02", "Black tea, loose", "1", "3.35"])

    def test_quotes_in_a_name(self) -> None:
        self.assertEqual(self.rows("MUG-01")[1], ["MUG-01", 'Mug "Sunday"', "1", "9.90"])
