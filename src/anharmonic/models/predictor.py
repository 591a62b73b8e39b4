"""What every adapter leaves behind: a function, and what is known about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anharmonic._core.protocols import Array, Kind
from anharmonic.models.inputs import Inputs

__all__ = ["Chain", "Predictor", "as_they_are"]


def as_they_are(points: Array) -> Array:
    """Leave the points alone."""
    return points


@dataclass(frozen=True)
class Chain:
    """Functions applied one after the other; unlike a closure it can be pickled."""

    steps: tuple[Callable[[Array], Array], ...]

    def __call__(self, points: Array) -> Array:
        for step in self.steps:
            points = step(points)
        return points


@dataclass(frozen=True)
class Predictor:
    """A model as a function: points (rows, …) in, outputs (rows,) or (rows, columns) out.

    It pickles whenever the model it wraps does, so it can be sent to worker processes.

    Parameters
    ----------
    predict
        The function itself.
    name
        What results call the model.
    kind : "value", "logit", "probability", "onehot" or "label"
        What the numbers in the outputs are.
    classes
        In the order of the columns, where there are any.
    where
        Copies points to where the model computes, in the precision it computes in.
    batch_size
        The most rows per call, if the model cares.
    inputs
        Which columns of a table it takes, where it knows.
    chosen
        Whether somebody said what it shall give, rather than what it gives by itself.

    Examples
    --------
    >>> import numpy as np
    >>> model = Predictor(np.sum, name="sum")
    >>> float(model(np.ones((2, 3)))), model.kind
    (6.0, 'value')
    """

    predict: Callable[[Array], Array]
    name: str
    kind: Kind = "value"
    classes: tuple[object, ...] | None = None
    where: Callable[[Array], Array] = as_they_are
    batch_size: int | None = None
    inputs: Inputs | None = None
    chosen: bool = False

    def __call__(self, points: Array) -> Array:
        return self.predict(points)

    def place(self, points: Array) -> Array:
        """Copy points to where the model lives, in the precision it computes in."""
        return self.where(points)
