"""Any function from an array of points to an array of outputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from anharmonic._core.protocols import Array
from anharmonic.models.answers import Answers, scored
from anharmonic.models.inputs import Inputs

__all__ = ["function_answers"]


def function_answers(function: Callable[[Array], Array]) -> Answers:
    """A function's outputs as they are; asked for probabilities, they are taken as logits.

    >>> import numpy as np
    >>> function_answers(np.tanh).name
    'tanh'
    """
    known = getattr(function, "inputs", None)
    inputs = known if isinstance(known, Inputs) else None
    return Answers(_name(function), scored(function), inputs=inputs)


def _name(function: object) -> str:
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))
