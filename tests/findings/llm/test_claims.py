"""A lead that was chosen on the questions it is measured on is no lead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studies.llm.choosing import lead, lead_in_other_half
from studies.llm.ranking import Ranking

HOUSE = Path(__file__).parents[3]


def columns(random, wrong, names):
    """Numbers that all tell wrong answers equally well."""
    return {name: wrong + 1.5 * random.normal(size=len(wrong)) for name in names}


@pytest.mark.finding("llm claims")
def test_the_choice_is_counted_in():
    """The best of eight against one, though none is better."""
    random = np.random.default_rng(0)
    naive, elsewhere, hopeful, turned = [], [], [], []
    for seed in range(20):
        wrong = random.random(200) < 0.5
        mine, rivals = columns(random, wrong, "abcdefgh"), columns(random, wrong, "x")
        ranking = Ranking(wrong, seed, 100)
        ranked = ranking.every(mine).values(), ranking.every(rivals).values()
        naive.append(max(each.value for each in ranked[0]) - ranking.of(rivals["x"]).value)
        found = lead(*ranked)
        assert found.value == pytest.approx(naive[-1])
        turned.append(found.interval[0] > 0)
        hopeful.append(np.quantile(2 * found.value - found.draws, 0.025) > 0)
        elsewhere.append(lead_in_other_half(mine, rivals, wrong, seed, splits=20))
    assert np.mean(naive) > 0.04
    assert abs(np.mean(elsewhere)) < 3 * np.std(elsewhere) / np.sqrt(20)
    assert np.mean(turned) < np.mean(hopeful)
    assert np.mean(turned) <= 0.2


@pytest.mark.finding("llm claims")
def test_a_real_lead_is_seen_in_the_other_half():
    random = np.random.default_rng(1)
    wrong = random.random(400) < 0.5
    mine = {"good": wrong + 0.5 * random.normal(size=400), **columns(random, wrong, "ab")}
    rivals = columns(random, wrong, "xy")
    found = lead_in_other_half(mine, rivals, wrong)
    assert found > 0.1
    # A rival that is chosen in hindsight is never the weaker one.
    assert 0 < lead_in_other_half(mine, rivals, wrong, hindsight=True) <= found


@pytest.mark.finding("llm claims")
def test_the_pages_say_what_other_questions_showed():
    for page in ("README.md", "docs/llm.md", "docs/reproduce/llm.md"):
        text = " ".join((HOUSE / page).read_text().split())
        assert "not told from" in text, page
