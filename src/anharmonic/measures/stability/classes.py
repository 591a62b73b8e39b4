"""The supplement's Table 1: one row per class."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core import tables
from anharmonic._core.estimate import Estimate
from anharmonic._core.margins import of_classes, probabilities_of
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.statistics import Moments, Rate
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.search import StepArguments, adversarial_search, prepare
from anharmonic.measures.search.result import Search
from anharmonic.measures.setup.batching import Flags
from anharmonic.measures.setup.settling import takes_arguments_of
from anharmonic.measures.stability.surroundings import Surroundings, surroundings

__all__ = ["ClassRow", "ClassTable", "class_table", "softmax_of_means"]


class ClassRow(NamedTuple):
    """Averages over the points of one class.

    Parameters
    ----------
    name, points
        The class, and how many points it has.
    logit, mean_logit
        The predicted class's logit, and the mean over all classes.
    probability
        The true softmax of the predicted class.
    approximate
        The paper's P_C: its Eq. 4 of the average logits.
    gamma
        The deviation of the predicted class's logit, without its sign.
    metric
        approximate·exp(−N·gamma).
    accuracy, stability
        Shares of points that get their label, and that did not flip; None where not known.
    """

    name: str
    points: int
    logit: Estimate
    mean_logit: Estimate
    probability: Estimate
    approximate: Estimate
    gamma: Estimate
    metric: Estimate
    accuracy: Rate | None
    stability: Rate | None


@dataclass(frozen=True, repr=False)
class ClassTable:
    """A row for each class.

    Parameters
    ----------
    rows
        One per class.
    steps
        The N of the paper's metric.
    queries
        Rows the model was asked for; those of a search are not counted here.
    """

    rows: tuple[ClassRow, ...]
    steps: int
    queries: int

    def __len__(self) -> int:
        return len(self.rows)

    def _texts(self) -> list[tuple[str, ...]]:
        return [tuple("–" if cell is None else str(cell) for cell in row) for row in self.rows]

    def __repr__(self) -> str:
        heads = ClassRow._fields
        texts = [heads, *self._texts()]
        widths = [max(len(row[column]) for row in texts) for column in range(len(heads))]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
            for row in texts
        ]
        return "\n".join([*lines, f"{self.steps} steps, {self.queries:,} queries"])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in ClassRow._fields)
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>"
            for row in self._texts()
        )
        return f"<table><tr>{heads}</tr>{rows}</table>"

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per class; an error beside each average, NaN where nothing is known."""
        columns: dict[str, Array] = {
            "class": np.array([row.name for row in self.rows]),
            "points": np.array([row.points for row in self.rows]),
        }
        for name in ClassRow._fields[2:8]:
            columns[name] = np.array([getattr(row, name).value for row in self.rows])
            columns[f"{name}_error"] = np.array([getattr(row, name).error for row in self.rows])
        for name in ClassRow._fields[8:]:
            rates = [getattr(row, name) for row in self.rows]
            columns[name] = np.array([np.nan if rate is None else rate.value for rate in rates])
        return tables.frame(tables.arrow(columns, {"holds": "table"}), backend)


def softmax_of_means(logit: float, mean_logit: float, classes: int) -> float:
    """The paper's Eq. 4: the softmax if every other logit were the average one.

    Parameters
    ----------
    logit, mean_logit
        Of the class, and over all classes.
    classes
        How many there are.

    Examples
    --------
    >>> round(softmax_of_means(-0.12, -9.35, 1000), 3)  # the supplement's first row says 0.911
    0.911
    """
    return float(1 / (1 + (classes - 1) * np.exp(mean_logit - logit)))


@takes_arguments_of(adversarial_search, StepArguments, output="logit")
def class_table(
    model: object,
    points: object,
    *,
    labels: ArrayLike | None = None,
    search: Search | None = None,
    steps: int = 25,
    **arguments: Unpack[StepArguments],
) -> ClassTable:
    """Logits, probability, gamma and the paper's metric for each class.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    labels
        True classes (names or column numbers), by which points are grouped and which give the
        accuracy; without them points are grouped by the predicted class.
    search
        Made at the same points, it gives the stability: the share that did not flip.
    steps
        The N of the paper's metric.
    arguments
        As in `adversarial_search`; logits are asked for unless `output` says otherwise.

    References
    ----------
    Harmonic Machine Learning Models are Robust (supplement, table 1).
    """
    arguments["output"] = arguments.get("output", "logit")
    chooser, settings = prepare(model, points, "margin", **arguments)
    around = surroundings(chooser)
    names = list(settings.classes) or [str(column) for column in range(around.outputs.shape[1])]
    truth = None if labels is None else _class_numbers(labels, names, len(around.labels))
    if search is not None and search.settings.fingerprint != settings.fingerprint:
        raise SettingsError("the search was made at other points: search at these")
    groups = around.labels if truth is None else truth
    probabilities = of_classes(
        probabilities_of(around.outputs, chooser.caller.model.kind), around.labels
    )
    rows = [
        _row(names[group], groups == group, around, probabilities, truth, search, steps)
        for group in np.unique(groups).tolist()
    ]
    return ClassTable(tuple(rows), steps, around.queries)


def _row(
    name: str,
    inside: Flags,
    around: Surroundings,
    probabilities: Floats,
    truth: Integers | None,
    search: Search | None,
    steps: int,
) -> ClassRow:
    """The averages over the points `inside` a class, (points,) of bool."""
    logits = of_classes(around.outputs, around.labels)[inside]
    means, gammas = around.outputs.mean(axis=1)[inside], np.abs(around.gammas[0])[inside]
    approximate = softmax_of_means(
        float(logits.mean()), float(means.mean()), around.outputs.shape[1]
    )
    metric = approximate * float(np.exp(-steps * gammas.mean()))
    # The delta method: both are smooth in averages over points, so their errors are those of the
    # averages of the tangent. d log P_C = (1 − P_C)·(d logit − d mean logit).
    slope = (1 - approximate) * (logits - means)
    right = None if truth is None else around.labels[inside] == truth[inside]
    return ClassRow(
        name=name,
        points=int(inside.sum()),
        logit=_mean(logits),
        mean_logit=_mean(means),
        probability=_mean(probabilities[inside]),
        approximate=Estimate(approximate, approximate * _mean(slope).error),
        gamma=_mean(gammas),
        metric=Estimate(metric, metric * _mean(slope - steps * gammas).error),
        accuracy=None if right is None else _rate(right),
        stability=None if search is None else _rate(~search.flipped[inside]),
    )


def _mean(values: Floats) -> Estimate:
    moments = Moments.of(values)
    return Estimate(float(moments.mean), float(moments.error))


def _rate(hits: Flags) -> Rate:
    return Rate.of(int(hits.sum()), len(hits))


def _class_numbers(labels: ArrayLike, names: list[str], count: int) -> Integers:
    """True classes as columns' numbers."""
    values = np.asarray(labels)
    if len(values) != count:
        raise PointsError(f"there are {len(values)} labels for {count} points: give one each")
    columns = {name: column for column, name in enumerate(names)}
    texts = [str(label) for label in values.tolist()]
    unknown = next((text for text in texts if text not in columns), None)
    if unknown is not None:
        raise PointsError(
            f"the model has no class {unknown}: its classes are {', '.join(names[:10])}"
            f"{', …' if len(names) > 10 else ''}"
        )
    return np.array([columns[text] for text in texts], dtype=np.int64)
