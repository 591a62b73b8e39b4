"""Arrays of numpy and torch: to main memory, and to where another one is."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array, to_device

from anharmonic._core.protocols import Array, Floats

__all__ = ["array_like", "to_numpy", "to_numpy64", "without_empty_columns"]


def to_numpy64(array: Array) -> Floats:
    """An array's copy in main memory as float64 (no copy where it is one already)."""
    if is_torch_array(array):
        array = to_device(array.detach(), "cpu").double()
    return np.asarray(array, dtype=np.float64)


def to_numpy(array: Array) -> Array:
    """A tensor as a numpy array in main memory, as precise as it came; all else stays."""
    if not is_torch_array(array):
        return array
    tensor = to_device(array.detach(), "cpu")
    # numpy knows no bfloat16.
    short = tensor.is_floating_point() and tensor.element_size() < 4
    return tensor.double().numpy() if short else tensor.numpy()


def without_empty_columns(rows: Floats) -> Floats:
    """Rows to fit trees to, with 0 in columns that have no value at all.

    scikit-learn's histogram boosting (1.9) refuses such columns; there is nothing to learn of them.

    >>> without_empty_columns(np.array([[1.0, np.nan], [2.0, np.nan]])).tolist()
    [[1.0, 0.0], [2.0, 0.0]]
    """
    empty = np.isnan(rows).all(axis=0)
    return np.where(empty, 0.0, rows) if empty.any() else rows


def array_like(values: Array, like: Array) -> Array:
    """Values in the library, precision and place of another array."""
    return array_namespace(like).asarray(values, dtype=like.dtype, device=device(like))
