"""How often does compare call two models different over the data that are alike in law?

Rows are drawn symmetrically around 0, and one model is the other one of the mirrored row: their
scores have the same distribution, and every difference called real is a mistake.
`python -m benchmarks.data_differences [trials]`.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import anharmonic as ah
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Rate
from anharmonic.measures.over_data import Forest, Neighbours

ROWS, FEATURES, TRIALS = 200, 5, 300
BAR = 0.06


def models(random: np.random.Generator) -> dict[str, object]:
    """A tree that learnt noise by heart, and the same tree of mirrored rows."""
    from sklearn.tree import DecisionTreeClassifier

    rows = random.normal(size=(300, FEATURES))
    labels = (rows[:, 0] + random.normal(size=300) > 0).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(rows, labels)

    def mirrored(values: Floats) -> Floats:
        return np.asarray(tree.predict_proba(-np.asarray(values)))

    return {"as it is": tree.predict_proba, "mirrored": mirrored}


def main(trials: int = TRIALS) -> bool:
    """The share of trials in which the two are told apart, for forests and for neighbours."""
    met = True
    print(f"differences called real between models alike in law, {ROWS} rows")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for weights in (Neighbours(), Forest()):
            random = np.random.default_rng(0)
            real = 0
            for number in range(trials):
                rows = random.normal(size=(ROWS, FEATURES))
                comparison = ah.compare(models(random), rows, ball=weights, seed=number)
                real += comparison.differences[0].real
            rate = Rate.of(real, trials)
            met &= rate.low <= BAR
            print(f"{weights.name:12} {rate} of {trials} trials", flush=True)
    print(f"bar: not surely above {BAR:.0%}: {'met' if met else 'MISSED'}")
    return met


if __name__ == "__main__":
    raise SystemExit(not main(*map(int, sys.argv[1:])))
