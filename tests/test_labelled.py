"""Accuracy beside gamma: scores at labelled points, paired differences, and the frontier."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic import plots
from anharmonic._core.estimate import Estimate
from anharmonic._core.statistics import paired_share_interval
from anharmonic.cli import app
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.compare import LabelledScore
from anharmonic.measures.compare.differences import Difference
from anharmonic.measures.compare.frontier import standings

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(400, 2))
NOISY = np.where(RANDOM.random(400) < 0.15, POINTS[:, 0] < 0, POINTS[:, 0] > 0)
WORDS = np.where(NOISY, "yes", "no")
TRAIN, NEW = slice(0, 250), slice(250, None)


@pytest.fixture(scope="module")
def models():
    return {
        "line": LogisticRegression().fit(POINTS[TRAIN], WORDS[TRAIN]),
        "tree": DecisionTreeClassifier(random_state=0).fit(POINTS[TRAIN], WORDS[TRAIN]),
    }


@pytest.fixture(scope="module")
def compared(models):
    return ah.compare(models, POINTS[NEW], reference=POINTS[TRAIN], labels=WORDS[NEW])


def test_accuracy_is_what_the_models_own_score_says(models, compared):
    for name, model in models.items():
        score = compared.labelled[name]
        assert score.metric == "accuracy"
        assert score.estimate.value == pytest.approx(model.score(POINTS[NEW], WORDS[NEW]))
        low, high = score.interval()
        assert low < score.estimate.value < high
    assert compared.queries == sum(
        part.queries
        for name in models
        for part in (*compared.places(name).values(), compared.labelled[name])
    )


def test_labels_change_nothing_of_gamma(models, compared):
    plain = ah.compare(models, POINTS[NEW], reference=POINTS[TRAIN])
    assert plain.labelled == {}
    assert plain.frontier == []
    for name in models:
        np.testing.assert_array_equal(plain.scores[name].values, compared.scores[name].values)
    assert "labelled" not in plain.summary()


def test_decisions_of_the_model_are_scored_and_not_a_column_or_a_reduction(models):
    compared = ah.compare(models, POINTS[NEW], labels=WORDS[NEW], output=1)
    reduced = ah.compare(models, POINTS[NEW], labels=WORDS[NEW], reduction="predicted")
    over_data = ah.compare(models, POINTS[NEW], labels=WORDS[NEW], ball="data")
    for each in (compared, reduced, over_data):
        for name, model in models.items():
            score = each.labelled[name].estimate.value
            assert score == pytest.approx(model.score(POINTS[NEW], WORDS[NEW]))


def test_numbers_have_r_squared_and_an_absolute_error():
    target = np.stack([POINTS[:, 0] + RANDOM.normal(size=400), POINTS[:, 1] ** 2], axis=1)
    fitted = {
        "line": LinearRegression().fit(POINTS[TRAIN], target[TRAIN]),
        "tree": DecisionTreeRegressor(random_state=0).fit(POINTS[TRAIN], target[TRAIN]),
    }
    compared = ah.compare(fitted, POINTS[NEW], radius=0.3, labels=target[NEW])
    for name, model in fitted.items():
        answers, score = model.predict(POINTS[NEW]), compared.labelled[name]
        assert score.estimate.value == pytest.approx(r2_score(target[NEW], answers))
        assert score.absolute_error.value == pytest.approx(
            mean_absolute_error(target[NEW], answers)
        )
    assert "r2" in compared.to_frame("pandas")
    gap = compared.label_differences[0]
    assert gap.estimate.value == pytest.approx(
        compared.labelled[gap.larger].estimate.value - compared.labelled[gap.smaller].estimate.value
    )


def test_the_error_of_r_squared_is_that_of_fresh_rows():
    def of(count, seed):
        random = np.random.default_rng(seed)
        x = random.normal(size=(count, 1))
        truth = x[:, 0] + 0.5 * random.normal(size=count)
        compared = ah.compare({"m": lambda x: x[:, 0]}, x, radius=0.1, scale=None, labels=truth)
        return compared.labelled["m"].estimate

    found = [of(150, seed) for seed in range(200)]
    spread = np.std([estimate.value for estimate in found])
    assert np.mean([estimate.error for estimate in found]) == pytest.approx(spread, rel=0.2)


def test_raw_outputs_of_a_function_are_classes_by_number():
    def raw(x):
        return np.stack([x[:, 0], -x[:, 0]], axis=1)

    labels = (POINTS[:, 0] < 0).astype(float)
    compared = ah.compare({"raw": raw}, POINTS, radius=0.1, labels=labels)
    assert compared.labelled["raw"].estimate.value == 1.0
    assert compared.labelled["raw"].interval()[0] > 0.98


def test_labels_that_do_not_fit_are_refused_before_any_measuring(models):
    asked = []

    def counting(x):
        asked.append(len(x))
        return x[:, 0]

    missing = pd.Series(WORDS[NEW]).where(np.arange(150) != 7)
    with pytest.raises(PointsError, match="missing in rows 7: leave these rows out"):
        ah.compare(models, POINTS[NEW], labels=missing)
    numbers = np.where(np.arange(150) == 3, np.nan, POINTS[NEW][:, 0])
    with pytest.raises(PointsError, match="missing in rows 3"):
        ah.compare({"m": counting}, POINTS[NEW], labels=numbers)
    with pytest.raises(PointsError, match="10 labels and 150 rows"):
        ah.compare({"m": counting}, POINTS[NEW], labels=WORDS[:10])
    assert not asked
    with pytest.raises(PointsError, match="maybe are no classes"):
        ah.compare(models, POINTS[NEW], labels=["maybe"] * 150)
    with pytest.raises(PointsError, match="labels are text such as"):
        ah.compare({"m": counting}, POINTS[NEW], labels=WORDS[NEW])
    with pytest.raises(PointsError, match="all the same number"):
        ah.compare({"m": counting}, POINTS[NEW], labels=np.ones(150))
    tree = DecisionTreeClassifier(random_state=0).fit(POINTS, NOISY * 1)
    with pytest.raises(SettingsError, match="models of one kind"):
        ah.compare({"tree": tree, "m": counting}, POINTS[NEW], labels=NOISY[NEW] * 1)
    # Labels are looked at with one query per row, and nothing was measured.
    assert max(asked) == 150
    assert sum(asked) <= 3 * 150


def score_statistic(difference, more, fewer, count):
    """Tango's, with the nuisance share found by brute force instead of a formula."""
    shares = np.linspace(max(0.0, -difference), (1 - difference) / 2, 200_001)[1:-1]
    cells = shares + difference, shares, 1 - 2 * shares - difference
    counts = more, fewer, count - more - fewer
    likelihood = sum(n * np.log(np.maximum(p, 1e-300)) for n, p in zip(counts, cells, strict=True))
    share = shares[int(np.argmax(likelihood))]
    variance = count * (2 * share + difference * (1 - difference))
    return (more - fewer - count * difference) / math.sqrt(variance)


