"""`ah.audit` from end to end: tables, arrays, both kinds of models, seeds, budgets, errors."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import anharmonic as ah
from anharmonic.auditing.checks import CHECKS
from anharmonic.auditing.given import Given
from anharmonic.errors import InputError, PointsError, SettingsError
from tests.audit.cases import answers_of_people, numbers, people, smooth


def pipeline(frame, labels):
    """A classifier of a whole table: a category, numbers; dates and texts are left out."""
    columns = (OneHotEncoder(handle_unknown="ignore"), ["town"]), ("passthrough", ["age"])
    return make_pipeline(make_column_transformer(*columns), LogisticRegression()).fit(frame, labels)


@pytest.fixture(scope="module")
def table():
    frame = people(700)
    chance = answers_of_people(frame)
    labels = np.where(np.random.default_rng(1).random(700) < chance, "yes", "no")
    return frame, labels, pipeline(frame[:450], labels[:450])


@pytest.fixture(scope="module")
def clean(table):
    frame, labels, model = table
    return ah.audit(
        model,
        frame[450:],
        reference=frame[:450],
        labels=labels[450:],
        reference_labels=labels[:450],
        budget=3_000,
    )


def test_a_clean_model_gets_a_clean_page_that_says_what_was_checked(clean):
    assert clean.clean
    assert clean.headline.startswith("Nothing wrong was found in ")
    assert "5%" in clean.promise
    assert {check.check for check in clean.checks} == set(CHECKS)
    assert all(check.summary or check.skipped for check in clean.checks)
    assert clean.queries <= 3_000
    assert "queries" in repr(clean)


def test_the_same_seed_gives_the_same_audit(table, clean):
    frame, labels, model = table
    again = ah.audit(
        model,
        frame[450:],
        reference=frame[:450],
        labels=labels[450:],
        reference_labels=labels[:450],
        budget=3_000,
    )
    assert without_times(again) == without_times(clean)


def without_times(audit):
    kept = audit.plain()
    kept.pop("seconds")
    kept["settings"].pop("estimated seconds")
    for check in kept["checks"]:
        check.pop("seconds")
    return kept


def test_regressions_and_arrays():
    rows = numbers(500, 4)
    labels = rows[:, 0] + 0.3 * numbers(500, 1, seed=9)[:, 0]
    model = HistGradientBoostingRegressor(max_iter=30).fit(rows[:350], labels[:350])
    drifted = rows[350:] + np.array([0, 0, 1.0, 0])
    result = ah.audit(
        model, drifted, reference=rows[:350], reference_labels=labels[:350], budget=2_000
    )
    assert {finding.columns for finding in result.findings} == {("2",)}
    assert result.facts["task"] == "numbers"


def test_rows_alone_are_their_own_reference():
    result = ah.audit(smooth, numbers(200), budget=1_000)
    assert result.clean
    skipped = {check.check for check in result.checks if check.skipped}
    assert {"drift", "unseen", "range", "leak", "labels"} <= skipped


def test_a_model_that_fails_at_a_new_level_is_audited_at_the_others():
    frame, new = people(300)[["age", "town"]], people(200, seed=1)[["age", "town"]]
    new.loc[:19, "town"] = "Rom"
    labels = np.where(answers_of_people(frame) > 0.5, "yes", "no")
    encoder = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(frame, labels)
    result = ah.audit(model, new, reference=frame, budget=1_500)
    found = {finding.check: finding for finding in result.findings}
    assert found["failures"].measured.value == 0.1
    assert found["failures"].rows == tuple(range(20))
    assert found["unseen"].measured.value == 0.1
    assert result.findings[0].severity == "high"


def test_one_probability_is_two_classes():
    frame = people(300)
    labels = np.where(answers_of_people(frame) > 0.5, "yes", "no")
    result = ah.audit(answers_of_people, frame, labels=labels, budget=1_000)
    assert result.facts["classes"] == ["no", "yes"]


def test_labels_that_files_made_floats_are_still_classes():
    rows = numbers(200)
    labels = (rows[:, 0] > 0).astype(int)
    model = LogisticRegression().fit(rows, labels)
    assert ah.audit(model, rows, labels=labels.astype(float), budget=1_000).facts["labels"]


def test_what_cannot_be_audited_is_refused_before_the_work():
    rows = numbers(100)
    with pytest.raises(PointsError, match="needs 30 at least"):
        ah.audit(smooth, rows[:20])
    with pytest.raises(SettingsError, match="needs 400 queries"):
        ah.audit(smooth, rows, budget=10)
    with pytest.raises(SettingsError, match="chance between 0 and 1"):
        ah.audit(smooth, rows, rate=2)
    with pytest.raises(InputError, match="give one per row"):
        ah.audit(smooth, rows, labels=[0, 1])
    with pytest.raises(PointsError, match="no column b"):
        ah.audit(
            lambda x: x["a"],
            pd.DataFrame({"a": [1.0] * 50, "b": 1.0}),
            reference=pd.DataFrame({"a": [1.0] * 50}),
        )
    model = LogisticRegression().fit(rows, rows[:, 0] > 0)
    with pytest.raises(InputError, match="no classes of the model"):
        ah.audit(model, rows, labels=["blue"] * 100)


def test_the_estimate_comes_first_and_progress_is_told(capsys):
    told = []
    ah.audit(
        smooth, numbers(100), budget=1_000, progress=lambda done, all_: told.append((done, all_))
    )
    assert told[-1][0] == told[-1][1]
    assert capsys.readouterr().err == ""
    ah.audit(smooth, numbers(100), budget=1_000, progress=True)
    assert "queries at" in capsys.readouterr().err


def test_a_budget_is_kept(table):
    frame, _, model = table
    for budget in (400, 900, 5_000):
        result = ah.audit(model, frame[450:], reference=frame[:450], budget=budget)
        assert result.queries <= budget


def test_it_is_kept_as_json(clean, tmp_path):
    path = clean.save(tmp_path / "audit.json")
    assert ah.Audit.load(path).plain() == clean.plain()
    json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))
    (tmp_path / "other.json").write_text('{"holds": "scores"}')
    with pytest.raises(InputError, match="holds no audit"):
        ah.Audit.load(tmp_path / "other.json")
    with pytest.raises(InputError, match="give one of"):
        clean.at_least("terrible")


def test_rows_of_a_source_are_drawn_with_their_labels(tmp_path, table, clean):
    frame, labels, model = table
    whole = frame.assign(left=labels)
    whole[:450].to_parquet(tmp_path / "reference.parquet")
    whole[450:].to_parquet(tmp_path / "new.parquet")
    new, known = (ah.sources.files(tmp_path / f"{side}.parquet") for side in ("new", "reference"))
    drawn = ah.audit(model, new, reference=known, labels="left", budget=3_000)
    assert drawn.facts.pop("reference rows in all") == 450
    assert drawn.facts.pop("new rows in all") == 250
    assert without_times(drawn) == without_times(clean)
    # One side may have no labels, and what is left out as a column may still be the labels.
    whole[450:].drop(columns="left").to_parquet(tmp_path / "new.parquet")
    for chosen in ({"drop": ["left"]}, {"columns": list(frame)}):
        known = ah.sources.files(tmp_path / "reference.parquet", **chosen)
        given = Given(model, new, known, "left", None)
        assert given.new_labels is None
        assert given.reference_labels.tolist() == labels[:450].tolist()
        assert given.reference.names == given.new.names == tuple(frame)


@pytest.mark.parametrize(
    ("points", "given", "said"),
    [
        ("source", {"labels": "gone"}, "no column gone"),
        ("source", {"labels": [1, 0]}, "give the column's name"),
        ("frame", {"labels": "left"}, "give the labels themselves"),
    ],
)
def test_labels_of_a_source_are_a_column(tmp_path, table, points, given, said):
    frame, _, model = table
    frame.to_parquet(tmp_path / "rows.parquet")
    rows = frame if points == "frame" else ah.sources.files(tmp_path / "rows.parquet")
    with pytest.raises(SettingsError, match=said):
        ah.audit(model, rows, **given)


def test_one_new_row_is_audited_without_a_word_of_drift(table):
    frame, labels, model = table
    audit = ah.audit(
        model,
        frame[450:451],
        reference=frame[:450],
        labels=labels[450:451],
        reference_labels=labels[:450],
        budget=3_000,
    )
    (drift,) = [check for check in audit.checks if check.check == "drift"]
    assert drift.skipped == "one new row shows no drift"


def test_dates_are_written_as_dates():
    frame = people(600)
    later = frame[400:].assign(since=frame["since"][400:] + pd.Timedelta(900, "D"))
    audit = ah.audit(answers_of_people, later, reference=frame[:400], budget=1_000)
    sentences = " ".join(finding.what for finding in audit.findings)
    assert "above 2022-06-" in sentences
    assert "its median goes from 2021-" in sentences
    assert "e+" not in sentences + audit.to_json()
