"""Real clusters on this machine: Ray, Dask and Spark; `make scale` has them."""

from __future__ import annotations

import os
import signal
import sys
import time
import types
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.measures.streaming import running
from anharmonic.sources import files
from tests.scale.generated import parquet_folder, slow_wavy, table, wavy

# What these libraries warn of among themselves is theirs.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
GIVEN = {"radius": 0.3, "scale": [1.0] * 4}


def of(stored):
    return pa.concat_tables(list(stored.batches()))


@pytest.fixture(scope="module")
def two_actors():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield ah.workers.ray(2)
    ray.shutdown()


@pytest.fixture
def many_parts(monkeypatch):
    monkeypatch.setattr(running, "rows_per_shard", lambda block, *_: block)


@pytest.mark.usefixtures("many_parts")
def test_ray_gives_the_bits_of_one_process(tmp_path, two_actors):
    parquet_folder(tmp_path / "in", files=2, rows=9000)
    source = files(tmp_path / "in", drop=["id"])
    one = ah.gamma(wavy, source, out=tmp_path / "one")
    two = ah.gamma(wavy, source, engine=two_actors, out=tmp_path / "two")
    assert of(one).equals(of(two))
    assert (one.mean, one.error, one.queries) == (two.mean, two.error, two.queries)


@pytest.mark.usefixtures("many_parts")
@pytest.mark.parametrize("kind", ["linear", "network", "forest"])
def test_models_that_multiply_matrices_give_the_same_bits(tmp_path, two_actors, kind):
    """Ray gives every worker one thread; with as many here, the bits are the same.

    With more, products of matrices may be summed in another order: then the last digits differ.
    """
    linear = pytest.importorskip("sklearn.linear_model")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from threadpoolctl import threadpool_limits

    rows = table(3000, seed=7).to_pandas()
    classes = np.digitize(np.sin(2 * rows["f0"]) + rows["f1"], [-0.5, 0.5])
    model = {
        "linear": linear.LogisticRegression(),
        "network": MLPClassifier((100, 100), max_iter=20, random_state=0),
        "forest": RandomForestClassifier(20, random_state=0),
    }[kind].fit(rows, classes)
    parquet_folder(tmp_path / "in", files=2, rows=9000)
    source = files(tmp_path / "in", drop=["id"])
    with threadpool_limits(1):
        one = ah.gamma(model, source, out=tmp_path / "one", **GIVEN)
    ray = ah.gamma(model, source, engine=two_actors, out=tmp_path / "ray", **GIVEN)
    assert of(one).equals(of(ray))
    assert (one.mean, one.error) == (ray.mean, ray.error)
    threads = ah.gamma(model, source, out=tmp_path / "threads", **GIVEN)
    np.testing.assert_allclose(of(threads)["value"], of(one)["value"], rtol=1e-9, atol=1e-12)


def test_ray_is_a_map(two_actors):
    assert list(two_actors(abs, range(-20, 0))) == list(range(20, 0, -1))
    with pytest.raises(TypeError):
        list(two_actors(abs, [1, "two"]))
    with pytest.raises(SettingsError, match="do not fit"):
        list(ah.workers.ray(50)(abs, [1]))
    # Points in memory are shared out too; a function without a name travels.
    points = np.random.default_rng(0).normal(size=(400, 3))
    here = ah.gamma(lambda x: np.sin(x[:, 0]), points)
    there = ah.gamma(lambda x: np.sin(x[:, 0]), points, engine=two_actors)
    np.testing.assert_array_equal(here.values, there.values)


@pytest.mark.usefixtures("many_parts")
def only_here(rows):
    """A model of a module that no actor can import."""
    return np.asarray(rows)[:, 0] ** 2


def test_a_model_that_actors_cannot_load_is_said_at_once(tmp_path, two_actors, monkeypatch):
    module = types.ModuleType("only_here")
    module.only_here = only_here
    monkeypatch.setitem(sys.modules, "only_here", module)
    monkeypatch.setattr(only_here, "__module__", "only_here")
    parquet_folder(tmp_path / "in", rows=100)
    source = files(tmp_path / "in", drop=["id"])
    with pytest.raises(SettingsError, match=r"cannot be loaded .*No module named 'only_here'"):
        ah.gamma(only_here, source, engine=two_actors, radius=0.3)


def test_a_killed_actor_costs_nothing_but_time(tmp_path, two_actors):
    parquet_folder(tmp_path / "in", files=2, rows=9000)
    source = files(tmp_path / "in", drop=["id"])
    whole = ah.gamma(wavy, source, out=tmp_path / "one")
    pid = os.fork()
    if not pid:
        _kill_an_actor(tmp_path / "out" / "scores")
        os._exit(0)
    killed = ah.gamma(slow_wavy, source, engine=two_actors, out=tmp_path / "out")
    _, status = os.waitpid(pid, 0)
    assert status == 0, "no actor was found to be killed"
    assert of(killed).equals(of(whole))


def _kill_an_actor(scores: Path) -> None:
    """Wait for the first part, then kill an actor; the status says whether there was one."""
    for _ in range(600):
        if scores.is_dir() and any(scores.glob("*.parquet")):
            break
        time.sleep(0.1)
    for process in psutil.process_iter(["cmdline"]):
        if "MapWorker" in " ".join(process.info["cmdline"] or []):
            process.send_signal(signal.SIGKILL)
            return
    os._exit(1)


def test_dask_maps_partitions(tmp_path):
    dask = pytest.importorskip("dask.dataframe")
    rows = table(2000, id=np.arange(2000)).to_pandas()
    score = ah.scorer(wavy, rows, key="id", **GIVEN)
    frame = dask.from_pandas(rows, npartitions=7)
    scored = frame.map_partitions(score, meta=score(rows[:1])).compute(scheduler="processes")
    pd.testing.assert_frame_equal(scored, score(rows))


def test_spark_maps_in_pandas(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    pyspark = pytest.importorskip("pyspark.sql")
    rows = table(2000, id=np.arange(2000)).to_pandas()
    score = ah.scorer(wavy, rows, key="id", **GIVEN)
    session = (
        pyspark.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    try:
        frame = session.createDataFrame(rows).repartition(5)
        schema = "id long, value double, error double, reason string"
        scored = frame.mapInPandas(score.batches, schema).toPandas()
    finally:
        session.stop()
    scored = scored.sort_values("id", ignore_index=True)
    expected = score(rows)
    assert scored["reason"].isna().all()
    pd.testing.assert_frame_equal(scored.drop(columns="reason"), expected.drop(columns="reason"))
