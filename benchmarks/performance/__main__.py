"""Performance without labels beside NannyML's CBPE and DLE, on the same windows and models.

`python -m benchmarks.performance --data FOLDER --nannyml PYTHON`: FOLDER has electricity.csv and
tables/; PYTHON is that of an environment with NannyML, whose own data sets are used as well.
Bars: mean |estimated − true| per window not above NannyML's on any data set and below on half;
90% intervals cover 85–95% where the estimate claims to know; 2% of labels halve the error; chosen
rows need 30% fewer labels for the same width.

Beside each error stands its floor: the mean |true − expected| that the labels of a window's own
rows would leave if every row's expected loss were known, √(2/π) of their standard deviation as the
estimator has it. Nothing but the labels themselves can go below it, so that where half of an error
is less than the floor, 2% of labels cannot halve it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic.performance import Estimator, PerformanceTracker, choose_rows, fit_performance
from anharmonic.performance.choosing import draw_rows
from anharmonic.performance.labelled import powered_metric
from anharmonic.performance.metrics import metric_value, observed_credits, row_losses
from benchmarks.performance.sources import SOURCES, Case

RIVALLED = {"classes": ("accuracy", "auc"), "numbers": ("mae", "rmse")}
LABELS, DRAWS = 0.02, 40


class Line(NamedTuple):
    """Per window: errors of three estimates, whether it was covered and known, and the floor."""

    ours: list[float]
    theirs: list[float]
    labelled: list[float]
    covered: list[bool]
    known: list[bool]
    floor: list[float]


def their_estimates(python: str, folder: Path, cases: dict[str, Case]) -> dict[str, Any]:
    """NannyML's estimates of all cases, from its own environment."""
    for name, case in cases.items():
        arrays = {part: getattr(case, part) for part in Case._fields if part not in _WORDS}
        np.savez(folder / f"{name}.case.npz", **arrays)
    script = Path(__file__).with_name("rival.py")
    quiet = {**os.environ, "NML_DISABLE_USAGE_LOGGING": "1"}
    subprocess.run([python, str(script), str(folder)], check=True, env=quiet, capture_output=True)
    return {name: np.load(folder / f"{name}.rival.npz") for name in cases}


_WORDS = {"name", "kind", "columns", "blind"}


def compare(case: Case, theirs: Any, estimator: Estimator, seed: int) -> dict[str, Line]:
    """Each metric's errors over the windows."""
    tracker = PerformanceTracker(estimator, window=case.window, windows=1000, pending=10**7)
    outputs, features, labels = case.traffic_outputs, case.traffic_features, case.traffic_labels
    ids = [str(number) for number in range(len(outputs))]
    tracker.update(outputs, features, ids=ids)
    plain = tracker.curve()
    drawn = np.random.default_rng(seed).permutation(len(outputs))[: int(LABELS * len(outputs))]
    tracker.add_labels([ids[row] for row in drawn], labels[drawn])
    lines = {}
    for name in estimator.metrics:
        line = Line([], [], [], [], [], [])
        for number, (found, later) in enumerate(zip(plain, tracker.curve(), strict=True)):
            rows = slice(number * case.window, (number + 1) * case.window)
            credits = observed_credits(outputs[rows], labels[rows], estimator.kind)
            truth = metric_value(name, outputs[rows], credits)
            line.ours.append(abs(found[name].value - truth))
            line.labelled.append(abs(later[name].value - truth))
            line.covered.append(found[name].low <= truth <= found[name].high)
            line.known.append(found.known)
            expected = estimator.expected(outputs[rows], features[rows])
            noise = estimator.label_variance(name, outputs[rows], expected)
            line.floor.append(float(np.sqrt(2 / np.pi * noise)))
            if name in RIVALLED[case.kind]:
                line.theirs.append(abs(float(theirs[name][number]) - truth))
        lines[name] = line
    return lines


