"""`suspects`: the rows to look at first, where other rows contradict the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from anharmonic._core.metrics import Metric, register
from anharmonic._core.progress import Progress
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import half_widths
from anharmonic.measures.over_data.asking import decided, gamma_over_rows
from anharmonic.measures.over_data.metric import DataSettings
from anharmonic.measures.setup.labels import class_numbers, given_labels, numeric_labels
from anharmonic.measures.setup.settling import SetupArguments, takes_setup
from anharmonic.scores import Scores

__all__ = ["SUSPICION", "suspects"]


def _intervals(scores: Scores, level: float) -> tuple[Floats, Floats]:
    """Student's, within what there can be: 1 for a label, √2 for the distance of two classes."""
    reach = half_widths(scores.errors, scores.column("freedom") + 1, level)
    most = np.inf
    if scores.settings.kind in ("onehot", "probability"):
        most = 1.0 if "label" in scores.columns else np.sqrt(2)
    return np.maximum(scores.values - reach, 0.0), np.minimum(scores.values + reach, most)


SUSPICION = register(
    Metric(
        "suspicion",
        unit="how far other rows are from the label",
        settings=DataSettings,
        intervals=_intervals,
        ranks=False,
        best="least suspicious",
        caution=(
            "A suspicious row is a place to look, not proof of a wrong label: rare but right rows "
            "stand here too."
        ),
        reading=(
            "Suspicion is how little other rows' answers say a row's label or, where no labels "
            "were given, the model's own answer there. 0 means that all of them agree with it.",
            "Nothing is moved, and the model is asked at real rows alone. No row and no copy of it "
            "speaks for itself.",
            "A model that learnt a wrong label by heart says it at that row, and its answers at "
            "rows like it contradict that. Labels that are wrong in the same way at rows alike "
            "are not found.",
        ),
    )
)


@takes_setup
def suspects(
    model: object,
    rows: object,
    labels: object = None,
    *,
    weights: object = "auto",
    progress: Progress = None,
    **setup: Unpack[SetupArguments],
) -> Scores:
    """Rows to look at, those with wrong labels first: `worst(20)` gives the twenty most suspicious.

    A model that learnt a wrong label by heart says it at that row, and other rows contradict it.

    Parameters
    ----------
    model
        Anything `as_model` takes, fitted to these rows.
    rows
        The training rows: a table with any columns, or an array.
    labels
        What the rows were labelled with. If given, a row counts by how little the other rows'
        answers say its label; if not, by how little they say the model's own answer.
    weights, seed, batch_size, moving, output, reference
        As in `gamma_data` and `gamma`. Classes are taken as decided ("onehot") if not told
        otherwise.
    progress
        True shows a bar.

    Returns
    -------
    Scores
        `values` from 0 (all other rows agree) up, one per row; the columns `answer` and `others`
        are the model's class and the one that other rows give, for regressions the numbers;
        `label` is what was given.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> labels = (rows[:, 0] > 0).astype(int)
    >>> labels[7] = 1 - labels[7]
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(random_state=0).fit(rows, labels)
    >>> 7 in suspects(tree, rows).worst(5)
    True
    """
    classes = decided(model, setup.get("output")).classes
    scores = gamma_over_rows(
        model, rows, ball=weights, reduction="norm", progress=progress, **setup
    )
    expected = scores.outputs - scores.signed
    columns: dict[str, Any] = {**scores.columns}
    values = scores.values
    if classes is not None and expected.shape[1] == len(classes):
        names = np.array([str(name) for name in classes])
        columns["answer"] = names[scores.outputs.argmax(axis=1)]
        columns["others"] = names[expected.argmax(axis=1)]
        if labels is not None:
            given = class_numbers(given_labels(labels, len(scores)), classes)
            values = 1 - expected[np.arange(len(scores)), given]
            columns["label"] = names[given]
    else:
        columns["answer"], columns["others"] = scores.outputs, expected
        if labels is not None:
            numbers = numeric_labels(given_labels(labels, len(scores)), scores.outputs.shape)
            values = np.sqrt(np.sum((numbers - expected) ** 2, axis=1))
            columns["label"] = numbers
    return replace(
        scores,
        metric=SUSPICION.name,
        values=values,
        squared=values**2 - scores.errors**2,
        columns=columns,
    )
