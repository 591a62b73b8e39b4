"""Rows, parts and keys that are unlike the rest: none of them costs the others."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic._core.files import read_data
from anharmonic.errors import InputError, PointsError, SettingsError
from anharmonic.measures.compare import over_sources
from anharmonic.measures.gamma import listed_rows
from anharmonic.sources import files
from tests.scale.generated import parquet_folder, table, wavy

GIVEN = {"radius": 0.3, "scale": [1.0] * 4, "ball": "auto pairs"}


def of(stored):
    return pa.concat_tables(list(stored.batches()))


def test_a_first_part_without_a_row_hides_no_columns(tmp_path):
    rows = table(200)
    (tmp_path / "in").mkdir()
    empty = rows.set_column(0, "f0", pa.array([np.nan] * 200))
    pq.write_table(empty, tmp_path / "in" / "0.parquet")
    pq.write_table(rows, tmp_path / "in" / "1.parquet")
    stored = ah.gamma(wavy, files(tmp_path / "in"), reference=rows, out=tmp_path / "o", **GIVEN)
    assert (len(stored), stored.set_aside) == (200, 200)
    values = pa.concat_tables(list(stored.batches(["value"])))
    assert len(values) == len(stored.to_scores()) == 200
    # Whoever opens the folder sees every column, whichever part is looked at first.
    whole = ds.dataset(tmp_path / "o" / "scores")
    assert {"file", "row", "value", "error"} <= set(whole.schema.names)
    assert whole.to_table(columns=["value"])["value"].null_count == 0
    assert repr(ah.load(tmp_path / "o")) == repr(stored)


def test_a_run_without_a_single_row_says_so(tmp_path):
    rows = table(40)
    pq.write_table(rows, tmp_path / "rows.parquet")

    def beyond(frame):
        return np.where(np.asarray(frame)[:, :1] > -100, np.nan, 0.0)

    stored = ah.gamma(beyond, files(tmp_path / "rows.parquet"), noise="ignore", **GIVEN)
    assert (len(stored), stored.set_aside) == (0, 40)
    assert list(stored.batches(["value"])) == []
    with pytest.raises(InputError, match="no row of the run"):
        stored.to_scores()


DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=day) for day in range(100)]


@pytest.mark.parametrize(
    "keys",
    [
        pd.to_datetime(DAYS),
        DAYS,
        [b"%d" % number for number in range(100)],
        [bytes([200, number]) for number in range(100)],
        pd.Categorical([f"k{number}" for number in range(100)]),
        [float(number) for number in range(100)],
    ],
    ids=["timestamp", "date", "bytes", "no text", "category", "whole fractions"],
)
def test_keys_of_any_kind_are_written_read_and_missed(tmp_path, keys):
    frame = table(100).to_pandas()
    frame["who"] = keys
    source = files(tmp_path / "rows.parquet", key="who")
    frame.to_parquet(tmp_path / "rows.parquet")
    whole = ah.gamma(wavy, source, out=tmp_path / "whole", **GIVEN)
    frame.loc[3, "who"] = None
    frame.to_parquet(tmp_path / "rows.parquet")
    gap = ah.gamma(wavy, source, out=tmp_path / "gap", **GIVEN)
    assert (len(gap), gap.set_aside) == (99, 1)
    assert gap.set_aside_rows()["reason"].tolist() == ["the row has no key"]
    # A row's score depends on its own key alone.
    columns = ["row", "value", "error"]
    assert (
        of(gap)
        .select(columns)
        .equals(of(whole).filter(pa.array(np.arange(100) != 3)).select(columns))
    )
    worst = ah.load(tmp_path / "whole").worst(3)
    assert worst["key"].tolist() == whole.worst(3)["key"].tolist()


def test_keys_that_files_write_differently(tmp_path):
    for number, kind in enumerate((pa.int32(), pa.int64())):
        ids = pa.array(np.arange(50) + 50 * number).cast(kind)
        pq.write_table(table(50, number, who=ids), tmp_path / f"{number}.parquet")
    stored = ah.gamma(wavy, files(tmp_path, key="who"), **GIVEN)
    assert of(stored)["key"].to_pylist() == list(range(100))


def test_a_model_that_loses_a_whole_part_is_compared_at_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(over_sources, "SHARD", 64)
    rows = table(256).to_pandas()
    rows["f0"] = np.sort(rows["f0"])
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet")
    some = rows[rows["f0"] < rows["f0"][150]].index

    def partial(frame):
        low = np.asarray(frame)[:, :1] < rows["f0"][150] + 1e-9
        return np.where(low, wavy(frame), np.nan)

    given = {"radius": 1e-7, "scale": [1.0] * 4}
    compared = ah.compare(
        {"all": wavy, "some": partial},
        files(tmp_path / "rows.parquet"),
        reference=rows,
        region="points",
        **given,
    )
    assert compared.scores["some"].set_aside >= 100
    assert len(compared.scores["some"]) >= len(some) - 1
    assert abs(compared.differences[0].estimate.value) < 1e-12


def test_rows_outside_the_bounds_are_set_aside_in_the_sample_too(tmp_path):
    rows = table(300)
    pq.write_table(rows, tmp_path / "rows.parquet")
    source = files(tmp_path / "rows.parquet")
    outside = (np.abs(np.column_stack(rows.columns)) > 2).any(axis=1)
    stored = ah.gamma(wavy, source, bounds=(-2, 2), **GIVEN)
    assert (len(stored), stored.set_aside) == (int((~outside).sum()), int(outside.sum()))
    assert set(stored.set_aside_rows()["reason"]) == {"the row lies outside the bounds"}
    inside = rows.to_pandas()[~outside]
    # Scale and radius are those of the rows inside, as in memory.
    here = ah.gamma(wavy, inside, bounds=(-2, 2), ball="auto pairs")
    there = ah.gamma(wavy, source, bounds=(-2, 2), ball="auto pairs")
    assert there.settings.radius == pytest.approx(here.settings.radius, rel=1e-12)
    assert there.settings.scale == pytest.approx(here.settings.scale, rel=1e-12)
    compared = ah.compare({"a": wavy, "b": lambda x: 2 * wavy(x)}, source, bounds=(-2, 2))
    assert compared.scores["a"].set_aside == int(outside.sum())
    with pytest.raises(PointsError, match="every row of the sample lies outside"):
        ah.gamma(wavy, source, bounds=(-9, -8), **GIVEN)
    with pytest.raises(SettingsError, match="below its upper"):
        ah.gamma(wavy, source, bounds=(2, -2), **GIVEN)


def shy(frame):
    """No number near large values of the first column."""
    return np.where(np.asarray(frame)[:, :1] > 4, np.nan, wavy(frame))


@pytest.mark.parametrize(
    ("measure", "own"),
    [
        (ah.nstep_robustness, {"steps": 3}),
        (ah.adversarial_search, {"steps": 3, "directions": 6}),
        (ah.clever, {"blocks": 10, "block_size": 4}),
    ],
    ids=["nstep", "search", "clever"],
)
@pytest.mark.parametrize("bad", [[1], [0, 1, 2, 3, 4]], ids=["one", "all that is tried first"])
def test_measures_settle_on_rows_that_the_model_answers(tmp_path, measure, own, bad):
    rows = table(60).to_pandas().clip(-2, 2)
    rows.loc[bad, "f0"] = 9.0
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet")
    given = {"radius": 0.1, "scale": [1.0] * 4, **own}
    stored = measure(shy, files(tmp_path / "rows.parquet"), **given)
    assert stored.set_aside == len(bad)
    assert sorted(stored.set_aside_rows()["row"]) == bad


def test_questions_of_failed_calls_are_counted(tmp_path):
    rows = table(400).to_pandas().clip(-2, 2)
    rows.loc[[30, 31, 300], "f0"] = 9.0
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet")
    asked = 0

    def fails(frame):
        nonlocal asked
        asked += len(frame)
        if (np.asarray(frame)[:, 0] > 4).any():
            raise RuntimeError("too large")
        return wavy(frame)

    source = files(tmp_path / "rows.parquet")
    stored = ah.gamma(fails, source, out=tmp_path / "out", **GIVEN)
    assert stored.set_aside == 3
    # All but the few by which the model is known again, if the run is started once more.
    assert asked - stored.queries == pytest.approx(_asked_at_few(rows), abs=1)
    asked = 0

    def gives_none(frame):
        nonlocal asked
        asked += len(frame)
        return shy(frame)

    stored = ah.gamma(gives_none, source, **GIVEN)
    assert asked - stored.queries == 48


def _asked_at_few(rows):
    """48 rows, and halves of them until those that fail stand alone."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, 48).astype(int))
    waiting, count = [chosen], 0
    while waiting:
        part = waiting.pop()
        count += len(part)
        if (rows["f0"][part] > 4).any() and len(part) > 1:
            waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
    return count