@pytest.mark.parametrize(("more", "fewer", "count"), [(30, 12, 100), (3, 2, 20), (40, 60, 300)])
def test_the_paired_interval_ends_where_the_score_test_rejects(more, fewer, count):
    low, high = paired_share_interval(more, fewer, count)
    for end, sign in ((low, 1), (high, -1)):
        # The exact test may widen it, never the other way.
        assert sign * score_statistic(end, more, fewer, count) >= 1.96 - 1e-3


def test_the_paired_interval_excludes_0_only_where_mcnemars_exact_test_does():
    from scipy.stats import binomtest

    for more in range(12):
        for fewer in range(5):
            low, high = paired_share_interval(more, fewer, 60)
            real = low > 0 or high < 0
            exact = more + fewer > 0 and binomtest(more, more + fewer).pvalue < 0.05
            assert not real or exact
            assert low <= (more - fewer) / 60 <= high
    assert paired_share_interval(0, 0, 50)[1] == pytest.approx(1.96**2 / (50 + 1.96**2), rel=1e-3)
    assert paired_share_interval(20, 0, 20)[1] == 1.0


def test_the_paired_interval_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(3)
    for one, other in ((0.05, 0.05), (0.1, 0.02), (0.02, 0.0)):
        drawn = random.multinomial(100, [one, other, 1 - one - other], size=2000)[:, :2]
        pairs, times = np.unique(drawn, axis=0, return_counts=True)
        ends = [paired_share_interval(int(more), int(fewer), 100) for more, fewer in pairs]
        held = [low <= one - other <= high for low, high in ends]
        assert times[held].sum() / times.sum() > 0.94


def pair(larger, smaller, real):
    return Difference(larger, smaller, Estimate(1.0, 0.1), (0.5 if real else -0.5, 2.0))


def test_who_is_on_the_frontier_and_who_is_surely_behind():
    gamma = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.3}
    right = {"a": 0.80, "b": 0.70, "c": 0.90, "d": 0.60}
    both = [[pair("d", "c", True), pair("b", "a", True)], [pair("c", "d", True)]]
    where = standings(gamma, right, both)
    assert {name: str(standing) for name, standing in where.items()} == {
        "a": "on the frontier",
        "b": "perhaps behind a",
        "c": "on the frontier",
        "d": "behind c",
    }
    same = standings({"a": 0.1, "b": 0.1}, {"a": 0.8, "b": 0.8}, [[], []])
    assert all(standing.on_frontier for standing in same.values())


def test_small_values_are_the_fragile_ones_of_other_measures(models):
    compared = ah.compare(
        models, POINTS[NEW], labels=WORDS[NEW], measure=ah.baselines.margin, radius=0.3
    )
    assert compared.fragile == "small"
    best = max(models, key=lambda name: compared.overall(name).value)
    assert best in compared.frontier


def test_every_output_says_it(compared):
    line = next(row for row in repr(compared).splitlines() if row.strip().startswith("line"))
    assert "accuracy" in line
    assert "on the frontier" in line
    summary = compared.summary()
    assert json.loads(json.dumps(summary["frontier"])) == compared.frontier
    assert set(summary["labelled"]) == set(compared.scores)
    frame = compared.to_frame("pandas").set_index("model")
    assert frame.loc["line", "accuracy"] == compared.labelled["line"].estimate.value
    assert frame["on_frontier"].any()
    assert "accuracy" in compared._repr_html_()


