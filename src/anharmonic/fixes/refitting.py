"""Models that can be fitted anew, and their answers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

from anharmonic._core.extras import needs
from anharmonic._core.margins import are_probabilities
from anharmonic._core.protocols import Floats, Kind
from anharmonic.errors import ModelError
from anharmonic.fixes.rows import Data
from anharmonic.measures.over_data.asking import ask_rows
from anharmonic.models import as_model
from anharmonic.models.files import load, load_attribute
from anharmonic.regions import unmoved

__all__ = ["Asked", "ask", "estimator_in", "refit"]


class Asked(NamedTuple):
    """A model's answers at rows, (rows, columns), what they are, and the classes."""

    outputs: Floats
    kind: Kind
    classes: tuple[object, ...] | None
    queries: int


def estimator_in(model: object, trust: bool = False) -> tuple[object, Any | None]:
    """A model, read from its file if need be, and the estimator that can be fitted anew.

    The second is None for whatever has no `fit` and no `get_params`: functions, ONNX graphs,
    servers, networks.

    >>> estimator_in(len)[1] is None
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

    try:
        copy = clone(estimator)
        if parameters:
            copy.set_params(**parameters)
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
