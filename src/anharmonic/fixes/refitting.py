"""Models that can be fitted anew, and the rows they are fitted to and asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.extras import needs
from anharmonic._core.frames import as_table
from anharmonic._core.margins import are_probabilities
from anharmonic._core.protocols import Array, Floats, Integers, Kind
from anharmonic.errors import InputError, ModelError
from anharmonic.measures.over_data.asking import ask_rows
from anharmonic.models import as_model
from anharmonic.models.files import load, load_attribute
from anharmonic.regions import unmoved

__all__ = ["Asked", "Data", "ask", "estimator_in", "refit", "stack_rows", "take_rows"]


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of any kind, and a label for each, (rows,)."""

    rows: Any
    labels: Array

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Integers) -> Data:
        """Some of the rows."""
        return Data(take_rows(self.rows, indices), self.labels[indices])

    def joined(self, other: Data) -> Data:
        """Both below one another."""
        rows = stack_rows([self.rows, other.rows])
        return Data(rows, np.concatenate([self.labels, other.labels]))

    @classmethod
    def of(cls, rows: object, labels: object, what: str) -> Data:
        """Rows and labels, checked; `what` they are is for the error."""
        given = np.asarray(to_numpy(labels)).reshape(-1)
        count = len(unmoved(rows))
        if len(given) != count:
            raise InputError(
                f"the {what} has {count:,} rows and {len(given):,} labels: give one per row"
            )
        missing = [label is None or label != label for label in given.tolist()]
        if any(missing):
            raise InputError(
                f"{sum(missing):,} labels of the {what} are missing: leave these rows out, or give "
                "them as pool="
            )
        return cls(rows, given)


class Asked(NamedTuple):
    """A model's answers at rows, (rows, columns), what they are, and the classes."""

    outputs: Floats
    kind: Kind
    classes: tuple[object, ...] | None
    queries: int


def take_rows(rows: Any, indices: Integers) -> Any:
    """Some rows of a table or an array, in the form they came in."""
    table = as_table(rows)
    if table is None:
        return np.asarray(to_numpy(rows))[indices]
    return nw.to_native(nw.maybe_reset_index(table[indices.tolist()]))


def stack_rows(parts: Sequence[Any]) -> Any:
    """Tables or arrays below one another, in the form they came in."""
    tables = [as_table(part) for part in parts]
    if all(table is not None for table in tables):
        return nw.to_native(nw.concat([table for table in tables if table is not None]))
    return np.concatenate([np.asarray(to_numpy(part)) for part in parts])


def estimator_in(model: object, trust: bool = False) -> tuple[object, Any | None]:
    """A model, read from its file if need be, and the estimator that can be fitted anew.

    The second is None for whatever has no `fit` and no `get_params`: functions, ONNX graphs,
    servers, networks.

    >>> estimator_in(np.tanh)[1] is None
    True
    """
    if isinstance(model, str | Path):
        path = Path(model).expanduser()
        model = load(path, trust) if path.is_file() else load_attribute(str(model)) or model
    offers = all(hasattr(model, method) for method in ("fit", "get_params", "set_params"))
    return model, model if offers and not isinstance(model, type) else None


def refit(estimator: Any, data: Data, **parameters: object) -> Any:
    """A copy of an estimator fitted to other rows, with other parameters where some are given."""
    needs("sklearn", "sklearn")
    from sklearn.base import clone

    copy = clone(estimator)
    if parameters:
        copy.set_params(**parameters)
    try:
        with warnings.catch_warnings():
            # Fits to parts of the data warn of what the whole does not: rare levels, few rounds.
            warnings.simplefilter("ignore")
            return copy.fit(data.rows, data.labels)
    except Exception as problem:
        raise ModelError(
            f"{type(estimator).__name__} could not be fitted anew to {len(data):,} of the "
            f"reference's rows ({problem}): give the estimator and rows that fit to one another"
        ) from problem


def ask(model: object, rows: object, batch_size: int | None = None) -> Asked:
    """A model's answers at rows as they are: probabilities where it has them, else its natural
    ones; one query per row.
    """
    adapted = as_model(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        answered = ask_rows(adapted, unmoved(rows), batch_size)
    outputs = answered.answers.reshape(len(answered.answers), -1)
    # A function does not say what it answers; as logits, probabilities would be squeezed together.
    shares = adapted.kind == "value" and are_probabilities(outputs)
    return Asked(
        outputs, "probability" if shares else adapted.kind, adapted.classes, answered.queries
    )
