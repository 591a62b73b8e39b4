"""Cells as they came: a model is asked for the rows themselves just as `predict` is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import anharmonic as ah
from anharmonic.errors import PointsError
from anharmonic.measures.setup.settling import settle

MANY = 240


def zeros(rows):
    return np.zeros(len(rows))


def unmoved(rows):
    """The rows themselves, as a model is asked for them."""
    region = settle(zeros, rows).region
    return region.restored(np.asarray(region.values), np.arange(len(region)))


def some(cells, seed=0, many=MANY):
    """Random cells, which stay the objects they are."""
    chosen = np.random.default_rng(seed).integers(len(cells), size=many)
    made = np.empty(many, dtype=object)
    made[:] = [cells[place] for place in chosen]
    return made


TOKENS = {
    "None": [None],
    "NaN": [np.nan],
    "NA": [pd.NA],
    "None and NaN": [None, np.nan],
}


@pytest.mark.parametrize("tokens", TOKENS)
def test_a_missing_cell_stays_what_it_is(tokens):
    cells = pd.Series(some(["a", "b", *TOKENS[tokens]]), dtype=object)
    frame = pd.DataFrame({"c": cells, "k": np.random.default_rng(1).integers(0, 5, MANY)})
    allowed = {repr(token) for token in TOKENS[tokens]} | {"'a'", "'b'"}

    def model(rows):
        assert rows["c"].dtype == object
        assert set(map(repr, rows["c"])) <= allowed
        return rows["k"].to_numpy() ** 2.0

    ah.gamma(model, frame)
    assert list(map(repr, unmoved(frame)["c"])) == list(map(repr, cells))


@pytest.mark.parametrize("token", [None, np.nan], ids=["None", "NaN"])
@pytest.mark.parametrize("steps", ["one-hot", "imputed"])
def test_outputs_at_the_rows_are_what_the_pipeline_predicts(token, steps):
    """Encoders take None and NaN for two levels, and imputers fill one of them."""
    frame = pd.DataFrame(
        {
            "c": pd.Series(some(["a", "b", token]), dtype=object),
            "t": pd.Series(some([True, False, token], 1), dtype=object),
        }
    )
    labels = (frame["c"].isna() ^ (frame["t"].isna())).astype(int)
    fill = SimpleImputer(strategy="most_frequent", missing_values=token)
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(*([fill] if steps == "imputed" else []), encoder, LogisticRegression())
    model.fit(frame, labels)
    scores = ah.gamma(model, frame)
    np.testing.assert_array_equal(scores.outputs, model.predict_proba(frame))


def test_a_cell_goes_missing_as_the_references_cells_are():
    """None of the points is missing, so that only the reference can say how one is."""
    reference = pd.DataFrame({"c": pd.Series(some(["a", "b", np.nan]), dtype=object)})
    reference["k"] = np.random.default_rng(1).integers(0, 5, MANY)
    points = reference[reference["c"].notna()][:40]
    seen = set()

    def model(rows):
        seen.update(map(repr, rows["c"]))
        return zeros(rows)

    ah.gamma(model, points, reference=reference)
    assert seen == {"'a'", "'b'", "nan"}


def test_an_array_of_objects_keeps_its_objects():
    objects = np.stack(
        [some(["a", None]), some([1, 2, 3, None], 1), some([True, False, np.nan], 2)], axis=1
    )
    assert ah.gamma(zeros, objects).settings.kinds == ("category", "whole", "category")
    same = unmoved(objects)
    assert [list(map(repr, row)) for row in same] == [list(map(repr, row)) for row in objects]


def nulls_and_nans(library):
    """A column of floats with nulls, and one with NaN."""
    random = np.random.default_rng(0)
    numbers, gone = random.normal(size=MANY), random.random(MANY) < 0.2
    table = pa.table(
        {
            "null": pa.array(numbers, mask=gone),
            "nan": pa.array(np.where(gone, np.nan, numbers)),
            "k": random.integers(0, 5, MANY),
        }
    )
    return pl.from_arrow(table) if library == "polars" else table


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_nulls_stay_nulls_and_nans_nans(library):
    seen = []

    def model(rows):
        table = rows.to_arrow() if library == "polars" else rows
        for name in ("null", "nan"):
            column = table[name]
            cells = column.drop_null().to_numpy()
            seen.append((name, column.null_count, int(np.isnan(cells).sum())))
        return zeros(rows)

    ah.gamma(model, nulls_and_nans(library))
    assert sum(nulls for name, nulls, _ in seen if name == "null") > 0
    assert sum(nans for name, _, nans in seen if name == "null") == 0
    assert sum(nulls for name, nulls, _ in seen if name == "nan") == 0
    assert sum(nans for name, _, nans in seen if name == "nan") > 0


def test_both_stay_in_one_column():
    table = pl.DataFrame({"x": [1.5, None, float("nan"), 0.25] * 60, "k": list(range(6)) * 40})
    same = unmoved(table)["x"]
    assert same.is_null().to_list() == [False, True, False, False] * 60
    assert same.is_nan().to_list() == [False, None, True, False] * 60


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "UInt8", "boolean"])
def test_nullable_whole_numbers_move_as_numbers_where_they_are_told_to_be(dtype):
    random = np.random.default_rng(0)
    most = 2 if dtype == "boolean" else 50
    cells = pd.array(random.integers(0, most, MANY), dtype="Int64").astype(dtype)
    frame = pd.DataFrame({"a": cells, "c": random.choice(["u", "v"], MANY)})
    moved = []

    def line(rows):
        moved.append(rows["a"])
        return rows["a"].to_numpy(dtype=float, na_value=0.0)

    told = {"kinds": {"a": "number"}, "ball": "auto pairs"}
    assert ah.gamma(line, frame, **told).values.max() < 1e-9
    cells = np.concatenate([column.to_numpy(dtype=float, na_value=0.0) for column in moved])
    assert (cells % 1 != 0).any()
    # A missing cell is the type's own.
    frame.loc[::7, "a"] = pd.NA
    moved.clear()
    ah.gamma(line, frame, **told)
    assert all(column.isna().to_numpy().sum() == pd.isna(column.tolist()).sum() for column in moved)
    assert any(column.isna().any() for column in moved)


@pytest.mark.parametrize("dtype", ["string", "string[pyarrow]", "object"])
@pytest.mark.parametrize("kind", ["category", "text"])
def test_missing_texts_of_any_type(dtype, kind):
    texts = ["red", "blue"] if kind == "category" else [f"a note of {n} words" for n in range(300)]
    cells = pd.Series(some(texts)).astype(dtype)
    cells[::9] = pd.NA
    frame = pd.DataFrame({"c": cells, "k": np.random.default_rng(1).integers(0, 5, MANY)})
    seen = []

    def model(rows):
        seen.append(int(rows["c"].isna().sum()))
        assert rows["c"].dtype == frame["c"].dtype
        return np.stack([rows["k"] > 2, rows["k"] <= 2], axis=1) * 1.0

    assert ah.gamma(model, frame).settings.kinds[0] == kind
    assert sum(seen) > 0
    watch = ah.Monitor(model, frame, promise=False, watch=["gamma", "inputs"])
    assert watch.update(frame[:40]) is not None


EMPTY = {"float": np.nan, "object": None}


@pytest.mark.parametrize("dtype", EMPTY)
def test_columns_that_are_empty_in_the_points_have_the_references_types(dtype):
    """One row of a CSV file says nothing of the type of a cell that is missing."""
    random = np.random.default_rng(0)
    reference = pd.DataFrame(
        {
            "town": some(["Ulm", "Bonn", None]),
            "job": pd.Categorical(some(["nurse", "smith", None], 1)),
            "note": [f"a note of {n} words" for n in range(MANY)],
            "since": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(
                np.where(random.random(MANY) < 0.2, np.nan, random.integers(0, 99, MANY)), "D"
            ),
            "flag": pd.array(some([True, False, None], 2), dtype="boolean"),
            "x": np.where(random.random(MANY) < 0.2, np.nan, random.normal(size=MANY)),
        }
    )
    points = pd.DataFrame({name: pd.Series([EMPTY[dtype]], dtype=dtype) for name in reference})

    def model(rows):
        held = rows.drop(columns="note").dtypes
        pd.testing.assert_series_equal(held, reference.drop(columns="note").dtypes)
        return np.stack([rows["x"].isna(), rows["x"].notna()], axis=1) * 1.0

    scores = ah.gamma(model, points, reference=reference)
    assert scores.settings.kinds == ("category", "category", "text", "date", "flag", "number")
    found = ah.explain(model, points.iloc[0], reference=reference)
    assert found.cells[0] == "missing"
    watch = ah.Monitor(model, reference, promise=False, watch=["gamma", "inputs"])
    assert watch.update(points) is not None


def test_what_the_points_hold_otherwise_than_the_reference_is_said():
    frame = pd.DataFrame({"a": np.arange(40) % 7, "d": pd.Timestamp("2024-01-01"), "k": 1.0})
    frame["d"] += pd.to_timedelta(np.arange(40), "D")
    frame["k"] = np.arange(40) / 3
    words = r"column a holds numbers in the reference and String in the points: give the points num"
    with pytest.raises(PointsError, match=words):
        ah.gamma(zeros, frame.assign(a=frame["a"].astype(str))[:5], reference=frame)
    with pytest.raises(PointsError, match="column d holds dates in the reference and String in"):
        ah.gamma(zeros, frame.assign(d=frame["d"].astype(str))[:5], reference=frame)
    with pytest.raises(PointsError, match="column d holds dates in the reference and Duration"):
        ah.gamma(zeros, frame.assign(d=frame["d"] - frame["d"].min())[:5], reference=frame)


def test_a_date_between_two_steps_of_the_reference_stays():
    """Later rows may be more exact than the reference; what was learnt of it stays."""
    random = np.random.default_rng(0)
    reference = pd.DataFrame({"k": random.integers(0, 5, MANY)})
    reference["d"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 99, MANY), "D")
    later = reference[:30].assign(d=reference["d"][:30] + pd.Timedelta("13:45:10.000001"))
    setup = settle(zeros, reference)
    region = setup.at(ah.regions.points(later)).region
    restored = region.restored(region.values, np.arange(30))
    pd.testing.assert_series_equal(restored["d"], later["d"], check_index=False)
    moved = region.values.copy()
    moved[:, 1] += 2.0
    dates = region.restored(moved, np.arange(30))["d"]
    pd.testing.assert_series_equal(dates, later["d"] + pd.Timedelta("2D"), check_index=False)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_levels_that_came_later_stay_in_any_library(library):
    """Also beside missing cells, and where the type is a dictionary."""
    first = pa.table({"c": ["a", "b", None] * 30, "k": list(range(9)) * 10})
    later = pa.table({"c": ["a", "new", None] * 10, "k": list(range(5)) * 6})
    if library == "pyarrow":
        first, later = (
            table.set_column(0, "c", table["c"].dictionary_encode()) for table in (first, later)
        )
    else:
        first, later = pl.from_arrow(first), pl.from_arrow(later)
    region = settle(zeros, first).at(ah.regions.points(later)).region
    made = region.restored(np.asarray(region.values), np.arange(30))
    cells = made["c"]
    assert (cells.to_list() if library == "polars" else cells.to_pylist()) == [
        "a",
        "new",
        None,
    ] * 10
    assert (cells.dtype if library == "polars" else cells.type) == (
        later["c"].dtype if library == "polars" else later["c"].type
    )


@pytest.mark.parametrize("step", [1, 1000, 1_000_000], ids=["ns", "us", "ms"])
def test_dates_in_nanoseconds_come_back_to_the_nanosecond(step):
    """Fifty years are more nanoseconds than a float tells apart."""
    random = np.random.default_rng(0)
    stamps = random.integers(0, 2 * 10**18 // step, MANY) * step
    frame = pd.DataFrame({"d": pd.to_datetime(stamps), "k": random.integers(0, 5, MANY)})
    pd.testing.assert_series_equal(unmoved(frame)["d"], frame["d"])
    asked = []

    def model(rows):
        asked.append(rows["d"].astype("int64").to_numpy())
        return rows["k"].to_numpy() ** 2.0

    ah.gamma(model, frame[:20], reference=frame)
    # Steps keep to what separates the reference's dates.
    off = np.concatenate(asked) - stamps.min()
    assert (off % step == 0).all()


def test_objects_that_are_equal_but_of_other_types_stay_what_they_are():
    """A pipeline that makes texts of cells tells 1, 1.0 and True apart."""
    frame = pd.DataFrame({"c": pd.Series(some([1, 1.0, True, "1", None]), dtype=object)})
    frame["k"] = np.random.default_rng(1).integers(0, 5, MANY)
    assert list(map(repr, unmoved(frame)["c"])) == list(map(repr, frame["c"]))
