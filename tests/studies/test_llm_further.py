"""Ensembles that see one half, magnitudes by algebra, made questions, and the kept page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from anharmonic.llm.statistics import deviation
from anharmonic.llm.types import Parameters, Request
from studies.llm.further.asked_sections import ascents, made_sets, two_models
from studies.llm.further.asking import NetworkClient
from studies.llm.further.ensembles import (
    ENSEMBLES,
    columns_of,
    fitted,
    halves,
    kept_ensembles,
)
from studies.llm.further.likelihood import LIKELIHOODS, likelihoods_of
from studies.llm.further.made import MADE, made_questions
from studies.llm.further.magnitude import magnitudes
from studies.llm.further.study import further_answers
from studies.llm.scored import Scored
from studies.page import prose

PAGES = Path(__file__).parents[2] / "docs" / "reproduce"
KEPT = PAGES / "results"


@pytest.fixture(scope="module")
def web():
    return Scored.load(KEPT / "llm" / "webquestions.npz")


def test_magnitudes_are_those_of_the_vectors():
    random = np.random.default_rng(0)
    for count in (3, 10):
        vectors = random.normal(size=(count + 1, 8)) + random.normal(size=8)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        gamma = deviation(vectors[0], vectors[1:])
        total = (vectors.sum(axis=0) ** 2).sum() - (count + 1)
        pairwise = 1 - total / (count * (count + 1))
        found = magnitudes(np.array([gamma]), np.array([pairwise]), count)
        assert found[0] == pytest.approx(np.linalg.norm(vectors[0] - vectors[1:].mean(axis=0)))


def test_halves_are_apart_and_whole(web):
    first, second = halves(web)
    assert not set(first) & set(second)
    assert len(first) + len(second) == len(web)
    assert abs(len(first) - len(second)) < 60


def test_an_ensemble_of_noise_is_a_coin_and_of_the_truth_is_not(web, monkeypatch):
    quick = {name: ENSEMBLES[name] for name in ("mean rank", "logistic regression")}
    monkeypatch.setattr("studies.llm.further.ensembles.ENSEMBLES", quick)
    monkeypatch.setattr("studies.llm.further.ensembles.DRAWS", 100)
    random = np.random.default_rng(1)
    parts = halves(web)
    noise = {f"noise {n}": random.normal(size=len(web)) for n in range(6)}
    blind = fitted(noise, web.wrong, parts, 0)
    assert blind.ensemble[1] < 0.5 < blind.ensemble[2]
    assert max(abs(area - 0.5) for area in blind.halves) < 0.1
    hints = {f"hint {n}": web.wrong + 2 * random.normal(size=len(web)) for n in range(6)}
    told = fitted(hints, web.wrong, parts, 0)
    assert told.ensemble[0] > told.rival[0] + 0.05
    assert told.lead[1] > 0
    assert {*told.chosen, *blind.chosen} <= set(ENSEMBLES)


@pytest.mark.slow
def test_the_published_ensemble_is_what_the_kept_scores_give(web):
    found = fitted(columns_of(web, "resample"), web.wrong, halves(web), 0)
    kept = kept_ensembles(KEPT / "llm-further" / "ensembles.json")
    assert kept["WebQuestions | resample | answers alone"].ensemble == pytest.approx(found.ensemble)


def test_the_best_single_number_is_the_one_that_the_first_study_kept(web):
    """Gamma, asked again, chosen by both halves: its AUROC there by another program."""
    kept = kept_ensembles(KEPT / "llm-further" / "ensembles.json")
    single = kept["WebQuestions | resample | answers alone"]
    assert single.rivals == ("gamma", "gamma")
    values, wrong = web.gamma("resample"), web.wrong
    areas = [
        mannwhitneyu(values[half][wrong[half]], values[half][~wrong[half]]).statistic
        / (wrong[half].sum() * (~wrong[half]).sum())
        for half in halves(web)
    ]
    assert single.rival[0] == pytest.approx(np.mean(areas))


def test_made_questions_are_answerable_and_repeat_themselves():
    questions = made_questions(0, 10)
    assert questions == made_questions(0, 10)
    assert questions[0].prompt == "What is 2+2?"
    assert [each.source for each in questions] == [kind for kind in MADE for _ in range(10)]
    for each in questions:
        assert bool(each.right) == (each.source != "books that do not exist")
        if each.source == "Python":
            assert each.right[0] not in each.prompt.lower()
    assert len({each.prompt for each in made_questions(1)}) == len(made_questions(1))


def test_likelihoods_go_to_their_questions(web):
    names = web.columns["question"]
    known = {str(names[3]): dict.fromkeys(LIKELIHOODS, 2.5)}
    columns = likelihoods_of(web, known)
    assert columns[LIKELIHOODS[0]][3] == 2.5
    assert np.isnan(columns[LIKELIHOODS[0]]).sum() == len(web) - 1


def test_a_client_answers_in_order_whatever_the_lengths():
    class Echo(NetworkClient):
        def _said(self, requests):
            return [f"{each.prompt}@{each.parameters.temperature:g}" for each in requests]

    client = Echo(None, None, "echo")
    asked = [Request("x" * (9 - n), Parameters(temperature=n % 2)) for n in range(9)]
    told = [answer.text for answer in client.answers(asked)]
    assert told == [f"{'x' * (9 - n)}@{n % 2}" for n in range(9)]


def test_sections_count_what_they_are_given(web):
    held = {
        str(n): {
            "kind": "sums", "prompt": f"{n}", "answer": f"so {n}", "right": n < 3,
            "control": 0.05 - n / 1000, "resample": 0.4,
        }
        for n in range(10)
    }  # fmt: skip
    told = made_sets(held, 5)
    assert "70.0% [34.8%, 93.3%]" in prose(told.verdict[0])
    assert "0.041: “9” is answered “so 9”" in prose(told.verdict[0])
    assert "5 others of each kind" in prose(told.section.text)
    assert told.section.grid.lines[0][-1] == "7 of 10"
    walks = {
        f"q{n} unicode {way}": {
            "chosen": [0.1, 0.9], "fresh": [0.1, 0.1 + gain], "right": [True, False], "calls": 30
        }
        for n in range(5)
        for way, gain in (("greedy", 0.3), ("random", 0.1), ("best", 0.3))
    }  # fmt: skip
    said = prose(ascents(walks).verdict[0])
    assert "+0.200 [+0.200, +0.200] over random" in said
    assert "+0.000 [+0.000, +0.000] over best" in said
    part = Scored.load(KEPT / "llm" / "webquestions-part.npz")
    names = part.columns["question"][:20].tolist()
    second = {
        name: {"wrong": n % 2 == 0, "control": 0.1, "resample": 0.2} for n, name in enumerate(names)
    }
    shown = two_models(second, part, "one", "two")
    assert "two has more right answers" in prose(shown.verdict[0])


def test_every_number_of_the_page_follows_from_what_is_kept():
    text = (PAGES / "llm-further.md").read_text(encoding="utf-8")
    page = further_answers(KEPT)
    lines = [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        for part in page.sections
        if part.tabular
        for cells in part.table()[1]
    ]
    assert len(lines) > 20
    assert [line for line in lines if line not in text] == []
    told = [prose(line) for line in page.verdict]
    assert [line for line in told if line not in prose(text)] == []
