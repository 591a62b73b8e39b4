"""Where weights come from: a forest, the nearest rows, boosted trees, or a given matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from anharmonic.errors import SettingsError
from anharmonic.measures.spectral.graph import Graph

__all__ = [
    *("NAMES", "Boosted", "Forest", "Given", "Neighbours", "Weights"),
    *("chosen_weights", "restored_weights"),
]


@dataclass(frozen=True)
class Forest:
    """A forest fitted to the model's own answers; each tree speaks for rows it did not see.

    Parameters
    ----------
    trees
        How many, an even number: each is fitted to half of the rows, the next to the other half.
    leaf
        Rows in a leaf, at least.
    features
        The share of features that each split may choose from: fewer make trees differ more, which
        found more of the flipped labels in the study.
    most_rows
        Rows per tree, at most: beyond twice as many the cost per row stays the same.
    """

    trees: int = 100
    leaf: int = 1
    features: float = 1 / 3
    most_rows: int = 8192
    name: ClassVar[str] = "forest"

    def __post_init__(self) -> None:
        if self.trees < 20 or self.trees % 2:
            raise SettingsError(f"trees is an even number from 20 on, got {self.trees}")
        if self.leaf < 1 or self.most_rows < 2:
            raise SettingsError("leaf is at least 1 and most_rows at least 2")


@dataclass(frozen=True)
class Neighbours:
    """The nearest rows, equally weighted; not fitted to the model's answers.

    Parameters
    ----------
    count
        How many. Rows that are equally far share what is left of the weight. Beyond 50,000 rows
        they are looked for in random parts of that size.
    """

    count: int = 10
    name: ClassVar[str] = "neighbours"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SettingsError(f"count is at least 1, got {self.count}")


@dataclass(frozen=True)
class Boosted:
    """Histogram-based boosted trees, each time fitted to half of the rows; for many rows.

    Parameters
    ----------
    fits
        How many times, an even number: each half comes with the other one.
    rounds
        Of boosting.
    """

    fits: int = 8
    rounds: int = 100
    name: ClassVar[str] = "boosted"

    def __post_init__(self) -> None:
        if self.fits < 4 or self.fits % 2:
            raise SettingsError(f"fits is an even number from 4 on, got {self.fits}")


@dataclass(frozen=True, eq=False)
class Given:
    """A matrix of weights or a graph: row i holds the weights of all rows for row i.

    Parameters
    ----------
    matrix : (rows, rows) or (rows, reference rows)
        Of scipy or numpy, without negative numbers; rows are made to sum to 1, and what a row
        gives itself is taken away. A graph's Laplacian is taken as the graph.
    """

    matrix: object
    name: ClassVar[str] = "given"


Weights = Forest | Neighbours | Boosted | Given
NAMES: dict[str, type[Forest] | type[Neighbours] | type[Boosted]] = {
    kind.name: kind for kind in (Forest, Neighbours, Boosted)
}


def restored_weights(name: str, options: Mapping[str, float]) -> Weights:
    """Weights from what settings recorded of them.

    Parameters
    ----------
    name, options
        `DataSettings.weights` and `DataSettings.weights_options`, which are numbers by name.

    Examples
    --------
    >>> restored_weights("neighbours", {"count": 5.0})
    Neighbours(count=5)
    """
    if name == Given.name:
        raise SettingsError(
            "the weights were a matrix, which scores do not keep: give it again as ball="
        )
    kind = NAMES[name]
    # Files keep all numbers as floats; each goes back to the type of its default.
    types = {key: type(value) for key, value in vars(kind()).items()}
    return kind(**{key: types[key](value) for key, value in options.items() if key in types})


def chosen_weights(weights: object) -> Weights:
    """Weights by their name; "auto" is a forest, or the nearest rows without scikit-learn."""
    if isinstance(weights, Forest | Neighbours | Boosted | Given):
        return weights
    if isinstance(weights, str):
        if weights == "auto":
            return Forest() if find_spec("sklearn") is not None else Neighbours()
        if weights not in NAMES:
            names = ", ".join(NAMES)
            raise SettingsError(f'no weights {weights!r}: give "auto", {names} or a matrix')
        return NAMES[weights]()
    if isinstance(weights, Graph):
        return Given(weights.adjacency)
    if hasattr(weights, "shape") or isinstance(weights, Sequence):
        return Given(weights)
    raise SettingsError(f"weights came as {type(weights).__name__}: give a name or a matrix")
