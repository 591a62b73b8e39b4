"""Every verb on the frame that the pipeline takes: categories, counts, dates, gaps as they are."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import OutputError, PointsError, SettingsError
from tests.command import run
from tests.tables.people import forest, people

FRAME, LABELS = people(260)
TRAIN, POINTS = FRAME[:200], FRAME[200:]
MODEL = forest(TRAIN, LABELS[:200])
SMOOTH = forest(TRAIN, LABELS[:200], trees=60)


def test_compare_and_sweep():
    compared = ah.compare({"few": MODEL, "many": SMOOTH}, POINTS, reference=TRAIN)
    assert len(compared.scores["few"]) == 60
    assert "reference" in compared.places("few")
    for scores in (*compared.scores.values(), *compared.at_reference.values()):
        assert scores.settings.kinds
        assert scores.settings.law == compared.scores["few"].settings.law
    swept = ah.sweep(MODEL, POINTS, reference=TRAIN)
    means, _ = swept.means("model")
    assert (np.diff(means) > 0).all()


def test_a_baseline_of_a_table_is_measured_like():
    old = ah.gamma(MODEL, POINTS, reference=TRAIN, rotations=2)
    again = ah.measured_like(old, MODEL, POINTS, reference=TRAIN)
    np.testing.assert_allclose(again.values, old.values, atol=1e-12)
    assert not again.settings.differing(old.settings)
    other = ah.measured_like(old, MODEL, POINTS, reference=POINTS)
    assert "law" in other.settings.differing(old.settings)


def test_scores_survive_a_file_and_a_stop(tmp_path):
    path = tmp_path / "scores.parquet"
    calls = 0

    def stopping(rows):
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return MODEL.predict_proba(rows)

    common = {"reference": TRAIN, "batch_size": 500, "ball": "auto pairs"}
    with pytest.raises(KeyboardInterrupt):
        ah.gamma(stopping, POINTS, checkpoint=path, **common)
    resumed = ah.gamma(MODEL.predict_proba, POINTS, resume=path, checkpoint=path, **common)
    whole = ah.gamma(MODEL.predict_proba, POINTS, **common)
    np.testing.assert_array_equal(resumed.values, whole.values)
    loaded = ah.load(path)
    assert [moved.name for moved in loaded.along()] == [moved.name for moved in whole.along()]
    assert loaded.settings.kinds == whole.settings.kinds


def test_explain_says_what_flips_it():
    margins = np.abs(MODEL.predict_proba(POINTS)[:, 1] - 0.5)
    row = POINTS.iloc[[int(np.argmin(margins))]]
    found = ah.explain(MODEL, row, reference=TRAIN)
    assert found.switches
    shares = [switch.share for switch in found.switches]
    assert shares == sorted(shares, reverse=True)
    for switch in found.switches[:3]:
        changed = row.copy()
        for name in (switch.name,):
            value = switch.after
            if isinstance(value, str) and name == "joined":
                value = pd.Timestamp(value)
            if not switch.along and value != "missing":
                changed[name] = (
                    pd.Series([value], index=row.index).astype(row[name].dtype)
                    if name != "member"
                    else value == "True"
                )
        if not switch.along and switch.after != "missing":
            assert str(MODEL.predict(changed)[0]) == switch.label
    assert "alone changes it" in " ".join(found.sentences)
    assert len(found.cells) == len(found.names)
    json.loads(found.to_json())
    total = sum(share for _, _, share in found.features()) + found.remainder
    assert total == pytest.approx(found.deviation.value, abs=1e-9)


def test_a_counterfactual_is_a_row_that_the_model_decides_otherwise():
    search = ah.adversarial_search(MODEL, POINTS[:20], reference=TRAIN, steps=10)
    assert search.flipped.any()
    row = int(np.flatnonzero(search.flipped)[0])
    path = search.path(row)
    assert path.shape[1] == len(search.settings.columns)
    assert len(path) == search.taken[row] + 1
    found = ah.explain(MODEL, POINTS[row : row + 1], reference=TRAIN)
    assert found.counterfactual is None or found.counterfactual.margin <= 0


def test_a_search_survives_a_file(tmp_path):
    search = ah.adversarial_search(MODEL, POINTS[:10], reference=TRAIN, steps=4)
    search.save(tmp_path / "search.parquet")
    loaded = ah.load(tmp_path / "search.parquet")
    np.testing.assert_array_equal(loaded.path(3), search.path(3))


@pytest.mark.parametrize("kind", ["walks", "sway", "drift"])
def test_how_long_decisions_last(kind):
    scores = ah.nstep_robustness(MODEL, POINTS, reference=TRAIN, kind=kind, steps=3)
    # A margin of 0 has no multiple.
    assert np.isfinite(scores.values).mean() > 0.9


def test_baselines():
    for name in ("flip_rate", "mean_change", "margin", "confidence", "smoothed_margin", "great"):
        scores = getattr(ah.baselines, name)(MODEL, POINTS, reference=TRAIN)
        assert len(scores) == 60
        assert np.isfinite(scores.values).all()


def test_contributions_add_up_to_what_single_columns_do():
    shares = ah.contributions(MODEL, POINTS[:8], reference=TRAIN, reduction=1)
    assert shares.names == tuple(FRAME.columns)
    assert np.abs(shares.values).sum() > 0
    only = ah.contributions(
        lambda rows: (rows["sex"].to_numpy() == "male") * 1.0, POINTS[:8], reference=TRAIN
    )
    others = [place for place, name in enumerate(only.names) if name not in ("sex", "pregnant")]
    assert np.abs(only.values[:, others]).max() < 0.05
    assert np.abs(only.values[:, only.names.index("sex")]).max() > 0


def test_a_monitor_watches_such_rows_and_comes_back_from_a_file(tmp_path):
    frame, labels = people(1500, seed=3)
    model = forest(frame[:300], labels[:300])
    watch = ah.Monitor(model, frame[300:1100], promise=False, watch=["gamma", "confidence"])
    assert "sex" in watch.scorer.columns
    traffic = frame[1100:1200].copy()
    report = watch.update(traffic)
    watch.save(tmp_path / "monitor")
    back = ah.Monitor.load(tmp_path / "monitor", model)
    later = frame[1200:1300].assign(sex="unseen")
    one, other = watch.update(later), back.update(later)
    np.testing.assert_array_equal(one.rows, other.rows)
    for name, values in one.scores.items():
        np.testing.assert_allclose(other.scores[name], values, atol=1e-12)
    assert report is not None


def test_plan_and_collect(tmp_path):
    queries = tmp_path / "queries.parquet"
    ah.plan(POINTS, queries, reference=TRAIN)
    asked = pd.read_parquet(queries)
    answers = MODEL.predict_proba(asked[list(FRAME.columns)])
    collected = ah.collect(queries, answers)
    direct = ah.gamma(MODEL, POINTS, reference=TRAIN, ball="auto pairs", noise="ignore")
    np.testing.assert_allclose(collected.values, direct.values, atol=1e-12)
    assert collected.settings.law == direct.settings.law


def test_spade_takes_such_rows():
    scores = ah.spade(MODEL, POINTS, neighbours=5)
    assert scores.settings.points == 60


def test_what_is_for_numbers_alone_says_so():
    with pytest.raises(SettingsError, match="bounds= is for rows of numbers"):
        ah.gamma(MODEL, POINTS, reference=TRAIN, bounds=(0, 1))
    with pytest.raises(SettingsError, match="grid= is for rows of numbers"):
        ah.adversarial_search(MODEL, POINTS, reference=TRAIN, grid=1.0)
    clever = ah.clever(MODEL, POINTS[["age"]].assign(**POINTS.drop(columns="age"))[:4])
    assert set(clever.settings.columns) <= {"age", "income", "children"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("table")
    TRAIN.drop(columns="joined").to_csv(path / "train.csv", index=False)
    POINTS.drop(columns="joined").to_csv(path / "points.csv", index=False)
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    encoder = ColumnTransformer(
        [
            (
                "c",
                OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
                make_column_selector(dtype_exclude=["number", "bool"]),
            )
        ],
        remainder="passthrough",
    )
    model = make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=20))
    table = pd.read_csv(path / "train.csv")
    joblib.dump(model.fit(table, LABELS[:200]), path / "model.joblib")
    return path


FILES = ("--data", "points.csv", "--reference", "train.csv")


def test_a_command_is_told_an_order(folder):
    told = ("--column-kind", "sex=male,female", "--column-kind", "children=category")
    done = run(folder, "gamma", "model.joblib", *FILES, *told, "--json", "--trust")
    columns, kinds = (json.loads(done.stdout)["settings"][name] for name in ("columns", "kinds"))
    assert dict(zip(columns, kinds, strict=True))["sex"] == "ordered"
    assert ["male", "female"] in json.loads(done.stdout)["settings"]["orders"]


@pytest.mark.parametrize(
    "command",
    [
        ("gamma", "model.joblib", *FILES, "--column-kind", "children=category"),
        ("compare", "a=model.joblib", "b=model.joblib", *FILES),
        ("sweep", "m=model.joblib", *FILES, "--radii", "0.5,1"),
        ("check", "model.joblib", *FILES, "--max-gamma", "1"),
        ("explain", "model.joblib", *FILES, "--row", "3"),
        ("nstep", "model.joblib", *FILES, "--steps", "3"),
        ("search", "model.joblib", *FILES, "--steps", "3"),
        ("report", "m=model.joblib", *FILES, "--out", "page.html"),
    ],
    ids=lambda command: command[0],
)
def test_commands(folder, command):
    done = run(folder, *command, "--trust")
    if command[0] == "report":
        page = (folder / "page.html").read_text()
        assert "What answers move with" in page
        assert "pregnant" in page
    else:
        assert "pregnant" in done.stdout


def test_a_reference_too_short_to_say_how_rows_differ_is_refused():
    """Eleven rows are the fewest: each has then the ten others that a value is drawn from."""
    with pytest.raises(PointsError, match=r"10 rows of the reference .* at least 11"):
        ah.gamma(MODEL, POINTS[:3], reference=TRAIN[:10])
    with pytest.raises(PointsError, match=r"3 rows of the points .* reference="):
        ah.gamma(MODEL, POINTS[:3])
    assert len(ah.gamma(MODEL, POINTS[:3], reference=TRAIN[:11])) == 3


def test_a_monitor_of_numbers_takes_whole_ones_first_when_it_comes_back(tmp_path):
    """What the reference's columns are is settled: six rows of zeros and ones are no flags."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(600, 3)), columns=list("abc"))

    def model(rows):
        likely = 1 / (1 + np.exp(-rows["a"].to_numpy()))
        return np.stack([likely, 1 - likely], axis=1)

    watch = ah.Monitor(model, frame, promise=False, watch=["gamma"])
    watch.save(tmp_path / "monitor")
    whole = frame[:6].round()
    for rows in (whole, frame[:60].round()):
        back = ah.Monitor.load(tmp_path / "monitor", model)
        np.testing.assert_array_equal(
            back.update(rows).scores["gamma"], watch.update(rows).scores["gamma"]
        )