def _codes(frame):
    """What a model sees that was fitted to codes: they must mean the same everywhere."""
    colour = frame["colour"]
    order = list(colour.cat.categories)
    assert order[:3] == ["green", "red", "blue"], order
    return np.sin(3 * frame["f0"]) + colour.cat.codes


def test_categories_have_the_same_codes_in_every_file(tmp_path):
    """Files list the levels that they have, in an order of their own."""
    (tmp_path / "in").mkdir()
    random = np.random.default_rng(0)
    own = [["green", "red"], ["red", "green"], ["blue", "red"]]
    cells = [random.choice(levels, 100) for levels in own]
    for number, levels in enumerate(own):
        frame = table(100, number).to_pandas()
        frame["colour"] = pd.Categorical(cells[number], categories=levels)
        frame.to_parquet(tmp_path / "in" / f"{number}.parquet")
    stored = ah.gamma(_codes, files(tmp_path / "in"), out=tmp_path / "out", ball="auto pairs")
    assert (len(stored), stored.set_aside) == (300, 0)
    whole = pd.concat([table(100, number).to_pandas() for number in range(3)], ignore_index=True)
    whole["colour"] = pd.Categorical(np.concatenate(cells), categories=["green", "red", "blue"])
    # The numbers of the rows in their files are other ones than in memory: a part of them agrees.
    here = ah.gamma(_codes, whole, ball="auto pairs")
    np.testing.assert_array_equal(stored.to_scores().values[:100], here.values[:100])


