"""What is measured in one case: errors with and without labels, coverage, and labels saved."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from anharmonic.performance import Estimator, PerformanceTracker, choose_rows, fit_performance
from anharmonic.performance.choosing import draw_rows, inclusion_probabilities
from anharmonic.performance.labelled import powered_metric
from anharmonic.performance.metrics import metric_value, observed_credits, row_losses
from anharmonic.performance.sampled import Sampled
from anharmonic.performance.windows import label_noise, shown_performance
from benchmarks.performance.cases import Case, Floats

RIVALLED = {"classes": ("accuracy", "auc"), "numbers": ("mae", "rmse")}
LABELS, DRAWS = 0.02, 5
CHOICES, STRATA = 300, 10


class Line(NamedTuple):
    """Of one metric, per window (windows,), unless said otherwise.

    Parameters
    ----------
    ours, theirs
        Errors without labels.
    then, late
        Errors with 2% of random labels, of this window and those before it, or of all windows;
        means over draws of the labels.
    floor
        The error of an oracle that knows each row's expected loss, or an estimate of it.
    least
        What such labels leave if the bias is one number: the floor, and how well they tell it.
    covered, covered_late, known
        Whether intervals held the truth, without and with labels (a share of draws), and whether
        the estimate claimed to know.
    """

    ours: Floats
    theirs: Floats
    then: Floats
    late: Floats
    floor: Floats
    least: Floats
    covered: Floats
    covered_late: Floats
    known: Floats


def measure(case: Case, theirs: Any, seed: int) -> tuple[dict[str, Line], Floats]:
    """Each metric's lines, and the labels saved."""
    kind: Any = case.kind
    estimator = fit_performance(
        case.outputs, case.labels, case.features, kind=kind, categories=case.categories,
        names=case.columns, seed=seed,
    )  # fmt: skip
    return compare(case, theirs, estimator, seed), label_savings(case, estimator)


def compare(case: Case, theirs: Any, estimator: Estimator, seed: int) -> dict[str, Line]:
    """Errors over the windows; only rows that some draw labels wait for a label."""
    outputs, features, labels = case.traffic_outputs, case.traffic_features, case.traffic_labels
    count = len(outputs)
    draws = [
        np.random.default_rng((seed, draw)).permutation(count)[: int(LABELS * count)]
        for draw in range(DRAWS)
    ]
    waiting = set(np.concatenate(draws).tolist())
    ids = [str(row) if row in waiting else "" for row in range(count)]
    tracker = PerformanceTracker(estimator, window=case.window, windows=1000, pending=count)
    tracker.update(outputs, features, ids=ids)
    plain, state = tracker.curve(), tracker.state()
    curves, prompt, resolved = [], [], []
    for rows in draws:
        tracker.restore(state)
        tracker.add_labels([ids[row] for row in rows], labels[rows])
        windows = tracker.tracks[None].windows
        curves.append(tracker.curve())
        prompt.append([
            shown_performance(estimator, windows[: number + 1], 0.9, None)[-1]
            for number in range(len(windows))
        ])  # fmt: skip
        resolved.append(1 / (1 / label_noise(windows)).sum(axis=0))
    parts = [slice(start, start + case.window) for start in range(0, count, case.window)]
    credits = observed_credits(outputs, labels, estimator.kind)
    expected = [estimator.expected(outputs[row], features[row]) for row in parts]
    lines = {}
    for place, name in enumerate(estimator.metrics):
        truth = np.array([metric_value(name, outputs[row], credits[row]) for row in parts])
        noise = np.array([
            estimator.label_variance(name, outputs[row], credit)
            for row, credit in zip(parts, expected, strict=True)
        ])  # fmt: skip
        floor = np.sqrt(2 / np.pi * noise)
        if len(case.oracle):
            ideal = [metric_value(name, outputs[row], case.oracle[row]) for row in parts]
            floor = np.abs(np.array(ideal) - truth)
        turn = 2 * truth if name == "rmse" else 1.0
        told = np.mean([found[place] for found in resolved]) / turn**2
        intervals = [np.array([line[name] for line in curve]) for curve in (plain, *curves)]
        values, low, high = np.array(intervals).transpose(2, 0, 1)
        held = (low <= truth) & (truth <= high)
        then = np.array([[line[name].value for line in curve] for curve in prompt])
        lines[name] = Line(
            np.abs(values[0] - truth),
            np.abs(theirs[name] - truth)
            if name in RIVALLED[case.kind]
            else np.full(len(parts), np.nan),
            np.abs(then - truth).mean(axis=0),
            np.abs(values[1:] - truth).mean(axis=0),
            floor,
            np.sqrt(2 / np.pi * (noise * (1 - LABELS) + told)),
            held[0].astype(float),
            held[1:].mean(axis=0),
            np.array([line.known for line in plain], dtype=float),
        )
    return lines


