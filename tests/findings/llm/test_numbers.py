"""Gamma of language models whatever N is: comparable, with honest errors, and an excess of 0."""

from __future__ import annotations

import json

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.llm.records import Record
from anharmonic.llm.statistics import deviation, jackknifed, matched_excess
from anharmonic.llm.summaries import read_run

TRUTH, SIZE = 0.144, 384


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def others(random, count, noise=0.03):
    """Answers about the first axis."""
    return unit(np.eye(SIZE)[0] + noise * random.normal(size=(count, SIZE)))


ANGLE = np.arccos(1 - TRUTH**2)
ORIGINAL = np.cos(ANGLE) * np.eye(SIZE)[0] + np.sin(ANGLE) * np.eye(SIZE)[1]


@pytest.mark.finding("numbers A10")
@pytest.mark.parametrize("count", [3, 5, 10, 30, 100])
def test_the_corrected_gamma_does_not_depend_on_the_number_of_answers(count):
    random = np.random.default_rng(count)
    runs = [jackknifed(ORIGINAL, others(random, count)) for _ in range(200)]
    squares = np.array([run.squared for run in runs])
    assert abs(squares.mean() - TRUTH**2) < 4 * squares.std() / np.sqrt(200) + 0.0005
    corrected = np.array([run.corrected for run in runs])
    assert corrected[:, 0].mean() == pytest.approx(TRUTH, abs=0.005)
    assert corrected[:, 1].mean() == pytest.approx(corrected[:, 0].std(), rel=0.3)
    # The paper's own value is still there: 0.270 at N = 3, 0.192 at N = 10, 0.150 at N = 100.
    values = np.array([run.value for run in runs])
    assert values.mean() > TRUTH + 0.5 * (0.150 - TRUTH)


@pytest.mark.finding("numbers A10")
@pytest.mark.parametrize("angle", [False, True])
@pytest.mark.parametrize("count", [3, 10, 30])
def test_value_and_error_hold_the_truth(count, angle):
    random = np.random.default_rng(7)
    kind = "angle" if angle else "sqrt1mcos"
    truth = np.degrees(ANGLE) if angle else TRUTH
    runs = [jackknifed(ORIGINAL, others(random, count), kind) for _ in range(100)]
    held = [abs(run.value - truth) < 2 * run.error for run in runs]
    assert np.mean(held) >= 0.95
    assert np.mean([run.corrected.value for run in runs]) == pytest.approx(truth, rel=0.05)


@pytest.mark.finding("numbers A10")
def test_answers_without_anything_in_common_do_not_become_trustworthy():
    random = np.random.default_rng(3)
    for _ in range(200):
        vectors = unit(random.normal(size=(11, SIZE)))
        found = jackknifed(vectors[0], vectors[1:])
        assert found.value > 0.8
        assert found.corrected.value > 0.6


@pytest.mark.finding("numbers A10")
@pytest.mark.parametrize("counts", [(10, 3), (3, 10), (10, 10)])
def test_perturbing_that_does_nothing_has_no_excess(counts):
    random = np.random.default_rng(5)
    found = np.array(
        [matched_excess(ORIGINAL, *(others(random, count) for count in counts)) for _ in range(120)]
    )
    assert abs(found[:, 0].mean()) < 4 * found[:, 0].std() / np.sqrt(120)
    assert found[:, 0].std() == pytest.approx(np.sqrt(np.mean(found[:, 1] ** 2)), rel=0.35)


def _sampler(seed):
    """A model that answers at random, whatever it is asked."""
    random = np.random.default_rng(seed)
    return lambda prompt: str(random.integers(10**9))


def _embed(texts):
    return np.array([others(np.random.default_rng(int(text)), 1, 0.05)[0] for text in texts])


@pytest.mark.finding("numbers A10")
@pytest.mark.parametrize("repeats", [3, 10])
def test_the_excess_of_a_whole_measurement(repeats):
    prompts = [f"question {number}?" for number in range(60)]
    found = ah.llm.gamma(_sampler(1), prompts, embed=_embed, count=10, gamma0=repeats)
    assert abs(found.excess.value) < 4 * found.excess.error
    assert found.excess.error < 0.02  # 0.048 it was
    assert "at N = 10" in repr(found)
    assert found.to_frame("pyarrow").column("turns").to_pylist() == [10] * 60
    assert (found.corrected <= found.values).all()


@pytest.mark.finding("coverage slips: 0.321 ± 0")
def test_equal_answers_do_not_promise_one_more():
    other = np.tile(others(np.random.default_rng(0), 1), (10, 1))
    found = jackknifed(ORIGINAL, other)
    # One answer of eleven may have been the original's.
    share = deviation(ORIGINAL, np.vstack([other, ORIGINAL[None]]))
    assert found.error == found.noise == pytest.approx((found.value - share) * 10 / 11)
    assert found.error > 0.05 * found.value
    assert jackknifed(ORIGINAL, np.tile(ORIGINAL, (10, 1))).error == 0


@pytest.mark.finding("numbers A10")
def test_runs_of_the_first_version_still_open(tmp_path):
    line = {
        **{"id": "a", "domain": "", "prompt": "why?", "answer": "so", "refused": 0, "failed": 0},
        **{"gamma": 0.2, "gamma_error": 0.01, "gamma_squared": 0.02, "gamma_turns": 10},
        **{"gamma0": 0.3, "gamma0_error": 0.02, "gamma0_squared": 0.02, "gamma0_turns": 3},
        **{"excess": -0.1, "excess_error": 0.02, "problems": [], "tokens": 0},
        **{"original": {"text": "so"}, "trials": [], "repeats": []},
    }
    recipe = {"perturb": "control", "count": 10, "repeats": 3, "unit": "sqrt1mcos"}
    head = {"anharmonic": "llm run", "format": 1, "model": "m", "data": "d", "recipe": recipe}
    path = tmp_path / "old.jsonl"
    path.write_text(json.dumps(head) + "\n" + json.dumps(line) + "\n")
    found = read_run(path)
    # 0.02 + (0.04 − 0.02)·10/3 is what three answers would have given.
    expected = np.sqrt(0.02 + 0.02 * 10 / 3) - 0.3
    assert found.excess.value == pytest.approx(expected)
    assert Record.read(line).excess.value == pytest.approx(expected)
    assert found.corrected.value == pytest.approx(np.sqrt(0.02))
    assert found.paper_bands is not None
    path.write_text(json.dumps({**head, "recipe": {**recipe, "count": 3}}) + "\n")
    assert read_run(path).paper_bands is None
