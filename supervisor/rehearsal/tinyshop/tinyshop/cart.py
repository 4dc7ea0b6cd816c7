"""What a customer is about to buy."""

from dataclasses import dataclass, field
from decimal import Decimal

from tinyshop.catalog import Product
from tinyshop.pricing import discounted


@dataclass
class Cart:
    """Lines of products and how many of each."""

    lines: list[tuple[Product, int]] = field(default_factory=list)
    discount: Decimal = Decimal(0)

    def add(self, product: Product, quantity: int = 1) -> None:
        """Put a product into the cart."""
        self.lines.append((product, quantity))

    def total(self) -> Decimal:
        """Return what everything costs, the discount taken off."""
        return discounted([product.price * quantity for product, quantity in self.lines], self.discount)

    def count(self) -> int:
        """Return how many items are in the cart."""
        return len(self.lines)
