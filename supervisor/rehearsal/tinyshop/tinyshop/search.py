"""Finding products by words."""

from tinyshop.catalog import Catalog, Product


def find(catalog: Catalog, words: str) -> list[Product]:
    """Return the products whose name holds every one of the words."""
    wanted = words.split()
    return [product for product in catalog.all() if all(word in product.name for word in wanted)]
