"""Predicted classes, from scores or from labels, as numbers or as one-hot rows.

Everything here takes `classes` (in column order, or None), `threshold` (a single column of
scores above it means the second class) and `labels`: whether the outputs are labels already.
Outputs that nothing is known about are labels when they are one column and no floats.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic._core.protocols import Array
from anharmonic.errors import OutputError, SettingsError
from anharmonic.models.outputs import as_array, is_floating, wide

__all__ = ["codes", "to_labels", "to_onehot"]

Classes = tuple[object, ...] | None


def to_labels(outputs: Array, classes: Classes, threshold: float, labels: bool) -> Array:
    """Predicted classes as numbers, (rows,): the label if it is a number, else its position.

    >>> to_labels(np.array([[0.1, 0.9], [0.8, 0.2]]), ("no", "yes"), 0.5, False)
    array([1., 0.])
    >>> to_labels(np.array([[0.1, 0.9], [0.8, 0.2]]), (3, 7), 0.5, False)
    array([7., 3.])
    """
    array = as_array(outputs)
    if _are_labels(array, labels) and _are_numbers(array):
        return _as_floats(_flat(array))
    position = _positions(array, classes, threshold, labels)
    values = codes(classes or tuple(range(_count(array))))
    return array_namespace(position).take(_vector(values, like=array), position)


def to_onehot(outputs: Array, classes: Classes, threshold: float, labels: bool) -> Array:
    """Predicted classes as rows of zeros with a single one, (rows, classes).

    >>> to_onehot(np.array(["b", "a"]), ("a", "b"), 0.5, True)
    array([[0., 1.],
           [1., 0.]])
    """
    array = as_array(outputs)
    position = _positions(array, classes, threshold, labels)
    xp = array_namespace(position)
    columns = xp.arange(len(classes) if classes else _count(array), device=device(position))
    # (rows, 1) against (1, classes).
    return xp.astype(position[:, None] == columns[None, :], _float_type(array))


def _are_labels(array: Array, labels: bool) -> bool:
    return labels or (wide(array).shape[1] == 1 and not is_floating(array))


def _positions(array: Array, classes: Classes, threshold: float, labels: bool) -> Array:
    """Where in the classes each row's prediction stands: (rows,) whole numbers."""
    if _are_labels(array, labels):
        return _positions_of_labels(_flat(array), classes)
    xp = array_namespace(array)
    scores = wide(array)
    if scores.shape[1] == 1:
        return xp.astype(scores[:, 0] > threshold, xp.int64)
    return xp.argmax(scores, axis=1)


def _positions_of_labels(labels: Array, classes: Classes) -> Array:
    if not classes:
        raise SettingsError(
            "The model answers labels and its classes are not known: pass classes= with all of "
            "them in order, or output='label' if the labels are numbers."
        )
    xp = array_namespace(labels)
    position = {name: index for index, name in enumerate(classes)}
    # Each distinct label is looked up once; `inverse` (rows,) says which one a row has.
    distinct, inverse = xp.unique_inverse(labels) if _are_numbers(labels) else _unique_text(labels)
    unknown = [name for name in distinct.tolist() if name not in position]
    if unknown:
        raise OutputError(
            f"The model answers {unknown[0]!r}, which is not among the classes {classes}: "
            "pass classes= with every label it can give."
        )
    positions = xp.asarray([position[name] for name in distinct.tolist()], device=device(labels))
    return xp.take(positions, xp.reshape(inverse, (-1,)))


def _unique_text(labels: Array) -> tuple[Array, Array]:
    distinct, inverse = np.unique(labels, return_inverse=True)
    return distinct, inverse


def codes(classes: tuple[object, ...]) -> list[float]:
    """What stands for each class: itself if all are numbers, else its position."""
    values = [float(name) for name in classes if isinstance(name, Real | np.bool_)]
    return (
        values if len(values) == len(classes) else [float(index) for index in range(len(classes))]
    )


def _flat(labels: Array) -> Array:
    """Labels as (rows,): CatBoost, for one, answers (rows, 1)."""
    labels = wide(labels)
    if labels.shape[1] > 1:
        raise SettingsError(
            f"The model answers {labels.shape[1]} labels per row (several targets): pass a "
            "function as output= that picks or joins them."
        )
    return labels[:, 0]


def _are_numbers(array: Array) -> bool:
    return not isinstance(array, np.ndarray) or array.dtype.kind in "biuf"


def _count(scores: Array) -> int:
    return max(2, int(wide(scores).shape[1]))


def _float_type(like: Array) -> Array:
    """Numpy's own precision; for tensors theirs, when it can hold a label exactly."""
    if isinstance(like, np.ndarray):
        return np.float64
    xp = array_namespace(like)
    return like.dtype if like.dtype in (xp.float32, xp.float64) else xp.float32


def _as_floats(array: Array) -> Array:
    return array_namespace(array).astype(array, _float_type(array))


def _vector(values: list[float], like: Array) -> Array:
    xp = array_namespace(like)
    return xp.asarray(values, dtype=_float_type(like), device=device(like))
