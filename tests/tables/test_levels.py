"""Levels: their order, what a file makes of them, and what the points add to the reference's."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import anharmonic as ah
from anharmonic.errors import InputError, SettingsError
from anharmonic.measures.setup.settling import settle
from anharmonic.regions.tables.storing import law_as_text, law_from_text

MANY = 200
SIZES = ["S", "M", "L", "XL"]


def zeros(rows):
    return np.zeros(len(rows))


def sizes(levels, many=MANY, seed=0, categories=None):
    random = np.random.default_rng(seed)
    cells = random.choice(levels, many)
    if categories is not None:
        cells = pd.Categorical(cells, categories=categories, ordered=True)
    return pd.DataFrame({"size": cells, "k": random.integers(0, 9, many)})


def levels_in(points, reference, **told):
    setup = settle(zeros, points, reference=reference, **told)
    codes = np.asarray(setup.reference.values)[:, 0]
    return setup.region.neighbourhood.coding.columns[0].levels, codes


def test_an_order_is_the_references_whatever_the_points_lack():
    reference = sizes(["low", "middle", "high"], categories=["low", "middle", "high"])
    points = sizes(["low", "middle"], 30, categories=["low", "middle"])
    levels, codes = levels_in(points, reference)
    assert levels == ("low", "middle", "high")
    assert set(codes) == {0, 1, 2}
    other = sizes(["low", "high"], 30, categories=["lowest", "low", "rather", "high", "highest"])
    levels, codes = levels_in(other, reference)
    assert levels == ("lowest", "low", "rather", "middle", "high", "highest")
    assert set(codes) == {1, 3, 4}


def test_categories_of_ordered_points_are_those_of_the_reference_too():
    reference = sizes(["low", "middle", "high"])
    points = sizes(["low", "middle"], 30, categories=["low", "middle"])
    levels, codes = levels_in(points, reference)
    assert sorted(levels) == ["high", "low", "middle"]
    assert set(codes) == {0, 1, 2}


def test_an_order_can_be_told():
    frame = sizes(SIZES)

    def line(rows):
        return rows["size"].map(SIZES.index).to_numpy() * 1.0

    told = {"kinds": {"size": SIZES}, "ball": "auto pairs"}
    scores = ah.gamma(line, frame, **told)
    assert scores.settings.kinds == ("ordered", "whole")
    assert scores.settings.orders == (tuple(SIZES), ())
    # A straight line in the order is harmonic; in another order it is none.
    assert scores.values.max() < 1e-12
    other = ah.gamma(line, frame, kinds={"size": sorted(SIZES)}, ball="auto pairs")
    assert other.values.max() > 0.1
    assert "law" in other.settings.differing(scores.settings)


def test_a_told_order_is_measured_again_and_survives_a_file(tmp_path):
    frame = sizes(SIZES)
    scores = ah.gamma(zeros, frame, kinds={"size": SIZES})
    scores.save(tmp_path / "scores.parquet")
    for old in (scores, ah.load(tmp_path / "scores.parquet")):
        assert not ah.measured_like(old, zeros, frame).settings.differing(old.settings)
    law = settle(zeros, frame, kinds={"size": SIZES}).region.neighbourhood
    assert law_from_text(law_as_text(law)).kinds == law.kinds


def test_texts_have_no_order_unless_somebody_gives_it():
    frame = sizes(SIZES)
    words = r"column size cannot be 'ordered': it holds String, whose order nobody knows: give the"
    with pytest.raises(SettingsError, match=words):
        ah.gamma(zeros, frame, kinds={"size": "ordered"})
    with pytest.raises(SettingsError, match="column size has XL, which its order does not name"):
        ah.gamma(zeros, frame, kinds={"size": SIZES[:3]})
    with pytest.raises(SettingsError, match="name each of its levels once"):
        ah.gamma(zeros, frame, kinds={"size": ["S", "S", "M", "L", "XL"]})
    with pytest.raises(SettingsError, match="whose order is its own"):
        ah.gamma(zeros, frame, kinds={"k": [3, 2, 1]})
    typed = pl.DataFrame(frame.to_dict("list"), schema_overrides={"size": pl.Enum(SIZES)})
    levels, _ = levels_in(typed, typed, kinds={"size": "ordered"})
    assert levels == tuple(SIZES)
    # A level that only the points have stays where it is.
    points = frame[:20].assign(size="XXL")
    seen = set()
    ah.gamma(
        lambda rows: seen.update(rows["size"]) or zeros(rows),
        points,
        reference=frame,
        kinds={"size": SIZES},
    )
    assert seen == {"XXL"}


ODD = {
    "dates": [date(2024, 1, 1), date(2024, 5, 1)],
    "times": [time(8, 30), time(17)],
    "datetimes": [datetime(2024, 1, 1, 8), datetime(2024, 1, 2)],
    "timestamps": [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-02-01 10:00:00.000000001")],
    "zones": list(pd.to_datetime(["2024-01-01", "2024-07-01"]).tz_localize("Europe/Berlin")),
    "durations": [timedelta(days=3, microseconds=7), timedelta(hours=1)],
    "pandas durations": list(pd.to_timedelta(["1D", "3ns"])),
    "decimals": [Decimal("0.10"), Decimal("2.5")],
    "periods": list(pd.period_range("2024-01", periods=2, freq="M")),
    "intervals": list(pd.interval_range(0, 2)),
    "tuples": [(1, "a"), (2, Decimal("1"))],
    "bytes": [b"\x00a", b"b"],
    "truth values": [True, False],
    "numpy's truth values": [np.True_, np.False_],
    "texts": ["a", "b"],
}


@pytest.mark.parametrize("name", ODD)
def test_levels_of_any_type_survive_a_file(name):
    cells = np.empty(MANY, dtype=object)
    cells[:] = [ODD[name][place] for place in np.random.default_rng(0).integers(2, size=MANY)]
    frame = pd.DataFrame({"odd": pd.Series(cells, dtype=object), "k": np.arange(MANY) % 7})
    law = settle(zeros, frame).region.neighbourhood
    back = law_from_text(law_as_text(law))
    mine, theirs = law.coding.columns[0], back.coding.columns[0]
    assert theirs.levels == mine.levels
    table = settle(zeros, frame).region.source
    np.testing.assert_array_equal(theirs.encode(table["odd"]), mine.encode(table["odd"]))


REFUSED = {
    False: ("timestamps", "pandas durations", "periods", "intervals", "tuples"),
    True: ("durations", "pandas durations", "periods", "intervals", "tuples"),
}
"""What Parquet does not bring back: of objects, and of categories."""


@pytest.mark.filterwarnings("ignore:DatetimeIndex.values")
@pytest.mark.parametrize("typed", [False, True], ids=["objects", "categories"])
@pytest.mark.parametrize("name", ODD)
def test_a_plan_of_odd_levels_is_collected_as_it_is_measured_or_refused(name, typed, tmp_path):
    cells = np.empty(MANY, dtype=object)
    cells[:] = [ODD[name][place] for place in np.random.default_rng(0).integers(2, size=MANY)]
    column = pd.Series(cells, dtype=object).astype("category" if typed else object)
    frame = pd.DataFrame({"odd": column, "k": np.arange(MANY) % 7})
    answers = []

    def model(rows):
        first = np.array([cell == ODD[name][0] for cell in rows["odd"].tolist()])
        answers.append(rows["k"].to_numpy() ** 2.0 + 3 * first)
        return answers[-1]

    queries = tmp_path / "queries.parquet"
    if name in REFUSED[typed]:
        with pytest.raises(InputError, match="does not come back from a Parquet file: make it"):
            ah.plan(frame[:20], queries, reference=frame)
        return
    ah.plan(frame[:20], queries, reference=frame)
    common = {"reference": frame, "ball": "auto pairs", "noise": "ignore", "batch_size": 100_000}
    direct = ah.gamma(model, frame[:20], **common)
    collected = ah.collect(queries, np.concatenate(answers))
    np.testing.assert_array_equal(collected.values, direct.values)


def test_levels_that_no_file_can_hold_are_refused_in_words():
    class Colour:
        def __init__(self, name):
            self.name = name

        def __str__(self):
            return self.name

    colours = [Colour("red"), Colour("blue")]
    frame = pd.DataFrame({"c": [colours[place % 2] for place in range(60)], "k": np.arange(60) % 7})
    law = settle(zeros, frame).region.neighbourhood
    with pytest.raises(SettingsError, match="column c has levels of the type Colour, which a file"):
        law_as_text(law)


@pytest.mark.parametrize("token", [None, np.nan, pd.NA, pd.NaT], ids=repr)
def test_a_missing_cell_survives_a_file(token):
    cells = pd.Series(["a", "b", token] * 30, dtype=object)
    frame = pd.DataFrame({"c": cells, "k": np.arange(90) % 7})
    law = settle(zeros, frame).region.neighbourhood
    back = law_from_text(law_as_text(law)).coding.columns[0].missing
    assert repr(back) == repr(token)


def test_a_monitor_of_dates_by_category_comes_back_the_same(tmp_path):
    random = np.random.default_rng(0)
    months = pd.Categorical(pd.to_datetime(random.choice(["2024-01-01", "2024-02-01"], 900)))
    frame = pd.DataFrame({"month": months, "x": random.normal(size=900)})

    def model(rows):
        assert rows["month"].dtype.categories.dtype == months.dtype.categories.dtype
        likely = 1 / (1 + np.exp(-rows["x"].to_numpy() - (rows["month"] == "2024-01-01")))
        return np.stack([likely, 1 - likely], axis=1)

    watch = ah.Monitor(model, frame[:800], promise=False, watch=["gamma", "inputs"])
    watch.save(tmp_path / "monitor")
    back = ah.Monitor.load(tmp_path / "monitor", model)
    one, other = watch.update(frame[800:]), back.update(frame[800:])
    for name, values in one.scores.items():
        np.testing.assert_array_equal(other.scores[name], values)


def test_a_law_of_an_earlier_version_says_so():
    """Neighbours that are drawn otherwise make other scores, which would look like a drift."""
    law = settle(zeros, sizes(["a", "b", "c"])).region.neighbourhood
    text = law_as_text(law)
    law_from_text(text)
    saved = json.loads(text)
    del saved["facts"]["version"]
    with pytest.warns(UserWarning, match="written by another version .* so fit or plan anew"):
        law_from_text(json.dumps(saved))
