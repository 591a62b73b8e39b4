"""The supplement's Table 1: one row a class."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np

from anharmonic._core import tables
from anharmonic._core.estimate import Estimate
from anharmonic._core.margins import of_classes, probabilities_of
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.statistics import Moments, Rate
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.search import StepArguments, prepare
from anharmonic.measures.search.result import Search
from anharmonic.measures.stability.surroundings import Surroundings, surroundings

__all__ = ["ClassRow", "ClassTable", "class_table", "softmax_of_means"]


class ClassRow(NamedTuple):
    """Averages over the points of one class.

    `probability` averages the true softmax of the predicted class; `approximate` is the
    paper's P_C, its Eq. 4 put on the average logits, and `metric` is approximate·exp(−N·gamma).
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
    """A row for each class, for `steps` steps, and the queries it took (a search's are its own)."""

    rows: tuple[ClassRow, ...]
    steps: int
    queries: int

    def __len__(self) -> int:
        return len(self.rows)

    def _texts(self) -> list[tuple[str, ...]]:
        return [tuple("–" if each is None else str(each) for each in row) for row in self.rows]

    def __repr__(self) -> str:
        heads = ClassRow._fields
        texts = [heads, *self._texts()]
        wide = [max(len(row[place]) for row in texts) for place in range(len(heads))]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(row, wide, strict=True))
            for row in texts
        ]
        return "\n".join([*lines, f"{self.steps} steps, {self.queries:,} queries"])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in ClassRow._fields)
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(each)}</td>' for each in row)}</tr>"
            for row in self._texts()
        )
        return f"<table><tr>{heads}</tr>{rows}</table>"

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per class; an error beside each average, NaN where nothing is known."""
        columns: dict[str, Any] = {
            "class": np.array([row.name for row in self.rows]),
            "points": np.array([row.points for row in self.rows]),
        }
        for name in ClassRow._fields[2:8]:
            columns[name] = np.array([getattr(row, name).value for row in self.rows])
            columns[f"{name}_error"] = np.array([getattr(row, name).error for row in self.rows])
        for name in ClassRow._fields[8:]:
            known = [getattr(row, name) for row in self.rows]
            columns[name] = np.array([np.nan if each is None else each.value for each in known])
        return tables.frame(tables.arrow(columns, {"holds": "table"}), backend)


def softmax_of_means(logit: float, mean_logit: float, classes: int) -> float:
    """The paper's Eq. 4: the softmax if every other logit were the average one.

    >>> round(softmax_of_means(-0.12, -9.35, 1000), 3)  # the supplement's first row says 0.911
    0.911
    """
    return float(1 / (1 + (classes - 1) * np.exp(mean_logit - logit)))


def class_table(
    model: Any,
    points: Any,
    *,
    labels: Any = None,
    search: Search | None = None,
    steps: int = 25,
    **arguments: Unpack[StepArguments],
) -> ClassTable:
    """Logits, probability, gamma and the paper's metric for each class.

    Points are grouped by their true `labels` (names or column numbers), which also gives the
    accuracy, or by the predicted class. `search`, made at the same points, gives the stability:
    the share that did not flip. Other arguments are those of `adversarial_search`; logits are
    asked for unless `output` says otherwise.
    """
    arguments["output"] = arguments.get("output", "logit")
    chooser, facts = prepare(model, points, "margin", **arguments)
    found = surroundings(chooser)
    names = list(facts.classes) or [str(each) for each in range(found.outputs.shape[1])]
    truth = None if labels is None else _positions(labels, names, len(found.labels))
    if search is not None and search.settings.fingerprint != facts.fingerprint:
        raise SettingsError("the search was made at other points: search at these")
    groups = found.labels if truth is None else truth
    sure = of_classes(probabilities_of(found.outputs, chooser.caller.model.kind), found.labels)
    rows = [
        _row(names[each], groups == each, found, sure, truth, search, steps)
        for each in np.unique(groups).tolist()
    ]
    return ClassTable(tuple(rows), steps, found.queries)


def _row(
    name: str,
    inside: Any,
    found: Surroundings,
    sure: Floats,
    truth: Integers | None,
    search: Search | None,
    steps: int,
) -> ClassRow:
    logits = of_classes(found.outputs, found.labels)[inside]
    means, gammas = found.outputs.mean(axis=1)[inside], np.abs(found.gammas[0])[inside]
    approximate = softmax_of_means(
        float(logits.mean()), float(means.mean()), found.outputs.shape[1]
    )
    metric = approximate * float(np.exp(-steps * gammas.mean()))
    # Both are smooth in averages over points: their errors are those of the tangent's averages.
    slope = (1 - approximate) * (logits - means)
    right = None if truth is None else found.labels[inside] == truth[inside]
    return ClassRow(
        name=name,
        points=int(inside.sum()),
        logit=_mean(logits),
        mean_logit=_mean(means),
        probability=_mean(sure[inside]),
        approximate=Estimate(approximate, approximate * _mean(slope).error),
        gamma=_mean(gammas),
        metric=Estimate(metric, metric * _mean(slope - steps * gammas).error),
        accuracy=None if right is None else _rate(right),
        stability=None if search is None else _rate(~search.flipped[inside]),
    )


def _mean(values: Floats) -> Estimate:
    moments = Moments.of(values)
    return Estimate(float(moments.mean), float(moments.error))


def _rate(hits: Any) -> Rate:
    return Rate.of(int(hits.sum()), len(hits))


def _positions(labels: Any, names: list[str], many: int) -> Integers:
    """True classes as columns' numbers."""
    given = np.asarray(labels)
    if len(given) != many:
        raise PointsError(f"there are {len(given)} labels for {many} points: give one each")
    known = {name: place for place, name in enumerate(names)}
    texts = [str(each) for each in given.tolist()]
    unknown = next((each for each in texts if each not in known), None)
    if unknown is not None:
        raise PointsError(
            f"the model has no class {unknown}: its classes are {', '.join(names[:10])}"
            f"{', …' if len(names) > 10 else ''}"
        )
    return np.array([known[each] for each in texts], dtype=np.int64)
