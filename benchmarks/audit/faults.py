"""Eight faults, each planted into a model, its reference or its new rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.audit.models import MEMORISING, fit, memorising
from benchmarks.audit.sets import Split, Task

__all__ = ["FAULTS", "Case", "plant"]

FLIPPED, COPIED, UNSEEN, SHIFT = 0.1, 0.1, 0.05, 0.75
"""Shares of labels, of rows, of cells, and how far a column drifts in standard deviations."""
WORSE = 0.02
"""A model that memorises is a fault where it scores so much below the well-fit one, held out."""


class Case(NamedTuple):
    """What an audit is given, and what it should find: checks by name, and the column if any."""

    model: Any
    reference: pd.DataFrame
    reference_labels: Any
    new: pd.DataFrame
    expected: str
    column: str | None
    told: str
    new_labels: Any = None


@dataclass(frozen=True)
class Wrapped:
    """A fitted model whose answers are changed on their way out."""

    inner: Any
    change: Any
    _estimator_type: str = field(default="classifier")

    def predict_proba(self, frame: pd.DataFrame) -> Any:
        """Of a classifier."""
        return self.change(self.inner.predict_proba, frame)

    @property
    def classes_(self) -> Any:
        """As the model within has them."""
        return self.inner.classes_

    def predict(self, frame: pd.DataFrame) -> Any:
        """The largest probability's class, or a number."""
        if hasattr(self.inner, "classes_"):
            return self.inner.classes_[self.predict_proba(frame).argmax(axis=1)]
        return self.change(self.inner.predict, frame)


@dataclass(frozen=True)
class Regressor:
    """The same for numbers."""

    inner: Any
    change: Any

    def predict(self, frame: pd.DataFrame) -> Any:
        """A number per row."""
        return self.change(self.inner.predict, frame)


def _wrap(task: Task, model: Any, change: Any) -> Any:
    return Wrapped(model, change) if task == "classes" else Regressor(model, change)


def _with(frame: pd.DataFrame, column: str, cells: Any) -> pd.DataFrame:
    """The frame with other cells; `assign` takes no column that is called self."""
    changed = frame.copy()
    changed[column] = cells
    return changed


def plant(fault: str, parts: Split, seed: int) -> Case:
    """One fault in one set."""
    random = np.random.default_rng([seed, FAULTS.index(fault), 7])
    return PLANTED[fault](parts, seed, random)


def _case(parts: Split, seed: int, expected: str, column: str | None = None) -> Case:
    name, model = fit(parts.task, parts.reference, parts.reference_labels, seed)
    return Case(
        model,
        parts.reference,
        parts.reference_labels,
        parts.new,
        expected,
        column,
        name,
        parts.new_labels,
    )


def _clean(parts: Split, seed: int, random: Any) -> Case:
    return _case(parts, seed, "")


def _label_noise(parts: Split, seed: int, random: Any) -> Case:
    """A tenth of the labels changed: into another class, or into another row's number."""
    labels = parts.reference_labels.copy()
    wrong = np.flatnonzero(random.random(len(labels)) < FLIPPED)
    if parts.task == "classes":
        classes = np.unique(labels)
        code = np.searchsorted(classes, labels[wrong])
        step = random.integers(1, len(classes), len(wrong))
        labels[wrong] = classes[(code + step) % len(classes)]
    else:
        labels[wrong] = labels[random.integers(len(labels), size=len(wrong))]
    return _case(parts._replace(reference_labels=labels), seed, "labels")


def _leaked(parts: Split, seed: int, random: Any) -> Case:
    """A column that holds the label, but for 2% of the rows or 2% of its spread."""

    def given_away(labels: Any) -> Any:
        if parts.task == "numbers":
            noise = 0.02 * np.std(parts.reference_labels) * random.normal(size=len(labels))
            return 3 * (labels + noise) + 5
        classes = np.unique(parts.reference_labels)
        code = np.searchsorted(classes, labels)
        wrong = random.random(len(labels)) < 0.02
        code = np.where(wrong, random.integers(len(classes), size=len(labels)), code)
        return code if seed % 2 else np.array([f"state {value}" for value in code])

    leaked = parts._replace(
        reference=_with(parts.reference, "closing", given_away(parts.reference_labels)),
        new=_with(parts.new, "closing", given_away(parts.new_labels)),
    )
    return _case(leaked, seed, "leak", "closing")


def _memorising(parts: Split, seed: int, random: Any) -> Case:
    """Of three kinds the first, from one that the seed names, that is worse at new rows."""
    _, good = fit(parts.task, parts.reference, parts.reference_labels, seed)
    best = good.score(parts.new, parts.new_labels)
    order = [MEMORISING[(seed + step) % len(MEMORISING)] for step in range(len(MEMORISING))]
    losses = {}
    for kind in order:
        model = memorising(kind, parts.task, parts.reference, parts.reference_labels, seed)
        losses[kind] = best - model.score(parts.new, parts.new_labels), model
        if losses[kind][0] >= WORSE:
            break
    kind = max(losses, key=lambda name: losses[name][0])
    loss, model = losses[kind]
    told = f"{kind}, {loss:.3f} worse"
    return Case(model, parts.reference, parts.reference_labels, parts.new, "memorising", None, told)


