"""Kinds: what columns are taken for, and where each may go."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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


def test_texts_are_texts_where_they_mostly_differ():
    """Labels of a census are long too, but there are only so many of them."""
    random = np.random.default_rng(0)
    labels = [f"not in the labour force {place}" for place in range(30)]
    notes = [f"a note of many words {place}" for place in range(MANY)]
    half = [f"a note of many words {place % (MANY // 2)}" for place in range(MANY)]
    frame = pd.DataFrame({"label": random.choice(labels, MANY), "note": notes, "half": half})
    frame["k"] = random.integers(0, 9, MANY)
    asked, scores = asked_for(frame)
    assert scores.settings.kinds == ("category", "text", "text", "whole")
    assert set(asked["label"]) <= set(labels)


def test_one_hot_columns_whose_levels_have_marks_in_them_move_together():
    random = np.random.default_rng(0)
    levels = ["self_emp", "self_emp_inc", "private", "local-gov"]
    frame = pd.DataFrame(
        {
            "work": random.choice(levels, MANY),
            "town=in": random.choice(["Bad.Ems", "Ulm"], MANY),
            "k": random.integers(0, 9, MANY),
        }
    )
    wide = pd.get_dummies(frame, columns=["work", "town=in"])
    # A flag of the same beginning that is no level of it.
    wide["work_abroad"] = (random.random(MANY) < 0.2) & wide["work_private"]
    asked, scores = asked_for(wide)
    kinds = dict(zip(scores.settings.columns, scores.settings.kinds, strict=True))
    towns = [name for name in wide if name.startswith("town")]
    assert {kinds[name] for name in towns} == {"one-hot"}
    assert (asked[towns].sum(axis=1) == 1).all()
    # The beginning they share does not say one of each row: no group.
    assert kinds["work_self_emp"] == kinds["work_abroad"] == "flag"
    asked, scores = asked_for(wide.drop(columns="work_abroad"))
    kinds = dict(zip(scores.settings.columns, scores.settings.kinds, strict=True))
    work = [f"work_{level}" for level in levels]
    assert {kinds[name] for name in (*work, *towns)} == {"one-hot"}
    assert (asked[work].sum(axis=1) == 1).all()
    moved = asked["work_self_emp"].to_numpy() != np.repeat(
        wide["work_self_emp"].to_numpy(), len(asked) // MANY
    )
    assert moved.any()


def test_shares_that_are_told_are_those_that_were_found():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.dirichlet([1, 2, 3], MANY), columns=["mix_a", "mix_b", "mix_c"])
    frame["day_a"] = 24 * random.random(MANY)
    frame["day_b"] = 24 - frame["day_a"]
    frame["c"] = random.choice(["u", "v"], MANY)
    _, scores = asked_for(frame)
    assert scores.settings.kinds[:3] == ("share",) * 3
    again = ah.measured_like(scores, len_of, frame)
    assert not again.settings.differing(scores.settings)
    # Two wholes, of which only one looks like it.
    told = {"day_a": "share", "day_b": "share"}
    asked, scores = asked_for(frame, kinds=told)
    assert scores.settings.kinds == ("share",) * 5 + ("category",)
    np.testing.assert_allclose(asked[["mix_a", "mix_b", "mix_c"]].sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(asked[["day_a", "day_b"]].sum(axis=1), 24, atol=1e-9)
    again = ah.measured_like(scores, len_of, frame)
    assert not again.settings.differing(scores.settings)


def len_of(rows):
    return np.zeros(len(rows))


def nested(library):
    """Lists, arrays of numbers and structures beside a number and a category."""
    table = pa.table(
        {
            "x": np.random.default_rng(0).normal(size=60),
            "c": ["u", "v", "w"] * 20,
            "list": [[1.0, 2.0], [3.0]] * 30,
            "structure": [{"a": 1}, {"a": 2}] * 30,
        }
    )
    if library == "polars":
        vectors = pl.Series("vector", np.arange(120.0).reshape(60, 2))
        return pl.from_arrow(table).with_columns(vectors)
    if library == "pandas":
        vectors = [np.array([float(place), 1.0]) for place in range(60)]
        return table.to_pandas(types_mapper=pd.ArrowDtype).assign(vector=vectors)
    return table.append_column("vector", pa.array([[float(place)] * 2 for place in range(60)]))


@pytest.mark.parametrize("library", ["polars", "pyarrow", "pandas"])
def test_lists_and_vectors_stay_as_they_are(library):
    table = nested(library)

    def model(rows):
        if library == "polars":
            assert rows.schema == table.schema
        first = rows["vector"][0]
        assert len(first) == 2
        return np.zeros(len(rows))

    scores = ah.gamma(model, table)
    assert scores.settings.columns == ("x", "c")
    assert set(scores.settings.still) == {"list", "structure", "vector"}
    with pytest.raises(SettingsError, match="which only a function of a cell and a generator can"):
        ah.gamma(model, table, kinds={"list": "category"})


REFUSED = {
    "number": ("sex", "which is no number: make it one first, or say"),
    "date": ("sex", "which is no date: make it one first, as pandas.to_datetime does"),
    "text": ("age", "which is no text: make it one first, or give a function"),
    "ordered": ("sex", "whose order nobody knows: give the levels from the least up"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_kind_that_cells_cannot_be_is_refused_with_what_to_do(kind):
    frame, _ = people(60)
    name, words = REFUSED[kind]
    with pytest.raises(
        SettingsError, match=f"column {name} cannot be '{kind}': it holds .*{words}"
    ):
        ah.gamma(len_of, frame, kinds={name: kind})
