"""Whether the radius that `sweep` advises ranks models by how much they overfit.

    python -m benchmarks.radius_advice

On the six data sets of the overfitting study that its radius was not chosen on: five models of one
family, from too stiff to memorising, are swept at new points, and ranked as `compare` ranks them,
by the larger mean at new and training points. Spearman's correlation with the true gap (train less
test score) is shown at every radius, at the one that is advised, and at the one that tells the
closest pair of models apart best, which is what `sweep` advised before. Rows are families of sets.
"""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np
from scipy.stats import spearmanr

import anharmonic as ah
from anharmonic._core.statistics import Moments
from anharmonic.measures.compare.radius_advice import advise
from anharmonic.measures.compare.sweeping import FRACTIONS
from studies.overfitting.families import CAPACITIES, FAMILIES, built
from studies.overfitting.sets import TESTED_ON, split

POINTS, SEED = 100, 1


def correlations(name: str, family: str) -> dict[str, float]:
    """By radius and by advice, on one set with one family."""
    parts = split(name, SEED)
    with warnings.catch_warnings():
        # The largest networks stop before they converge.
        warnings.simplefilter("ignore")
        models = {
            str(capacity): built(family, capacity, parts.task, parts.train.shape[1], SEED).fit(
                parts.train, parts.train_answers
            )
            for capacity in CAPACITIES
        }
    gaps = [
        model.score(parts.train, parts.train_answers) - model.score(parts.test, parts.test_answers)
        for model in models.values()
    ]
    random = np.random.default_rng(SEED)
    output = "onehot" if parts.task == "classification" else None
    points = random.permutation(parts.test)[:POINTS]
    new = ah.sweep(models, points, reference=parts.train, rotations=2, output=output)
    trained, radii = random.permutation(parts.train)[:POINTS], list(new.radii)
    old = ah.sweep(models, trained, radii, reference=parts.train, rotations=2, output=output)

    def correlation(index: int) -> float:
        larger = [max(new.means(name)[0][index], old.means(name)[0][index]) for name in models]
        # All alike is no order, and ranks nothing.
        return float(np.nan_to_num(spearmanr(larger, gaps)[0]))

    by_radius = {f"{share:g}": correlation(index) for index, share in enumerate(FRACTIONS)}
    advised = new.radii.index(new.recommended.radius)
    sharpest = new.radii.index(advise(new.radii, new.comparisons, None).radius)
    return by_radius | {"advised": correlation(advised), "sharpest": correlation(sharpest)}


def main() -> None:
    """The table, one line per radius in nearest-neighbour distances."""
    found: dict[str, list[float]] = defaultdict(list)
    for name in TESTED_ON:
        for family in FAMILIES:
            for radius, correlation in correlations(name, family).items():
                found[radius].append(correlation)
    print("radius    Spearman with the true gap")
    for radius, values in found.items():
        moments = Moments.of(np.array(values))
        print(f"{radius:8}  {float(moments.mean):.3f} ± {float(moments.error):.3f}")


if __name__ == "__main__":
    main()