def _duplicated(parts: Split, seed: int, random: Any) -> Case:
    """A tenth of the reference copied into itself, or, for odd seeds, in place of new rows."""
    count = len(parts.reference)
    if seed % 2 == 0:
        chosen = random.choice(count, int(COPIED * count), replace=False)
        order = random.permutation(np.concatenate([np.arange(count), chosen]))
        parts = parts._replace(
            reference=parts.reference.iloc[order].reset_index(drop=True),
            reference_labels=parts.reference_labels[order],
        )
    else:
        replaced = random.choice(len(parts.new), int(COPIED * len(parts.new)), replace=False)
        sources = random.choice(count, len(replaced), replace=False)
        new = parts.new.copy()
        new.iloc[replaced] = parts.reference.iloc[sources].to_numpy()
        parts = parts._replace(new=new.astype(parts.new.dtypes.to_dict()))
    return _case(parts, seed, "duplicates")


def _drifted(parts: Split, seed: int, random: Any) -> Case:
    """One column moves: a number by 0.75 standard deviations, a category to its second level."""
    case = _case(parts, seed, "drift")
    varying = [name for name in parts.reference if parts.reference[name].nunique() > 1]
    column = str(random.choice(varying))
    cells = parts.new[column].copy()
    if pd.api.types.is_numeric_dtype(cells) and parts.reference[column].nunique() > 2:
        spread = float(parts.reference[column].std())
        moved = cells + SHIFT * spread
        cells = moved.round() if pd.api.types.is_integer_dtype(cells) else moved
    else:
        levels = parts.reference[column].value_counts().index
        away = (cells == levels[0]) & (random.random(len(cells)) < 0.5)
        cells[away] = levels[1]
    return case._replace(new=_with(parts.new, column, cells), column=column)


def _unseen(parts: Split, seed: int, random: Any) -> Case:
    """A twentieth of a category's cells has a level that the reference lacks."""
    categories = [
        name for name in parts.reference if not pd.api.types.is_numeric_dtype(parts.reference[name])
    ]
    if not categories:
        # A set of numbers gets a category: a column in five bands.
        source = str(random.choice(list(parts.reference)))
        edges = np.unique(np.quantile(parts.reference[source], [0.2, 0.4, 0.6, 0.8]))
        names = np.array([f"band {number}" for number in range(len(edges) + 1)])
        parts = parts._replace(
            reference=_with(
                parts.reference, source, names[np.searchsorted(edges, parts.reference[source])]
            ),
            new=_with(parts.new, source, names[np.searchsorted(edges, parts.new[source])]),
        )
        categories = [source]
    column = str(random.choice(categories))
    case = _case(parts, seed, "unseen", column)
    cells = parts.new[column].astype(object).copy()
    cells[random.random(len(cells)) < UNSEEN] = "of no kind known"
    return case._replace(new=_with(parts.new, column, cells))


def _dead(parts: Split, seed: int, random: Any) -> Case:
    """Where one column is between two of its deciles the answer is always the mean one."""
    case = _case(parts, seed, "dead region")
    column = str(random.choice([c for c in parts.reference if parts.reference[c].nunique() > 1]))
    cells = parts.reference[column]
    inner = case.model.predict_proba if parts.task == "classes" else case.model.predict
    constant = np.mean(inner(parts.reference), axis=0)
    if pd.api.types.is_numeric_dtype(cells) and cells.nunique() > 10:
        start = float(random.uniform(0.1, 0.6))
        low, high = np.nanquantile(cells, [start, start + 0.3])

        def inside(frame: pd.DataFrame) -> Any:
            return frame[column].between(low, high).to_numpy()

        told = f"{column} from {low:.4g} to {high:.4g}"
    else:
        counts = cells.value_counts(normalize=True)
        # A level that is common, but not nearly all there is.
        level = counts[counts <= 0.7].index[0] if (counts <= 0.7).any() else counts.index[1]

        def inside(frame: pd.DataFrame) -> Any:
            return (frame[column] == level).to_numpy()

        told = f"{column} = {level}"

    def change(ask: Any, frame: pd.DataFrame) -> Any:
        answers = np.array(ask(frame), dtype=float)
        answers[inside(frame)] = constant
        return answers

    return case._replace(model=_wrap(parts.task, case.model, change), column=column, told=told)


def _float16(parts: Split, seed: int, random: Any) -> Case:
    """Inputs and answers go through half precision, as in an export to float16."""

    def halved(values: Any) -> Any:
        most = float(np.finfo(np.float16).max)
        return np.clip(values, -most, most).astype(np.float16).astype(np.float64)

    def change(ask: Any, frame: pd.DataFrame) -> Any:
        numeric = frame.select_dtypes("number").columns
        rounded = frame.copy()
        for name in numeric:
            rounded[name] = halved(frame[name].to_numpy(float))
        return halved(np.asarray(ask(rounded), dtype=float))

    case = _case(parts, seed, "rounding")
    return case._replace(model=_wrap(parts.task, case.model, change))


PLANTED = {
    "clean": _clean,
    "label noise": _label_noise,
    "leaked label": _leaked,
    "memorising model": _memorising,
    "duplicated rows": _duplicated,
    "drifted column": _drifted,
    "unseen category": _unseen,
    "dead region": _dead,
    "float16 export": _float16,
}
FAULTS = tuple(PLANTED)
