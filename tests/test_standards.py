"""Standards with known answers, and a new one in a few lines."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.measures import standards as package
from anharmonic.measures.standards import Lipschitz, Monotone, deviation, standards

POINTS = np.random.default_rng(0).normal(size=(30, 4))
NEAR = {"radius": 0.3, "scale": None}
EVERY = {**standards(), "monotone": Monotone({0: 1}), "Lipschitz": Lipschitz(1.0)}


def bowl(x):
    return (x**2).sum(axis=1)


def measured(of, standard, points=POINTS, **more):
    return deviation(of, points, standard=standard, **NEAR, **more)


def test_every_file_holds_a_standard_that_is_listed_here():
    modules = {each.name for each in pkgutil.iter_modules(package.__path__)}
    kinds = {type(standard).__module__.rsplit(".", 1)[1] for standard in EVERY.values()}
    assert modules - {"standard", "measuring"} == kinds
    for module in kinds:
        importlib.import_module(f"anharmonic.measures.standards.{module}")


@pytest.mark.parametrize("name", EVERY)
def test_a_constant_meets_every_standard_and_levels_do_not_count(name):
    flat = measured(lambda x: np.full(len(x), 7.0), EVERY[name])
    assert (flat.values == 0).all()
    assert (flat.errors == 0).all()
    one = measured(lambda x: np.sin(x).sum(axis=1), EVERY[name])
    raised = measured(lambda x: np.sin(x).sum(axis=1) + 5, EVERY[name])
    np.testing.assert_allclose(one.values, raised.values, atol=1e-12)
    assert one.settings.standard == EVERY[name].name in repr(one)


@pytest.mark.parametrize("name", standards())
def test_straight_lines_meet_every_standard_that_needs_no_number(name):
    assert measured(lambda x: 3 * x[:, 0] - x[:, 3], name).values.max() < 1e-12


@pytest.mark.parametrize("dimension", [1, 2, 4, 30])
def test_a_bowl(dimension):
    points = np.random.default_rng(1).normal(size=(20, dimension))
    square = 0.3**2
    expected = {
        "harmonic": square, "affine": square, "convex": 0, "concave": square, "biharmonic": 0
    }  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(measured(bowl, name, points).values, value, atol=1e-12)


def test_a_saddle_is_harmonic_and_not_affine():
    """E[(r²·u₀·u₁)²] = r⁴/(n(n + 2)) on the sphere."""
    points = np.zeros((400, 2))
    saddle = {
        name: measured(lambda x: x[:, 0] * x[:, 1], name, points) for name in ("harmonic", "affine")
    }
    assert saddle["harmonic"].values.max() < 1e-12
    squares = (saddle["affine"].values ** 2).mean()
    assert squares == pytest.approx(0.3**4 / 8, rel=0.05)


def test_fourth_powers_are_not_biharmonic():
    """|x|⁴ at 0 has means r⁴ and (r/2)⁴: |0 − (4/16 − 1)·r⁴/3| = r⁴/4."""
    found = measured(lambda x: (x**2).sum(axis=1) ** 2, "biharmonic", np.zeros((3, 5)))
    np.testing.assert_allclose(found.values, 0.3**4 / 4)


def test_monotone_counts_what_goes_the_wrong_way():
    frame = pd.DataFrame(POINTS, columns=list("abcd"))
    slope = lambda x: np.asarray(x)[:, 0] - 2 * np.asarray(x)[:, 1]  # noqa: E731
    assert measured(slope, Monotone({"a": 1, "b": -1}), frame).values.max() == 0
    found = measured(slope, Monotone({"a": 1, "b": 1}), frame)
    np.testing.assert_allclose(found.values, 2 * 0.3 / 2)
    assert found.queries == len(frame) * 9
    with pytest.raises(SettingsError, match="no column 'age'"):
        measured(slope, Monotone({"age": 1}), frame)
    with pytest.raises(SettingsError, match="rises"):
        Monotone({"a": 2})


def test_lipschitz_counts_the_excess():
    points = np.random.default_rng(2).normal(size=(10, 1))
    steep = lambda x: 3 * x[:, 0]  # noqa: E731
    assert measured(steep, Lipschitz(3.0), points).values.max() < 1e-12
    np.testing.assert_allclose(measured(steep, Lipschitz(1.0), points).values, 2 * 0.3)
    with pytest.raises(SettingsError, match="at least 0"):
        Lipschitz(-1.0)


def test_of_two_classes_the_second_is_judged():
    points = np.random.default_rng(0).normal(size=(200, 3))
    model = LogisticRegression().fit(points, points[:, 0] > 0)
    slope = model.coef_[0]
    for column in range(3):
        signs = {column: 1 if slope[column] > 0 else -1}
        assert deviation(model, points, standard=Monotone(signs)).values.max() == 0
        signs = {column: -signs[column]}
        against = deviation(model, points, standard=Monotone(signs))
        alone = deviation(model, points, standard=Monotone(signs), output=1)
        np.testing.assert_array_equal(against.values, alone.values)
        assert against.values.min() > 0
    for name in ("convex", "concave"):
        both, second = (
            deviation(model, points, standard=name, output=output) for output in (None, 1)
        )
        np.testing.assert_array_equal(both.values, second.values)
        # Log odds of a logistic regression are straight.
        odds = deviation(model, points, standard=name, output="logit")
        assert odds.values.max() < 1e-12
    # Two columns of logits, as of a tree, are one of log odds.
    tree = DecisionTreeClassifier(max_depth=3).fit(points, points[:, 0] > 0)
    assert deviation(tree, points, standard=Monotone({0: 1}), output="logit").values.max() == 0


def test_of_three_classes_one_has_to_be_named():
    points = np.random.default_rng(0).normal(size=(200, 3))
    model = LogisticRegression().fit(points, np.digitize(points[:, 0], [-0.5, 0.5]))
    for standard in ("convex", "concave", Monotone({0: 1})):
        with pytest.raises(SettingsError, match="output="):
            deviation(model, points, standard=standard)
    assert deviation(model, points, standard=Monotone({0: 1}), output=2).values.max() < 1e-9
    # Standards without a direction take all classes together, and so do columns of a function.
    assert deviation(model, points, standard="affine").values.min() > 0
    assert deviation(model.predict_proba, points, standard=Monotone({0: 1})).values.min() > 0


def test_errors_are_those_of_another_seed():
    """A wave in one of four directions: the spread over seeds is what the errors say."""
    wave = lambda x: np.sin(2 * x[:, 0] * x[:, 1])  # noqa: E731
    runs = [measured(wave, "affine", seed=seed) for seed in range(30)]
    spread = np.std([run.values for run in runs], axis=0, ddof=1)
    stated = np.sqrt(np.mean([run.errors**2 for run in runs], axis=0))
    assert 0.7 < np.median(stated / spread) < 1.4


def test_harmonic_is_gamma():
    wave = lambda x: np.sin(3 * x).sum(axis=1)  # noqa: E731
    mine = measured(wave, "harmonic", pairs=8, turns=64)
    gamma = ah.gamma(wave, POINTS, ball="auto pairs", rotations=64, **NEAR)
    np.testing.assert_allclose(
        mine.values, gamma.values, atol=4 * np.max(mine.errors + gamma.errors)
    )


def test_a_standard_of_ones_own():
    class Even:
        """f(x + u) = f(x − u)."""

        name, along_axes, half = "even", False, False

        def deviation(self, around):
            return np.abs(around.ahead - around.behind).mean(axis=(1, 2)) / 2

    assert measured(bowl, Even(), np.zeros((2, 3))).values.max() < 1e-12
    assert measured(lambda x: x[:, 0], Even()).values.min() > 0


def test_bad_arguments_say_what_to_do():
    with pytest.raises(SettingsError, match=r"choose affine.*Monotone"):
        measured(bowl, "round")
    with pytest.raises(SettingsError, match="2 turns"):
        measured(bowl, "affine", turns=1)
    mixed = pd.DataFrame({"a": POINTS[:, 0], "town": ["Ulm", "Bonn", "Kiel"] * 10})
    with pytest.raises(SettingsError, match="moving="):
        deviation(lambda frame: np.asarray(frame["a"]), mixed)
    model = lambda frame: np.asarray(frame["a"]) ** 2  # noqa: E731
    assert deviation(model, mixed, moving=["a"], radius=0.1, scale=None).mean == pytest.approx(0.01)


def test_compare_takes_it():
    models = {"bowl": bowl, "line": lambda x: x[:, 0]}
    found = ah.compare(models, POINTS, measure=deviation, **NEAR)
    assert "line" in str(found)
