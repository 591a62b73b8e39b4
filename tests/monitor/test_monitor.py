"""The monitor: what it counts, keeps, says and stores."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import InputError, PointsError, SettingsError
from anharmonic.monitor.allowance import Allowance


def bent(x):
    """Flat below 0, wavy above."""
    x = np.asarray(x)
    return np.sin(3 * x[:, 0]) * (x[:, 0] > 0)


def calm(seed, count, shift=-1.0):
    return np.random.default_rng((seed, 1)).normal(size=(count, 2)) + np.array([shift, 0])


@pytest.fixture(scope="module")
def reference():
    return calm(0, 1500)


@pytest.fixture
def watch(reference):
    return ah.Monitor(bent, reference, radius=0.3, watch="gamma")


def test_quiet_then_an_alarm_with_date_and_culprits(watch):
    assert not watch.update(calm(1, 1500)).alarm
    assert watch.since is None
    found = watch.update(calm(2, 400, shift=0.5))
    assert found.alarm
    assert watch.alarm
    (alarm,) = watch.alarms
    assert (alarm.watched, alarm.segment, alarm.direction) == ("gamma", None, "up")
    assert 1500 <= alarm.at < 1600
    assert abs(alarm.since - 1500) < 60
    assert watch.since == alarm.since
    assert alarm.log_evidence >= watch.threshold == pytest.approx(np.log(1e5))
    culprits = watch.culprits(5)
    assert len(culprits.rows) == 5
    assert (culprits.rows >= alarm.since).all()
    assert culprits.features[0].name == "0"
    assert culprits.features[0].growth > 0 == culprits.features[1].now.value
    assert list(culprits.to_frame().columns) == ["row", "score", "contribution"]
    for row, point in zip(culprits.rows, culprits.points, strict=True):
        if row >= 1500:
            assert np.array_equal(point[0], calm(2, 400, shift=0.5)[row - 1500])
    watch.reset()
    assert not watch.alarm
    assert watch.seen == 1900


def test_a_score_depends_on_its_point_alone(watch):
    points = calm(3, 50, shift=0.5)
    whole = watch.measure(points)["gamma"]
    single = [watch.measure(point)["gamma"][0] for point in points]
    assert whole.tolist() == single
    assert (whole > 0).any()
    assert watch.seen == 0


def test_update_is_measured_and_observed_in_a_row(reference, watch):
    other = ah.Monitor(bent, reference, radius=0.3, watch="gamma")
    points = calm(4, 700, shift=-0.6)
    watch.update(points)
    for start in range(0, 700, 37):
        few = points[start : start + 37]
        other.observed(None, other.measure(few))
    assert other.evidence == watch.evidence
    assert other.state() == watch.state()
    assert (other.seen, other.scored, other.queries) == (700, 700, watch.queries)


def test_a_restored_state_goes_on_to_the_bit(reference, watch, tmp_path):
    watch.update(calm(5, 333))
    other = ah.Monitor(bent, reference, radius=0.3, watch="gamma")
    other.restore(watch.state())
    loaded = ah.Monitor.load(watch.save(tmp_path / "monitor.npz"), bent)
    points = calm(6, 300, shift=0.2)
    for each in (watch, other, loaded):
        each.update(points)
    assert watch.state() == other.state() == loaded.state()
    assert watch.alarms == loaded.alarms != []
    assert loaded.queries == watch.queries
    assert repr(loaded) == repr(watch)


def test_the_state_is_small_and_of_constant_size(watch):
    sizes = set()
    for seed in range(3):
        watch.update(calm(seed, 100 + 400 * seed))
        sizes.add(len(watch.state()) // 100)
    assert max(sizes) - min(sizes) <= 1
    assert len(watch.state()) < 10_000


def test_states_of_others_are_refused(reference, watch):
    other = ah.Monitor(bent, reference, radius=0.3, watch=["gamma", lambda x: x[:, 0]])
    with pytest.raises(SettingsError, match="something else"):
        watch.restore(other.state())
    with pytest.raises(InputError):
        watch.restore(b"nonsense")
    with pytest.raises(SettingsError, match="measured"):
        watch.observed(None, {"other": np.zeros(3)})


def test_several_things_have_evidence_of_their_own(reference):
    def first(points):
        return points[:, 0]

    two = ah.Monitor(bent, reference, radius=0.3, watch=["gamma", first])
    found = two.update(calm(7, 1000, shift=-0.5))
    assert set(found.scores) == {"gamma", "first"}
    assert {alarm.watched for alarm in two.alarms} >= {"first"}
    assert {key.watched for key in two.evidence} == {"gamma", "first"}
    # Both must reach the same line, though each has half of the allowance.
    assert two.threshold == pytest.approx(np.log(1e5))
    channel = two.channels["first", None]
    assert channel.rate == 2e5


def test_classifiers_are_watched_by_what_they_decide(reference):
    def two_classes(x):
        return np.stack([x[:, 0], -x[:, 0]], axis=1)

    found = ah.Monitor(
        two_classes, reference, radius=0.3, watch=["confidence", "margin", "flip", "gamma"]
    )
    points = calm(8, 20)
    scores = found.measure(points)
    np.testing.assert_allclose(scores["margin"], 2 * np.abs(points[:, 0]))
    sure = 1 / (1 + np.exp(-2 * np.abs(points[:, 0])))
    np.testing.assert_allclose(scores["confidence"], sure)
    assert ((scores["flip"] > 0) & (scores["flip"] <= 0.5 + 1e-9)).all()
    # A linear model has no gamma, and rounding is none.
    assert (scores["gamma"] == 0).all()


def test_a_linear_model_is_never_alarmed_by_gamma_whatever_comes(reference):
    watch = ah.Monitor(lambda x: x @ np.array([2.0, -1.0]) + 3, reference, watch="gamma")
    assert not watch.update(1e6 * calm(9, 3000) + 5).alarm


def test_a_segment_speaks_for_itself():
    def frame(points, names):
        return pd.DataFrame({"a": points[:, 0], "b": points[:, 1], "shop": names})

    def model(table):
        return bent(table[["a", "b"]].to_numpy())

    names = np.where(np.arange(3000) % 10 == 0, "small", "large")
    watch = ah.Monitor(
        model, frame(calm(0, 3000), names), radius=0.3, segment="shop", watch="gamma"
    )
    assert watch.segments == ("large", "small")
    points, names = calm(1, 9000), np.tile(names, 3)
    points[names == "small", 0] += 2.0
    found = watch.update(frame(points, names))
    assert "small" in {alarm.segment for alarm in found.alarms}
    assert "large" not in {alarm.segment for alarm in found.alarms}
    culprits = watch.culprits(alarm=next(each for each in found.alarms if each.segment is None))
    assert next(iter(culprits.segments)) == "small"
    # Segments share one part of the allowance, all traffic has the other.
    assert {channel.rate for channel in watch.channels.values()} == {2e5}
    # An unknown segment is still traffic.
    watch.update(frame(calm(2, 5), ["new"] * 5))
    assert watch.scored == 9005


def test_rows_that_cannot_be_scored_are_counted(watch):
    points = calm(1, 10)
    points[3, 0] = np.nan
    points[7, 1] = np.inf
    found = watch.update(points)
    assert np.flatnonzero(np.isnan(found.scores["gamma"])).tolist() == [3, 7]
    assert (watch.seen, watch.scored, watch.skipped) == (10, 8, {"not finite": 2})
    watch.observed(None, {"gamma": np.array([0.0, np.nan])}, reasons=["", "timed out"])
    assert watch.skipped["timed out"] == 1
    with pytest.raises(PointsError, match="one each"):
        watch.observed(None, {"gamma": np.zeros(2)}, segments=["a"])


def test_a_fraction_of_the_traffic_is_the_same_in_any_batch(reference):
    parts, whole = (
        ah.Monitor(bent, reference, radius=0.3, score=0.3, watch="gamma") for _ in range(2)
    )
    points = calm(1, 1000)
    for start in range(0, 1000, 130):
        parts.update(points[start : start + 130])
    whole.update(points)
    assert parts.state() == whole.state()
    assert whole.skipped == {"sampled out": 1000 - whole.scored}
    assert 240 < whole.scored < 360
    assert whole.queries == whole.fit_queries + whole.scored * whole.queries_per_row


def test_what_does_not_fit_is_refused_before_anything_changes(reference):
    monitor = ah.Monitor(bent, reference, watch=["prediction"], segment=-1)
    before = monitor.state()
    unlike = ((reference[:0], "at least one row"), (reference[:5, :1], "rows like the reference"))
    for rows, words in unlike:
        with pytest.raises(PointsError, match=words):
            monitor.update(rows)
    for name in ("ids", "times"):
        with pytest.raises(PointsError, match=f"5 rows and 2 {name}"):
            monitor.update(reference[:5], **{name: ["a", "b"]})
    with pytest.raises(PointsError, match="at least one row"):
        ah.monitor.replay(monitor, reference[:0])
    with pytest.raises(PointsError, match="10 rows and 3 labels"):
        ah.monitor.replay(monitor, reference[:10], labels=[1, 2, 3])
    assert monitor.state() == before
    for memory in (-1, 1.5):
        with pytest.raises(SettingsError, match="memory"):
            ah.Monitor(bent, reference, watch=["prediction"], memory=memory)
    for segment in ("shop", 7):
        with pytest.raises(SettingsError, match="is no column"):
            ah.Monitor(bent, reference, watch=["prediction"], segment=segment)


def test_columns_that_go_missing_or_begin_to_vary_are_said_as_they_are():
    random = np.random.default_rng(2)
    reference = random.normal(size=(600, 3))
    reference[:, 1] = 5
    points = random.normal(size=(120, 3))
    points[:, 1] = 5
    gone = points.copy()
    gone[:, 2] = np.nan
    monitor = ah.Monitor(lambda x: np.nan_to_num(x).sum(axis=1), reference, watch=["inputs"])
    (alarm,) = monitor.update(gone).alarms
    assert alarm.carriers == ("2 is missing or infinite",)
    assert monitor.columns()[0].change.startswith("2 is missing or infinite, in 100% of rows")
    monitor.reset()
    points[:, 1] += random.normal(size=120)
    (alarm,) = monitor.update(points).alarms
    assert any("1 has values that are missing, new or rare" in words for words in alarm.carriers)
    # In units of what varies; what never did has none, and does not drown the others.
    assert monitor.measure(points)["inputs"].max() < 8


def test_an_alarm_names_the_classes_that_changed():
    """By the model's own names; of two classes one says it all."""

    def chances(rows):
        odds = np.exp(np.stack([0 * rows[:, 0], 3 * rows[:, 0], rows[:, 1] - 9], axis=1))
        return odds / odds.sum(axis=1, keepdims=True)

    def words(classes):
        two = classes is not None and len(classes) == 2
        model = ah.models.as_model(
            (lambda rows: chances(rows)[:, :2]) if two else chances,
            output="probability",
            classes=classes,
        )
        monitor = ah.Monitor(model, calm(0, 600, 0.0), watch="prediction")
        monitor.update(calm(1, 200, 1.5))
        return monitor.alarms[0].carriers

    (said,) = words(["no", "yes"])
    assert said.startswith(("class no in about", "class yes in about"))
    assert "instead of" in said
    assert "class paid in" in "; ".join(words(["late", "paid", "lost"]))
    assert "class 1 in" in "; ".join(words(None))


