"""The published page of the language study follows from the scores that are kept beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from studies.llm.scored import Scored
from studies.llm.study import language
from studies.page import prose

PAGES = Path(__file__).parents[2] / "docs" / "reproduce"
KEPT = PAGES / "results" / "llm"


def test_every_number_of_the_page_follows_from_the_kept_scores():
    text = (PAGES / "llm.md").read_text(encoding="utf-8")
    page = language(KEPT)
    lines = [f"| {' | '.join(cells)} |" for each in page.sections for cells in each.table()[1]]
    assert len(lines) > 100
    assert [line for line in lines if line not in text] == []
    told = [prose(line) for line in page.verdict]
    assert [line for line in told if line not in prose(text)] == []
    assert f"{page.queries:,} model queries" in text


@pytest.mark.parametrize(
    ("source", "column", "published"),
    [
        ("webquestions", "gamma/control/10", 0.677),
        ("webquestions", "gamma/resample/10", 0.756),
        ("webquestions", "rival/resample/mean pairwise cosine", 0.704),
        ("truthfulqa", "gamma/control/10", 0.424),
        ("truthfulqa", "gamma/resample/10", 0.434),
    ],
)
def test_the_main_figures_by_another_program(source, column, published):
    kept = Scored.load(KEPT / f"{source}.npz")
    values, wrong = kept.columns[column], kept.wrong
    won = mannwhitneyu(values[wrong], values[~wrong]).statistic
    assert won / (wrong.sum() * (~wrong).sum()) == pytest.approx(published, abs=5e-4)


def test_each_question_is_kept_once_and_a_part_is_some_of_them():
    for source, count in (("webquestions", 1016), ("truthfulqa", 395)):
        whole, part = (Scored.load(KEPT / f"{source}{end}.npz") for end in ("", "-part"))
        assert len(whole) == len(set(whole.columns["question"])) == count
        places = [
            np.flatnonzero(whole.columns["question"] == each) for each in part.columns["question"]
        ]
        rows = np.concatenate(places)
        assert len(set(rows)) == len(part) == 200
        assert (whole.wrong[rows] == part.wrong).all()
        for group in ("control", "resample"):
            np.testing.assert_array_equal(whole.gamma(group)[rows], part.gamma(group))
