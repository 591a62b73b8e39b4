"""Values as pages write them."""

from __future__ import annotations

__all__ = ["short"]


def short(value: float | str | bool | None) -> str:
    """A number in four digits, as the script writes it; – for none.

    >>> short(0.012345), short(12345678.0), short(None), short("red")
    ('0.01235', '12,345,678', '–', 'red')
    """
    if value is None:
        return "–"
    if isinstance(value, str | bool):
        return str(value)
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