def test_levels_that_the_sample_does_not_have_come_behind_its_own(tmp_path):
    from anharmonic.measures.streaming.placing import Frames

    def categories(*levels):
        return pa.table({"c": pa.array(levels, pa.string()).dictionary_encode()})

    frames = Frames.like(categories("b", "a"), categories("c", None))
    frame = frames.frame(categories("z", "a", None, "d", "c"))
    assert frame["c"].cat.categories.tolist() == ["b", "a", "c", "d", "z"]
    assert frame["c"].tolist()[:2] == ["z", "a"]
    assert frame["c"].isna().tolist() == [False, False, True, False, False]
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["c", "y"]))
    assert frames.frame(pa.table({"c": unused}))["c"].cat.categories.tolist() == ["b", "a", "c"]


def _rule(frame):
    return 1.1 * (frame["p"] == "x") + 2.3 * (frame["q"] == "y") * (frame["p"] == "z")


@pytest.mark.parametrize("rows", [60, 700])
def test_categories_alone_are_asked_for_all_neighbours_as_in_memory(tmp_path, rows):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({name: random.choice(list("xyz"), rows) for name in "pq"})
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    source = files(tmp_path / "rows.parquet")
    given = {"radius": 0.5}
    stored = ah.gamma(_rule, source, **given)
    here = ah.gamma(_rule, frame, **given)
    assert here.settings.complete
    assert stored.settings.ball == here.settings.ball == "complete"
    np.testing.assert_array_equal(stored.to_scores().values, here.values)
    assert (stored.queries, stored.mean) == (here.queries, pytest.approx(here.mean, rel=1e-14))
    assert (stored.to_scores().errors == 0).all()
    score = ah.scorer(_rule, frame, **given)
    np.testing.assert_array_equal(score(frame[7:31])["value"], here.values[7:31])
    ah.plan(source, tmp_path / "plan", **given)
    asked = pd.read_parquet(tmp_path / "plan" / "queries")
    asked[["part", "query"]].assign(y=_rule(asked)).to_parquet(tmp_path / "answers.parquet")
    collected = ah.collect(tmp_path / "plan", tmp_path / "answers.parquet")
    np.testing.assert_array_equal(collected.to_scores().values, here.values)


