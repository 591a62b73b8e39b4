"""A run that was stopped goes on to the same bits, wherever it was stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace

import numpy as np
import pytest

import anharmonic as ah
from anharmonic._core import checkpoints
from anharmonic.errors import InputError, MeasurementStopped, SettingsError
from anharmonic.measures.gamma import measure as meanvalue
from anharmonic.measures.gamma.accumulator import Accumulator
from anharmonic.measures.gamma.deviation import Changes, TaskResult

POINTS = np.random.default_rng(0).normal(size=(300, 4))
WEIGHTS = np.random.default_rng(1).normal(size=(4, 3))


def wavy(x):
    """Row by row, so that an answer does not depend on what else is asked for."""
    return np.stack([np.sin(3 * (x * each).sum(axis=1)) for each in WEIGHTS.T], axis=1)


class Stopping:
    """A model that raises at one of its calls, and counts the rows it answered."""

    def __init__(self, at):
        self.at, self.calls, self.rows = at, 0, 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.at:
            raise RuntimeError("gone")
        self.rows += len(x)
        return wavy(x)


def assert_same(one, other):
    for field in fields(ah.Scores):
        if field.name not in ("settings", "sums", "columns"):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    for name in {*one.columns, *other.columns}:
        np.testing.assert_array_equal(one.columns[name], other.columns[name])
    assert one.settings.with_facts(model="") == other.settings.with_facts(model="")


WAYS = {
    "plain": {},
    "budget": {"budget": 24_000},
    "tolerance": {"tolerance": 0.4},
    "bounds": {"bounds": (-4.0, 4.0), "reduction": "predicted"},
    "single": {"output": 0, "ball": "random pairs", "rotations": 3},
}


@pytest.mark.finding("security A10")
@pytest.mark.parametrize("way", WAYS)
def test_any_stop_is_gone_on_from_to_the_bit(way, tmp_path):
    arguments = {"batch_size": 200, "radius": 0.7, **WAYS[way]}
    counting = Stopping(0)
    whole = ah.gamma(counting, POINTS, **arguments)
    for at in np.linspace(4, counting.calls, 9).astype(int).tolist():
        stopping = Stopping(at)
        with pytest.raises(MeasurementStopped) as stop:
            ah.gamma(stopping, POINTS, checkpoint=tmp_path / "run.parquet", **arguments)
        kept = stop.value.partial
        if not kept.started:
            assert not (tmp_path / "run.parquet").exists()
            continue
        going = Stopping(0)
        resumed = ah.gamma(going, POINTS, resume=tmp_path / "run.parquet", **arguments)
        assert_same(resumed, whole)
        # Nothing that was kept is asked for again.
        assert going.rows == whole.queries - kept.queries
        assert_same(ah.gamma(wavy, POINTS, resume=kept, **arguments), whole)
        (tmp_path / "run.parquet").unlink()


@pytest.mark.finding("security A10")
def test_interrupts_at_any_moment_lose_nothing(tmp_path):
    whole = ah.gamma(wavy, POINTS, radius=0.7, batch_size=100, tolerance=0.05)
    before = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    chance, stops = np.random.default_rng(0), 0
    partial = None
    try:
        while True:
            try:
                # In time of this process, and longer each time, so that it ends on any machine.
                moment = chance.uniform(0.004, 0.02) * (1 + stops / 50)
                signal.setitimer(signal.ITIMER_VIRTUAL, moment)
                found = ah.gamma(
                    wavy, POINTS, radius=0.7, batch_size=100, tolerance=0.05, resume=partial
                )
                break
            except KeyboardInterrupt as stop:
                partial = getattr(stop, "partial", partial)
                stops += 1
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)
    assert stops > 3
    assert_same(found, whole)


@pytest.mark.finding("security A10")
def test_the_same_scores_can_be_gone_on_from_twice():
    arguments = {"radius": 0.7, "batch_size": 200, "tolerance": 0.4}
    whole = ah.gamma(wavy, POINTS, **arguments)
    with pytest.raises(MeasurementStopped) as stop:
        ah.gamma(Stopping(60), POINTS, **arguments)
    for _ in range(2):
        assert_same(ah.gamma(wavy, POINTS, resume=stop.value.partial, **arguments), whole)


@pytest.mark.finding("security A10")
def test_a_stop_before_a_resumed_run_has_begun_loses_nothing(monkeypatch):
    whole = ah.gamma(wavy, POINTS, batch_size=200)
    with pytest.raises(MeasurementStopped) as stop:
        ah.gamma(Stopping(20), POINTS, batch_size=200)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(meanvalue, "pilot_of", interrupted)
        with pytest.raises(KeyboardInterrupt) as second:
            ah.gamma(wavy, POINTS, batch_size=200, resume=stop.value.partial)
    assert second.value.partial.started
    assert_same(ah.gamma(wavy, POINTS, batch_size=200, resume=second.value.partial), whole)


@pytest.mark.finding("security A10")
def test_an_interrupt_inside_the_ledger_leaves_it_whole():
    accumulator, rows = Accumulator(3, "norm"), np.array([0, 2])
    pair, none = np.ones((2, 2)), np.zeros(0, dtype=np.int64)
    changes = Changes.of(pair, np.zeros(2, dtype=np.int64))
    part = TaskResult(rows, 2, pair, pair, np.ones(2), np.ones(2), changes, 9, 0, none)
    accumulator.add(part)
    before = {name: np.copy(value) for name, value in vars(accumulator).items()}

    def interrupted():
        with accumulator.atomically(rows):
            accumulator.add(part)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    for name, value in vars(accumulator).items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.finding("security A10")
def test_an_unread_run_is_not_overwritten_nor_a_foreign_file(tmp_path):
    file = tmp_path / "run.parquet"
    with pytest.raises(MeasurementStopped):
        ah.gamma(Stopping(20), POINTS, batch_size=200, checkpoint=file)
    kept = file.read_bytes()
    with pytest.raises(SettingsError, match="go on with --resume"):
        ah.gamma(wavy, POINTS, batch_size=200, checkpoint=file)
    with pytest.raises(SettingsError, match="another radius"):
        ah.gamma(wavy, POINTS, radius=9.0, checkpoint=file, resume=file)
    assert file.read_bytes() == kept
    finished = ah.gamma(wavy, POINTS, checkpoint=file, resume=file)
    assert ah.Scores.load(file).complete
    assert_same(finished, ah.gamma(wavy, POINTS, checkpoint=file))
    file.write_text("my thesis")
    with pytest.raises(InputError, match="no run of ours"):
        ah.gamma(wavy, POINTS, checkpoint=file)
    assert file.read_text() == "my thesis"


def test_what_the_first_release_kept_is_gone_on_from():
    with pytest.raises(MeasurementStopped) as stop:
        ah.gamma(Stopping(20), POINTS, batch_size=200)
    old = replace(stop.value.partial, sums={})
    found, whole = ah.gamma(wavy, POINTS, resume=old), ah.gamma(wavy, POINTS)
    np.testing.assert_array_equal(found.values, whole.values)
    np.testing.assert_allclose(found.errors, whole.errors, rtol=1e-9)


@pytest.mark.finding("security A10")
def test_saving_takes_a_small_share(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    saves, clock = [], [0.0]

    class Result:
        settings, started = {}, True

        def save(self, path):
            clock[0] += 0.5
            saves.append(clock[0])
            return path

    monkeypatch.setattr(checkpoints.time, "perf_counter", lambda: clock[0])
    with checkpoints.kept(tmp_path / "a.parquet", None, lambda finished: Result()) as keep:
        while clock[0] < 1000:
            clock[0] += 0.1
            keep()
    # 2% of 1000 s, and the first few, each as long after the last as the run had taken.
    assert 0.5 * len(saves) <= 0.02 * 1000 + 0.5 * 8
    assert len(saves) > 30


def test_comparisons_and_sweeps_go_on(tmp_path):
    models = {"a/b": wavy, "a_b": lambda x: wavy(x), "é" * 99: lambda x: wavy(x) + 1}
    arguments = {"radius": 0.5, "reference": POINTS[:100] + 0.5, "batch_size": 200}
    whole = ah.compare(models, POINTS, **arguments)
    for at in (3, 20, 40):
        broken = models | {"a_b": Stopping(at)}
        with pytest.raises(MeasurementStopped):
            ah.compare(broken, POINTS, checkpoint=tmp_path / "kept", **arguments)
        with pytest.raises(SettingsError, match="--resume"):
            ah.compare(models, POINTS, checkpoint=tmp_path / "kept", **arguments)
        counted = models | {"a/b": Stopping(0)}
        both = {"checkpoint": tmp_path / "kept", "resume": tmp_path / "kept"}
        found = ah.compare(counted, POINTS, **both, **arguments)
        for name in models:
            assert_same_scores(found.scores[name], whole.scores[name])
            assert_same_scores(found.at_reference[name], whole.at_reference[name])
        finished = whole.at_reference["a/b"].queries
        assert counted["a/b"].rows <= whole.scores["a/b"].queries + (at == 3) * finished
        checkpoints.clear(tmp_path / "kept")
        assert not (tmp_path / "kept").exists()
    swept = ah.sweep(models, POINTS[:50], [0.2, 0.4])
    broken = models | {"a_b": Stopping(9)}
    with pytest.raises(MeasurementStopped):
        ah.sweep(broken, POINTS[:50], [0.2, 0.4], batch_size=99, checkpoint=tmp_path / "s")
    again = ah.sweep(models, POINTS[:50], [0.2, 0.4], resume=tmp_path / "s")
    for one, other in zip(swept.comparisons, again.comparisons, strict=True):
        for name in models:
            assert_same_scores(one.scores[name], other.scores[name])


def assert_same_scores(one, other):
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.errors, other.errors)
    assert one.queries == other.queries


def test_searches_go_on(tmp_path):
    arguments = {"radius": 0.2, "steps": 12, "batch_size": 300, "stop": False}
    whole = ah.adversarial_search(wavy, POINTS, **arguments)
    file = tmp_path / "s.parquet"
    with pytest.raises(MeasurementStopped):
        ah.adversarial_search(Stopping(100), POINTS, checkpoint=file, **arguments)
    assert file.exists()
    found = ah.adversarial_search(wavy, POINTS, resume=file, **arguments)
    for name in ("choices", "labels", "margins", "flips", "queries"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


SLOW = """
import numpy as np, time
def wavy(x):
    time.sleep(len(x) * 2e-4)
    weights = np.random.default_rng(1).normal(size=(4, 3))
    return np.stack([np.sin(3 * (x * each).sum(axis=1)) for each in weights.T], axis=1)
