"""Any function from an array of points to an array of outputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from anharmonic._core.protocols import Array
from anharmonic.models.inputs import Inputs
from anharmonic.models.outputs_offered import ModelOutputs, raw_outputs

__all__ = ["function_outputs"]


def function_outputs(function: Callable[[Array], Array]) -> ModelOutputs:
    """A function's outputs as they are; asked for probabilities, they are taken as logits.

    >>> import numpy as np
    >>> function_outputs(np.tanh).name
    'tanh'
    """
    declared = getattr(function, "inputs", None)
    inputs = declared if isinstance(declared, Inputs) else None
    return ModelOutputs(_name(function), raw_outputs(function), inputs=inputs)


def _name(function: object) -> str:
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))