def test_a_row_with_more_neighbours_than_the_sample_has_keeps_its_score(monkeypatch):
    """A scorer that was settled on few kinds of rows meets one with many."""
    random = np.random.default_rng(1)
    plain = pd.DataFrame({name: ["x"] * 60 for name in "pqr"})
    plain.loc[:29, "p"] = "z"
    odd = pd.DataFrame({name: random.choice(list("xyzw"), 40) for name in "pqr"})
    score = ah.scorer(_rule, plain, radius=0.5, reference=pd.concat([plain, odd]))
    mixed = pd.concat([plain[:5], odd, plain[40:45]])
    widths = []
    complete = listed_rows.complete_ball
    monkeypatch.setattr(
        listed_rows, "complete_ball", lambda count: widths.append(count) or complete(count)
    )
    whole = score(mixed)
    assert set(widths) == {score.measure.complete, 64}
    assert whole["value"].notna().all()
    for row in range(len(mixed)):
        assert score(mixed[row : row + 1])["value"].item() == whole["value"].iloc[row]


def test_folders_are_features_where_the_model_names_them(tmp_path):
    from sklearn.linear_model import LinearRegression

    frames = []
    for day in (1, 2, 3):
        frame = table(100, day).to_pandas()
        folder = tmp_path / "in" / f"day={day}"
        folder.mkdir(parents=True)
        frame.to_parquet(folder / "rows.parquet")
        frames.append(frame.assign(day=day))
    whole = pd.concat(frames, ignore_index=True)
    model = LinearRegression().fit(whole, whole["f0"] * whole["day"])
    named = ah.gamma(model, files(tmp_path / "in"), radius=0.2)
    assert named.settings.columns == ("f0", "f1", "f2", "f3", "day")
    assert len(named) == 300
    plain = ah.gamma(wavy, files(tmp_path / "in"), radius=0.2)
    assert plain.settings.columns == ("f0", "f1", "f2", "f3")
    both = ah.compare({"model": model, "wavy": wavy}, files(tmp_path / "in"), radius=0.2)
    assert "day" in both.settings.columns


def test_damage_does_not_stop_a_plan(tmp_path):
    parquet_folder(tmp_path / "in", files=2, rows=400, group=200)
    path = tmp_path / "in" / "part-1.parquet"
    content = bytearray(path.read_bytes())
    column = pq.ParquetFile(path).metadata.row_group(1).column(0)
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + 64] = b"\xff" * 64
    path.write_bytes(bytes(content))
    ah.plan(files(tmp_path / "in", drop=["id"]), tmp_path / "plan", radius=0.3)
    asked = pd.read_parquet(tmp_path / "plan" / "queries")
    outputs = wavy(asked[["f0", "f1", "f2", "f3"]])
    answers = asked[["part", "query"]].assign(a=outputs[:, 0], b=outputs[:, 1])
    answers.to_parquet(tmp_path / "answers.parquet")
    stored = ah.collect(tmp_path / "plan", tmp_path / "answers.parquet")
    assert len(stored) + stored.set_aside == 800
    assert 0 < stored.set_aside <= 400


@pytest.mark.parametrize("beside", [None, pa.float64(), pa.int64()], ids=str)
def test_decimals_are_numbers(tmp_path, beside):
    """As warehouses write money: pandas would make objects of them, which few models take."""
    plain = table(200, price=pa.array(np.arange(200) // 4))
    written = plain.set_column(4, "price", plain["price"].cast(pa.decimal128(25, 2)))
    expected = plain.set_column(4, "price", plain["price"].cast(pa.float64()))

    def model(frame):
        assert frame["price"].dtype == np.float64
        return wavy(frame)[:, 0] + np.sin(frame["price"].to_numpy())

    (tmp_path / "in").mkdir()
    pq.write_table(written, tmp_path / "in" / "0.parquet")
    source = files(tmp_path / "in")
    if beside is not None:
        pq.write_table(
            table(50, 1, price=pa.array([1] * 50, beside)), tmp_path / "in" / "1.parquet"
        )
        assert len(ah.gamma(model, source)) == 250
        return
    stored = ah.gamma(model, source, ball="auto pairs")
    assert stored.settings.columns[-1] == "price"
    in_memory = ah.gamma(model, read_data(tmp_path / "in" / "0.parquet"), ball="auto pairs")
    here = ah.gamma(model, expected.to_pandas(), ball="auto pairs")
    for scores in (stored.to_scores(), in_memory):
        np.testing.assert_array_equal(scores.values, here.values)
    # Who a row is stays as it is written: 0.10 is no 0.1.
    keyed = ah.gamma(wavy, files(tmp_path / "in", key="price"), **GIVEN)
    assert keyed.worst(1)["key"].item().endswith(".00")
