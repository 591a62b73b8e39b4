"""Studies judge only what they can, and choices come with how sure they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from studies.images.choosing import choice
from studies.images.contest import Contest
from studies.images.measurements import NOT_WALKED
from studies.images.scoring import KINDS
from studies.images.study import image_stability
from studies.images.tables import sections
from studies.spade_training.study import training_page
from tests.studies.test_image_study import made
from tests.studies.test_spade_training import saved


def _hits(found: dict[str, Any], attack: str, hits: int) -> None:
    for arm in found["arms"].values():
        arm["hits"][attack]["hits"] = [hits] * 3


@pytest.mark.finding("coverage slips: reproduce spade-training")
def test_networks_that_learnt_little_are_not_judged() -> None:
    """A reduced run with robust accuracy 0 in three arms said which order was found."""
    found = saved()
    _hits(found, "clean", 300)
    _hits(found, "20×PGD-100", 0)
    verdict = training_page(found).verdict
    assert len(verdict) == 2
    assert all(line.startswith("Not judged: below 80% of clean images right") for line in verdict)
    assert "vanilla 30%" in verdict[0]


@pytest.mark.finding("coverage slips: reproduce spade-training")
def test_ties_are_no_order() -> None:
    found = saved()
    _hits(found, "clean", 900)
    _hits(found, "20×PGD-100", 0)
    verdict = training_page(found).verdict
    assert "order is not found" in verdict[0]
    assert not any("the more, the more robust" in line for line in verdict)


@pytest.mark.finding("coverage slips: reproduce images on 20 photos")
def test_chances_are_held_against_the_walks_that_are_left(tmp_path: Any) -> None:
    """With 20 walks of a photo all were predicted from, and the table was empty."""
    found = made("small", photos=20)
    for kind in KINDS:
        for what in ("changes", "own"):
            whole = found.arrays[f"{kind}/{what}"]
            found.arrays[f"{kind}/{what}"] = whole[:, :, : 20 // whole.shape[1]]
    found.arrays["gamma/flips"] = np.full((1, 20), NOT_WALKED)
    found.arrays["gamma/flips"][0, :2] = -1
    found.arrays["gamma/queries"] = np.full((1, 20), 9000)
    contest = Contest([found], 0)
    chances = sections(contest, choice(contest, rounds=20))[-2]
    assert chances.title == "Do the chances come true?"
    assert [line[1] for line in chances.grid.lines] == ["10"]
    found.save(tmp_path)
    verdict = image_stability(tmp_path).verdict
    assert verdict[0] == "Fewer than 60 photos show the procedure and settle nothing."
    assert "gamma 0% of 2 walks" in verdict[-1]
    assert "no gamma ascent was made" not in verdict[-1]


@pytest.mark.finding("claims: sway on photos that nobody had seen")
def test_a_choice_among_equals_is_seen_to_be_luck() -> None:
    """Labels by chance: some candidate is best, by luck, and on other photos no better than any."""
    found = [made(name, seed) for seed, name in enumerate(("one", "two"))]
    random = np.random.default_rng(0)
    for each in found:
        for climb in ("margin", "gamma"):
            each.arrays[f"{climb}/flips"] = np.where(random.random((3, 120)) < 0.4, 3, -1)
    told = choice(Contest(found, 0), rounds=40)
    assert told.optimism > 0.01
    assert told.corrected < told.ordered[0][1]
    assert told.unseen.value < 0.5  # the worst of six cells, where each is one half on average
    assert max(told.shares.values()) < 0.6
    assert len(told.untold) > 30
    assert sum(told.shares.values()) == pytest.approx(1)
