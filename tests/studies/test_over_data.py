"""The study of gamma over the data: fair halves, and a page that follows from what is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata

from studies.over_data.models import WEIGHTS, measured_set
from studies.over_data.results import read
from studies.over_data.rows import FAMILIES, measured_rows
from studies.over_data.sets import CHOSEN_ON, CLASSIFICATIONS, TESTED_ON, split, with_flips
from studies.over_data.study import DEFAULT, over_data
from studies.page import prose

PAGES = Path(__file__).parents[2] / "docs" / "reproduce"
KEPT = PAGES / "results" / "over-data.json"


def test_the_halves_share_no_set_and_all_are_measured():
    assert not set(CHOSEN_ON) & set(TESTED_ON)
    assert len(CHOSEN_ON) + len(TESTED_ON) >= 24
    results = read(KEPT)
    assert results.models.keys() == {*CHOSEN_ON, *TESTED_ON}
    assert all(len(models) == 25 for models in results.models.values())
    assert results.rows.keys() == set(CLASSIFICATIONS)
    assert all(
        tuple(family.family for family in rows) == FAMILIES for rows in results.rows.values()
    )


def test_every_number_of_the_page_follows_from_the_kept_measurements():
    text = (PAGES / "gamma-over-data.md").read_text(encoding="utf-8")
    page = over_data(KEPT)
    lines = [f"| {' | '.join(cells)} |" for part in page.sections for cells in part.table()[1]]
    assert len(lines) > 50
    assert [line for line in lines if line not in text] == []
    told = [prose(line) for line in page.verdict]
    assert [line for line in told if line not in prose(text)] == []


def test_the_main_figure_by_another_program():
    """Spearman's correlation as that of ranks, without scipy's function for it."""
    models, (weights, _) = read(KEPT).models, DEFAULT
    found = []
    for name in TESTED_ON:
        larger = [
            max(model.over_data[f"{weights}; classes; {place}"] for place in ("training", "new"))
            for model in models[name]
        ]
        gaps = [model.train_score - model.test_score for model in models[name]]
        found.append(np.corrcoef(rankdata(larger), rankdata(gaps))[0, 1])
        assert kendalltau(larger, gaps).statistic < found[-1]
    assert f"correlation of {np.mean(found):.3f}" in prose(
        (PAGES / "gamma-over-data.md").read_text(encoding="utf-8")
    )


def test_flips_change_a_tenth_of_the_labels_and_only_those():
    labels = np.arange(3000) % 3
    flipped, which = with_flips(labels, 0)
    np.testing.assert_array_equal(np.flatnonzero(flipped != labels), which)
    assert 240 < len(which) < 360
    assert set(flipped) == {0, 1, 2}


def test_one_set_is_measured_with_real_models(monkeypatch):
    monkeypatch.setattr("studies.over_data.models.CAPACITIES", range(0, 5, 4))
    monkeypatch.setattr("studies.over_data.models.FAMILIES", ("tree",))
    stiff, memorising = measured_set("iris", 0)
    assert memorising.gap > stiff.gap
    for label in WEIGHTS:
        key = f"{label}; classes; training"
        assert memorising.over_data[key] > stiff.over_data[key]
    kept = read(KEPT).models["iris"]
    again = next(model for model in kept if (model.family, model.capacity) == ("tree", 4))
    assert memorising.over_data == pytest.approx(again.over_data, rel=1e-5)
    assert memorising.sphere == pytest.approx(again.sphere, rel=1e-5)
    assert memorising.gap == pytest.approx(again.gap, abs=1e-5)


def test_rows_are_measured_with_real_models(monkeypatch):
    monkeypatch.setattr("studies.over_data.rows.FAMILIES", ("nearest row",))
    (found,) = measured_rows("iris", 0)
    assert found.flipped["forest; classes"] > found.flipped["1 − confidence"]
    assert split("iris", 0).task == "classification"
