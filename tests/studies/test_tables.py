"""The study of mixed tables: its kept measurements, its page, and the errors of measuring."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from studies.tables.models import pipeline
from studies.tables.remeasured import remeasure
from studies.tables.results import Results, read, write
from studies.tables.sets import CHOSEN_ON, TABLES, TESTED_ON, Split
from studies.tables.study import mixed_tables
from tests.tables.people import people

KEPT = Path(__file__).parents[2] / "docs/reproduce/results/tables.json"


def test_the_parts_do_not_meet():
    assert not set(CHOSEN_ON) & set(TESTED_ON)
    assert set(CHOSEN_ON) | set(TESTED_ON) == set(TABLES)
    assert len(TESTED_ON) >= 8


def test_the_page_says_what_the_kept_measurements_say():
    results = read(KEPT)
    found = []
    for name in TESTED_ON:
        models = results.models[name]
        assert len(models) == 25
        larger = [
            max(model.gammas[f"all columns; 1.0; {place}"] for place in ("training", "new"))
            for model in models
        ]
        found.append(spearmanr(larger, [model.gap for model in models]).statistic)
    page = mixed_tables(KEPT)
    assert f"{np.mean(found):.3f}" in page.verdict[0]
    assert np.mean(found) >= 0.76
    areas = [results.remeasured[name] for name in TESTED_ON if name in results.remeasured]
    lead = np.mean([area["smoothed margin; 0.5"] - area["margin"] for area in areas])
    assert f"{lead:+.3f}" in page.verdict[2]


def test_results_come_back_from_a_file(tmp_path):
    some = Results({"Chile": read(KEPT).models["Chile"]}, {"Chile": {"margin": 0.5}})
    write(some, tmp_path / "some.json")
    assert read(tmp_path / "some.json") == some


def test_remeasuring_errs_a_little_everywhere():
    frame, _ = people(400)
    frame = frame.drop(columns=["joined", "grade", "job"]).reset_index(drop=True)
    again = remeasure(frame, frame, np.random.default_rng(0))
    assert list(again.columns) == list(frame.columns)
    for name in ("sex", "pregnant"):
        changed = (again[name] != frame[name]).mean()
        assert 0.001 < changed < 0.05
    apart = (again["age"] - frame["age"]).abs()
    assert 0 < apart.mean() < 3
    assert again["income"].isna().sum() > frame["income"].isna().sum()


def test_a_pipeline_takes_the_frame_as_it_is():
    frame, labels = people(80)
    frame = frame.drop(columns=["joined", "grade"]).reset_index(drop=True)
    parts = Split("classification", frame[:60], frame[60:], labels[:60], labels[60:])
    model = pipeline("tree", 2, parts, 0).fit(parts.train, parts.train_answers)
    assert len(model.predict(pd.DataFrame(frame[60:]))) == 20
