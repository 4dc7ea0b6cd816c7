"""Orders as CSV, for the accountants."""

from tinyshop.cart import Cart

HEADER = "sku,name,quantity,price"


def to_csv(cart: Cart) -> str:
    """Return a line for each product in the cart, after a header."""
    lines = [HEADER]
    for product, quantity in cart.lines:
        lines.append(f"{product.sku},{product.name},{quantity},{product.price}")
    return "\n".join(lines) + "\n"
