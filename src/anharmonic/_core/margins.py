"""How sure a decision is: a class's output less the best of the others.

A binary model's single column stands for two classes: log odds for (0, x), a probability for
(1−p, p). A positive margin keeps the class, a negative one is another decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic._core.protocols import Array, Floats, Integers, Kind
from anharmonic.errors import SettingsError

__all__ = [
    "are_probabilities",
    "by_class",
    "decides",
    "labels_of",
    "margins_of",
    "of_classes",
    "probabilities_of",
]


def decides(columns: int, kind: Kind) -> bool:
    """Whether so many columns of a kind of output hold an output for each class."""
    return kind != "label" and (columns > 1 or kind in ("logit", "probability"))


def by_class(outputs: Array, kind: Kind, classes: Sequence[object] | None = None) -> Array:
    """Outputs (…, columns) with a column for each class.

    A single column is a binary model's, unless its `classes` are given and are one alone, as of
    an estimator that was fitted to one class.

    >>> by_class(np.array([[0.25]]), "probability").tolist()
    [[0.75, 0.25]]
    >>> by_class(np.array([[1.0]]), "probability", ["only"]).tolist()
    [[1.0]]
    """
    if not decides(outputs.shape[-1], kind):
        what = "labels" if kind == "label" else "a single number"
        raise SettingsError(
            f"the model answers {what}, and a decision needs an output for each class: pass "
            "output='probability' or 'logit' (or 'onehot' for a model that knows labels only)"
        )
    if outputs.shape[-1] > 1 or (classes is not None and len(classes) == 1):
        return outputs
    first = 1 - outputs if kind == "probability" else 0 * outputs
    return array_namespace(outputs).concat((first, outputs), axis=-1)


def labels_of(outputs: Floats) -> Integers:
    """The class with the largest output, (…, classes) to (…,)."""
    return np.asarray(np.argmax(outputs, axis=-1), dtype=np.int64)


def of_classes(outputs: Array, classes: Integers) -> Array:
    """Each row's own class's output: (rows, …, classes) and classes (rows,) to (rows, …)."""
    xp = array_namespace(outputs)
    own = xp.broadcast_to(_broadcastable(outputs, classes), (*outputs.shape[:-1], 1))
    return xp.take_along_axis(outputs, own, axis=-1)[..., 0]


def margins_of(outputs: Array, classes: Integers) -> Array:
    """Output of each row's class less the largest other: (rows, …, classes) to (rows, …).

    >>> margins_of(np.array([[5.0, 2.0, 3.0]]), np.array([0])).tolist()
    [2.0]
    """
    xp = array_namespace(outputs)
    columns = xp.arange(outputs.shape[-1], device=device(outputs))
    # The class's own output is masked, so that the maximum is over all others.
    others = xp.where(columns == _broadcastable(outputs, classes), -xp.inf, outputs)
    return of_classes(outputs, classes) - xp.max(others, axis=-1)


def are_probabilities(outputs: Floats) -> bool:
    """Whether outputs (rows, columns) are shares of classes: none below 0, and rows sum to 1.

    >>> are_probabilities(np.array([[0.25, 0.75], [1.0, 0.0]]))
    True
    >>> are_probabilities(np.array([[2.0, -1.0]]))
    False
    """
    if outputs.shape[-1] < 2:
        return False
    return bool((outputs >= 0).all() and np.allclose(outputs.sum(axis=-1), 1, atol=1e-4))


def probabilities_of(outputs: Floats, kind: Kind) -> Floats:
    """Softmax of logits and raw scores (…, classes); probabilities as they are."""
    if kind in ("probability", "onehot"):
        return outputs
    # Less the largest, so that no exponential overflows.
    powers = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    return cast(Floats, powers / powers.sum(axis=-1, keepdims=True))


def _broadcastable(outputs: Array, classes: Integers) -> Array:
    """Classes (rows,) as (rows, 1, …, 1) with as many axes as the outputs, on their device."""
    shaped = classes.reshape((-1,) + (1,) * (outputs.ndim - 1))
    return array_namespace(outputs).asarray(shaped, device=device(outputs))
