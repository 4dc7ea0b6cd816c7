"""Products and how they are looked up."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Product:
    """Something that can be bought."""

    sku: str
    name: str
    price: Decimal
    weight_g: int = 0


class Catalog:
    """All products, by article number."""

    def __init__(self, products: list[Product]) -> None:
        self._products = {product.sku: product for product in products}

    def get(self, sku: str) -> Product:
        """Return a product. Raises KeyError."""
        return self._products[sku]

    def all(self) -> list[Product]:
        """Return every product, in the order they were added."""
        return list(self._products.values())


SAMPLE = Catalog(
    [
        Product("TEA-01", "Green Tea", Decimal("4.95"), 120),
        Product("TEA-02", "Black tea, loose", Decimal("3.35"), 250),
        Product("MUG-01", 'Mug "Sunday"', Decimal("9.90"), 340),
        Product("POT-01", "Iron teapot", Decimal("39.00"), 1450),
    ]
)
