"""Whatever rows come as: libraries, types, gaps, texts, sparse matrices, levels nobody has seen."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import anharmonic as ah
from anharmonic.errors import InputError, PointsError, SettingsError
from anharmonic.measures.explain.counterfactuals import Change
from tests.tables.people import people

FRAME, LABELS = people(120)
PLAIN = FRAME.reset_index(drop=True).drop(columns="grade")


def to_arrow():
    return pa.Table.from_pandas(PLAIN, preserve_index=False)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "nullable"])
def test_any_library_and_its_types(library):
    table = {
        "pandas": lambda: PLAIN,
        "polars": lambda: pl.from_arrow(to_arrow()),
        "pyarrow": to_arrow,
        "nullable": lambda: PLAIN.assign(
            age=PLAIN["age"].astype("Int64").mask(PLAIN.index % 7 == 0),
            member=PLAIN["member"].astype("boolean").mask(PLAIN.index % 5 == 0),
        ),
    }[library]()
    types = []

    def model(rows):
        assert type(rows) is type(table)
        if library in ("pandas", "nullable"):
            types.append(rows.dtypes)
        elif library == "polars":
            assert rows.schema == table.schema
        ages = pd.Series(np.asarray(rows["age"].to_numpy(), dtype=float))
        return (ages.fillna(0) > 40).to_numpy() * 1.0

    scores = ah.gamma(model, table)
    assert scores.complete
    assert 0 < scores.mean < 1
    for dtypes in types:
        pd.testing.assert_series_equal(dtypes, table.dtypes)


def test_the_index_is_kept():
    scores = ah.gamma(lambda rows: rows["age"].to_numpy() ** 2.0, FRAME)
    pd.testing.assert_index_equal(scores.to_frame().index, FRAME.index)

    def classes(rows):
        return np.stack([rows["age"] > 40, rows["age"] <= 40], axis=1).astype(float)

    for made in (
        ah.nstep_robustness(classes, FRAME, steps=2),
        ah.adversarial_search(classes, FRAME, steps=2),
        ah.baselines.smoothed_margin(classes, FRAME),
        ah.clever(classes, FRAME[:6], moving=["age"], blocks=10, block_size=4),
    ):
        pd.testing.assert_index_equal(made.to_frame().index, FRAME.index[: len(made)])


def test_a_level_that_the_reference_lacks_stays_and_reaches_the_model():
    points = FRAME[:20].assign(sex="unknown")
    seen = set()

    def model(rows):
        seen.update(rows["sex"])
        return (rows["sex"].to_numpy() == "unknown") * 1.0

    scores = ah.gamma(model, points, reference=FRAME[20:])
    assert seen == {"unknown", "female", "male"}
    assert scores.complete


def test_an_array_with_gaps():
    random = np.random.default_rng(0)
    points = random.normal(size=(80, 3))
    points[random.random((80, 3)) < 0.1] = np.nan

    def model(rows):
        return np.nansum(rows, axis=1) ** 2 + np.isnan(rows).sum(axis=1)

    scores = ah.gamma(model, points)
    assert scores.settings.kinds == ("number",) * 3
    assert scores.complete
    assert {moved.name for moved in scores.along()} == {"0", "1", "2"}


def test_an_array_of_objects():
    random = np.random.default_rng(0)
    cells = np.empty((60, 2), dtype=object)
    cells[:, 0] = random.choice(["a", "b", "c"], 60)
    cells[:, 1] = random.integers(0, 9, 60)

    def model(rows):
        assert rows.dtype == object
        return (rows[:, 0] == "a") * 1.0 + rows[:, 1].astype(float)

    scores = ah.gamma(model, cells)
    assert scores.settings.kinds == ("category", "whole")


def test_a_sparse_matrix_moves_where_it_has_numbers():
    matrix = sparse.random(50, 40, density=0.2, format="csr", random_state=0)

    def model(rows):
        assert sparse.issparse(rows)
        return np.asarray(rows.power(2).sum(axis=1)).ravel()

    scores = ah.gamma(model, matrix)
    assert scores.mean > 0
    asked = []

    def recorded(rows):
        asked.append(rows.toarray())
        return np.zeros(rows.shape[0])

    exact = {"radius": 0.5, "noise": "ignore", "rotations": 1, "ball": "auto pairs"}
    ah.gamma(recorded, matrix[:5], reference=matrix, **exact)
    first = matrix[:5].toarray()
    moved = np.concatenate(asked)
    empty = np.repeat(first == 0, len(moved) // 5, axis=0)
    assert (moved[empty] == 0).all()


@pytest.mark.parametrize("moving", [None, [0, 7]], ids=["all that vary", "two columns"])
def test_a_sparse_matrix_with_columns_that_stay_keeps_its_shape(moving):
    """A word that no text has, such as any vectorizer's vocabulary holds."""
    dense = sparse.random(50, 40, density=0.3, random_state=0).toarray()
    dense[:, 3] = 0.0
    matrix = sparse.csr_matrix(dense)
    asked = []

    def model(rows):
        asked.append(rows.toarray())
        assert rows.shape[1] == 40
        return np.asarray(rows.power(2).sum(axis=1)).ravel()

    exact = {"radius": 0.5, "noise": "ignore", "ball": "auto pairs"}
    scores = ah.gamma(model, matrix, moving=moving, **exact)
    assert scores.mean > 0
    assert "3" in scores.settings.still
    moved = np.concatenate(asked) != np.repeat(dense, sum(map(len, asked)) // 50, axis=0)
    places = {place for place in range(40) if str(place) in scores.settings.columns}
    assert set(np.flatnonzero(moved.any(axis=0)).tolist()) == places

    def two(rows):
        return np.stack([model(rows) > 1, model(rows) <= 1], axis=1) * 1.0

    assert len(ah.baselines.flip_rate(two, matrix, moving=moving)) == 50


TEXTS = [
    "a fine film with a good cast and a warm heart",
    "a dull film that never comes to life at all",
    "the cast is good and the story is warm",
    "the story is dull and nobody seems to care",
] * 15


def test_a_classifier_of_texts():
    labels = np.array([1, 0, 1, 0] * 15)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, labels)
    for texts in (TEXTS[:8], np.array(TEXTS[:8], dtype=object), pd.Series(TEXTS[:8])):
        scores = ah.gamma(model, texts)
        assert len(scores) == 8
        assert scores.settings.kinds == ("text",)
        assert scores.mean > 0
    again = ah.gamma(model, TEXTS[:8], batch_size=3)
    np.testing.assert_allclose(again.values, scores.values, atol=1e-12)