def halves_apart(case: Case, even: Any, odd: Any) -> dict[str, Floats]:
    """The rival's mean errors from either half of the reference, (2,) for each metric."""
    parts = [
        slice(start, start + case.window)
        for start in range(0, len(case.traffic_outputs), case.window)
    ]
    kind: Any = case.kind
    credits = observed_credits(case.traffic_outputs, case.traffic_labels, kind)
    found = {}
    for name in RIVALLED[case.kind]:
        truth = np.array(
            [metric_value(name, case.traffic_outputs[row], credits[row]) for row in parts]
        )
        found[name] = np.array([np.abs(half[name] - truth).mean() for half in (even, odd)])
    return found


def label_savings(case: Case, estimator: Estimator) -> Floats:
    """Labels saved at equal width by chosen rows: against random rows plain, and powered; a bound.

    Widths go by 1/√labels, so that labels at equal width go by the squared errors, seen over many
    draws from the first windows. The bound is for rows chosen by one who knows how much the
    expectation leaves open in each of ten strata of the expected loss, against the plain mean.
    """
    rows = slice(0, min(len(case.traffic_outputs), 10 * case.window))
    outputs, features = case.traffic_outputs[rows], case.traffic_features[rows]
    name = estimator.metrics[0]
    count = max(50, len(outputs) // 50)
    expected = estimator.expected(outputs, features)
    observed = observed_credits(outputs, case.traffic_labels[rows], estimator.kind)
    truth = metric_value(name, outputs, observed)
    losses, seen = row_losses(name, outputs, expected), row_losses(name, outputs, observed)
    even = np.full(len(outputs), count / len(outputs))
    chosen = choose_rows(estimator, outputs, features, count).chances
    squares: dict[str, list[float]] = defaultdict(list)
    for draw in range(CHOICES):
        random, mine = np.zeros((2, len(outputs)), dtype=bool)
        random[np.random.default_rng(draw).permutation(len(outputs))[:count]] = True
        mine[draw_rows(chosen, losses, count, draw)] = True
        for kind, mask, chances, followed in (
            ("plain", random, even, 0.0),
            ("powered", random, even, None),
            ("chosen", mine, chosen, None),
        ):
            labels = np.where(mask[:, None], observed, 0.0)
            sampled = Sampled(outputs, expected, labels, mask, chances)
            found = powered_metric(estimator, name, sampled, followed)
            squares[kind].append((found.value - truth) ** 2)
    mean = {kind: float(np.mean(values)) for kind, values in squares.items()}
    stratum = np.searchsorted(np.quantile(losses, np.arange(1, STRATA) / STRATA), losses)
    open_squares = np.bincount(stratum, (seen - losses) ** 2, STRATA)
    spread = np.sqrt(open_squares / np.maximum(np.bincount(stratum, minlength=STRATA), 1))[stratum]
    # Var = Σ (1 − π)/π·residual²/n², of Neyman's chances and of the plain mean.
    best = inclusion_probabilities(spread, count, even=0.01)
    bound = ((1 - best) / best * (seen - losses - (seen - losses).mean()) ** 2).sum()
    plain = ((1 - even) / even * (seen - seen.mean()) ** 2).sum()
    return np.array([
        1 - mean["chosen"] / mean["plain"], 1 - mean["chosen"] / mean["powered"], 1 - bound / plain
    ])  # fmt: skip
