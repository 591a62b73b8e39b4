"""Gamma over the data as a monitor watches it: comparable, one query per row, any columns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.over_data import Boosted, Neighbours
from anharmonic.measures.over_data.fitted import fit_weights
from anharmonic.measures.over_data.recorded import Answered
from anharmonic.monitor.storing_data import check_refitted
from anharmonic.regions import unmoved

DATA = "gamma data"


def wavy(x):
    """Flat below 0, wavy above."""
    x = np.asarray(x)
    return np.sin(4 * x[:, 0]) * (x[:, 0] > 0) + 0.5 * x[:, 1]


class Counting:
    """A model that counts the rows it was asked for."""

    def __init__(self, answer=wavy):
        self.answer, self.rows = answer, 0

    def __call__(self, rows):
        self.rows += len(rows)
        return self.answer(rows)


def rows_of(seed, count, shift=0.0):
    return np.random.default_rng((seed, 3)).uniform(-2, 2, size=(count, 2)) + np.array([shift, 0])


def table_of(seed, count):
    """Categories and a number that is often missing."""
    random = np.random.default_rng((seed, 4))
    return pd.DataFrame(
        {
            "id": np.arange(count) + 1000 * seed,
            "town": pd.Series(random.choice(["north", "south", "west"], count)).where(
                random.random(count) > 0.1
            ),
            "plan": random.choice(["basic", "full"], count),
            "age": np.where(random.random(count) < 0.3, np.nan, random.normal(size=count)),
            "rooms": random.integers(1, 5, count),
        }
    )


def price(table):
    age = table["age"].fillna(-1.0).to_numpy()
    north = (table["town"] == "north").to_numpy()
    return np.where(north, age, 0.5 * table["rooms"].to_numpy() * (table["plan"] == "full"))


@pytest.fixture(scope="module")
def reference():
    return rows_of(0, 1500)


@pytest.fixture(scope="module")
def table():
    return table_of(0, 1200)


@pytest.fixture
def watch(reference):
    return ah.Monitor(wavy, reference, watch=DATA)


def test_the_reference_is_scored_as_gamma_data_scores_it(reference, watch):
    expected = ah.gamma_data(reference, wavy(reference)).values
    np.testing.assert_allclose(watch.reference[DATA], expected, atol=1e-12)
    # And so it is when its rows come again, as traffic.
    np.testing.assert_allclose(watch.measure(reference)[DATA], expected, atol=1e-12)


@pytest.mark.parametrize("weights", ["forest", Neighbours(5)])
def test_traffic_like_the_reference_has_scores_like_it(weights):
    ratios = []
    for seed in range(6):
        rows, traffic = rows_of(seed, 800), rows_of(100 + seed, 8000)
        fitted = fit_weights(
            Answered(unmoved(rows), wavy(rows)[:, None]), kind="value", weights=weights
        )
        scores = fitted.score(unmoved(traffic), wavy(traffic)[:, None])
        ratios.append(scores.mean() / fitted.reference_scores.mean())
    # The mean of 800 scores errs by about 4%, that of six such by less than 2%.
    assert abs(np.mean(ratios) - 1) < 0.04


def test_boosted_trees_score_further_rows_as_they_score_the_references():
    rows = rows_of(0, 200)
    fitted = fit_weights(
        Answered(unmoved(rows), wavy(rows)[:, None]),
        kind="value",
        weights=Boosted(fits=4, rounds=5),
    )
    expected = ah.gamma_data(rows, wavy(rows), weights=Boosted(fits=4, rounds=5)).values
    again = fitted.score(unmoved(rows), wavy(rows)[:, None])
    np.testing.assert_allclose(again, expected, atol=1e-12)


def test_all_fits_would_make_traffic_look_steadier():
    """The reason for leaving half of the fits out."""
    rows, traffic = rows_of(0, 800), rows_of(100, 8000)
    fitted = fit_weights(Answered(unmoved(rows), wavy(rows)[:, None]), kind="value")
    features = traffic.astype(np.float32)
    nobody = np.full(len(traffic), -1)
    over_all = np.abs(wavy(traffic) - fitted.fits.means(features, nobody)[:, 0])
    over_half = fitted.score(unmoved(traffic), wavy(traffic)[:, None])
    assert over_all.mean() < 0.995 * over_half.mean()


def test_quiet_over_ten_thousand_rows_then_alarms(watch):
    traffic = rows_of(1, 10_000)
    assert not watch.update(traffic).alarm
    assert watch.measure(traffic)[DATA].mean() == pytest.approx(
        watch.reference[DATA].mean(), rel=0.08
    )
    assert watch.update(rows_of(2, 600, shift=1.5)).alarm
    (alarm,) = watch.alarms
    assert (alarm.watched, alarm.direction) == (DATA, "up")
    assert abs(alarm.since - 10_000) < 100
    culprits = watch.culprits(5)
    assert len(culprits.rows) == 5
    assert culprits.features == ()


def test_a_model_that_answers_noise_in_a_region_is_seen(reference):
    broken = []

    def model(x):
        x = np.asarray(x)
        noise = np.random.default_rng(len(broken)).normal(size=len(x))
        return wavy(x) + np.where((x[:, 1] > 1) & bool(broken), noise, 0.0)

    watch = ah.Monitor(model, reference, watch=DATA)
    assert not watch.update(rows_of(1, 2000)).alarm
    broken.append(True)
    found = watch.update(rows_of(2, 3000))
    assert {alarm.direction for alarm in found.alarms} == {"up"}
    assert (np.stack(watch.culprits(20).points)[:, 0, 1] > 1).mean() > 0.8


def test_a_score_depends_on_its_row_alone(watch, table):
    points = rows_of(3, 40)
    whole = watch.measure(points)[DATA]
    assert whole.tolist() == [watch.measure(point)[DATA][0] for point in points]
    other = ah.Monitor(price, table, watch=DATA)
    rows = table_of(3, 30)
    whole = other.measure(rows)[DATA]
    assert whole.tolist() == [other.measure(rows[i : i + 1])[DATA][0] for i in range(30)]


@pytest.mark.parametrize(
    ("watched", "cost"),
    [
        ((DATA,), 1),
        ((DATA, "confidence"), 1),
        (("margin", DATA, "confidence"), 2),
        (("gamma", DATA), 17),
    ],
)
def test_a_row_costs_one_query_or_none_beside_another(reference, watched, cost):
    def two(x):
        return np.stack([wavy(x), -wavy(x)], axis=1)

    model = Counting(two)
    watch = ah.Monitor(model, reference, watch=watched)
    assert watch.queries_per_row <= cost
    assert watch.queries == model.rows
    before = model.rows
    watch.update(rows_of(1, 100))
    assert model.rows - before == 100 * watch.queries_per_row
    alone = ah.Monitor(two, reference, watch=DATA)
    points = rows_of(2, 20)
    np.testing.assert_allclose(watch.measure(points)[DATA], alone.measure(points)[DATA], atol=1e-12)


def test_a_reduction_that_picks_a_column_asks_again(reference):
    model = Counting(lambda x: np.stack([wavy(x), -wavy(x)], axis=1))
    watch = ah.Monitor(model, reference, watch=("gamma", DATA), reduction=0)
    assert watch.queries == model.rows
    watch.update(rows_of(1, 10))
    assert watch.queries == model.rows


def test_categories_and_missing_cells_are_watched(table):
    watch = ah.Monitor(price, table, watch=DATA)
    assert watch.scorer.columns == ()
    assert watch.settings.columns == ("town", "plan", "age", "rooms")
    assert watch.settings.radius is None
    assert json.loads(json.dumps(watch.settings.plain(), allow_nan=False))["ball"] == "data"
    found = watch.update(table_of(1, 3000))
    assert not found.alarm
    assert watch.skipped == {}
    moved = table_of(2, 1500)
    moved["rooms"] = np.where(np.arange(1500) % 2, 9, moved["rooms"])
    assert watch.update(moved).alarm
    assert "none" in watch._repr_html_()


def test_texts_alone_are_watched(table):
    words = table[["town", "plan"]]
    watch = ah.Monitor(lambda rows: (rows["town"] == "north").to_numpy(float), words, watch=DATA)
    new = words[:3].assign(town=["east", None, "north"])
    scores = watch.measure(new)[DATA]
    assert np.isfinite(scores).all()
    # What is unknown is no level of the reference's; the model answers 0 there, as elsewhere.
    assert not watch.update(words).alarm


def test_a_cell_that_no_reference_row_lacks_is_not_scored(table, reference):
    watch = ah.Monitor(price, table, watch=DATA)
    rows = table_of(5, 6).astype({"rooms": float})
    rows.loc[2, "rooms"] = np.nan
    rows.loc[4, ["town", "age"]] = [None, np.nan]
    found = watch.update(rows)
    assert np.flatnonzero(np.isnan(found.scores[DATA])).tolist() == [2]
    assert watch.skipped == {"not finite": 1}
    arrays = ah.Monitor(wavy, reference, watch=DATA)
    points = rows_of(1, 5)
    points[1, 1] = np.inf
    assert np.flatnonzero(np.isnan(arrays.update(points).scores[DATA])).tolist() == [1]


def test_a_batch_without_any_number_in_a_column_is_scored(table):
    watch = ah.Monitor(price, table, watch=DATA)
    rows = table_of(5, 4)
    empty = rows.assign(age=pd.Series([None] * 4, dtype=object))
    expected = watch.measure(rows.assign(age=np.nan))[DATA]
    assert watch.scorer.over_data.score(
        unmoved(empty), price(rows.assign(age=np.nan))[:, None]
    ).tolist() == pytest.approx(expected.tolist())
    with pytest.raises(PointsError, match="holds numbers in the reference"):
        watch.update(rows.assign(rooms=["many"] * 4))
    with pytest.raises(PointsError, match="no column plan"):
        watch.update(rows.drop(columns="plan"))


def test_times_count_in_the_references_unit(table):
    # In no order: scores that change slowly with time would allow no promise.
    hours = np.random.default_rng(0).permutation(len(table))
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(hours, unit="h")
    dated = table.assign(when=days.astype("datetime64[ns]"))
    watch = ah.Monitor(price, dated, watch=DATA)
    later = dated.assign(when=dated["when"].astype("datetime64[ms]"))
    assert watch.measure(later)[DATA].tolist() == watch.measure(dated)[DATA].tolist()


@pytest.mark.parametrize("watched", [(DATA,), ("gamma", DATA)])
def test_a_saved_monitor_goes_on_to_the_bit(reference, tmp_path, watched):
    watch = ah.Monitor(wavy, reference, watch=watched, seed=3)
    watch.update(rows_of(5, 333))
    again = ah.Monitor(wavy, reference, watch=watched, seed=3)
    again.restore(watch.state())
    loaded = ah.Monitor.load(watch.save(tmp_path / "monitor.npz"), wavy)
    points = rows_of(6, 400, shift=1.5)
    for monitor in (watch, again, loaded):
        monitor.update(points)
    assert watch.state() == again.state() == loaded.state()
    assert watch.alarms == loaded.alarms != []
    assert repr(loaded) == repr(watch)
    assert loaded.settings == watch.settings


def test_a_saved_monitor_of_a_table_scores_alike(table, tmp_path):
    def model(rows):
        return np.stack([price(rows), -price(rows)], axis=1)

    watch = ah.Monitor(model, table, watch=(DATA, "confidence"))
    loaded = ah.Monitor.load(watch.save(tmp_path / "monitor.npz"), model)
    rows = table_of(7, 50)
    for name, scores in watch.measure(rows).items():
        assert loaded.measure(rows)[name].tolist() == scores.tolist()
    with pytest.raises(SettingsError, match="scikit-learn"):
        check_refitted(loaded.scorer.over_data, loaded.reference[DATA] + 1)


def test_a_replay_over_the_data(table):
    watch = ah.Monitor(price, table, watch=DATA)
    found = ah.monitor.replay(watch, table_of(1, 500))
    assert found.queries == 500
    assert json.loads(json.dumps(found.summary()))["alarms"] == []


@pytest.mark.parametrize(
    "given", [{"radius": 0.3}, {"scale": None}, {"bounds": (0, 1)}, {"directions": 8}]
)
def test_what_moves_rows_is_refused_where_nothing_moves(reference, given):
    with pytest.raises(SettingsError, match=f"{next(iter(given))} cannot be given"):
        ah.Monitor(wavy, reference, watch=DATA, **given)


def test_moving_names_what_makes_rows_alike(reference):
    watch = ah.Monitor(wavy, reference, watch=DATA, moving=[0])
    assert watch.settings.columns == ("0",)
    expected = ah.gamma_data(reference, wavy(reference), columns=["0"]).values
    np.testing.assert_allclose(watch.reference[DATA], expected, atol=1e-12)