def test_a_text_is_explained_by_texts():
    words = ("fine", "good", "warm", "dull", "weak", "cold")
    texts = [f"{first} and {second}" for first in words for second in words]
    labels = [text.split()[0] in words[:3] for text in texts]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    told = ah.explain(model, texts[0], reference=texts)
    assert told.cells == (texts[0],)
    (change,) = told.counterfactual.changes
    assert change.before == texts[0] != change.after
    assert str(model.predict([change.after])[0]) == told.counterfactual.label
    # One edit is one unit, here as in a search.
    assert told.counterfactual.distance == change.units >= 1
    assert ah.explain(model, [texts[0]], reference=texts).sentences == told.sentences
    found = ah.adversarial_search(model, texts[:4], reference=texts)
    assert found.curve.furthest >= 1
    # Over the data texts count as they are: copies of one are alike.
    assert len(ah.gamma(model, texts[:20], reference=texts, ball="data")) == 20


def test_a_long_text_is_shown_where_it_differs():
    change = Change("text", "word " * 40 + "good", "word " * 40 + "hood", 1.0)
    assert str(change) == "text …word word word word good → …word word word word hood"


def test_a_text_beside_numbers_and_synonyms():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"note": TEXTS, "stars": random.integers(1, 6, 60)})
    seen = set()

    def model(rows):
        seen.update(rows["note"])
        return np.array([len(note) for note in rows["note"]]) + rows["stars"].to_numpy()

    scores = ah.gamma(model, frame, kinds={"note": "text"})
    assert scores.settings.kinds == ("text", "whole")
    assert len(seen) > 100
    change = ah.llm.perturb.synonyms({"good": ["great"], "dull": ["boring"]})
    seen.clear()
    ah.gamma(model, frame, kinds={"note": change})
    assert {"great", "boring"} <= {word for note in seen for word in note.split()}


