"""A row's neighbours depend on the reference and the row, and on no other row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from tests.tables.people import people

REFERENCE = (
    people(400)[0]
    .drop(columns="pregnant")
    .assign(rate=np.clip(np.random.default_rng(1).normal(0.5, 0.3, 400), 0.0, 1.0))
)
POINTS = REFERENCE[:20]
LATER = {
    "a gap where the reference has none": {"age": np.nan},
    "a number beyond the reference": {"age": 150.0},
    "a bounded number beyond it": {"rate": 7.5},
    "a new level": {"sex": "aaa"},
    "a missing level": {"sex": None},
    "an earlier date": {"joined": pd.Timestamp("1999-12-31")},
    "a date between the others": {"joined": pd.Timestamp("2021-01-01 13:45")},
}


def bumpy(rows):
    """A model that every column bends."""
    age = np.nan_to_num(rows["age"].to_numpy(dtype=float))
    days = (rows["joined"] - pd.Timestamp("2020-01-01")).dt.days.to_numpy()
    jobs = rows["job"].astype(object).map({"clerk": 0.0, "nurse": 1.0, "smith": 3.0})
    return (
        np.sin(age)
        + np.cos(rows["rate"].to_numpy() * 9)
        + np.sin(days / 40)
        + jobs.fillna(2.0).to_numpy(dtype=float)
        + (rows["sex"] == "female").to_numpy() * rows["children"].to_numpy()
        + np.isnan(rows["income"].to_numpy())
    )


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("ball", ["auto pairs", "auto singles"])
def test_a_row_keeps_its_score_whatever_rows_come_after_it(later, ball):
    points = POINTS.astype({"age": float, "sex": object})
    changed = points.copy()
    for name, cell in LATER[later].items():
        changed.iloc[19, changed.columns.get_loc(name)] = cell
    reference = REFERENCE.astype({"age": float, "sex": object})
    common = {"reference": reference, "kinds": {"age": "whole"}, "radius": 1.5, "ball": ball}
    one = ah.gamma(bumpy, changed, **common)
    other = ah.gamma(bumpy, points[:19], **common)
    assert other.values.min() > 0
    np.testing.assert_array_equal(one.values[:19], other.values)
    if later != "a date between the others":
        # Its steps are other ones, in which the same dates have other numbers.
        assert one.settings.law == other.settings.law


def test_a_bounded_number_that_is_outside_stays_where_it_is():
    """No pair fits around it, and a single side would show a slope."""
    random = np.random.default_rng(0)
    reference = pd.DataFrame(
        {
            "rate": np.clip(random.normal(0.5, 0.4, 300), 0, 1),
            "x": random.normal(size=300),
            "c": random.choice(["u", "v"], 300),
        }
    )
    points = reference[:10].assign(rate=[1.5, -0.5, *reference["rate"][2:10]])

    def model(rows):
        return 3.0 * rows["rate"].to_numpy()

    scores = ah.gamma(model, points, reference=reference)
    assert scores.settings.kinds[0] == "bounded"
    assert scores.values.max() < 1e-9
    moved = ah.gamma(lambda rows: rows["rate"].to_numpy() ** 2, points, reference=reference)
    assert (moved.values[:2] == 0).all()
    assert (moved.values[2:] > 0).any()


def test_the_steepest_change_of_a_table_is_per_distance_really_moved():
    """A category is √2 away however small the radius is: 1/√2 is the constant of a flip."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"c": random.choice(["u", "v"], 600), "x": random.normal(size=600)})
    flips = ah.baselines.lipschitz(lambda rows: (rows["c"] == "u").to_numpy() * 1.0, frame)
    assert 0.7 < flips.values.max() <= 1 / np.sqrt(2) + 1e-12
    # A straight line in a number, in units of its spread, beside a category: its own slope.
    spread = frame["x"].std(ddof=0)
    line = ah.baselines.lipschitz(lambda rows: rows["x"].to_numpy() / spread, frame)
    assert 0.99 < line.values.max() <= 1 + 1e-9
    still = ah.baselines.lipschitz(lambda rows: np.zeros(len(rows)), frame[["c"]])
    assert (still.values == 0).all()


def test_a_reference_that_is_the_points_is_not_measured_twice():
    frame = REFERENCE[:60]
    assert frame["income"].isna().any()
    again = ah.compare({"one": bumpy}, frame, reference=frame.copy())
    assert not again.at_reference
    numbers = frame[["income"]].assign(age=frame["age"] * 1.5).to_numpy()
    arrays = ah.compare({"one": lambda x: np.nansum(x, axis=1)}, numbers, reference=numbers.copy())
    assert not arrays.at_reference
    # The same numbers beside other categories are other rows.
    flipped = frame.assign(sex=frame["sex"].map({"female": "male", "male": "female"}))
    other = ah.compare({"one": bumpy}, frame, reference=flipped)
    assert set(other.at_reference) == {"one"}


def as_row(frame, place):
    return frame.iloc[place]


def as_mapping(frame, place):
    return dict(frame.iloc[place])


@pytest.mark.parametrize("taken", [as_row, as_mapping])
def test_a_row_taken_out_of_a_table_has_its_types_again(taken):
    frame = REFERENCE.assign(
        flag=REFERENCE["age"].to_numpy() > 40,
        small=REFERENCE["children"].astype("Int8"),
        text=REFERENCE["sex"].astype("string"),
        zone=REFERENCE["joined"].dt.tz_localize("Europe/Berlin"),
    ).reset_index(drop=True)

    def model(rows):
        pd.testing.assert_series_equal(rows.dtypes, frame.dtypes)
        first = (rows["sex"] == "female").to_numpy() * 1.0
        return np.stack([first, 1 - first], axis=1)

    gone = int(np.flatnonzero(frame["income"].isna() | frame["job"].isna())[0])
    for place in (0, gone):
        found = ah.explain(model, taken(frame, place), reference=frame)
        whole = ah.explain(model, frame.iloc[[place]], reference=frame)
        assert found.cells == whole.cells
        assert found.output == whole.output


def test_a_cell_that_its_type_would_round_keeps_its_value():
    frame = pd.DataFrame({"a": np.arange(40) % 7, "x": np.arange(40) / 3, "c": ["u", "v"] * 20})
    seen = set()

    def model(rows):
        seen.update(rows["a"])
        return np.stack([rows["x"] > 5, rows["x"] <= 5], axis=1) * 1.0

    ah.explain(model, {"a": 3.5, "x": 1.0, "c": "u"}, reference=frame)
    assert 3.5 in seen