def test_copies_and_alarms_are_the_same_in_any_batch():
    """Rows that the reference has too are tied with it; what an alarm says again goes by rows."""
    random = np.random.default_rng(3)
    known = random.normal(size=(40, 8))
    weights = np.random.default_rng(7).normal(size=(8, 6)) / 2

    def chance(rows):
        # Added one by one: the model's own answers are the same in any batch.
        bends = np.tanh(sum(rows[:, [place]] * weights[place] for place in range(8)))
        up = 1 / (1 + np.exp(-sum(bends.T)))
        return np.stack([1 - up, up], axis=1)

    reference = known[random.integers(40, size=1000)]
    shifted = known[random.integers(40, size=250)] + 0.3
    points = np.concatenate([known[random.integers(40, size=150)], shifted, reference[:100]])
    seen = []
    for size in (len(points), 64, 7, 1):
        monitor = ah.Monitor(chance, reference, output="probability")
        for start in range(0, len(points), size):
            monitor.update(points[start : start + size])
        seen.append((monitor.state(), [str(alarm) for alarm in monitor.alarms]))
    assert len(seen[0][1]) > 2
    assert all(each == seen[0] for each in seen[1:])
    one = [monitor.measure(row)["inputs"] for row in reference[:20]]
    assert np.array_equal(np.concatenate(one), monitor.reference["inputs"][:20])


