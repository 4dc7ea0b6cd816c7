"""Names in web addresses."""


def slug(name: str) -> str:
    """Return a name as it stands in a web address: ``Iron teapot`` is ``iron-teapot``."""
    return name.lower().replace(" ", "-")