def test_rows_with_missing_texts_are_weighed_and_explained():
    cells = pd.Series(["a", "b", pd.NA] * 20, dtype="string")
    frame = pd.DataFrame({"c": cells, "x": np.linspace(-1, 1, 60)})

    def model(rows):
        likely = 1 / (1 + np.exp(-9 * rows["x"].to_numpy() * rows["c"].isna().to_numpy()))
        return np.stack([likely, 1 - likely], axis=1)

    assert len(ah.gamma(model, frame, reference=frame, ball="data")) == 60
    assert ah.explain(model, frame.iloc[2], reference=frame).support is not None


def test_a_row_from_which_no_step_leads_is_explained_all_the_same():
    """A whole number at its end stays: no pair of steps fits around it."""
    reference = pd.DataFrame({"k": np.arange(60) % 6})

    def model(rows):
        return np.stack([rows["k"] > 2, rows["k"] <= 2], axis=1) * 1.0

    for end in (0, 5):
        found = ah.explain(model, pd.DataFrame({"k": [end]}), reference=reference)
        assert found.deviation.value == 0
        assert found.counterfactual is None
    search = ah.adversarial_search(model, pd.DataFrame({"k": [0, 5]}), reference=reference)
    assert not search.flipped.any()
    assert (search.stuck == search.taken).all()