def test_budgets_are_kept():
    now = [0.0]
    budget = Allowance("1000 queries per second", clock=lambda: now[0])
    rows = np.arange(500)
    assert budget.allowed(rows, 10).sum() == 100
    assert budget.allowed(rows, 10).sum() == 0
    now[0] += 0.5
    assert budget.allowed(rows, 10).sum() == 50
    hours = Allowance("20% of the time", clock=lambda: now[0])
    assert hours.allowed(rows, 10).sum() == 1
    hours.spent(1, 0.01)
    assert hours.allowed(rows, 10).sum() == 18
    hours.spent(18, 0.2)
    assert hours.allowed(rows, 10).sum() == 0
    with pytest.raises(SettingsError, match="fraction"):
        Allowance("much")
    for nothing in ("0 queries per second", "0% of the time"):
        with pytest.raises(SettingsError, match="scores nothing: give a budget above 0"):
            Allowance(nothing)


def test_a_small_budget_scores_a_row_now_and_then():
    now = [0.0]
    few = Allowance("10 queries per second", clock=lambda: now[0])
    slow = Allowance("20% of the time", clock=lambda: now[0])
    scored = np.zeros(2)
    for _ in range(100):
        now[0] += 1.0
        scored[0] += few.allowed(np.arange(3), 17).sum()
        allowed = int(slow.allowed(np.arange(3), 17).sum())
        slow.spent(allowed, 0.5 * allowed)
        scored[1] += allowed
    # 1,000 queries are at most 58 rows of 17, 20 seconds at most 40 rows of half a second.
    assert 45 <= scored[0] <= 59
    assert 30 <= scored[1] <= 41


