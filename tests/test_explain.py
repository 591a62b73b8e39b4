"""Explanations of single points: known bends, known boundaries, and nothing more than needed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import anharmonic as ah
from anharmonic import plots
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.explain import nearest_counterfactual

WEIGHTS = np.array([1.0, 0.5, 0.0, 0.0])


def slope(x):
    score = np.asarray(x) @ WEIGHTS
    return np.stack([score, -score], axis=1)


def test_the_counterfactual_of_a_flat_boundary_is_on_it():
    """The steepest feature alone crosses soonest; the search's last step is taken back."""
    point = np.array([[0.73, 0.0, 2.0, -1.0]])
    found, queries = nearest_counterfactual(slope, point, radius=0.25, scale=None)
    assert [change.name for change in found.changes] == ["0"]
    assert found.distance == pytest.approx(0.73, abs=1e-4)
    assert found.values[0] <= 0
    assert found.margin < 0
    assert found.label == "1"
    assert found.steps == 3
    assert queries == found.queries


def test_features_that_were_not_needed_are_put_back():
    """A random walk changes many features; only those that carry it across stay changed."""
    points = np.array([[0.3, 0.0, 2.0, -1.0]])
    search = ah.adversarial_search(
        slope, points, radius=0.2, scale=None, ball="dense", climb="random", steps=400
    )
    assert search.flipped[0]
    assert (search.path(0)[-1] != points[0]).sum() == 4
    found, _ = nearest_counterfactual(
        slope, points, radius=0.2, scale=None, ball="dense", climb="random", steps=400
    )
    names = {change.name for change in found.changes}
    assert names <= {"0", "1"}
    assert found.margin < 0
    np.testing.assert_array_equal(found.values[2:], points[0, 2:])


def test_a_counterfactual_keeps_to_grid_and_bounds():
    point = np.array([[7.0, 3.0, 2.0, 9.0]])
    found, _ = nearest_counterfactual(
        slope, point, radius=5, scale=None, bounds=(-20, 20), grid=1.0
    )
    np.testing.assert_array_equal(found.values, np.round(found.values))
    assert slope(found.values[None])[0].argmax() == 1
    # One whole step nearer on the line would not have been another class.
    assert found.values[0] in (-2.0, -1.0) or found.values[1] != 3.0


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 500), ball=st.sampled_from(["auto", "dense", "random"]))
def test_a_counterfactual_is_another_class_and_no_farther_than_the_search(seed, ball):
    random = np.random.default_rng(seed)
    inner, outer = random.normal(size=(5, 12)), random.normal(size=(12, 3))

    def model(x):
        return np.tanh(x @ inner) @ outer

    point = random.normal(size=(1, 5))
    common = {"radius": 0.4, "scale": None, "ball": ball, "steps": 30, "seed": seed}
    search = ah.adversarial_search(model, point, **common)
    found, _ = nearest_counterfactual(model, point, **common)
    assert (found is not None) == search.flipped[0]
    if found is not None:
        assert found.distance <= np.linalg.norm(search.end()[0] - point[0]) + 1e-12
        label = model(found.values[None])[0].argmax()
        assert str(label) == found.label
        assert label != search.labels[0, 0]


def test_no_other_decision_is_none():
    found = ah.explain(
        lambda x: np.tile([1.0, 0.0], (len(x), 1)), np.zeros(3), radius=1, scale=None
    )
    assert found.counterfactual is None
    assert "no other decision" in repr(found)


def test_everything_about_a_smooth_point():
    """Of (x₀² + 3, 0): output 4 at x₀ = 1, deviation −r²/n, all of it the first feature's."""

    def model(x):
        return np.stack([x[:, 0] ** 2 + 3, x[:, 0] * 0], axis=1)

    point = np.array([1.0, 5.0, -2.0])
    found = ah.explain(model, point, radius=0.3, scale=None, steps=3)
    assert found.label == "0"
    assert found.output == 4
    assert found.deviation.value == pytest.approx(-(0.3**2) / 3)
    assert found.around.value == pytest.approx(4 + 0.03)
    assert found.features(1) == [("0", 1.0, pytest.approx(-0.03))]
    assert found.heat is None
    whole = json.loads(found.to_json())
    assert whole["deviation"][0] == pytest.approx(-0.03)
    assert whole["features"][0]["name"] == "0"
    assert whole["queries"] == found.queries


def test_a_regression_has_no_decision_to_change():
    found = ah.explain(lambda x: x[:, 0] ** 2, np.array([1.0, 2.0]), radius=0.1, scale=None)
    assert found.label is None
    assert found.counterfactual is None
    assert found.output == 1
    figure = plots.explanation(found)
    assert figure.layout.meta["title"] == "Why here"


@pytest.fixture(scope="module")
def flowers():
    data = load_iris(as_frame=True)
    names = data.target_names[data.target]
    return data.data, RandomForestClassifier(30, random_state=0).fit(data.data, names)


