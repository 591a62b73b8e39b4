"""One kind of output into another, in the library and on the device they came in.

Scores are (rows,) or (rows, columns); a single column is a binary model's, larger for its
second class.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj

from anharmonic._core.protocols import Array, Kind
from anharmonic.errors import OutputError, SettingsError

__all__ = [
    "as_array",
    "is_floating",
    "log",
    "numbers",
    "of_class",
    "of_column",
    "softmax",
    "two_columns",
    "wide",
]


def as_array(outputs: Array) -> Array:
    """Outputs as one array, whatever container the model used; they may still be text."""
    if isinstance(outputs, list | tuple) and any(np.ndim(item) > 1 for item in outputs):
        raise SettingsError(
            f"The model answers {len(outputs)} arrays at once (several targets): pass a function "
            "as output= that picks or joins them into (rows,) or (rows, columns)."
        )
    if is_array_api_obj(outputs):
        return outputs
    array = np.asarray(outputs)
    # A data frame of mixed number types arrives as objects though every item is a number.
    if array.dtype == object and all(isinstance(item, Real) for item in array.flat):
        return array.astype(np.float64)
    return array


def numbers(outputs: Array) -> Array:
    """Outputs as one array of numbers.

    >>> numbers([0.5, 1.5])
    array([0.5, 1.5])
    """
    array = as_array(outputs)
    if isinstance(array, np.ndarray) and array.dtype.kind not in "biuf":
        raise OutputError(
            f"The model answers {array.dtype} where numbers are needed: if these are labels, pass "
            "output='label' or output='onehot' with classes=; else a function as output=."
        )
    return array


def wide(outputs: Array) -> Array:
    """Outputs as (rows, columns), a single column included."""
    if outputs.ndim not in (1, 2):
        raise OutputError(
            f"The model answers an array of shape {tuple(outputs.shape)}: pass a function as "
            "output= that turns it into (rows,) or (rows, columns)."
        )
    return outputs[:, None] if outputs.ndim == 1 else outputs


def is_floating(array: Array) -> bool:
    """Whether the numbers are floats, in any precision."""
    if isinstance(array, np.ndarray):
        return bool(array.dtype.kind == "f")
    return bool(array_namespace(array).isdtype(array.dtype, "real floating"))


def _floats(outputs: Array) -> Array:
    outputs = wide(numbers(outputs))
    if is_floating(outputs):
        return outputs
    xp = array_namespace(outputs)
    return xp.astype(outputs, xp.float64)


def softmax(scores: Array) -> Array:
    """Probabilities from logits; a single column of log odds becomes the two of (1-p, p).

    >>> softmax(np.array([0.0, 0.0]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    scores = _floats(scores)
    xp = array_namespace(scores)
    if scores.shape[1] == 1:
        scores = xp.concat([xp.zeros_like(scores), scores], axis=1)
    # Less the largest of each row, so that no exponential overflows.
    powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def two_columns(probability: Array) -> Array:
    """The second class's probability p, (rows,) or (rows, 1), as (1-p, p)."""
    probability = _floats(probability)
    if probability.shape[1] > 1:
        return probability
    return array_namespace(probability).concat([1 - probability, probability], axis=1)


def log(probability: Array) -> Array:
    """Logarithms of probabilities, none taken closer to zero than floats are to one."""
    probability = two_columns(probability)
    xp = array_namespace(probability)
    return xp.log(xp.clip(probability, min=float(xp.finfo(probability.dtype).eps)))


def of_column(outputs: Array, column: int) -> Array:
    """One column of the outputs, (rows,)."""
    outputs = wide(numbers(outputs))
    if column >= outputs.shape[1]:
        raise SettingsError(
            f"output={column} names a column and the model's outputs have {outputs.shape[1]}: "
            "count columns from 0."
        )
    return outputs[:, column]


def of_class(outputs: Array, position: int, kind: Kind) -> Array:
    """One class's own output, also where a binary model's single column stands for both."""
    outputs = wide(numbers(outputs))
    if outputs.shape[1] > 1 or position > 1:
        return of_column(outputs, position)
    # A single column is the second class's: p of (1−p, p), or log odds x of (−x, x).
    if position == 1:
        return outputs[:, 0]
    return 1 - outputs[:, 0] if kind == "probability" else -outputs[:, 0]
