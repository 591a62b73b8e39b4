"""How sure a decision is: a class's output less the best of the others.

A binary model's single column stands for two classes: log odds for (0, x), a probability for
(1−p, p). A positive margin keeps the class, a negative one is another decision.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from anharmonic.errors import SettingsError
from anharmonic.protocols import Floats, Integers, Kind

__all__ = ["by_class", "decides", "labels_of", "margins_of", "of_classes", "probabilities_of"]


def decides(columns: int, kind: Kind) -> bool:
    """Whether so many columns of a kind of output hold an output for each class."""
    return kind != "label" and (columns > 1 or kind in ("logit", "probability"))


def by_class(outputs: Floats, kind: Kind) -> Floats:
    """Outputs (…, columns) with a column for each class, two of them at least.

    >>> by_class(np.array([[0.25]]), "probability").tolist()
    [[0.75, 0.25]]
    """
    if not decides(outputs.shape[-1], kind):
        what = "labels" if kind == "label" else "a single number"
        raise SettingsError(
            f"the model answers {what}, and a decision needs an output for each class: pass "
            "output='probability' or 'logit' (or 'onehot' for a model that knows labels only)"
        )
    if outputs.shape[-1] > 1:
        return outputs
    first = 1 - outputs if kind == "probability" else np.zeros_like(outputs)
    return np.concatenate((first, outputs), axis=-1)


def labels_of(outputs: Floats) -> Integers:
    """The class with the largest output, (…, classes) to (…,)."""
    return np.asarray(np.argmax(outputs, axis=-1), dtype=np.int64)


def of_classes(outputs: Floats, classes: Integers) -> Floats:
    """Each row's own class's output: (rows, …, classes) and classes (rows,) to (rows, …)."""
    return np.take_along_axis(outputs, _shaped(outputs, classes), axis=-1)[..., 0]


def margins_of(outputs: Floats, classes: Integers) -> Floats:
    """Output of each row's class less the largest other: (rows, …, classes) to (rows, …).

    >>> margins_of(np.array([[5.0, 2.0, 3.0]]), np.array([0])).tolist()
    [2.0]
    """
    others = np.array(outputs, dtype=np.float64)
    np.put_along_axis(others, _shaped(outputs, classes), -np.inf, axis=-1)
    return cast(Floats, of_classes(outputs, classes) - others.max(axis=-1))


def probabilities_of(outputs: Floats, kind: Kind) -> Floats:
    """Softmax of logits and raw scores (…, classes); probabilities as they are."""
    if kind in ("probability", "onehot"):
        return outputs
    powers = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    return cast(Floats, powers / powers.sum(axis=-1, keepdims=True))


def _shaped(outputs: Floats, classes: Integers) -> Integers:
    """Classes (rows,) as indices along the last axis of outputs."""
    spread = classes.reshape((-1,) + (1,) * (outputs.ndim - 1))
    return np.broadcast_to(spread, (*outputs.shape[:-1], 1))
