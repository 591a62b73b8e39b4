"""Executors keep order, bound what is under way, and pass errors on."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import anharmonic as ah
from anharmonic import workers
from anharmonic.errors import SettingsError


@pytest.mark.parametrize("map", [workers.serial, workers.threads(3), workers.processes(2)])
def test_results_come_in_order(map):
    assert list(map(abs, range(-20, 0))) == list(range(20, 0, -1))


def test_an_endless_stream_is_taken_as_it_comes():
    taken = itertools.islice(workers.threads(2)(abs, itertools.count()), 10)
    assert list(taken) == list(range(10))


def test_threads_run_together():
    start = time.perf_counter()
    list(workers.threads(8)(time.sleep, [0.2] * 8))
    assert time.perf_counter() - start < 0.8


@pytest.mark.parametrize("map", [workers.serial, workers.threads(2), workers.processes(2)])
def test_errors_reach_the_caller(map):
    with pytest.raises(TypeError):
        list(map(abs, [1, "two", 3]))


def test_a_model_that_cannot_travel_is_named():
    with pytest.raises(SettingsError, match=r"workers\.threads"):
        ah.gamma(lambda x: x.sum(axis=1), np.eye(3), radius=1.0, map=workers.processes(2))
