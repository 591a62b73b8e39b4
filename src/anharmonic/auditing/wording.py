"""Words that several checks share: columns, rows and models as sentences name them."""

from __future__ import annotations

from collections.abc import Sequence

from anharmonic._core.printable import visible

__all__ = ["column_named", "count_of", "named", "quoted"]

SHOWN = 3


def column_named(name: str) -> str:
    """A column in a sentence: those of arrays have numbers only.

    >>> column_named("age"), column_named("3")
    ("column 'age'", 'column 3')
    """
    return f"column {name}" if name.isdigit() else f"column '{visible(name)}'"


def quoted(level: object) -> str:
    """A level in a sentence, cut where it is long."""
    text = visible(str(level))
    return f"'{text if len(text) <= 40 else text[:37] + '…'}'"


def named(items: Sequence[str], more: int | None = None) -> str:
    """A few names, and how many others there are.

    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 others')
    """
    shown = list(items[:SHOWN])
    rest = (len(items) if more is None else more) - len(shown)
    if rest > 0:
        return f"{', '.join(shown)} and {rest} {'other' if rest == 1 else 'others'}"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def count_of(count: int, thing: str) -> str:
    """A count with its noun.

    >>> count_of(1, "row"), count_of(2100, "row")
    ('1 row', '2,100 rows')
    """
    return f"{count:,} {thing if count == 1 else thing + 's'}"
