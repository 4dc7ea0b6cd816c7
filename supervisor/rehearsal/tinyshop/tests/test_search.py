import unittest

from tinyshop.catalog import SAMPLE
from tinyshop.search import find


class SearchTest(unittest.TestCase):
    def test_every_word_counts(self) -> None:
        self.assertEqual([product.sku for product in find(SAMPLE, "Green Tea")], ["TEA-01"])
        self.assertEqual(find(SAMPLE, "Green teapot"), [])
