"""The receipt, as HTML."""

from tinyshop.cart import Cart


def to_html(cart: Cart) -> str:
    """Return a table with a row for each product in the cart."""
    rows = "".join(f"<tr><td>{product.name}</td><td>{quantity}</td></tr>" for product, quantity in cart.lines)
    return f"<table>{rows}</table>"