"""


@pytest.mark.finding("security A10")
@pytest.mark.parametrize(("number", "code"), [("SIGKILL", -9), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_killed_command_has_kept_what_it_finished(tmp_path, number, code):
    (tmp_path / "slow.py").write_text(SLOW)
    np.save(tmp_path / "points.npy", POINTS)
    command = [sys.executable, "-m", "anharmonic", "gamma", "--model", "slow:wavy", "--json"]
    process = subprocess.Popen(
        [*command, "--data", "points.npy", "--out", "new/o.parquet", "--batch-size", "100"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        # Tests that run under nohup would hand its deafness to hang-ups on.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    partial = tmp_path / "new" / "o.partial.parquet"
    waited = time.monotonic() + 60
    while not partial.exists() and time.monotonic() < waited:
        time.sleep(0.02)
    process.send_signal(getattr(signal, number))
    told = process.communicate()[1].decode()
    assert process.returncode == code
    assert "Traceback" not in told
    assert ("--resume new/o.partial.parquet" in told) == (code > 0)
    kept = ah.Scores.load(partial)
    assert 0 < np.isfinite(kept.values).sum() < len(POINTS)
    resumed = ah.gamma(wavy, POINTS, batch_size=100, resume=partial)
    assert_same_scores(resumed, ah.gamma(wavy, POINTS, batch_size=100))
