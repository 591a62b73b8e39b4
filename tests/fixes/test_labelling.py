"""Which rows are chosen to be labelled, where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from anharmonic.fixes import labelling
from anharmonic.fixes.labelling import Uncertain, choose_to_label, uncertain_rows
from anharmonic.fixes.likeness import NOISE, alikeness, most_telling
from anharmonic.fixes.refitting import ask
from anharmonic.fixes.rows import Data

RANDOM = np.random.default_rng(0)
NONE = np.empty((0, 3), dtype=np.int64)


def clumps(*sizes: int) -> np.ndarray:
    """Leaves of rows of which each clump has its own in each of three trees."""
    of_row = np.repeat(np.arange(len(sizes)), sizes)
    return np.stack([of_row, of_row + 7, of_row], axis=1)


def test_likeness_is_the_share_of_trees_with_one_leaf():
    points, labels = make_classification(80, 4, random_state=0)
    leaves = RandomForestClassifier(30, random_state=0).fit(points, labels).apply(points)
    alike = alikeness(leaves, leaves[:20])
    assert alike == pytest.approx((leaves[:, None] == leaves[None, :20]).mean(axis=2))
    # A covariance: symmetric, 1 with oneself, and no direction has a variance below 0.
    whole = alikeness(leaves, leaves)
    assert (np.diag(whole) == 1).all()
    assert np.linalg.eigvalsh(whole).min() > -1e-9


def test_the_most_telling_row_lowers_the_variance_of_a_gaussian_process_most():
    leaves = RANDOM.integers(0, 3, size=(14, 40))
    weights = RANDOM.random(14)
    known = leaves[:4]
    kernel = alikeness(leaves, leaves)

    def variance(rows: list[int]) -> float:
        across = kernel[rows]
        seen = kernel[np.ix_(rows, rows)] + NOISE * np.eye(len(rows))
        left = np.diag(kernel - across.T @ np.linalg.solve(seen, across))
        return float(weights @ left)

    chosen = most_telling(weights, leaves, known, 3).tolist()
    taken = [0, 1, 2, 3]
    for row in chosen:
        best = min(set(range(14)) - set(taken[4:]), key=lambda other: variance([*taken, other]))
        assert variance([*taken, row]) == pytest.approx(variance([*taken, best]))
        taken.append(row)


def test_the_variances_are_those_of_a_gaussian_process():
    points = RANDOM.normal(size=(12, 2))
    kernel = RBF(1.0)(points)
    process = GaussianProcessRegressor(RBF(1.0), alpha=NOISE, optimizer=None)
    after = [
        (process.fit(points[[row]], [0.0]).predict(points, return_std=True)[1] ** 2).sum()
        for row in range(12)
    ]
    lowered = (kernel**2).sum(axis=0) / (1 + NOISE)
    assert 12 - lowered == pytest.approx(after)


def test_labels_are_wanted_where_rows_are_unsure_and_apart():
    # Two clumps of unsure rows and a sure one: two rows are one of each unsure clump.
    values = np.concatenate([np.full(5, 0.9), np.full(5, 0.8), np.full(20, 0.0)])
    chosen = choose_to_label(Uncertain(values, clumps(5, 5, 20), NONE), 2, seed=0)
    assert chosen[0] < 5 <= chosen[1] < 10


def test_labels_are_wanted_where_there_are_many_rows_and_none_is_known():
    # As unsure everywhere: the largest clump tells most, unless its label is known.
    values = np.full(20, 0.5)
    leaves = clumps(2, 12, 6)
    assert choose_to_label(Uncertain(values, leaves, NONE), 1, seed=0)[0] in range(2, 14)
    known = np.repeat(leaves[[2]], 9, axis=0)
    assert choose_to_label(Uncertain(values, leaves, known), 1, seed=0)[0] in range(14, 20)


@pytest.mark.parametrize("count", [1, 7, 30, 200])
@pytest.mark.parametrize("among", [25, 2000])
def test_as_many_rows_as_asked_for_and_none_twice(count, among, monkeypatch):
    monkeypatch.setattr(labelling, "AMONG", among)
    monkeypatch.setattr(labelling, "AT_A_TIME", 10)
    unsure = Uncertain(RANDOM.random(60), clumps(*[6] * 10), clumps(30))
    chosen = choose_to_label(unsure, count, seed=0)
    assert len(set(chosen.tolist())) == len(chosen) == min(count, 60)
    assert chosen.tolist() == choose_to_label(unsure, count, seed=0).tolist()
    if count == 7:
        # Of ten clumps none is chosen twice.
        assert len(set((chosen // 6).tolist())) == 7 or among == 25


def test_a_model_that_is_sure_of_all_leaves_the_choice_to_the_rows():
    unsure = Uncertain(np.zeros(12), clumps(2, 6, 4), NONE)
    chosen = choose_to_label(unsure, 3, seed=0)
    assert chosen[0] in range(2, 8)
    assert chosen[1] in range(8, 12)
    assert chosen[2] in range(2)


def test_unsure_rows_lie_at_the_boundary():
    points, labels = make_classification(300, 4, random_state=0)
    model = LogisticRegression().fit(points, labels)
    asked = ask(model, points)
    unsure = uncertain_rows(asked, points, Data(points, labels), seed=0)
    margin = np.abs(model.decision_function(points))
    assert stats.spearmanr(unsure.values, margin).statistic < -0.8
    numbers = uncertain_rows(
        ask(Ridge().fit(points, points[:, 0]), points), points, Data(points, points[:, 0]), seed=0
    )
    assert numbers.values.shape == (300,)


def test_a_tree_that_is_always_sure_is_asked_with_a_forest():
    points, labels = make_classification(400, 4, random_state=0)
    labelled = Data(points[:200], labels[:200])
    tree = DecisionTreeClassifier(random_state=0).fit(labelled.rows, labelled.labels)
    unsure = uncertain_rows(ask(tree, points[200:]), points[200:], labelled, seed=0).values
    wrong = tree.predict(points[200:]) != labels[200:]
    assert len(np.unique(unsure)) > 20
    assert roc_auc_score(wrong, unsure) > 0.65


def test_many_labelled_rows_are_held_against_a_sample(monkeypatch):
    monkeypatch.setattr(labelling, "AMONG", 50)
    points, labels = make_classification(300, 4, random_state=0)
    model = LogisticRegression().fit(points, labels)
    unsure = uncertain_rows(ask(model, points), points, Data(points, labels), seed=0)
    assert unsure.known.shape == (50, labelling.TREES)
    assert unsure.leaves.shape == (300, labelling.TREES)
    assert len(choose_to_label(unsure, 60, seed=0)) == 60