def test_a_row_of_a_table_with_names(flowers):
    table, forest = flowers
    found = ah.explain(forest, table.iloc[70:71], reference=table)
    assert found.label in forest.classes_
    assert found.names == tuple(table.columns)
    other = found.counterfactual
    changed = table.iloc[70:71].copy()
    for change in other.changes:
        assert change.before == changed[change.name].iloc[0]
        changed[change.name] = change.after
    assert forest.predict(changed)[0] == other.label != found.label
    lengths = [change.units for change in other.changes]
    assert other.distance == pytest.approx(np.linalg.norm(lengths))
    first = other.changes[0]
    spread = table[first.name].std(ddof=0)
    assert first.units == pytest.approx((first.after - first.before) / spread, rel=0.02)
    assert other.label in found._repr_html_()
    figure = plots.explanation(found)
    assert figure.layout.meta["title"] == f"Why {found.label}"
    with pytest.raises(PointsError, match="one point"):
        ah.explain(forest, table, reference=table)


def test_names_are_escaped():
    table = pd.DataFrame({"<b>bold</b>": [1.0], "other": [2.0]})
    found = ah.explain(lambda x: x["<b>bold</b>"] ** 2, table, radius=0.1, scale=None)
    assert "<b>bold" not in found._repr_html_()


def test_an_image_gets_a_heat_map():
    digits = load_digits()
    fitted = LogisticRegression(max_iter=300).fit(digits.data, digits.target)

    def model(x):
        return fitted.predict_proba(np.asarray(x).reshape(len(x), -1))

    image = digits.images[3:4]
    found = ah.explain(
        model, image, radius=4, bounds=(0, 16), grid=1.0, reference=digits.images[:200]
    )
    assert found.heat.shape == (8, 8)
    assert found.label == "3"
    assert model(found.counterfactual.values[None])[0].argmax() != 3
    figure = plots.explanation(found)
    kinds = [trace.type for trace in figure.data]
    assert kinds == ["image", "scatter", "heatmap"]
    assert len(figure.data[1].x) == len(found.counterfactual.changes)
    np.testing.assert_allclose(np.asarray(figure.data[2].z), found.heat, rtol=1e-5)
    short = ah.explain(model, image, radius=4, bounds=(0, 16), limit=100, counterfactual=False)
    assert short.contributions is None
    assert short.features() == []
    with pytest.raises(SettingsError, match="64 features"):
        plots.explanation(short)


def test_a_torch_module_is_explained_in_its_precision():
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    found = ah.explain(module, np.array([0.1, 0.2, -0.3, 0.4]), radius=0.3, scale=None, steps=80)
    assert found.counterfactual is not None
    with torch.no_grad():
        there = module(torch.tensor(found.counterfactual.values, dtype=torch.float32)[None])
    assert str(int(there.argmax())) == found.counterfactual.label != found.label


def test_the_same_seed_explains_the_same(flowers):
    table, forest = flowers
    one, other = (
        ah.explain(forest, table.iloc[70:71], reference=table, seed=2, batch_size=size)
        for size in (None, 5)
    )
    assert one.counterfactual.changes == other.counterfactual.changes
    assert one.queries == other.queries
    assert one.deviation == pytest.approx(other.deviation, rel=1e-12)


def test_the_answer_is_walked_on_to_the_rows_that_support_it():
    reference = pd.DataFrame({"a": np.linspace(-2, 2, 41), "b": np.tile([0.0, 0.5, 1.0], 14)[:41]})
    reference.index = [f"case {row}" for row in range(41)]

    def halves(x):
        first = np.asarray(x)[:, 0] < 0
        return np.stack([first, ~first], axis=1).astype(float)

    point = pd.DataFrame({"a": [1.05], "b": [0.5]})
    found = ah.explain(halves, point, reference=reference)
    support = found.support
    assert support.walk[0] > 0.9
    assert all(other.name.startswith("case ") for other in support.supporters)
    assert "Of the reference, rows that weigh" in " ".join(found.sentences)
    assert found.summary()["support"]["boundary"] == [row._asdict() for row in support.boundary]
    assert not support.boundary or not support.boundary[-1].agrees
    without = ah.explain(halves, point, reference=reference, supporters=0)
    assert without.support is None
    assert found.queries == without.queries + support.queries
    few = ah.explain(halves, point, reference=reference, supporters=20)
    assert few.support.queries == 21
    assert all(other.name == f"case {other.row}" for other in few.support.supporters)
    assert ah.explain(halves, point, radius=0.1, scale=None).support is None


def test_parts_add_up_to_the_deviation_and_say_so():
    def bent(x):
        return x[:, 0] * x[:, 1] + x[:, 0] ** 2

    found = ah.explain(bent, np.array([1.0, 2.0]), radius=0.5, scale=None)
    parts = found.parts(5)
    assert sum(share for _, _, share in parts) == pytest.approx(found.deviation.value)
    assert parts[-1][0] == "interactions and directions between features"
    assert f"together {found.deviation.value:+.3g}" in found.parts_sentence
    assert "together, the deviation" in found._repr_html_()
