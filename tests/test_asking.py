"""Calls are of the size that proves fastest, or the size that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.asking import Pace


def settled(cost, most=16384):
    pace = Pace(most)
    for _ in range(40):
        size = pace.size()
        pace.record(size, cost(size))
    assert pace.settled
    return pace.size()


def test_a_model_that_likes_its_cache_gets_small_calls():
    assert settled(lambda rows: rows * (1 + rows / 4096)) == 1024


def test_a_model_with_costly_calls_gets_large_ones():
    assert settled(lambda rows: 5000 + rows) == 16384


def test_one_in_between_gets_those_in_between():
    assert settled(lambda rows: 1000 + rows * (1 + (rows / 8192) ** 2)) == 4096


@pytest.mark.parametrize("most", [1, 500, 3000, 10000])
def test_no_call_is_larger_than_allowed(most):
    assert settled(lambda rows: 5000 + rows, most) <= most


def test_a_slow_model_is_asked_for_what_takes_a_second():
    pace = Pace(16384)
    assert pace.within(1.0, 5000) == 5000
    pace.record(8, 8 * 0.01)
    assert pace.within(1.0, 5000) == 100
    assert pace.within(0.001, 5000) == 1


def test_a_batch_size_is_kept():
    sizes = []

    def model(x):
        sizes.append(len(x))
        return x.sum(axis=1)

    ah.gamma(model, np.random.default_rng(0).normal(size=(500, 4)), batch_size=300)
    assert max(sizes) <= 300
    assert sizes.count(300) < len(sizes)


def test_progress_counts_every_query():
    seen = []
    scores = ah.gamma(
        lambda x: x.sum(axis=1),
        np.random.default_rng(0).normal(size=(500, 4)),
        batch_size=300,
        progress=lambda done, expected: seen.append((done, expected)),
    )
    assert seen[-1] == (scores.queries, scores.queries)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
