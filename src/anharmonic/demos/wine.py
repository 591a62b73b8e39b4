"""Four models of two Wine features (main paper, section 4, Tables 1 and 2).

Two fit well and two overfit; gamma of the class label over a box tells them apart without
labels. Test accuracies vary with the split and with the library's versions, so they are
shown and not tuned to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import MissingExtra
from anharmonic.measures.compare import Comparison, LabelledScore
from anharmonic.measures.compare.labelled import score_labels
from anharmonic.measures.gamma.measure import gamma
from anharmonic.regions import as_region, grid
from anharmonic.scores import Scores

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

__all__ = [
    "BOX",
    "FEATURES",
    "PAPER",
    "RADIUS",
    "Wine",
    "fitted",
    "wine",
    "wine_models",
    "wine_page",
    "wine_split",
]

FEATURES = ("flavanoids", "od280/od315_of_diluted_wines")
BOX = [(0.0, 5.0), (1.0, 4.0)]
RADIUS = 0.05
STEPS = 60
PAPER = {
    "GBDT-1": Estimate(0.014, 0.002),
    "GBDT-2": Estimate(0.051, 0.002),
    "MLP-1": Estimate(0.016, 0.001),
    "MLP-2": Estimate(0.027, 0.001),
}


class Wine(NamedTuple):
    """One row of the tables: a model, its accuracies and its gamma.

    `labelled` is the accuracy at the bottles that were held out, with its interval.
    """

    name: str
    train: float
    test: float
    scores: Scores
    paper: Estimate
    labelled: LabelledScore


def wine_split(seed: int = 0) -> tuple[Floats, Floats, Integers, Integers]:
    """The paper's two features, split 80/20: train and test points, train and test labels."""
    try:
        from sklearn.datasets import load_wine
        from sklearn.model_selection import train_test_split
    except ImportError as problem:
        raise MissingExtra("scikit-learn", "sklearn") from problem
    data = load_wine()
    columns = [data.feature_names.index(name) for name in FEATURES]
    points = data.data[:, columns]
    split = train_test_split(points, data.target, test_size=0.2, random_state=seed)
    return split[0], split[1], split[2], split[3]


def wine_models(seed: int = 0) -> dict[str, ClassifierMixin]:
    """The four models with the paper's hyperparameters, unfitted."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.neural_network import MLPClassifier

    return {
        "GBDT-1": GradientBoostingClassifier(
            max_depth=1, n_estimators=5, learning_rate=0.1, random_state=seed
        ),
        "GBDT-2": GradientBoostingClassifier(
            max_depth=100, n_estimators=200, learning_rate=1.0, random_state=seed
        ),
        "MLP-1": MLPClassifier((100,), max_iter=200, random_state=seed),
        "MLP-2": MLPClassifier(
            (100, 500, 1000),
            max_iter=1000,
            learning_rate_init=0.01,
            alpha=0.0,
            random_state=seed,
        ),
    }


def fitted(estimator: ClassifierMixin, points: Floats, labels: Integers) -> ClassifierMixin:
    """The estimator, trained without a word."""
    import warnings

    with warnings.catch_warnings():
        # The paper stops MLP-1 after 200 passes; that it has not converged is its point.
        warnings.simplefilter("ignore")
        return estimator.fit(points, labels)


def wine(seed: int = 0, steps: int = STEPS, rotations: int = 4) -> Iterator[Wine]:
    """Train the four models and measure each on a grid of steps × steps cells.

    Parameters
    ----------
    seed
        Of the split, the training and the directions.
    steps
        Cells along either feature.
    rotations
        Of `gamma`.

    References
    ----------
    Main paper, section 4, Tables 1 and 2.
    """
    train, test, train_labels, test_labels = wine_split(seed)
    region = grid(BOX, steps, FEATURES)
    for name, estimator in wine_models(seed).items():
        fitted(estimator, train, train_labels)
        scores = gamma(
            estimator, region, radius=RADIUS, rotations=rotations, output="label", seed=seed
        )
        yield Wine(
            name,
            float(estimator.score(train, train_labels)),
            float(estimator.score(test, test_labels)),
            scores,
            PAPER[name],
            score_labels(estimator, as_region(test), test_labels),
        )


def wine_page(path: str | os.PathLike[str], rows: Sequence[Wine], command: str | None) -> Path:
    """Write a page that tells the models apart, and return where it is.

    Parameters
    ----------
    path
        Where it goes.
    rows
        From `wine`.
    command
        The line that made it, to be shown.
    """
    from anharmonic.report import write

    found = Comparison(
        {row.name: row.scores for row in rows}, labelled={row.name: row.labelled for row in rows}
    )
    steps = found.settings.cells[0] if found.settings.cells else STEPS
    title = "Four models of the same wines"
    return write(path, found, points=grid(BOX, steps, FEATURES), title=title, command=command)
