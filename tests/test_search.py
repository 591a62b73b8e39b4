"""The search: walks whose every step is known, and what must never happen on the way."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import anharmonic as ah
from anharmonic import balls
from anharmonic.errors import InputError, MeasurementStopped, PointsError, SettingsError

SLOPE = np.array([1.0, -3.0, 0.5])


def slope(x):
    """Two classes with a flat boundary: the margin is 2·SLOPE·x, steepest along the second."""
    score = x @ SLOPE
    return np.stack([score, -score], axis=1)


def bumps(x):
    """Three smooth classes without any symmetry."""
    return np.stack([np.sin(3 * x[:, 0]), np.cos(2 * x[:, 1]), np.tanh(x).sum(axis=1)], axis=1)


POINTS = np.random.default_rng(0).normal(size=(12, 3))


@pytest.mark.parametrize("climb", ["margin", "output"])
def test_a_flat_boundary_is_walked_to_straight(climb):
    start = np.array([[1.0, -0.2, 0.3], [2.0, 0.1, 0.0]])
    found = ah.adversarial_search(slope, start, radius=0.1, scale=None, climb=climb)
    # A step along the second feature takes 0.3 off the score.
    expected = np.ceil(start @ SLOPE / 0.3).astype(int)
    np.testing.assert_array_equal(found.flips, expected)
    for row, many in enumerate(expected.tolist()):
        path = found.path(row)
        assert path.shape == (many + 1, 3)
        exact = start[row] + 0.1 * np.arange(many + 1)[:, None] * np.array([0, 1, 0])
        np.testing.assert_allclose(path, exact, atol=1e-12)
        np.testing.assert_allclose(found.margins[row, : many + 1], 2 * path @ SLOPE, atol=1e-12)
    np.testing.assert_array_equal(found.queries, 1 + 6 * expected)
    np.testing.assert_array_equal(found.end()[0], found.path(0)[-1])
    assert found.rate.value == 1
    assert found.complete


def test_a_walk_that_does_not_stop_goes_on_to_the_end():
    found = ah.adversarial_search(
        slope, np.array([[1.0, 0, 0]]), radius=0.1, scale=None, steps=9, stop=False
    )
    assert found.flips.tolist() == [4]
    assert found.labels.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1, 1, 1]]
    assert found.taken.tolist() == [9]


@pytest.mark.parametrize("climb", ["margin", "gamma", "random"])
@pytest.mark.parametrize("ball", ["auto", "dense", "random pairs", "antisimplex"])
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_batches_and_neighbours_change_nothing(climb, ball, backend):
    points = torch.tensor(POINTS) if backend == "torch" else POINTS

    def model(x):
        answer = bumps(np.asarray(x))
        return torch.tensor(answer) if backend == "torch" else answer

    common = {"radius": 0.2, "scale": None, "climb": climb, "ball": ball, "steps": 4}
    common |= {"directions": 4, "seed": 3}
    whole = ah.adversarial_search(model, points, **common)
    pieces = ah.adversarial_search(model, points, batch_size=3, **common)
    fewer = ah.adversarial_search(model, points[:5], **common)
    other = ah.adversarial_search(model, points, **common | {"seed": 4})
    for name in ("choices", "labels", "margins", "gammas", "flips", "queries"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))
        np.testing.assert_array_equal(getattr(whole, name)[:5], getattr(fewer, name))
    assert not np.array_equal(whole.margins, other.margins)
    for row in range(12):
        # Rebuilt with numpy, whose logarithms may differ from torch's in the last bit.
        np.testing.assert_allclose(whole.path(row)[-1], whole.end([row])[0], rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    climb=st.sampled_from(["margin", "output", "gamma", "random"]),
    ball=st.sampled_from(["auto", "dense", "random"]),
    grid=st.sampled_from([None, 1.0, 5.0]),
)
def test_bounds_and_grids_hold_for_everything_that_is_asked(seed, climb, ball, grid):
    random = np.random.default_rng(seed)
    points = 5.0 * random.integers(0, 52, size=(4, 6))
    weights = random.normal(size=(6, 3))

    def model(x):
        assert x.min() >= 0
        assert x.max() <= 255
        if grid is not None:
            np.testing.assert_array_equal(x, np.round(x / grid) * grid)
        return np.sin(x / 60) @ weights

    found = ah.adversarial_search(
        model,
        points,
        radius=100,
        scale=None,
        bounds=(0, 255),
        grid=grid,
        climb=climb,
        ball=ball,
        directions=4,
        steps=5,
        seed=seed,
    )
    moved = [(np.abs(np.diff(found.path(row), axis=0)) > 0).any(axis=1) for row in range(4)]
    for row in range(4):
        np.testing.assert_array_equal(moved[row], found.choices[row, : found.taken[row]] >= 0)
    assert found.stuck.sum() == sum((~each).sum() for each in moved)


def test_bounds_between_the_places_of_a_grid_stay_outside():
    def model(x):
        assert x.min() >= 4
        assert x.max() <= 8
        return slope(-x)

    found = ah.adversarial_search(
        model,
        np.array([[4.0, 4, 8]]),
        radius=8,
        scale=None,
        bounds=(0.5, 11.9),
        grid=[4.0, 4, 4],
        steps=3,
        stop=False,
    )
    assert found.end().max() == 8
    assert found.stuck.tolist() == [0]


def test_steps_that_round_to_nothing_are_noticed():
    points = np.array([[10.0, 20.0, 30.0]])
    with pytest.raises(SettingsError, match="rounded to nothing"):
        ah.adversarial_search(slope, points, radius=0.4, scale=None, grid=1.0)
    with pytest.raises(PointsError, match="row 0 is not on the grid"):
        ah.adversarial_search(slope, points + 0.5, radius=2, scale=None, grid=1.0)
    walk = ah.adversarial_search(
        slope, points, radius=0.4, scale=None, grid=[1.0, 0.0, 1.0], climb="random", steps=40
    )
    # Only the second feature moves; two directions in three go nowhere.
    assert 0 < int((walk.choices >= 0).sum()) < 30
    assert walk.stuck[0] == 40 - (walk.choices >= 0).sum()
    assert "went nowhere" in repr(walk)


def test_a_random_walk_asks_once_a_step_and_goes_everywhere():
    points = np.zeros((4000, 2))
    found = ah.adversarial_search(
        lambda x: np.stack([x[:, 0] + 100, x[:, 1]], axis=1),
        points,
        radius=1,
        scale=None,
        climb="random",
        steps=9,
    )
    assert (found.queries == 10).all()
    ends = found.end()
    # Nine steps along a random one of two axes, either way: mean 0, variance 9/2 on each.
    assert np.abs(ends.mean(axis=0)).max() < 4 * np.sqrt(4.5 / 4000)
    np.testing.assert_allclose(ends.var(axis=0), 4.5, rtol=0.1)
    assert (np.abs(np.diff(found.path(7), axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("ball", ["simplex", "antisimplex", "orthonormal", "cross"])
def test_a_ball_that_never_changes_is_walked_at_random(ball):
    whole = balls.named(ball, 3, 20)
    walk = ah.adversarial_search(
        lambda x: np.stack([x[:, 0] + 100, x[:, 1]], axis=1),
        np.zeros((60, 3)),
        radius=1,
        scale=None,
        ball=ball,
        climb="random",
        steps=12,
    )
    steps = np.concatenate([np.diff(walk.path(row), axis=0) for row in range(60)])
    likeness = steps @ whole.vectors().T
    np.testing.assert_allclose(likeness.max(axis=1), 1, atol=1e-9)
    assert set(likeness.argmax(axis=1).tolist()) == set(range(whole.count))


def test_gamma_is_climbed_where_it_is_known():
    """Of x₀⁴ the bend grows with |x₀|: gamma with the cross ball is (6x₀²r² + r⁴)/2."""

    def model(x):
        return np.stack([x[:, 0] ** 4 + 1e6, x[:, 1] * 0], axis=1)

    radius = 0.5
    found = ah.adversarial_search(
        model, np.array([[1.0, 0.0]]), radius=radius, scale=None, climb="gamma", steps=4
    )
    path = found.path(0)[:, 0]
    np.testing.assert_allclose(path, 1 + radius * np.arange(5))
    exact = (6 * path[1:] ** 2 * radius**2 + radius**4) / 2
    np.testing.assert_allclose(found.gammas[0], exact, rtol=1e-6)
    assert found.queries.tolist() == [1 + 4 * 4 * 5]


def test_the_gamma_recorded_is_not_the_one_that_was_chosen():
    """On a line gamma is 0, and what noise chose must not show in what is reported."""
    random = np.random.default_rng(5)
    points = random.normal(size=(300, 40))
    weights = random.normal(size=40)

    def model(x):
        return np.stack([x @ weights + 1e4, x[:, 0] * 0], axis=1)

    found = ah.adversarial_search(
        model, points, radius=1, scale=None, ball="random", climb="gamma", steps=1, directions=6
    )
    assert found.queries.tolist() == [1 + 6 * 7] * 300
    error = found.gammas.std() / np.sqrt(300)
    assert abs(found.gammas.mean()) < 4 * error


def test_a_budget_is_kept_and_more_of_it_goes_on():
    common = {"radius": 0.05, "scale": None, "steps": 8, "directions": 6, "stop": False}
    whole = ah.adversarial_search(bumps, POINTS, **common)
    short = ah.adversarial_search(bumps, POINTS, budget=200, **common)
    assert 200 - 6 < short.queries.sum() <= 200
    assert not short.complete
    assert "unfinished" in repr(short)
    rest = ah.adversarial_search(bumps, POINTS, resume=short, **common)
    np.testing.assert_array_equal(whole.margins, rest.margins)
    np.testing.assert_array_equal(whole.queries, rest.queries)
    with pytest.raises(SettingsError, match="does not reach beyond"):
        ah.adversarial_search(bumps, POINTS, budget=11, **common)


@pytest.mark.parametrize("climb", ["margin", "random"])
def test_a_search_goes_on_after_the_model_failed(climb, tmp_path):
    calls = 0

    def fragile(x):
        nonlocal calls
        calls += 1
        if calls == 9:
            raise RuntimeError("the server is gone")
        return bumps(x)

    common = {"radius": 0.05, "scale": None, "climb": climb, "steps": 6, "batch_size": 7}
    with pytest.raises(MeasurementStopped, match="server is gone") as stopped:
        ah.adversarial_search(fragile, POINTS, **common)
    partial = stopped.value.partial
    assert partial.taken.sum() > 0
    assert not partial.complete
    kept = ah.Search.load(partial.save(tmp_path / "partial.parquet"))
    whole = ah.adversarial_search(bumps, POINTS, **common)
    for before in (partial, kept):
        rest = ah.adversarial_search(fragile, POINTS, resume=before, **common)
        np.testing.assert_array_equal(whole.margins, rest.margins)
        np.testing.assert_array_equal(whole.flips, rest.flips)
        np.testing.assert_array_equal(whole.queries, rest.queries)
        np.testing.assert_array_equal(whole.end(), rest.end())


def test_more_steps_later_are_the_steps_there_would_have_been():
    common = {"radius": 0.05, "scale": None, "ball": "dense"}
    few = ah.adversarial_search(bumps, POINTS, steps=3, **common)
    more = ah.adversarial_search(bumps, POINTS, steps=7, resume=few, **common)
    once = ah.adversarial_search(bumps, POINTS, steps=7, **common)
    np.testing.assert_array_equal(once.choices, more.choices)
    with pytest.raises(SettingsError, match="number of steps"):
        ah.adversarial_search(bumps, POINTS, steps=2, resume=few, **common)
    with pytest.raises(SettingsError, match="another radius"):
        ah.adversarial_search(bumps, POINTS, resume=few, **common | {"radius": 0.1})


def test_a_file_brings_paths_and_all_back(tmp_path):
    images = np.round(np.random.default_rng(1).uniform(0, 255, size=(3, 1, 8, 8)))

    def model(x):
        flat = x.reshape(len(x), -1)
        return np.stack([flat[:, :32].mean(axis=1), flat[:, 32:].mean(axis=1)], axis=1)

    found = ah.adversarial_search(
        model, images, radius=100, bounds=(0, 255), grid=1.0, steps=30, seed=2
    )
    assert found.settings.ball == "sampled onehot singles"
    assert found.path(1).shape[1:] == (1, 8, 8)
    again = ah.Search.load(found.save(tmp_path / "search.parquet"))
    for name in ("starts", "choices", "labels", "margins", "flips", "queries"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    np.testing.assert_array_equal(again.end(), found.end())
    assert again.settings == found.settings
    assert repr(again) == repr(found)
    assert "flipped" in again._repr_html_()
    table = again.to_frame("pandas")
    assert table["first_flip"].tolist() == found.flips.tolist()
    # A walk of k steps differs in at most k pixels.
    changed = (found.end() != images).reshape(3, -1).sum(axis=1)
    assert (changed <= found.taken).all()
    with pytest.raises(InputError, match="holds search"):
        ah.Scores.load(tmp_path / "search.parquet")


def test_a_ball_of_your_own_is_not_in_the_file(tmp_path):
    own = balls.fixed(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    found = ah.adversarial_search(slope, np.array([[1.0, 0, 0]]), radius=0.1, scale=None, ball=own)
    assert found.flips.tolist() == [4]
    again = ah.Search.load(found.save(tmp_path / "search.parquet"))
    with pytest.raises(SettingsError, match="ball of your own"):
        again.path(0)
    np.testing.assert_array_equal(dataclasses.replace(again, ball=own).path(0), found.path(0))
    common = {"radius": 0.1, "scale": None, "ball": own, "steps": 9, "stop": False}
    short = ah.adversarial_search(slope, POINTS, budget=60, **common)
    kept = ah.Search.load(short.save(tmp_path / "short.parquet"))
    whole = ah.adversarial_search(slope, POINTS, **common)
    rest = ah.adversarial_search(slope, POINTS, resume=kept, **common)
    np.testing.assert_array_equal(rest.margins, whole.margins)
    walk = ah.adversarial_search(
        slope, POINTS, radius=0.1, scale=None, ball=own, climb="random", steps=30
    )
    assert set(walk.choices[walk.choices >= 0].tolist()) == {0}
    assert (walk.end() >= POINTS - 1e-12).all()


def test_a_table_with_text_and_names():
    data = load_iris(as_frame=True)
    fitted = LogisticRegression(max_iter=500).fit(data.data, data.target_names[data.target])

    def model(table):
        assert (table["place"] == "here").all()
        return fitted.predict_proba(table[data.feature_names])

    named = ah.as_model(model, classes=None)
    table = data.data.assign(place=pd.Series(["here"] * 150))
    found = ah.adversarial_search(named, table, radius=0.3, output="logit", steps=40)
    assert list(found.settings.columns) == data.feature_names
    assert found.rate.value > 0.9
    plain = ah.adversarial_search(fitted, data.data, radius=0.3, output="probability", steps=40)
    assert set(plain.to_frame("pandas")["label"]) == set(data.target_names)
    kept = plain.end()
    table_of_ends = pd.DataFrame(kept, columns=data.feature_names)
    changed = fitted.predict(table_of_ends) != fitted.predict(data.data)
    np.testing.assert_array_equal(changed, plain.flipped)


def test_a_torch_module_is_searched_in_its_own_precision():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    found = ah.adversarial_search(module, POINTS, radius=0.3, scale=None, steps=50)
    assert found.starts.dtype == np.float32
    assert found.flipped.any()
    with torch.no_grad():
        labels = module(torch.tensor(found.end())).argmax(dim=1).numpy()
    np.testing.assert_array_equal(labels != found.labels[:, 0], found.flipped)


def test_one_column_of_log_odds_or_probability_is_two_classes():
    point = np.array([[0.55, 0.0, 0.0]])
    common = {"radius": 0.1, "scale": None}
    logit = ah.adversarial_search(lambda x: x[:, 0], point, output="logit", **common)
    assert logit.flips.tolist() == [6]
    assert logit.margins[0, 0] == pytest.approx(0.55)
    with pytest.raises(SettingsError, match="a single number"):
        ah.adversarial_search(lambda x: x[:, 0], point, **common)
    with pytest.raises(SettingsError, match="answers labels"):
        ah.adversarial_search(bumps, point, output="label", **common)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"climb": "up"}, "no climb 'up'"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"climb": "gamma", "directions": 1}, "directions must be at least 2"),
        ({"climb": "gamma", "directions": 2, "ball": "random pairs"}, "cannot be halved"),
        ({"grid": -1.0}, "positive"),
        ({"grid": [1.0, 2.0]}, "one for each column"),
        ({"ball": balls.cross(2)}, "2 dimensions and 3 columns"),
    ],
)
def test_what_is_refused_kindly(arguments, words):
    with pytest.raises(SettingsError, match=words):
        ah.adversarial_search(bumps, POINTS, **{"radius": 0.1} | arguments)


def test_progress_comes_to_its_end():
    seen = []
    found = ah.adversarial_search(
        bumps, POINTS, radius=0.05, progress=lambda *both: seen.append(both), batch_size=20
    )
    assert seen[-1] == (found.queries.sum(), found.queries.sum())
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def halves(x):
    """Two classes that meet where the first coordinate is 0, as logits."""
    values = np.asarray(x)
    return np.stack([values[:, 0], -values[:, 0]], axis=1)


def test_a_step_of_auto_is_a_tenth_of_the_distance_between_neighbours():
    points = np.random.default_rng(1).normal(size=(60, 2))
    found = ah.adversarial_search(halves, points)
    near = ah.gamma(halves, points).settings.radius
    assert found.settings.nearest_distance == near
    assert found.settings.radius == pytest.approx(0.1 * near)
    assert "0.1 of the nearest-neighbour distance" in repr(found)
    # What is compared with whole steps keeps them.
    assert ah.nstep_robustness(halves, points, steps=2).settings.radius == near


def test_the_curve_is_exact_where_the_boundary_is_known():
    starts = np.array([[0.35, 0.0], [-1.05, 2.0], [0.05, 1.0], [30.0, 0.0]])
    found = ah.adversarial_search(halves, starts, radius=0.1, scale=None, steps=25)
    np.testing.assert_allclose(found.distances, [0.4, 1.1, 0.1, np.nan])
    assert found.reached[3] == pytest.approx(2.5)
    curve = found.curve
    assert curve.unit == "scaled units"
    assert [curve.at(distance).value for distance in (0.05, 0.1, 0.39, 0.4, 5.0)] == [
        *(0.0, 0.25, 0.25, 0.5, 0.75)
    ]
    assert curve.furthest == pytest.approx(2.5)
    assert [mark for mark, _ in curve.marks()] == [0.1, 0.25, 0.5, 1.0, 2.0, pytest.approx(2.5)]
    assert found.flipped_rows().tolist() == [2, 0, 1]
    assert found.flipped_rows(1).tolist() == [2]
    assert found.curve.at(1.0).low < 0.5 < found.curve.at(1.0).high


def test_the_distance_is_that_of_the_first_flip_and_not_of_the_end():
    found = ah.adversarial_search(
        halves, np.array([[0.35, 0.0]]), radius=0.1, scale=None, steps=10, stop=False
    )
    assert found.distances[0] == pytest.approx(0.4)
    assert found.reached[0] == pytest.approx(1.0)


TWO = pd.DataFrame({"a": [0.35, -1.05], "b": [0.0, 2.0]}, index=["ada", "bob"])
PLAIN = {"radius": 0.1, "scale": None, "kinds": {"a": "number", "b": "number"}}


def test_files_keep_distances_and_names_and_those_of_0_1_0_work_them_out(tmp_path):
    found = ah.adversarial_search(halves, TWO, **PLAIN)
    again = ah.load(found.save(tmp_path / "s.parquet"))
    assert again.names == ("ada", "bob")
    np.testing.assert_array_equal(again.distances, found.distances)
    assert repr(again) == repr(found)
    bare = dataclasses.replace(found, distances=None, reached=None, names=None)
    np.testing.assert_allclose(bare.distances, found.distances)
    np.testing.assert_allclose(bare.reached, found.reached)
    assert bare.row_name(1) == "1"


def test_rows_that_flip_go_by_the_users_names():
    found = ah.adversarial_search(halves, TWO, **PLAIN)
    assert "Rows that flip, the nearest first: ada, bob." in repr(found)
    listed = found.summary()["flipped_rows"]
    assert [row["name"] for row in listed] == ["ada", "bob"]
    assert [row["row"] for row in listed] == [0, 1]
    assert (listed[0]["from"], listed[0]["to"]) == ("0", "1")
    ids = TWO.reset_index(names="customer_id")
    by_id = ah.adversarial_search(
        lambda x: halves(np.asarray(x[["a", "b"]])), ids, moving=["a", "b"], **PLAIN
    )
    assert by_id.names == ("ada", "bob")
    assert by_id.to_frame("pandas")["name"].tolist() == ["ada", "bob"]
    nothing = ah.adversarial_search(halves, TWO * 100, **PLAIN)
    assert "No decision changed within 2.5 scaled units." in repr(nothing)


def test_a_table_of_categories_has_distances_in_its_own_units():
    frame = pd.DataFrame({"colour": ["red", "blue"] * 30, "size": np.linspace(0, 1, 60)})

    def by_colour(table):
        red = (table["colour"] == "red").to_numpy(float)
        return np.stack([red, 1 - red], axis=1)

    found = ah.adversarial_search(by_colour, frame, steps=3, output="probability")
    assert found.flipped.any()
    assert (found.distances[found.flipped] > 0).all()


def test_the_curve_is_drawn_with_its_interval():
    points = np.random.default_rng(1).normal(size=(60, 2))
    found = {
        climb: ah.adversarial_search(halves, points, climb=climb) for climb in ("margin", "random")
    }
    figure = ah.plots.flip_curve(found)
    line = next(trace for trace in figure.data if trace.name == "margin")
    assert line.y[-1] == found["margin"].rate.value
    assert line.x[-1] == found["margin"].curve.furthest
    low, high = figure.data[0], figure.data[1]
    assert low.y[-1] == found["margin"].rate.low
    assert high.y[-1] == found["margin"].rate.high
    assert "0.1 of the nearest-neighbour distance" in figure.layout.meta["caption"]
    assert len(ah.plots.flip_curve(found["margin"]).data) == 3
