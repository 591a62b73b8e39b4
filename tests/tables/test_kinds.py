"""Kinds: what columns are taken for, and where each may go."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import PointsError, SettingsError
from tests.tables.people import people

MANY = 300


def asked_for(frame, **arguments):
    """Every frame a model is asked for, below one another, and the scores."""
    seen = []

    def model(rows):
        seen.append(rows)
        return np.zeros(len(rows))

    scores = ah.gamma(model, frame, noise="ignore", ball="auto pairs", **arguments)
    return pd.concat(seen), scores


def test_kinds_are_chosen_from_types_and_values():
    frame, _ = people()
    _, scores = asked_for(frame)
    kinds = dict(zip(scores.settings.columns, scores.settings.kinds, strict=True))
    assert kinds == {
        "age": "whole",
        "income": "number",
        "sex": "category",
        "pregnant": "category",
        "job": "category",
        "grade": "ordered",
        "children": "whole",
        "joined": "date",
        "member": "flag",
    }
    assert abs(sum(scores.settings.shares) - 1) < 1e-9


def test_every_column_stays_on_its_grid_and_within_the_reference():
    frame, _ = people()
    asked, _ = asked_for(frame)
    assert len(asked) > 10 * len(frame)
    for name in ("age", "children"):
        assert (asked[name] == asked[name].round()).all()
        assert asked[name].between(frame[name].min(), frame[name].max()).all()
        assert asked[name].nunique() > 5
    for name in ("sex", "pregnant", "job", "grade"):
        assert set(asked[name].dropna()) <= set(frame[name].dropna())
    assert asked["grade"].dtype == frame["grade"].dtype
    assert asked["job"].dtype == frame["job"].dtype
    assert asked["joined"].dtype == frame["joined"].dtype
    assert (asked["joined"].dt.normalize() == asked["joined"]).all()
    assert asked["member"].dtype == bool


def test_what_the_reference_rules_out_is_rare():
    frame, _ = people(1000)
    asked, _ = asked_for(frame)
    men = asked["sex"] == "male"
    assert (asked.loc[men, "pregnant"] == "yes").sum() == 0
    # And sexes do change.
    start = np.repeat(frame["sex"].to_numpy(), len(asked) // len(frame))
    assert (asked["sex"].to_numpy() != start).mean() > 0.01


def test_a_rare_row_that_the_others_rule_out_holds_nothing_up():
    random = np.random.default_rng(0)
    side = random.random(2000) < 0.5
    frame = pd.DataFrame({"a": np.where(side, "x", "y"), "b": np.where(side, "u", "v")})
    # One row of two thousand has what all others rule out.
    frame.loc[7, ["a", "b"]] = ["x", "v"]
    frame["c"] = random.choice(["r", "s"], 2000)
    asked, _ = asked_for(frame[:50], reference=frame)
    assert ((asked["a"] == "x") & (asked["b"] == "v")).mean() < 0.05


def test_cells_go_missing_and_are_found_at_the_references_rate():
    frame, _ = people(1000)
    asked, _ = asked_for(frame)
    here = frame["income"].isna().mean()
    assert 0.5 * here < asked["income"].isna().mean() < 2 * here
    start = np.repeat(frame["income"].isna().to_numpy(), len(asked) // len(frame))
    changed = asked["income"].isna().to_numpy() != start
    assert 0 < changed.mean() < 0.2


def test_one_hot_columns_move_together():
    random = np.random.default_rng(0)
    level = random.integers(3, size=MANY)
    frame = pd.DataFrame({f"town_{place}": (level == place).astype(int) for place in range(3)})
    frame["price"] = random.normal(size=MANY) + level
    asked, scores = asked_for(frame)
    assert scores.settings.kinds == ("one-hot", "one-hot", "one-hot", "number")
    assert (asked[["town_0", "town_1", "town_2"]].sum(axis=1) == 1).all()
    moved = asked["town_0"].to_numpy() != np.repeat(frame["town_0"].to_numpy(), len(asked) // MANY)
    assert moved.any()


def test_shares_keep_their_sum_and_bounded_numbers_their_bounds():
    random = np.random.default_rng(0)
    parts = random.dirichlet([1.0, 2.0, 3.0], MANY)
    frame = pd.DataFrame(parts, columns=["mix_a", "mix_b", "mix_c"])
    frame["rate"] = np.clip(random.normal(0.5, 0.4, MANY), 0, 1)
    frame["kind"] = random.choice(["x", "y"], MANY)
    asked, scores = asked_for(frame)
    assert scores.settings.kinds == ("share", "share", "share", "bounded", "category")
    np.testing.assert_allclose(asked[["mix_a", "mix_b", "mix_c"]].sum(axis=1), 1, atol=1e-9)
    assert asked[["mix_a", "mix_b", "mix_c"]].to_numpy().min() >= -1e-12
    assert asked["rate"].between(0, 1).all()


def test_a_spiked_number_takes_values_that_rows_have():
    random = np.random.default_rng(0)
    gain = np.where(random.random(MANY) < 0.9, 0, random.integers(1000, 9000, MANY))
    frame = pd.DataFrame({"gain": gain, "age": random.integers(20, 60, MANY)})
    asked, scores = asked_for(frame)
    assert scores.settings.kinds == ("spiked", "whole")
    assert set(asked["gain"]) <= set(gain)


def test_kinds_can_be_told():
    frame, _ = people()
    asked, scores = asked_for(frame, kinds={"age": "category", "children": "number"})
    kinds = dict(zip(scores.settings.columns, scores.settings.kinds, strict=True))
    assert kinds["age"] == "category"
    assert kinds["children"] == "bounded" or kinds["children"] == "number"
    assert (asked["children"] != asked["children"].round()).any()
    with pytest.raises(SettingsError, match="kinds= names town"):
        ah.gamma(len, frame, kinds={"town": "category"})
    with pytest.raises(SettingsError, match="cannot be 'colour': choose one of number"):
        ah.gamma(len, frame, kinds={"sex": "colour"})


def test_a_function_of_ones_own_moves_a_column():
    frame, _ = people(60)

    def shout(cell, random):
        return cell.upper() if random.random() < 0.5 else cell

    asked, scores = asked_for(frame, kinds={"sex": shout})
    assert scores.settings.kinds[2] == "own"
    assert {"FEMALE", "MALE"} <= set(asked["sex"])


def test_names_stay_and_a_table_that_cannot_move_says_so():
    frame = pd.DataFrame({"name": [f"p{row}" for row in range(50)], "age": np.arange(50)})
    _, scores = asked_for(frame)
    assert scores.settings.still == ("name",)
    with pytest.raises(PointsError, match="no column can move"):
        ah.gamma(len, frame[["name"]])
    with pytest.raises(PointsError, match=r"infinity in the points, in column age of rows 3"):
        ah.gamma(len, frame.assign(age=np.where(np.arange(50) == 3, np.inf, 1.5), sex="f"))


def test_integers_that_no_float_holds_stay():
    frame = pd.DataFrame({"number": 2**60 + np.arange(50), "age": np.arange(50) % 9})
    asked, scores = asked_for(frame)
    assert scores.settings.still == ("number",)
    assert set(asked["number"]) == set(frame["number"])


def test_all_columns_may_be_categories():
    frame, _ = people()
    some = frame[["sex", "pregnant", "job"]]

    def model(rows):
        return (rows["sex"].to_numpy() == "male") * 1.0 + (rows["pregnant"].to_numpy() == "yes")

    scores = ah.gamma(model, some)
    assert scores.complete
    assert scores.mean > 0
    assert {moved.name for moved in scores.along()} <= {"sex", "pregnant", "job"}
    assert scores.along()[0].name in ("sex", "pregnant")


def test_a_number_can_be_read():
    frame, _ = people()

    def model(rows):
        return 1000.0 * (rows["sex"].to_numpy() == "male") + rows["age"].to_numpy()

    scores = ah.gamma(model, frame)
    relative = scores.relative
    assert relative.value == pytest.approx(scores.mean / scores.outputs.std(), rel=1e-9)
    assert scores.summary()["relative"] == list(relative)
    assert scores.along()[0].name == "sex"
    assert "moves most with" in scores._repr_html_()
