"""What a column can be; results always show what it was taken for.

A kind says how a column moves:

- by the ball: `number`, and within what the reference has: `bounded`; `share`s of a whole keep
  their sum;
- in steps on its grid, as far to one side as to the other: `whole`, `ordered`, `date`;
- to the value of another row that is like this one in everything else: `category`, `flag`,
  `spiked` (a number that is mostly one value, such as 0), and `one-hot` groups, which move
  together;
- by an edit: `text`, or a function of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

__all__ = ["KINDS", "MOVEMENTS", "ColumnKind", "Kinds", "Level", "TextChange"]

Level = str | int | float | bool
"""A level that somebody can name."""
TextChange = Callable[[object, np.random.Generator], object]
"""A user's own: from a cell and a generator to another cell."""
Kinds = Mapping[str, str | TextChange | Sequence[Level]]
"""Kinds by column: a name of `KINDS`, a function, or the levels of an order."""

MOVEMENTS: Final[Mapping[str, str]] = {
    "number": "ball",
    "bounded": "ball",
    "share": "ball",
    "whole": "step",
    "ordered": "step",
    "date": "step",
    "category": "redraw",
    "flag": "redraw",
    "spiked": "redraw",
    "one-hot": "redraw",
    "text": "edit",
    "own": "edit",
}
KINDS: Final = tuple(kind for kind in MOVEMENTS if kind != "own")
"""What a column can be told to be."""


class ColumnKind(NamedTuple):
    """What a column is: its kind, the group it moves with (−1 for none), and what was told beside
    it: a function, or the levels in their order.
    """

    name: str
    kind: str
    group: int = -1
    change: TextChange | None = None
    order: tuple[Level, ...] = ()

    @property
    def movement(self) -> str:
        """How it moves: "ball", "step", "redraw" or "edit"."""
        return MOVEMENTS[self.kind]