def test_foreign_detectors_take_the_same_place(reference):
    class Level:
        def __init__(self, known):
            self.most = known.max()

        def update(self, value):
            return value > 2 * self.most + 0.1

    watch = ah.Monitor(bent, reference, watch=lambda x: x[:, 0], detector=Level)
    assert not watch.update(calm(1, 100)).alarm
    assert watch.update(np.array([50.0, 0.0])).alarm
    assert watch.alarms[0].at == 100
    with pytest.raises(SettingsError, match="cannot be stored"):
        watch.state()


def test_functions_are_given_again_on_loading(reference, tmp_path):
    watch = ah.Monitor(bent, reference, watch={"level": lambda x: x[:, 0], "gamma": "gamma"})
    path = watch.save(tmp_path / "monitor.npz")
    with pytest.raises(SettingsError, match="level was a function"):
        ah.Monitor.load(path, bent)
    again = ah.Monitor.load(path, bent, watch={"level": lambda x: x[:, 0]})
    assert again.measure(calm(1, 5))["level"].tolist() == calm(1, 5)[:, 0].tolist()


def test_windows_show_what_is_outside(watch):
    watch.update(calm(1, 600))
    watch.update(calm(2, 400, shift=1.0))
    seen = watch.windows(count=200)
    assert seen.outside.tolist() == [False, False, False, True, True]
    assert watch.windows(count=200, limits=(0.0, 1.0)).outside.sum() == 0
    assert len(seen.to_frame()) == 5


def test_windows_by_time(reference, watch):
    points = calm(1, 300)
    times = np.datetime64("2026-01-01") + np.arange(300) * np.timedelta64(10, "m")
    found = ah.monitor.replay(watch, points, times=times)
    days = found.windows(every=np.timedelta64(1, "D"))
    assert days.counts.tolist() == [144, 144, 12]
    assert days.starts[1] == np.datetime64("2026-01-02")


def test_a_replay_tells_what_would_have_been_raised(watch):
    points = np.concatenate([calm(1, 1000), calm(2, 600, shift=0.5)])
    found = ah.monitor.replay(watch, points)
    assert len(found) == 1600
    assert found.alarms[0].at >= 1000
    assert len(found.alarms) > 1
    assert found.culprits[0].rows.min() >= found.alarms[0].since
    line = found.trace[found.alarms[0].key]
    assert line[:1000].max() < found.threshold <= line[found.alarms[0].at]
    summary = json.loads(json.dumps(found.summary()))
    assert summary["alarms"][0]["culprits"]
    assert summary["queries"] == found.queries
    assert len(found.to_frame()) == 1600


def test_columns_that_may_not_move_stay(reference, tmp_path):
    table = pd.DataFrame(reference, columns=["a", "b"]).assign(code=np.arange(1500) % 3)
    asked = []

    def model(rows):
        asked.append(set(rows["code"]))
        return rows["a"].to_numpy() ** 2

    watch = ah.Monitor(model, table, moving=["a", "b"], watch="gamma")
    assert watch.scorer.columns == ("a", "b")
    before = watch.measure(table[:5])
    again = ah.Monitor.load(watch.save(tmp_path / "monitor.npz"), model)
    assert again.measure(table[:5])["gamma"].tolist() == before["gamma"].tolist()
    assert set.union(*asked) == {0, 1, 2}
    with pytest.raises(PointsError, match="moving="):
        ah.Monitor(model, ah.regions.points(table))


@pytest.mark.parametrize("text", ["often", "1 per 0", "0 per 5", 0.5])
def test_rates_that_mean_nothing_are_refused(reference, text):
    with pytest.raises(SettingsError, match="false_alarms"):
        ah.Monitor(bent, reference, false_alarms=text)


def test_what_cannot_be_watched_is_refused(reference):
    with pytest.raises(SettingsError, match="cannot watch"):
        ah.Monitor(bent, reference, watch="mood")
    with pytest.raises(SettingsError, match="same name"):
        ah.Monitor(bent, reference, watch=[lambda x: x[:, 0], lambda x: x[:, 1]])