def test_an_encoder_that_does_not_know_a_level_is_asked_with_levels_it_may_not_know():
    frame = FRAME[["sex", "job"]]
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(encoder, LogisticRegression()).fit(frame[:50], LABELS[:50])
    assert ah.gamma(model, frame[50:], reference=frame).complete


ODD = {
    "zone": lambda n, random: (
        pd.Timestamp("2020-01-01", tz="Europe/Berlin")
        + pd.to_timedelta(random.integers(0, 999, n), "h")
    ),
    "no time": lambda n, random: pd.Series(pd.to_datetime(["2020-01-01", None] * (n // 2))),
    "durations": lambda n, random: pd.to_timedelta(random.integers(0, 99, n), "m"),
    "days": lambda n, random: [date(2020, 1, 1 + int(day)) for day in random.integers(0, 30, n)],
    "decimals": lambda n, random: [Decimal(int(number)) / 4 for number in random.integers(0, 9, n)],
    "nothing": lambda n, random: None,
    "several types": lambda n, random: [1, "a"] * (n // 2),
    "lists": lambda n, random: [[1], [2, 3]] * (n // 2),
    "truth and gaps": lambda n, random: [True, False, None, True] * (n // 4),
    "intervals": lambda n, random: pd.cut(random.normal(size=n), 4),
    "categories of numbers": lambda n, random: pd.Categorical(random.integers(0, 4, n)),
    "small floats": lambda n, random: random.normal(size=n).astype(np.float16),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_types_come_back_as_they_came(kind):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"x": random.normal(size=120), "k": random.integers(0, 5, 120)})
    frame["odd"] = ODD[kind](120, random)

    def model(rows):
        assert rows["odd"].dtype == frame["odd"].dtype
        assert {type(cell) for cell in rows["odd"]} <= {type(cell) for cell in frame["odd"]} | {
            type(None),
            float,
        }
        return rows["k"].to_numpy() ** 2.0

    assert ah.gamma(model, frame).complete


def test_an_arrow_dictionary_stays_one():
    table = pa.table({"x": np.arange(60.0), "k": pa.array(["a", "b"] * 30).dictionary_encode()})

    def model(rows):
        assert rows.schema == table.schema
        return np.asarray(rows["x"]) ** 2

    assert ah.gamma(model, table).complete


def test_columns_without_names_are_refused_in_a_line():
    with pytest.raises(PointsError, match="column names must be text, and 0 is none"):
        ah.gamma(len, pd.DataFrame({0: [1.0, 2.0], "a": [1, 2]}))


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_columns_of_pandas_sparse_type_are_the_flags_and_numbers_that_they_hold(dtype):
    random = np.random.default_rng(0)
    town = random.choice(["Ulm", "Bonn", "Kiel"], 200)
    numbers = np.where(random.random(200) < 0.3, 0.0, random.normal(size=200))
    frame = pd.get_dummies(pd.DataFrame({"town": town, "x": numbers}), sparse=True, dtype=dtype)
    frame["x"] = pd.arrays.SparseArray(numbers, fill_value=0.0)

    def model(rows):
        pd.testing.assert_series_equal(rows.dtypes, frame.dtypes)
        assert (rows.drop(columns="x").sum(axis=1) == 1).all()
        return np.asarray(rows["x"]) ** 2

    scores = ah.gamma(model, frame)
    assert scores.settings.kinds == ("number", "one-hot", "one-hot", "one-hot")
    same = ah.gamma(lambda rows: np.asarray(rows["x"]) ** 2, frame.sparse.to_dense())
    np.testing.assert_array_equal(scores.values, same.values)
    alone = frame[["x"]].assign(y=pd.arrays.SparseArray(numbers[::-1], fill_value=0.0))
    assert ah.gamma(model_of_numbers, alone).settings.columns == ("x", "y")


def model_of_numbers(rows):
    return np.asarray(rows["x"]) * np.asarray(rows["y"])


def test_a_plan_of_cells_that_no_file_brings_back_is_refused(tmp_path):
    frame = pd.DataFrame({"k": np.arange(60) % 7, "x": np.arange(60) / 9})
    for name, cells in {
        "month": pd.period_range("2024-01", periods=12, freq="M")[np.arange(60) % 12],
        "mixed": pd.Series([1, "a", None] * 20, dtype=object),
    }.items():
        odd = frame.assign(**{name: cells})
        assert ah.gamma(lambda rows: rows["x"].to_numpy() ** 2, odd).complete
        with pytest.raises(InputError, match=f"column {name} holds .* does not come back from a"):
            ah.plan(odd, tmp_path / "queries.parquet")


def test_a_category_of_ten_thousand_levels():
    random = np.random.default_rng(0)
    levels = random.integers(0, 10_000, 30_000)
    reference = pd.DataFrame(
        {
            "c": pd.Categorical([f"level {level}" for level in levels]),
            "x": random.normal(size=30_000),
        }
    )
    points = reference[:20]

    def model(rows):
        assert len(rows["c"].cat.categories) >= len(reference["c"].cat.categories)
        return (rows["c"].cat.codes.to_numpy() % 2) * 1.0

    scores = ah.gamma(model, points, reference=reference)
    assert scores.settings.kinds == ("category", "number")
    assert (scores.values > 0).mean() > 0.8


MISSING = {
    "list": lambda: [None, *TEXTS[:11]],
    "Series": lambda: pd.Series([*TEXTS[:11], np.nan]),
    "objects": lambda: np.array([*TEXTS[:5], None, *TEXTS[:6]], dtype=object),
    "arrow": lambda: pa.array([None, *TEXTS[:11]]),
}


@pytest.mark.parametrize("library", MISSING)
def test_a_missing_text_reaches_the_model_as_it_came(library):
    """Not as the word None, which a vectorizer would count."""
    texts = MISSING[library]()
    given = texts.to_pylist() if library == "arrow" else list(texts)
    seen = set()

    def model(rows):
        seen.update(repr(text) for text in rows if not isinstance(text, str))
        return np.array([len(text) if isinstance(text, str) else 0.0 for text in rows])

    scores = ah.gamma(model, texts)
    assert seen == {repr(text) for text in given if not isinstance(text, str)}
    gone = [not isinstance(text, str) for text in given]
    assert (scores.outputs[gone] == 0).all()
    assert (scores.values[gone] == 0).all()


def test_columns_in_a_dictionary_are_refused_in_a_line():
    with pytest.raises(PointsError, match="a DataFrame when"):
        ah.gamma(len, {"a": [1, 2], "b": ["u", "v"]})


@pytest.mark.parametrize("ball", ["auto", "data"])
def test_names_that_columns_share_are_refused_in_a_line(ball):
    twice = pd.DataFrame(np.zeros((4, 2)), columns=["a", "a"])
    with pytest.raises(PointsError, match="several columns are called a: rename them"):
        ah.gamma(len, twice, ball=ball)
    with pytest.raises(PointsError, match="column names must be text, and 0, 1 is none"):
        ah.gamma(len, pd.DataFrame(np.zeros((4, 2))), ball=ball)


def test_arrow_types_that_cannot_be_taken_from_are_refused_and_maps_stay():
    numbers = {"x": np.arange(60.0) ** 2, "k": np.arange(60) % 7}
    views = pa.array(["u", "v"] * 30, pa.string_view())
    ends = pa.RunEndEncodedArray.from_arrays(pa.array([60], pa.int32()), pa.array(["u"]))
    for odd in (views, ends):
        with pytest.raises(PointsError, match=r"column odd holds .* cast it to a plain type"):
            ah.gamma(len, pa.table(numbers | {"odd": odd}))
    maps = pa.array([[("a", row)] for row in range(60)], pa.map_(pa.string(), pa.int64()))
    scores = ah.gamma(lambda rows: np.asarray(rows["k"]) ** 2.0, pa.table(numbers | {"odd": maps}))
    assert scores.settings.still == ("odd",)


class Place(NamedTuple):
    """A cell that is a tuple of a type of its own."""

    street: str
    number: int


def test_a_file_holds_no_levels_of_types_of_the_users_own(tmp_path):
    places = np.empty(96, dtype=object)
    places[:] = [Place("High", row % 3) for row in range(96)]
    frame = pd.DataFrame({"place": pd.Series(places, dtype=object), "x": np.arange(96) / 7})
    watch = ah.Monitor(lambda rows: np.sin(rows["x"].to_numpy()), frame, promise=False)
    with pytest.raises(SettingsError, match="levels of the type Place, which a file cannot hold"):
        watch.save(tmp_path / "monitor")