def label_savings(case: Case, estimator: Estimator) -> tuple[float, float]:
    """Labels saved by chosen rows at equal width, against random rows: plain, and powered.

    Widths go by 1/√labels, so that labels at equal width go by the squared widths. Errors are
    those seen over many draws from the first windows, not those that the formula claims.
    """
    rows = slice(0, min(len(case.traffic_outputs), 10 * case.window))
    outputs, features = case.traffic_outputs[rows], case.traffic_features[rows]
    name = estimator.metrics[0]
    count = max(50, len(outputs) // 50)
    expected = estimator.expected(outputs, features)
    observed = observed_credits(outputs, case.traffic_labels[rows], estimator.kind)
    truth = metric_value(name, outputs, observed)
    errors: dict[str, list[float]] = defaultdict(list)
    even = np.full(len(outputs), count / len(outputs))
    chances_chosen = choose_rows(estimator, outputs, features, count).chances
    losses = row_losses(name, outputs, expected)
    for draw in range(DRAWS * 3):
        random = np.zeros(len(outputs), dtype=bool)
        random[np.random.default_rng(draw).permutation(len(outputs))[:count]] = True
        mine = np.zeros(len(outputs), dtype=bool)
        mine[draw_rows(chances_chosen, losses, count, draw)] = True
        for kind, mask, chances, followed in (
            ("plain", random, even, 0.0),
            ("powered", random, even, None),
            ("chosen", mine, chances_chosen, None),
        ):
            found = powered_metric(
                name, outputs, expected, observed, mask, chances, followed=followed
            )
            errors[kind].append(found.value - truth)
    squares = {kind: float(np.mean(np.square(values))) for kind, values in errors.items()}
    return 1 - squares["chosen"] / squares["plain"], 1 - squares["chosen"] / squares["powered"]


def main(arguments: list[str] | None = None) -> bool:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--nannyml", required=True, help="a Python that has NannyML")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(SOURCES))
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    where = "import nannyml.datasets as d, os; print(os.path.dirname(d.__file__))"
    quiet = {**os.environ, "NML_DISABLE_USAGE_LOGGING": "1"}
    shown = subprocess.run(
        [given.nannyml, "-W", "ignore", "-c", where],
        check=True,
        env=quiet,
        capture_output=True,
        text=True,
    )
    bundled = Path(shown.stdout.split()[-1]) / "data"
    cases = {
        f"{name}.{seed}": SOURCES[name].make(given.data, bundled, seed)
        for name in given.only
        for seed in range(given.seeds)
    }
    with tempfile.TemporaryDirectory() as folder:
        theirs = their_estimates(given.nannyml, Path(folder), cases)
    met = report(cases, theirs, given.only, given.seeds)
    for bar, is_met in met.items():
        print(f"{'met' if is_met else 'MISSED':7s} {bar}")
    return all(met.values())


def report(
    cases: dict[str, Case], theirs: dict[str, Any], names: list[str], seeds: int
) -> dict[str, bool]:
    """Print a line per data set and metric; the bars and whether they are met."""
    worse, better, pairs, halved, out_of_reach = [], 0, 0, [], 0
    coverage: dict[bool, list[bool]] = {True: [], False: []}
    savings = []
    inside: list[bool] = []
    print(f"{'data':15s} {'metric':9s} {'ours':>9s} {'± seeds':>9s} {'NannyML':>9s} "
          f"{'with 2%':>9s} {'floor':>9s} {'covered':>8s} {'known':>6s}")  # fmt: skip
    for name in names:
        lines = defaultdict(list)
        for seed in range(seeds):
            case = cases[f"{name}.{seed}"]
            estimator = fit_performance(
                case.outputs, case.labels, case.features, kind=_kind(case),
                categories=case.categories, names=case.columns, seed=seed,
            )  # fmt: skip
            for metric, line in compare(case, theirs[f"{name}.{seed}"], estimator, seed).items():
                lines[metric].append(line)
            if seed == 0:
                savings.append((name, *label_savings(case, estimator)))
        for metric, found in lines.items():
            ours = np.array([np.mean(line.ours) for line in found])
            theirs_mean = np.mean([np.mean(line.theirs or [np.nan]) for line in found])
            labelled = np.mean([np.mean(line.labelled) for line in found])
            floor = float(np.mean([np.mean(line.floor) for line in found]))
            known = np.concatenate([line.known for line in found])
            covered = np.concatenate([line.covered for line in found])[known]
            spread = ours.std(ddof=1) if len(ours) > 1 else np.nan
            print(f"{name:15s} {metric:9s} {ours.mean():9.4g} {spread:9.2g} {theirs_mean:9.4g} "
                  f"{labelled:9.4g} {floor:9.4g} {covered.mean() if len(covered) else np.nan:8.0%} "
                  f"{known.mean():6.0%}", flush=True)  # fmt: skip
            if metric in RIVALLED[case.kind]:
                pairs += 1
                better += ours.mean() < theirs_mean
                if ours.mean() > theirs_mean:
                    worse.append(f"{name} {metric}")
                halved.append((f"{name} {metric}", labelled / ours.mean()))
                out_of_reach += ours.mean() / 2 < floor
            if not case.blind:
                coverage[SOURCES[name].chosen_on].extend(covered.tolist())
                if len(covered):
                    inside.append(0.85 <= float(covered.mean()) <= 0.95)
    print("\nlabels saved by chosen rows against random ones: plain mean, prediction-powered")
    for name, plain, powered in savings:
        print(f"{name:15s} {plain:6.0%} {powered:6.0%}")
    shares = {
        group: float(np.mean(found)) if found else np.nan for group, found in coverage.items()
    }
    print(f"\ncovered where known, no blind shift: {shares[True]:.1%} of windows where the method "
          f"was chosen, {shares[False]:.1%} of the others")  # fmt: skip
    ratio = [share for _, share in halved]
    print(f"error with 2% of labels over that without: median {np.median(ratio):.2f}, at most half "
          f"in {sum(share <= 0.5 for share in ratio)} of {len(ratio)}; half of the error is below "
          f"the floor in {out_of_reach}")  # fmt: skip
    both = coverage[True] + coverage[False]
    saved = [float(np.median([line[place] for line in savings])) for place in (1, 2)]
    return {
        f"not above NannyML on any (above: {', '.join(worse) or 'none'})": not worse,
        f"below NannyML on half ({better} of {pairs})": better * 2 >= pairs,
        f"intervals cover 85–95% in each data set and metric ({sum(inside)} of {len(inside)})": all(
            inside
        ),
        f"90% intervals cover 85–95% where known, all windows ({np.mean(both):.1%})": 0.85
        <= float(np.mean(both))
        <= 0.95,
        "2% of labels halve the error, in every data set": max(ratio) <= 0.5,
        f"30% fewer labels than random and the plain mean (median {saved[0]:.0%})": saved[0] >= 0.3,
        f"30% fewer labels than random, powered (median {saved[1]:.0%})": saved[1] >= 0.3,
    }


def _kind(case: Case) -> Any:
    return case.kind


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
