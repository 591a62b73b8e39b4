"""Executors keep order, bound what is under way, and pass errors on."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
import types

import numpy as np
import psutil
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


def only_here(rows):
    """A model of a module that no other process can import."""
    return np.asarray(rows).sum(axis=1)


def test_a_model_that_cannot_be_loaded_elsewhere_is_no_lack_of_memory(monkeypatch):
    module = types.ModuleType("only_here")
    module.only_here = only_here
    monkeypatch.setitem(sys.modules, "only_here", module)
    monkeypatch.setattr(only_here, "__module__", "only_here")
    with pytest.raises(
        SettingsError, match=r"No module named 'only_here'\): define it in a module"
    ):
        ah.gamma(only_here, np.eye(3), radius=1.0, map=workers.processes(2))


@pytest.mark.parametrize("kind", [workers.threads, workers.processes, workers.ray])
@pytest.mark.parametrize("count", [0, -1])
def test_workers_are_counted_from_one(kind, count):
    with pytest.raises(SettingsError, match=f"workers are counted from 1, got {count}"):
        kind(count)


def test_a_script_without_a_guard_is_told_of_it(tmp_path):
    script = tmp_path / "bare.py"
    script.write_text("import anharmonic as ah\nprint(list(ah.workers.processes(2)(abs, [1])))\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert "under if __name__ == '__main__'" in done.stderr.splitlines()[-1]


HANDING_OUT = """
import os, sys, time
import anharmonic as ah

def told(number):
    print(os.getpid(), flush=True)
    time.sleep(60)

if __name__ == "__main__":
    list(ah.workers.processes(2)(told, range(2)))
"""


def test_workers_end_with_the_process_that_was_killed(tmp_path):
    script = tmp_path / "handing_out.py"
    script.write_text(HANDING_OUT)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        family = [psutil.Process(int(driver.stdout.readline())) for _ in range(2)]
        driver.kill()
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive
