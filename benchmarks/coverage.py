"""Do the 95% intervals of single points hold the truth, on models of the kind users have?

    python -m benchmarks.coverage [--points 60] [--repetitions 8]

For trees, boosted trees, forests, networks with kinks and smooth ones, in 2, 8 and 30
dimensions, after 4 and 16 turns: the share of intervals that hold a gamma measured with 1,000
turns of another seed, among the points where that is not 0; the share of intervals of width 0
there; and the width in units of Student's interval with turns − 1 degrees of freedom, which
knows neither steps nor rounding. Then, with `tolerance=`, the share of points that are
farther than the tolerance from the truth, and what that cost.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np

import anharmonic as ah
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import half_widths

TURNS = (4, 16)
TRUTH_TURNS = 1000


def models(dimension: int) -> tuple[dict[str, Any], Floats, Floats]:
    """Fitted models by name, points near the data, and the data."""
    from sklearn.datasets import make_classification
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    informative = max(2, dimension // 2)
    data, labels = make_classification(
        500,
        dimension,
        n_informative=informative,
        n_redundant=0,
        n_clusters_per_class=1,
        flip_y=0.1,
        random_state=1,
    )
    curve = 10 * (data[:, 0] ** 2 + np.sin(2 * data[:, 1]) + data[:, 0] * data[:, 1])
    random = np.random.default_rng(dimension)
    noisy = curve + 3 * random.normal(size=len(data))

    def network(kind: Any, activation: str) -> Any:
        net = kind(hidden_layer_sizes=(30,), activation=activation, max_iter=300, random_state=0)
        return make_pipeline(StandardScaler(), net)

    unfitted = {
        "tree": DecisionTreeClassifier(random_state=0),
        "forest": RandomForestClassifier(20, random_state=0),
        "boosted trees": GradientBoostingClassifier(n_estimators=30, random_state=0),
        "histogram boosting": HistGradientBoostingClassifier(max_iter=30, random_state=0),
        "tree regressor": DecisionTreeRegressor(random_state=0),
        "ReLU classifier": network(MLPClassifier, "relu"),
        "ReLU regressor": network(MLPRegressor, "relu"),
        "tanh classifier": network(MLPClassifier, "tanh"),
        "tanh regressor": network(MLPRegressor, "tanh"),
    }
    for name, model in unfitted.items():
        model.fit(data, noisy if "regressor" in name else labels)
    near = data[random.choice(len(data), 400)] + 0.5 * data.std(axis=0) * random.normal(
        size=(400, dimension)
    )
    return unfitted, near, data


class Case(NamedTuple):
    """A model, where it is measured and how far around; "auto" would vary with the seed."""

    model: Any
    points: Floats
    data: Floats
    radius: float

    def measure(self, **told: Any) -> ah.Scores:
        return ah.gamma(
            self.model,
            self.points,
            reference=self.data,
            radius=self.radius,
            noise="ignore",
            **told,
        )


def truth(case: Case) -> Floats:
    """Gamma with a thousand turns of another seed."""
    return case.measure(rotations=TRUTH_TURNS, seed=987).values


def covered(case: Case, true: Floats, turns: int, repetitions: int) -> tuple[float, float, float]:
    """Coverage, share of width 0, and relative width, over the points where gamma is not 0."""
    held, empty, width, plain = [], [], [], []
    counts = true > 1e-9 * max(1.0, float(np.abs(true).max()))
    for seed in range(repetitions):
        scores = case.measure(rotations=turns, seed=seed)
        low, high = (end[counts] for end in scores.intervals())
        value, student = (
            numbers[counts] for numbers in (scores.values, half_widths(scores.errors, scores.turns))
        )
        held.append((low <= true[counts]) & (true[counts] <= high))
        empty.append(high <= low)
        width.append(high - low)
        plain.append(value + student - np.maximum(value - student, 0))
    return float(np.mean(held)), float(np.mean(empty)), float(np.mean(width) / np.mean(plain))


def off(case: Case, true: Floats) -> tuple[float, float, float]:
    """With a tolerance of a fifth of a large gamma: how many miss it, and queries per point."""
    tolerance = 0.2 * float(np.quantile(true, 0.9)) or 0.01
    scores = case.measure(tolerance=tolerance, seed=5)
    missed = np.abs(scores.values - true) > tolerance
    return float(np.mean(missed)), tolerance, scores.queries / len(true)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--repetitions", type=int, default=8)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 8, 30])
    parser.add_argument("--radius", type=float, default=1.0, help="in units of the automatic one")
    told = parser.parse_args()
    warnings.simplefilter("ignore")  # networks that need not converge here
    for dimension in told.dimensions:
        fitted, near, data = models(dimension)
        points = near[: told.points]
        automatic = ah.gamma(fitted["tree"], points[:2], reference=data).settings.radius
        for name, model in fitted.items():
            case = Case(model, points, data, told.radius * automatic)
            true = truth(case)
            cells = [
                "{:.3f} held, {:.2f} of width 0, {:.2f}x".format(
                    *covered(case, true, turns, told.repetitions)
                )
                for turns in TURNS
            ]
            missed, tolerance, price = off(case, true)
            print(
                f"n={dimension:<3} {name:<20} 4 turns: {cells[0]} | 16 turns: {cells[1]} | "
                f"tolerance {tolerance:.2g}: {missed:.3f} off, {price:.0f} queries per point",
                flush=True,
            )


if __name__ == "__main__":
    main()
