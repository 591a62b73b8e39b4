"""The study of overfitting: fair halves, honest choices, and real models once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from studies.overfitting import measurements
from studies.overfitting.measurements import FRACTIONS, REGIONS, Trained, measured_set
from studies.overfitting.rules import Rule, best, candidates, correlation
from studies.overfitting.sets import CHOSEN_ON, SETS, TESTED_ON, split
from studies.overfitting.study import DEFAULT, overfitting


def planted(seed, rule=DEFAULT, models=25, loud=0.0):
    """Models whose gap shows in one of a rule's cells, chance says which, and in no other cell."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(models):
        gap = random.random()
        gammas = random.random((len(REGIONS), len(FRACTIONS)))
        rows = [REGIONS.index(region) for region in rule.regions]
        shown = gap + loud * random.normal()
        gammas[rows, FRACTIONS.index(rule.fraction)] = shown * random.random()
        gammas[random.choice(rows), FRACTIONS.index(rule.fraction)] = shown
        family = ("tree", "neighbours", "kernel", "boosted", "network")[number // 5]
        size = float(number + 1)
        found.append(Trained(family, number % 5, size, 1.0, 1.0 - gap, gammas, gammas, 10))
    return found


def test_the_halves_are_apart_and_alike():
    assert not set(CHOSEN_ON) & set(TESTED_ON)
    for half in (CHOSEN_ON, TESTED_ON):
        assert Counter(SETS[name].task for name in half) == {"classification": 3, "regression": 3}
        features = [split(name, 0).train.shape[1] for name in half]
        assert min(features) == 4
        assert max(features) >= 40


def test_a_split_repeats_itself_and_its_parts_are_apart():
    one, again, other = split("iris", 3), split("iris", 3), split("iris", 4)
    np.testing.assert_array_equal(one.train, again.train)
    np.testing.assert_array_equal(one.train_answers, again.train_answers)
    assert not np.array_equal(one.train, other.train)
    assert len(one.train) + len(one.test) == 150


def test_a_rule_takes_the_larger_or_the_mean():
    values = np.arange(12.0).reshape(3, 4)
    assert Rule(("training", "new"), 1.0).of(values) == 5
    assert Rule(("training", "new"), 1.0, "mean").of(values) == 3
    assert Rule(("hull",), 4.0).of(values) == 11
    assert len(set(map(str, candidates()))) == len(candidates())


def test_correlation_is_spearmans():
    models = planted(0, loud=0.0)
    assert correlation(DEFAULT.gamma, models) == pytest.approx(1)
    assert correlation(lambda model: -model.gap, models) == pytest.approx(-1)
    assert correlation(lambda model: 1.0, models) == 0


@pytest.mark.parametrize("rule", [DEFAULT, Rule(("hull",), 2.0)])
def test_the_rule_that_works_is_found_on_the_first_half_alone(rule):
    found = {name: [planted(seed, rule)] for seed, name in enumerate(SETS)}
    for name in TESTED_ON:
        found[name] = [planted(99, Rule(("new",), 4.0))]
    assert best(found, CHOSEN_ON) == rule


def test_the_page_says_what_came_out():
    def pretended(function, asked):
        return (planted(seed, loud=0.02) for seed, _ in enumerate(asked))

    page = overfitting(splits=2, map=pretended)
    tested = page.rows()[f"The recommendation, on the second half: gamma, {DEFAULT}"]
    assert 0.8 < tested.measured.value < 1
    assert tested.measured.error > 0
    assert tested.queries == 6 * 2 * 25 * 10
    assert "which is what compare does" in page.verdict[0]
    assert "95% interval" in tested.remark


def test_real_trees_that_memorise_have_wider_gaps_and_larger_gammas(monkeypatch):
    monkeypatch.setattr(measurements, "FAMILIES", ("tree",))
    trees = measured_set("iris", 0)
    assert [tree.capacity for tree in trees] == [0, 1, 2, 3, 4]
    assert trees[-1].gap > trees[1].gap
    assert DEFAULT.gamma(trees[-1]) > DEFAULT.gamma(trees[1])
    for model in trees:
        # For labels the share that changes is a part of the deviation of the one-hot row.
        assert (model.changes <= model.gammas + 1e-12).all()
        assert (model.gammas <= np.sqrt(2) * model.changes + 1e-12).all()