def test_one_row_alone_asks_for_a_reference():
    with pytest.raises(PointsError, match=r"differ between rows of these points, or of a refer"):
        ah.explain(lambda rows: np.zeros(len(rows)), POINTS[:1])


def test_plausibility_of_texts_says_how_to_leave_them_out():
    notes = [f"a note of number {row} here" for row in range(120)]
    frame = pd.DataFrame({"note": notes, "k": np.arange(120) % 7, "x": np.arange(120) / 9})
    with pytest.raises(SettingsError, match=r"told apart here \(note\): give the rows without"):
        ah.plausibility(frame)
    assert ah.plausibility(ah.regions.points(frame, moving=["k", "x"])).rows == 40


@pytest.mark.parametrize("ending", ["frame", "csv", "parquet"])
def test_answers_may_stand_beside_questions_of_any_kind(tmp_path, ending):
    """Missing cells, dates and truth values come back from files in other words."""
    random = np.random.default_rng(0)
    table = FRAME[["job", "joined", "member", "children", "grade"]].assign(
        town=pd.Series(random.choice(["Ulm", None], len(FRAME)), index=FRAME.index, dtype=object),
        sure=pd.array(random.choice([True, False, None], len(FRAME)), dtype="boolean"),
    )

    def model(rows):
        return rows["children"].to_numpy() ** 2.0 + rows["town"].isna().to_numpy()

    queries = tmp_path / "queries.parquet"
    ah.plan(table[:10], queries, reference=table)
    asked = pd.read_parquet(queries)
    direct = ah.gamma(model, table[:10], reference=table, ball="auto pairs", noise="ignore")

    def collected(answers):
        answers = answers.drop(columns="query")
        if ending == "csv":
            answers.to_csv(tmp_path / "answers.csv", index=False)
        elif ending == "parquet":
            answers.to_parquet(tmp_path / "answers.parquet")
        return ah.collect(queries, answers if ending == "frame" else tmp_path / f"answers.{ending}")

    answers = asked.assign(answer=model(asked))
    np.testing.assert_allclose(collected(answers).values, direct.values, atol=1e-12)
    with pytest.raises(OutputError, match="stand beside other questions"):
        collected(answers[::-1])


def test_a_number_out_of_all_proportion_is_far_away_without_a_warning():
    strange = POINTS[:1].assign(income=1e300)
    scores = ah.gamma(lambda rows: rows["age"].to_numpy() > 40.0, strange, reference=TRAIN)
    assert scores.complete
