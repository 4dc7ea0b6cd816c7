import unittest

from tinyshop.cart import Cart
from tinyshop.catalog import SAMPLE
from tinyshop.receipt import to_html


class ReceiptTest(unittest.TestCase):
    def test_a_row_for_each_line(self) -> None:
        cart = Cart()
        cart.add(SAMPLE.get("TEA-01"), 2)
        self.assertEqual(to_html(cart), "<table><tr><td>Green Tea</td><td>2</td></tr></table>")
