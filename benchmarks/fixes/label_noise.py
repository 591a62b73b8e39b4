"""Wrong labels found among training rows: the score that `fix` uses, beside its parts.

`python -m benchmarks.fixes label-noise --data FOLDER`. A tenth of the labels is changed, five
families of models are fitted to all of them, and each score ranks the rows. Areas under the curve,
means over families and seeds. Bar: 0.8 on average over tables that had no part in the choice.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from anharmonic._core.protocols import Floats
from anharmonic.errors import AnharmonicError
from anharmonic.fixes.refitting import ask, refit
from anharmonic.fixes.rows import Data
from anharmonic.fixes.scoring import class_positions, shares_of
from anharmonic.fixes.training_rows import suspicious_rows
from anharmonic.measures.over_data import gamma_data
from anharmonic.measures.over_data.encoding import encode
from anharmonic.measures.spectral import spade
from anharmonic.regions import unmoved
from benchmarks.fixes.kept import Kept
from benchmarks.fixes.sets import encoder, read_set
from studies.over_data.sets import with_flips

__all__ = ["measure_noise", "report"]

ROWS, SHARE = 500, 0.1
FAMILIES = ("tree", "boosted", "forest", "nearest row", "network")


def _estimator(family: str, rows: Any, seed: int) -> Any:
    from sklearn import ensemble, neighbors, neural_network, tree
    from sklearn.pipeline import make_pipeline

    models = {
        "tree": tree.DecisionTreeClassifier(random_state=seed),
        "boosted": ensemble.HistGradientBoostingClassifier(random_state=seed),
        "forest": ensemble.RandomForestClassifier(random_state=seed),
        "nearest row": neighbors.KNeighborsClassifier(1),
        "network": neural_network.MLPClassifier((256, 256), max_iter=300, random_state=seed),
    }
    return make_pipeline(encoder(rows), models[family])


def measure_noise(name: str, seeds: int, data: Path, kept: Kept) -> dict[str, list[float]]:
    """Areas under the curve by score, one per seed and family."""
    areas: dict[str, list[float]] = {}
    for seed in range(seeds):
        for family in FAMILIES:
            case = f"label noise {name}, {family}, seed {seed}"
            found = kept.measured(case, partial(_areas, name, family, seed, data))
            for score, area in found.items():
                areas.setdefault(score, []).append(area)
    return areas


def _areas(name: str, family: str, seed: int, data: Path) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score

    whole = Data(*read_set(name, data))
    some = whole.take(np.random.default_rng(seed).permutation(len(whole))[:ROWS])
    given, flips = with_flips(some.labels, seed, SHARE)
    noisy = Data(some.rows, given)
    is_flipped = np.isin(np.arange(len(noisy)), flips)
    return {
        score: float(roc_auc_score(is_flipped, values))
        for score, values in _scores(family, noisy, seed).items()
    }


def _scores(family: str, noisy: Data, seed: int) -> dict[str, Floats]:
    model = refit(_estimator(family, noisy.rows, seed), noisy)
    asked = ask(model, noisy.rows)
    shares = shares_of(asked)
    columns = np.arange(shares.shape[1])
    given = class_positions(noisy.labels, asked.classes, len(columns))
    own = np.arange(len(given)), given
    answers = np.asarray(shares.argmax(axis=1)[:, None] == columns, float)
    of_answers = gamma_data(noisy.rows, answers, kind="onehot", seed=seed)
    labels = np.asarray(given[:, None] == columns, float)
    of_labels = gamma_data(noisy.rows, labels, kind="onehot", seed=seed)
    disagreement = 1 - (of_answers.outputs - of_answers.signed)[own]
    nodes = _node_scores(noisy, shares, seed)
    ranks = [rankdata(values) for values in (disagreement, of_answers.values, nodes)]
    return {
        "fix": suspicious_rows(asked, noisy, seed).values,
        "label against others' answers": disagreement,
        "label against others' labels": 1 - (of_labels.outputs - of_labels.signed)[own],
        "gamma over the data": of_answers.values,
        "SPADE node score": nodes,
        "product of ranks: answers × gamma × node": ranks[0] * ranks[1] * ranks[2],
        "1 − probability of the label": 1 - shares[own],
    }


def _node_scores(noisy: Data, shares: Floats, seed: int) -> Floats:
    """SPADE's, or equal ones where it refuses answers that are mostly copies."""
    features = encode([unmoved(noisy.rows)], None).for_distances()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return spade(features, shares, blocks=0, seed=seed).values
    except AnharmonicError:
        return np.zeros(len(shares))


def report(areas: dict[str, dict[str, list[float]]]) -> dict[str, bool]:
    """A line for each score, and whether the bar is met."""
    tables = list(areas)
    print(f"{'AUROC':42s}" + "".join(f"{name:>15s}" for name in tables) + f"{'mean':>8s}")
    means = {}
    for score in areas[tables[0]]:
        by_table = [float(np.mean(areas[name][score])) for name in tables]
        means[score] = float(np.mean(by_table))
        print(
            f"{score:42s}" + "".join(f"{area:15.3f}" for area in by_table) + f"{means[score]:8.3f}"
        )
    below = [name for name in tables if np.mean(areas[name]["fix"]) < 0.8]
    lacking = ", ".join(below) or "none"
    bar = f"AUROC at least 0.8 on average ({means['fix']:.3f}; below on {lacking})"
    return {bar: means["fix"] >= 0.8}