def test_the_chart_has_intervals_along_both_axes_and_the_frontier(compared):
    figure = plots.frontier(compared)
    marks = {trace.name: trace for trace in figure.data if "markers" in trace.mode}
    for name, score in compared.labelled.items():
        mark = marks[name]
        low, high = score.interval()
        assert mark.y[0] == score.estimate.value
        assert mark.y[0] + mark.error_y.array[0] == pytest.approx(high)
        assert mark.y[0] - mark.error_y.arrayminus[0] == pytest.approx(low)
        assert mark.x[0] == compared.overall(name).value
        filled = mark.marker.symbol == "circle"
        assert filled == (name in compared.frontier)
    with pytest.raises(SettingsError, match="labels="):
        plots.frontier(ah.compare({"one": lambda x: x[:, 0]}, POINTS, radius=0.1))


def test_a_mean_next_to_nothing_stays_on_a_logarithmic_axis():
    compared = ah.compare(
        {"line": lambda x: x[:, 0], "wave": lambda x: np.sin(3 * x[:, 0])},
        POINTS,
        radius=0.5,
        labels=POINTS[:, 0],
    )
    figure = plots.frontier(compared)
    assert figure.layout.xaxis.type == "log"
    at = {trace.name: trace.x[0] for trace in figure.data if "markers" in trace.mode}
    assert at["line"] == pytest.approx(1e-4 * at["wave"])
    assert "drawn at the end of the axis: line" in figure.layout.meta["caption"]


def test_the_score_of_one_row_has_no_error():
    one = LabelledScore("accuracy", np.array([1.0]))
    assert math.isnan(one.estimate.error)
    assert one.interval() == (pytest.approx(0.025), 1.0)


def test_commands_take_a_column_of_labels_and_never_move_it(models, tmp_path, monkeypatch):
    import joblib

    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(POINTS, columns=["a", "b"]).assign(answer=WORDS)
    for name in models:
        model = type(models[name])().fit(frame[["a", "b"]], frame["answer"])
        joblib.dump(model, f"{name}.joblib")
    frame[TRAIN].to_csv("train.csv", index=False)
    frame[NEW].to_csv("new.csv", index=False)
    sources = ["line=line.joblib", "tree=tree.joblib", "--trust"]
    data = ["--data", "new.csv", "--reference", "train.csv", "--labels", "answer"]
    done = CliRunner().invoke(app, ["compare", *sources, *data, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["models"]["line"]["settings"]["columns"] == ["a", "b"]
    assert told["frontier"]
    shown = CliRunner().invoke(app, ["compare", *sources, *data])
    assert "frontier" in shown.stdout
    assert "accuracy" in shown.stdout
    wrong = CliRunner().invoke(app, ["compare", *sources, *data[:4], "--labels", "nope"])
    assert wrong.exit_code == 1
    made = CliRunner().invoke(app, ["report", *sources, *data, "--out", "page.html"])
    assert made.exit_code == 0, made.output
    page = (tmp_path / "page.html").read_text()
    assert "Accuracy against gamma" in page
    assert "on the frontier" in page


def test_rows_of_any_columns_have_their_labels_beside_gamma(tmp_path):
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 80, 300),
            "town": random.choice(["Ulm", "Bonn", None], 300),
            "pay": np.where(random.random(300) < 0.2, np.nan, random.lognormal(3, 1, 300)),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 90, 300), "D"),
        }
    )
    labels = frame["age"].to_numpy() > 50

    class Young:
        classes_ = np.array([False, True])

        def __init__(self, limit):
            self.limit = limit

        def predict_proba(self, rows):
            young = rows["age"].to_numpy() > self.limit
            return np.stack([~young, young], axis=1).astype(float)

        def predict(self, rows):
            return self.predict_proba(rows)[:, 1] > 0.5

    models = {"right": Young(50), "late": Young(70)}
    points, reference = frame[:100], frame[100:]
    comparison = ah.compare(models, points, reference=reference, labels=labels[:100])
    wrong = (points["age"].between(51, 70)).mean()
    assert comparison.labelled["right"].estimate.value == 1.0
    assert comparison.labelled["late"].estimate.value == pytest.approx(1 - wrong)
    assert set(comparison.scores["right"].settings.kinds) == {
        *("whole", "category", "number", "date"),
    }
    page = tmp_path / "page.html"
    ah.report.write(page, comparison, points=points)
    assert "100.0%" in page.read_text()


def test_texts_have_their_labels_beside_gamma():
    texts = [f"{first} {last} it was" for first in ("good", "bad") for last in map(str, range(20))]

    def model(rows):
        good = np.array(["good" in text for text in rows], dtype=float)
        return np.stack([1 - good, good], axis=1)

    labels = np.repeat([1, 0], 20)
    comparison = ah.compare({"m": model}, texts, labels=labels, directions=4)
    assert comparison.labelled["m"].estimate.value == 1.0
