"""The protocols everything else fits: a model, a ball, a map.

An array here is a numpy array or a torch tensor; nothing below asks which, so the
points of a ball are built where the model lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Ball",
    "Draw",
    "Floats",
    "Integers",
    "Kind",
    "Map",
    "Model",
    "Pull",
    "Pullback",
]

Array = Any
"""A numpy array or a torch tensor."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Kind = Literal["value", "logit", "probability", "onehot", "label"]
"""What the numbers in a model's outputs are."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Model(Protocol):
    """A function from points to outputs, one row each, and four facts about it."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def classes(self) -> tuple[object, ...] | None: ...

    @property
    def batch_size(self) -> int | None:
        """The most rows the model wants in one call, if it cares."""

    def place(self, points: Array) -> Array:
        """Copy an array of points to where the model lives, in the precision it computes in."""

    def __call__(self, points: Array) -> Array:
        """Outputs of shape (rows,) or (rows, columns)."""


Pull = Callable[[Array], Array]
"""From weights (rows, columns) to the gradient of each row's weighted sum of outputs."""

Pullback = Callable[[Array], tuple[Array, Pull]]
"""From points to their outputs and what pulls gradients back to the points."""


@dataclass(frozen=True)
class Draw:
    """What a ball's randomness may depend on: nothing but these.

    `rows` are the points' own row numbers and `turns` count independent copies of the ball,
    side by side, one pair for each set of directions wanted; so a point gets the same
    directions whatever it is batched with. `like` is an array in the library, precision and
    device the directions should come in.
    """

    seed: int
    rows: Integers
    turns: Integers
    like: Array


class Ball(Protocol):
    """Unit directions around a point, any of them on demand."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def count(self) -> int:
        """Directions in one copy, reflections included."""

    @property
    def paired(self) -> bool:
        """Whether every direction comes with its reflection; `draw` then gives one of the two."""

    @property
    def fresh(self) -> bool:
        """Whether each turn draws anew; a ball that does not is the same every time."""

    def draw(self, draw: Draw, indices: Array) -> Array:
        """Directions `indices` (below `count`, or half of it for pairs) for every row and turn
        of the draw: (rows or 1, len(indices), dimension), the caller's to change.
        """


class Map(Protocol):
    """The builtin `map`'s shape: lazily or not, results in order."""

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item], /
    ) -> Iterator[Result]: ...
