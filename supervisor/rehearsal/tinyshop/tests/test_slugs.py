import unittest

from tinyshop.slugs import slug


class SlugTest(unittest.TestCase):
    def test_spaces(self) -> None:
        self.assertEqual(slug("Iron teapot"), "iron-teapot")
