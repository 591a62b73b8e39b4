"""What must be installed for something that needs several libraries: all asked for at once."""

from __future__ import annotations

from importlib.util import find_spec

from anharmonic.errors import MissingExtra

__all__ = ["require"]

LIBRARIES = {"plots": ("plotly",), "report": ("plotly", "jinja2")}


def require(extra: str) -> None:
    """Refuse, before any work, what needs an extra that is not installed.

    >>> require("report")
    """
    missing = [library for library in LIBRARIES[extra] if find_spec(library) is None]
    if missing:
        raise MissingExtra(" and ".join(missing), extra)
