"""Meanings of explainable with known answers, and a page that follows from what is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata

from studies.explainable.answering import Answering
from studies.explainable.measured import measured_set
from studies.explainable.results import read, write
from studies.explainable.scores import _pairwise, _superposed
from studies.explainable.sets import CHOSEN_ON, TESTED_ON
from studies.explainable.study import explainable
from studies.explainable.surrogates import TARGETS, _shapley, lime, slopes_move, surrogate
from studies.page import prose

PAGES = Path(__file__).parents[2] / "docs" / "reproduce"
KEPT = PAGES / "results" / "explainable.json"


class Function:
    """Something with `predict`."""

    def __init__(self, of):
        self.predict = of


def asked(of, rows):
    """A regression around rows, in units of 1."""
    width = rows.shape[1]
    return Answering(Function(of), rows, np.ones(width), np.arange(width), 1.0, None)


def test_a_straight_line_explains_itself():
    random = np.random.default_rng(0)
    ask = asked(lambda x: 3 * x[:, 0] - x[:, 2], random.normal(size=(5, 3)))
    (absolute, share), slopes = surrogate(ask, 0.3, random)
    assert absolute.max() < 1e-9
    assert share.max() < 1e-9
    np.testing.assert_allclose(slopes, np.tile([3.0, 0.0, -1.0], (5, 1)), atol=1e-6)
    (moved, _), per_column = slopes_move(ask, 0.3, slopes, random)
    assert max(moved.max(), per_column.max()) < 1e-6
    assert lime(ask, random)[0][0].max() < 0.05  # ridge pulls its slopes a little to 0


def test_a_bowl_leaves_the_variance_of_a_square():
    """Of |u|² a line catches nothing: variance 2r⁴/n for normal steps of mean square r²."""
    random = np.random.default_rng(1)
    ask = asked(lambda x: (x**2).sum(axis=1), np.zeros((400, 4)))
    (absolute, share), _ = surrogate(ask, 0.5, random)
    assert np.sqrt((absolute**2).mean()) == pytest.approx(0.25 * np.sqrt(2 / 4), rel=0.05)
    assert share.mean() == pytest.approx(1, abs=0.15)


def test_shapley_values_add_up_and_are_exact_for_sums():
    random = np.random.default_rng(2)
    background = random.normal(size=(6, 3))
    ask = asked(lambda x: x[:, 0] ** 2 + np.sin(x[:, 1]), random.normal(size=(4, 3)))
    orders = [random.permutation(3) for _ in range(6)]
    values = _shapley(ask, orders, background)
    one = ask.rows[:, 0] ** 2 - (background[:, 0] ** 2).mean()
    other = np.sin(ask.rows[:, 1]) - np.sin(background[:, 1]).mean()
    np.testing.assert_allclose(values, np.stack([one, other, 0 * one], axis=1), atol=1e-12)
    product = asked(lambda x: x.prod(axis=1), ask.rows)
    whole = product.rows.prod(axis=1) - background.prod(axis=1).mean()
    np.testing.assert_allclose(_shapley(product, orders, background).sum(axis=1), whole)


def test_alibis_measure_by_its_definition():
    random = np.random.default_rng(3)
    ask = asked(lambda x: np.exp(x[:, 0]) * x[:, 1], random.normal(size=(3, 2)))
    steps = 0.2 * random.normal(size=(3, 5, 2))
    of = ask.model.predict
    for row in range(3):
        x, beside = ask.rows[row], ask.rows[row] + steps[row]
        pairs = [
            abs(of(((x + y) / 2)[None])[0] - (of(x[None]) + of(y[None]))[0] / 2) for y in beside
        ]
        assert _pairwise(ask, steps)[row] == pytest.approx(np.mean(pairs))
        together = abs(of(beside.mean(axis=0)[None])[0] - of(beside).mean())
        assert _superposed(ask, steps)[row] == pytest.approx(together)


def test_the_halves_share_no_set_and_all_are_measured():
    assert not set(CHOSEN_ON) & set(TESTED_ON)
    results = read(KEPT)
    assert results.keys() == {*CHOSEN_ON, *TESTED_ON}
    assert {len(models) for models in results.values()} == {9, 11}


def test_every_number_of_the_page_follows_from_the_kept_measurements(tmp_path):
    text = (PAGES / "explainable.md").read_text(encoding="utf-8")
    page = explainable(KEPT)
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for part in page.sections
        if part.tabular
        for cells in part.table()[1]
    ]
    assert len(lines) > 35
    assert [line for line in lines if line not in text] == []
    told = [prose(line) for line in page.verdict]
    assert [line for line in told if line not in prose(text)] == []
    results = read(KEPT)
    write(results, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == KEPT.read_text()


def test_the_main_figure_by_another_program():
    results, absolute = read(KEPT), TARGETS[::2]
    per_set = []
    for name in TESTED_ON:
        gammas = [model.means["gamma @ 64"] for model in results[name]]
        found = []
        for target in absolute:
            worth = [model.means[target] for model in results[name]]
            found.append(np.corrcoef(rankdata(gammas), rankdata(worth))[0, 1])
            assert np.sign(kendalltau(gammas, worth).statistic) == np.sign(found[-1])
        per_set.append(np.mean(found))
    shown = prose((PAGES / "explainable.md").read_text(encoding="utf-8"))
    assert f"rank correlation of {np.mean(per_set):.3f} ±" in shown


def test_one_set_is_measured_with_real_models(monkeypatch):
    monkeypatch.setattr("studies.explainable.measured.FAMILIES", ("tree",))
    found = measured_set("iris", 0)
    kept = {(model.family, model.capacity): model for model in read(KEPT)["iris"]}
    for model in found:
        again = kept[model.family, model.capacity]
        assert model.within == pytest.approx(again.within, abs=1e-3, nan_ok=True)
        assert model.columns == pytest.approx(again.columns, abs=1e-3, nan_ok=True)
