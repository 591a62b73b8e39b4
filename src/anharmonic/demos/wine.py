"""Four models of two Wine features (main paper, section 4, Tables 1 and 2).

Two fit well and two overfit; gamma of the class label over a box tells them apart without
labels. Test accuracies vary with the split and with the library's versions, so they are
shown and not tuned to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import MissingExtra
from anharmonic.measures.gamma.measure import gamma
from anharmonic.regions import grid
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
    "wine_split",
]

FEATURES = ("flavanoids", "od280/od315_of_diluted_wines")
BOX = [(0.0, 5.0), (1.0, 4.0)]
RADIUS = 0.05
PAPER = {
    "GBDT-1": Estimate(0.014, 0.002),
    "GBDT-2": Estimate(0.051, 0.002),
    "MLP-1": Estimate(0.016, 0.001),
    "MLP-2": Estimate(0.027, 0.001),
}


class Wine(NamedTuple):
    """One row of the tables: a model, its accuracies and its gamma."""

    name: str
    train: float
    test: float
    scores: Scores
    paper: Estimate


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


def wine(seed: int = 0, steps: int = 60, rotations: int = 4) -> Iterator[Wine]:
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
        )
