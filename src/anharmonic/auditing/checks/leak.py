"""A column that gives the label away: alone it says what all others together cannot."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured, percent
from anharmonic.auditing.picture import Bar, Picture
from anharmonic.auditing.statistics import above, share_of
from anharmonic.auditing.wording import column_named
from anharmonic.auditing.yardsticks import FOLDS, fit_yardsticks, fold_of
from anharmonic.measures.over_data.encoding import Column, Encoded

__all__ = ["check_leak"]

NAME, TITLE = "leak", "Leaked labels"
EXPLAINED = {"classes": 0.85, "numbers": 0.97}
"""What a column must explain alone of the labels, as a share of the loss without any column: a
number is often nearly another one, and nothing is leaked."""
APART = 0.5
"""Its loss alone, of that of the next best column alone, at most."""
BESIDE = 2.0
"""And of that of all other columns together."""


def check_leak(context: Context) -> CheckResult:
    """Every column alone, cross-validated; the best one against the next, and all the others."""
    labels = context.reference.sampled_labels
    if labels is None:
        return CheckResult(NAME, TITLE, "", skipped="no labels of the reference were given")
    part = context.part(context.reference)
    losses = _alone(context, part, labels)
    order = np.argsort([float(column.mean()) for column in losses], kind="stable")
    base = _base(context, labels)
    first = int(order[0])
    explained = 1 - float(losses[first].mean()) / base if base else 0.0
    where = column_named(context.names[first])
    share = percent(max(0.0, explained))
    summary = f"Alone, {where} explains more of the labels than any other: {share}."
    tests = len(losses)
    if len(losses) < 2 or explained < EXPLAINED[context.task]:
        return CheckResult(NAME, TITLE, summary, tests=tests)
    second = losses[int(order[1])]
    rest = _rest(context, part, labels, first)
    alone = float(losses[first].mean())
    if alone > APART * second.mean() or alone > BESIDE * rest.mean():
        return CheckResult(NAME, TITLE, summary, tests=tests)
    finding = _finding(context, first, losses[first], second, rest, base, int(order[1]))
    return CheckResult(NAME, TITLE, summary, (finding,), tests=tests)


def _base(context: Context, labels: NDArray[Any]) -> float:
    """The loss of the most frequent class, or of the mean."""
    if context.task == "classes":
        return 1 - float(np.bincount(labels).max()) / len(labels)
    return float(np.var(labels))


def _alone(context: Context, part: Encoded, labels: NDArray[Any]) -> list[Floats]:
    """The cross-validated loss of each row by each column alone: a small tree, or its levels."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    is_classes = context.task == "classes"
    made = DecisionTreeClassifier if is_classes else DecisionTreeRegressor
    fold = fold_of(part, context.seed)
    losses = []
    rules = context.encoded.rules
    for place, column in enumerate(part.columns):
        if column.levels:
            losses.append(context.losses(_by_level(context, column, labels, fold), labels))
            continue
        features = Encoded((column,), (column.name,), ()).for_trees([rules[place]])
        answers = np.empty((len(labels), len(context.classes) if is_classes else 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(FOLDS):
                inside = fold != number
                tree = made(max_leaf_nodes=64, min_samples_leaf=5, random_state=context.seed)
                tree.fit(features[inside], labels[inside])
                told = tree.predict(features[~inside])
                answers[~inside] = (
                    told[:, None] == np.arange(len(context.classes))
                    if is_classes
                    else told[:, None]
                )
        losses.append(context.losses(answers, labels))
    return losses


def _by_level(context: Context, column: Column, labels: NDArray[Any], fold: Integers) -> Floats:
    """What other folds' rows of the same level say, a gap being one; else what all of them say.

    However many levels there are: a code may give the label away and be shared by few rows.
    """
    is_classes = context.task == "classes"
    wide = labels[:, None] == np.arange(len(context.classes)) if is_classes else labels[:, None]
    codes = np.where(np.isnan(column.values), column.levels, column.values).astype(np.int64)
    answers = np.empty(wide.shape)
    for number in range(FOLDS):
        inside = fold != number
        sums = np.zeros((column.levels + 1, wide.shape[1]))
        np.add.at(sums, codes[inside], wide[inside])
        counts = np.bincount(codes[inside], minlength=column.levels + 1)[:, None]
        overall = wide[inside].mean(axis=0)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
        answers[~inside] = means[codes[~inside]]
    return answers


def _rest(context: Context, part: Encoded, labels: NDArray[Any], without: int) -> Floats:
    """The loss of each row by the best quick model of all other columns, cross-validated."""
    kept = [place for place in range(len(part.columns)) if place != without]
    rules = [context.encoded.rules[place] for place in kept]
    others = Encoded(
        tuple(part.columns[place] for place in kept),
        tuple(part.used[place] for place in kept),
        (),
    )
    yardsticks = fit_yardsticks(
        others,
        labels,
        None,
        rules,
        context.task,
        len(context.classes),
        context.seed,
        names=("linear", "boosted", "forest"),
    )
    losses = [context.losses(yardstick.held_out, labels) for yardstick in yardsticks]
    return min(losses, key=lambda loss: float(loss.mean()))


def _finding(
    context: Context,
    place: int,
    loss: Floats,
    second: Floats,
    rest: Floats,
    base: float,
    next_best: int,
) -> Finding:
    name = context.names[place]
    where, other = column_named(name), column_named(context.names[next_best])
    if context.task == "classes":
        measured = share_of(int(len(loss) - loss.sum()), len(loss))
        said = f"says {measured} of the labels"
        others = f"all other columns together say {percent(1 - float(rest.mean()))}"
        best = f"the next best alone, {other}, {percent(1 - float(second.mean()))}"
        bars = [1 - float(part.mean()) for part in (loss, rest, second)]
    else:
        reach = 1.96 * float(loss.std()) / np.sqrt(len(loss)) / base
        value = 1 - float(loss.mean()) / base
        measured = Measured(value, value - reach, min(1.0, value + reach), "share")
        said = f"explains {measured} of the labels' variance"
        others = f"all other columns together explain {percent(1 - float(rest.mean()) / base)}"
        best = f"the next best alone, {other}, {percent(1 - float(second.mean()) / base)}"
        bars = [1 - float(part.mean()) / base for part in (loss, rest, second)]
    return Finding(
        check=NAME,
        name="Leaked label",
        severity="high",
        subject=where,
        what=f"Alone, {where} {said}.",
        comparison=f"In cross-validation {others}, and {best}.",
        next_step=(
            f"Find out whether {where} is known before the answer is needed; if it is filled in "
            "with or after the label, drop it and fit again."
        ),
        measured=measured,
        chance=above(second - loss),
        columns=(name,),
        picture=Picture(
            "bars",
            "What columns say of the labels, cross-validated",
            unit="share",
            bars=(
                Bar(f"{where} alone", bars[0], measured.low, measured.high, "subject"),
                Bar("all others together", bars[1]),
                Bar(f"{other} alone", bars[2]),
            ),
        ),
    )
