"""Where to measure: points, tables, grids, hulls, windows; scales and radii."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy.spatial import Delaunay

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.scale import nearest_distance
from anharmonic.regions import grid, hull, points, window

RANDOM = np.random.default_rng(0)


def people(many=50):
    return pd.DataFrame(
        {
            "name": [f"p{row}" for row in range(many)],
            "age": RANDOM.integers(18, 90, many),
            "city": pd.Categorical(RANDOM.choice(["Rome", "Oslo"], many)),
            "income": RANDOM.lognormal(10, 1, many),
            "member": RANDOM.random(many) > 0.5,
        },
        index=RANDOM.permutation(many) + 1000,
    )


TABLES = {
    "pandas": people(),
    "polars": pl.DataFrame(people().reset_index(drop=True)),
    "pyarrow": pa.Table.from_pandas(people(), preserve_index=False),
}


@pytest.mark.parametrize("library", TABLES)
def test_columns_move_by_their_kinds_and_names_stay(library):
    table = TABLES[library]
    seen = []

    def model(frame):
        seen.append(frame)
        assert type(frame) is type(table)
        columns = frame.column_names if library == "pyarrow" else list(frame.columns)
        assert columns == ["name", "age", "city", "income", "member"]
        return np.asarray(frame["age"], dtype=float) / 100

    scores = ah.gamma(model, table, batch_size=10**5)
    assert list(scores.settings.columns) == ["age", "city", "income", "member"]
    assert list(scores.settings.kinds) == ["whole", "category", "number", "flag"]
    assert list(scores.settings.still) == ["name"]
    assert len(scores) == 50
    frame = seen[-1].to_pandas() if library == "pyarrow" else seen[-1]
    each = 1 + 4 * scores.settings.directions
    names = np.asarray(frame["name"]).reshape(-1, each)
    assert (names == names[:, :1]).all(), "a query keeps its own point's text"
    assert list(names[:, 0]) == [f"p{row}" for row in range(50)]


def test_categories_keep_their_type():
    def model(frame):
        assert isinstance(frame["city"].dtype, pd.CategoricalDtype)
        return frame["age"].to_numpy() * 1.0

    assert ah.gamma(model, people()).complete


def test_only_named_columns_move():
    region = points(people(), moving=["income"])
    scores = ah.gamma(lambda frame: frame["age"].to_numpy() * 1.0, region)
    assert scores.values.max() == 0
    assert "age" in scores.settings.still
    with pytest.raises(SettingsError, match="cannot move town: the columns are"):
        points(people(), moving=["town"])


def test_constant_columns_are_held_still():
    data = np.column_stack((RANDOM.normal(size=30), np.full(30, 7.0), RANDOM.normal(size=30)))

    def model(x):
        assert (x[:, 1] == 7.0).all()
        return x[:, 0] ** 2

    scores = ah.gamma(model, data)
    assert list(scores.settings.still) == ["1"]
    assert scores.settings.dimension == 2


def test_images_are_flattened_and_restored():
    images = RANDOM.uniform(0, 255, size=(6, 3, 4, 5))

    def model(x):
        assert x.shape[1:] == (3, 4, 5)
        return x[:, 0, 0, 0]

    scores = ah.gamma(model, images, radius=20.0, bounds=(0, 255))
    assert scores.settings.dimension == 60
    assert list(scores.settings.scale) == [1.0] * 60
    assert 0 < scores.settings.clipped < 1


def test_bounds_hold():
    def model(x):
        assert x.min() >= 0
        assert x.max() <= 1
        return x.sum(axis=1)

    data = RANDOM.uniform(0, 1, size=(50, 4))
    assert ah.gamma(model, data, bounds=(0, 1), radius=1.0).settings.clipped > 0.2
    far = ah.gamma(lambda x: x.sum(axis=1), data, bounds=(-100, 100), radius=1.0)
    assert far.settings.clipped == 0


def test_tensors_stay_tensors():
    def model(x):
        assert isinstance(x, torch.Tensor)
        assert x.dtype == torch.float32
        return x.sum(dim=1)

    assert ah.gamma(model, torch.randn(20, 4)).values.max() < 1e-5


def test_scale_and_radius_come_from_the_reference():
    reference = RANDOM.normal(scale=[1.0, 100.0], size=(500, 2))
    scores = ah.gamma(lambda x: x[:, 0], reference[:1], reference=reference)
    assert list(scores.settings.scale) == pytest.approx([1, 100], rel=0.1)
    distance = nearest_distance(reference, reference.std(axis=0))
    assert scores.settings.radius == pytest.approx(distance)
    assert scores.settings.nearest_distance == pytest.approx(distance)


@pytest.mark.parametrize("dimension", [2, 40])
def test_nearest_distance_is_the_median_and_ignores_duplicates(dimension):
    data = RANDOM.normal(size=(100, dimension))
    apart = np.linalg.norm(data[:, None] - data, axis=2)
    np.fill_diagonal(apart, np.inf)
    expected = np.median(apart.min(axis=1))
    assert nearest_distance(data, np.ones(dimension)) == pytest.approx(expected)
    doubled = np.repeat(data[:50], 2, axis=0)
    expected = np.median(apart[:50, :50].min(axis=1))
    assert nearest_distance(doubled, np.ones(dimension)) == pytest.approx(expected)


def test_a_grid_has_cells_and_a_volume():
    region = grid([(0, 5), (1, 4)], [10, 6], names=("a", "b"))
    assert len(region) == 60
    assert region.volume == 15
    assert region.columns == ("a", "b")
    assert region.values.min(axis=0) == pytest.approx([0.25, 1.25])
    for bad in ([], [(1, 0)]):
        with pytest.raises(SettingsError):
            grid(bad, 3)


def test_a_hull_is_filled_evenly_in_few_dimensions():
    data = np.concatenate((RANDOM.uniform(0, 1, size=(200, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]))
    region = hull(data, 4000, seed=1)
    assert region.volume == pytest.approx(1.0)
    assert np.mean(region.values[:, 0] < 0.5) == pytest.approx(0.5, abs=0.04)
    assert Delaunay(data).find_simplex(region.values).min() >= 0


def test_a_hull_in_many_dimensions_stays_inside():
    from scipy.optimize import linprog

    data = RANDOM.normal(size=(120, 25))
    region = hull(pd.DataFrame(data, columns=[f"c{i}" for i in range(25)]), 10)
    assert region.volume is None
    assert region.columns[0] == "c0"
    for row in region.values:
        equations = np.vstack((data.T, np.ones(120)))
        found = linprog(np.zeros(120), A_eq=equations, b_eq=np.append(row, 1), bounds=(0, None))
        assert found.success
    scores = ah.gamma(lambda frame: frame["c0"].to_numpy() ** 2, region, reference=data_frame(data))
    assert scores.settings.region == "hull"


def data_frame(data):
    return pd.DataFrame(data, columns=[f"c{i}" for i in range(data.shape[1])])


def test_a_window_is_a_stretch_of_traffic():
    data = np.arange(20.0).reshape(10, 2)
    assert window(data, last=3).values[:, 0].tolist() == [14, 16, 18]
    table = pd.DataFrame({"time": pd.date_range("2026-01-01", periods=10), "x": np.arange(10.0)})
    chosen = window(table, column="time", start=table["time"][2], end=table["time"][5])
    assert chosen.values[:, 0].tolist() == [2, 3, 4]
    with pytest.raises(SettingsError, match="last="):
        window(data)


@pytest.mark.parametrize("library", [np.asarray, torch.as_tensor])
def test_pixels_that_may_not_move_stay_and_the_image_keeps_its_shape(library):
    images = library(RANDOM.uniform(0, 1, size=(4, 2, 3)))

    def model(x):
        assert tuple(x.shape[1:]) == (2, 3)
        return x[:, 0, 0] ** 2 + x[:, 1, 2] * 100

    scores = ah.gamma(model, points(images, moving=[0, 1]), radius=0.1, scale=None)
    assert list(scores.settings.still) == ["2", "3", "4", "5"]
    assert scores.values.max() < 0.02, "the last pixel never moves"


def test_a_table_goes_to_a_torch_module():
    module = torch.nn.Linear(2, 1)
    frame = pd.DataFrame(RANDOM.normal(size=(20, 2)), columns=["a", "b"])
    assert ah.gamma(module, frame).values.max() < 1e-6
