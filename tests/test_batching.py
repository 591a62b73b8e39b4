"""Calls are of the size that proves fastest, or the size that was asked for."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import DeviceFull
from anharmonic.measures.setup.batching import BatchSizer


def preferred(cost, most=32768, calls=400, least=512):
    """The size most rows are asked for in, once it has been found."""
    sizer, rows = BatchSizer(most, least=least), Counter()
    for call in range(calls):
        size = sizer.size()
        assert size <= most
        sizer.record(size, cost(size, call))
        rows[size] += size
    (best, most_rows), *_ = rows.most_common()
    assert most_rows > 0.85 * rows.total()
    return best


def test_a_model_that_likes_its_cache_gets_small_calls():
    assert preferred(lambda rows, _: rows * (1 + rows / 4096)) == 512


def test_rows_that_are_images_are_tried_a_few_at_a_time():
    assert preferred(lambda rows, _: rows * (1 + rows / 64), most=104, least=8) == 8
    assert preferred(lambda rows, _: 500 + rows, most=104, least=8) == 104
    sizes = []

    def network(images):
        sizes.append(len(images))
        return images.sum(axis=(1, 2))

    ah.gamma(network, np.zeros((40, 100, 100)), radius=1.0, directions=20, noise="ignore")
    assert {8, 32} < set(sizes)


def test_one_that_hardly_cares_gets_neither_many_calls_nor_large_ones():
    assert preferred(lambda rows, _: rows * (1 + rows / 100_000)) == 2048


def test_a_model_with_costly_calls_gets_large_ones():
    assert preferred(lambda rows, _: 5000 + rows) == 32768


def test_one_in_between_gets_those_in_between():
    assert preferred(lambda rows, _: 3000 + rows * (1 + (rows / 16384) ** 2)) == 8192


def test_a_burst_of_noise_at_the_start_is_forgotten():
    def busy_at_first(rows, call):
        return (5000 + rows) * (9 if rows == 32768 and call < 8 else 1)

    assert preferred(busy_at_first, calls=16000) == 32768


@pytest.mark.parametrize("most", [1, 500, 3000, 10000])
def test_no_call_is_larger_than_allowed(most):
    assert preferred(lambda rows, _: 5000 + rows, most) == most


def test_a_slow_model_is_asked_for_what_takes_a_second():
    sizer = BatchSizer(32768)
    assert sizer.within(1.0, 5000) == 5000
    sizer.record(8, 8 * 0.01)
    assert sizer.within(1.0, 5000) == 100
    assert sizer.within(0.001, 5000) == 1


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


class Small:
    """A model on a device with room for so many rows."""

    def __init__(self, room):
        self.room, self.calls = room, []

    def __call__(self, points):
        self.calls.append(len(points))
        if len(points) > self.room:
            raise DeviceFull(f"{len(points)} rows are too many")
        return points.sum(axis=1) ** 2


def test_a_call_that_does_not_fit_is_halved_and_said_once():
    points = np.random.default_rng(0).normal(size=(200, 3))
    small = Small(100)
    with pytest.warns(UserWarning, match="did not fit on the device: going on with") as told:
        scores = ah.gamma(small, points, radius=0.1, noise="ignore", ball="cross")
    assert len(told) == 1
    assert max(small.calls[5:]) <= 100
    assert np.array_equal(
        scores.values,
        ah.gamma(Small(10**9), points, radius=0.1, noise="ignore", ball="cross").values,
    )


def test_a_device_without_room_for_a_single_row_says_so():
    with pytest.raises(DeviceFull, match="1 rows"):
        ah.gamma(Small(0), np.zeros((3, 2)), radius=0.1, scale=None, noise="ignore", ball="cross")
