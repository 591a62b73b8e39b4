"""Words that several checks share: columns, rows and models as sentences name them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from anharmonic._core.printable import visible
from anharmonic.measures.over_data.encoding import Column

__all__ = ["cell_of", "chance_of", "column_named", "count_of", "named", "number_of", "quoted"]

SHOWN = 3


def chance_of(chance: float) -> str:
    """A chance as people say it.

    >>> [chance_of(value) for value in (0.0123, 0.004, 0.00026, 5e-06, 1e-9)]
    ['0.01', '0.004', '1 in 4,000', '1 in 200,000', 'less than 1 in a million']
    """
    if chance >= 0.001:
        return f"{chance:.1g}"
    if chance < 1e-6:
        return "less than 1 in a million"
    return f"1 in {float(f'{1 / chance:.1g}'):,.0f}"


def column_named(name: str) -> str:
    """A column in a sentence: those of arrays have numbers only.

    >>> column_named("age"), column_named("3")
    ("column 'age'", 'column 3')
    """
    return f"column {name}" if name.isdigit() else f"column '{visible(name)}'"


def number_of(value: float, digits: int = 4) -> str:
    """A cell's number as people write it: whole from 1,000 on, never with an exponent there.

    >>> [number_of(value) for value in (0.06251, 14.3791, 2010.0, 148230.4)]
    ['0.06251', '14.38', '2010', '148,230']
    """
    if not 1000 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"


def cell_of(column: Column, value: float, digits: int = 4) -> str:
    """A number of a column as its cells are written: dates as dates."""
    if not column.unit or not np.isfinite(value):
        return number_of(value, digits)
    date = str(np.array([int(value)]).astype(column.unit)[0])
    # Midnight says nothing, nor do fractions of a second that are 0.
    return re.sub(r"(T00:00(:00)?)?(\.0+)?$", "", date).replace("T", " ")


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
