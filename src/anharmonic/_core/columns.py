"""Columns by their names: which are no features, and how those that moved are described."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from anharmonic.errors import listed

__all__ = [
    "is_id",
    "is_index",
    "kinds_in_words",
    "named_rows",
    "remark",
    "repeated",
    "shown",
    "titled",
    "told",
    "words_for",
]

INDEX: Final = re.compile(r"(Unnamed: \d+|__index_level_\d+__)?")
"""What pandas calls an index that became a column; in CSV it has no name at all."""
ID: Final = re.compile(r"(.*[\W_])?(?i:id|uuid|guid)|.*[a-z]I[dD]|(?i:index)")
SHOWN: Final = 8
MOVED: Final = {"columns": "moved", "still": "held", "ball": "ball"}
COMPARED: Final = {
    "columns": "rows compared by",
    "still": "left out",
    "ball": "weights of other rows",
}
"""What these settings are called where points move, and where rows are compared as they are."""


def is_index(name: object) -> bool:
    """Whether a column is the index of the table that it was saved from.

    >>> [is_index(name) for name in ("", "Unnamed: 0", "__index_level_0__", "age")]
    [True, True, True, False]
    """
    return isinstance(name, str) and INDEX.fullmatch(name) is not None


def is_id(name: object) -> bool:
    """Whether a column numbers the rows or things, so that a step along it means nothing.

    >>> [is_id(name) for name in ("id", "customer_id", "userId", "index", "acid", "uv_index")]
    [True, True, True, True, False, False]
    """
    return isinstance(name, str) and ID.fullmatch(name) is not None


def named_rows(index: object) -> tuple[str, ...] | None:
    """The labels of a frame's rows; None where they only count from 0.

    >>> named_rows(["a", "b"]), named_rows(range(2)), named_rows(range(7, 9))
    (('a', 'b'), None, ('7', '8'))
    """
    if not isinstance(index, Iterable):
        return None
    labels = list(index)
    counted = all(label == row for row, label in enumerate(labels))
    return None if counted else tuple(str(label) for label in labels)


def repeated(names: Sequence[object]) -> list[str]:
    """Names that occur more than once."""
    return [str(name) for name, count in Counter(names).items() if count > 1]


class Moved(Protocol):
    """Anything that knows which columns moved and which were held."""

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def still(self) -> Sequence[str]: ...

    @property
    def moves(self) -> bool: ...


def words_for(settings: Moved) -> dict[str, str]:
    """What columns, the others and the ball are called for people.

    >>> from anharmonic._core.settings import Settings
    >>> words_for(Settings())
    {'columns': 'moved', 'still': 'held', 'ball': 'ball'}
    """
    return MOVED if settings.moves else COMPARED


def told(settings: Moved) -> dict[str, str]:
    """What moved and what was held, for people: a few names, or how many there are.

    Where nothing moves: what rows were compared by, and what was left out.

    >>> from anharmonic._core.settings import Settings
    >>> told(Settings(columns=("age", "income"), still=("id",)))
    {'moved': 'age, income', 'held': 'id'}
    >>> told(Settings(columns=("0", "1", "2")))
    {'moved': 'all 3 columns', 'held': 'none'}
    """
    used, others = settings.columns, settings.still
    if not used:
        return {}
    words = words_for(settings)
    every = not others and all(str(name).isdigit() for name in used)
    return {
        words["columns"]: f"all {len(used):,} columns" if every else shown(used),
        words["still"]: shown(others) if others else "none",
    }


def kinds_in_words(columns: Sequence[str], kinds: Sequence[str]) -> str:
    """What columns were taken for, for people: a few names of each kind.

    >>> kinds_in_words(("age", "sex", "rooms"), ("whole", "category", "whole"))
    'whole: age, rooms; category: sex'
    """
    by_kind: dict[str, list[str]] = {}
    for name, kind in zip(columns, kinds, strict=True):
        by_kind.setdefault(kind, []).append(name)
    return "; ".join(f"{kind}: {shown(names)}" for kind, names in by_kind.items())


def remark(settings: Moved, always: bool = False) -> str:
    """The same in a line: to be added to others, where it is not all columns of an array.

    >>> from anharmonic._core.settings import Settings
    >>> remark(Settings(columns=("age", "income"), still=("id",)))
    '; moved age, income; held id'
    >>> remark(Settings(columns=("0",)), always=True)
    'moved all 1 columns; held none'
    """
    facts = told(settings)
    line = "; ".join(f"{what} {names}" for what, names in facts.items())
    if always:
        return line
    every = any(names.startswith("all ") for names in facts.values())
    return "" if not line or every else f"; {line}"


def titled(name: str) -> str:
    """A column's name; the columns of an array have only numbers.

    Parameters
    ----------
    name
        The column's name, or its number as text.

    Examples
    --------
    >>> titled("3"), titled("age")
    ('feature 3', 'age')
    """
    return f"feature {name}" if name.isdigit() else name


def shown(names: Sequence[object]) -> str:
    """A few names, without what a terminal would act on."""
    text = listed(names, SHOWN)
    return "".join(letter if letter.isprintable() else "�" for letter in text)
