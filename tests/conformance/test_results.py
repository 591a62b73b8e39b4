"""Every measure's result, found by reflection over the metrics and the public functions.

Frozen, typed, the same after a file and after pickling; `worst` gives the fragile end.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic._core.metrics import registered
from anharmonic._core.settings import Settings
from anharmonic.cli import app
from anharmonic.measures.search.scored import flips_of

FILES = Path(__file__).with_name("files")
FACTS = json.loads((FILES / "facts.json").read_text())
POINTS = pd.DataFrame(
    np.random.default_rng(0).normal(size=(20, 2)), columns=["a", "b"], index=range(100, 120)
)
NEAR = {"radius": 0.5}


def curved(points):
    values = np.asarray(points)
    return np.stack([values[:, 0], np.sin(2 * values[:, 1]), values[:, 0] * values[:, 1]], axis=1)


def nstep(kind):
    return lambda: ah.nstep_robustness(curved, POINTS, kind=kind, steps=4, **NEAR)


def baseline(name):
    return lambda: getattr(ah.baselines, name)(curved, POINTS, output="logit", **NEAR)


MEASURES = {
    "gamma": lambda: ah.gamma(curved, POINTS, **NEAR),
    "gamma over data": lambda: ah.gamma(curved, POINTS, ball="data"),
    "suspicion": lambda: ah.suspects(curved, POINTS, curved(POINTS)),
    "deviation": lambda: ah.standards.deviation(curved, POINTS, **NEAR),
    "clever": lambda: ah.clever(curved, POINTS, blocks=12, block_size=8, **NEAR),
    "flip chance": nstep("walks"),
    "sway": nstep("sway"),
    "paper stability": nstep("paper"),
    "flipped": lambda: flips_of(ah.adversarial_search(curved, POINTS, steps=3, **NEAR)),
    **{
        name.replace("_", " "): baseline(name)
        for name in (
            *("flip_rate", "mean_change", "lipschitz", "confidence", "margin", "great"),
            "smoothed_margin",
        )
    },
}
OTHERS = {
    "spade": lambda: ah.spade(POINTS.to_numpy(), curved(POINTS)),
    "search": lambda: ah.adversarial_search(curved, POINTS, steps=3, **NEAR),
}


@pytest.fixture(scope="module")
def results():
    return {name: make() for name, make in (MEASURES | OTHERS).items()}


def test_every_metric_has_its_case_here():
    assert set(registered()) == set(MEASURES)
    assert not ah.Scores.__subclasses__()


@pytest.mark.parametrize("name", MEASURES)
def test_scores_are_frozen_typed_and_know_their_metric(results, name):
    scores = results[name]
    assert type(scores) is ah.Scores
    assert scores.about is registered()[name]
    assert isinstance(scores.settings, scores.about.settings)
    with pytest.raises(dataclasses.FrozenInstanceError):
        scores.queries = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        scores.settings.radius = 1.0
    assert scores.about.unit
    assert scores.queries > 0


@pytest.mark.parametrize("name", MEASURES)
def test_the_worst_are_at_the_fragile_end(results, name):
    scores = results[name]
    worst, known = scores.worst(3), scores.values[np.isfinite(scores.values)]
    middle = np.median(known)
    mean = scores.values[worst].mean()
    assert mean >= middle if scores.fragile == "large" else mean <= middle


@pytest.mark.parametrize("name", [*MEASURES, *OTHERS])
def test_a_result_is_the_same_after_a_file_and_a_pickle(results, name, tmp_path):
    made = results[name]
    for again in (
        ah.load(made.save(tmp_path / "result.parquet")),
        pickle.loads(pickle.dumps(made)),
    ):
        assert type(again) is type(made)
        assert repr(again) == repr(made)
        assert again._repr_html_() == made._repr_html_()
        np.testing.assert_equal(again.summary(), made.summary())
        if hasattr(made, "intervals"):
            np.testing.assert_array_equal(again.intervals(), made.intervals())
    json.dumps(made.summary())


@pytest.mark.parametrize("name", MEASURES)
def test_frames_keep_the_users_index_where_the_measure_saw_it(results, name):
    frame = results[name].to_frame("pandas")
    assert len(frame) == len(POINTS)
    if results[name].index is not None:
        assert list(frame.index) == list(POINTS.index)


@pytest.mark.parametrize("name", FACTS.keys() - {"monitor"})
def test_files_of_0_1_0_open_as_they_were(name):
    again, before = ah.load(FILES / f"{name}.parquet"), FACTS[name]
    if "values" in before:
        np.testing.assert_array_equal(again.values, before["values"])
    if name in ("flip-rate", "confidence"):
        np.testing.assert_allclose(again.intervals(), before["intervals"])
    # What else it says may be said better now; the headline is the same.
    assert repr(again).split(",")[0] == before["repr"].split(",")[0]


def test_a_monitor_of_0_1_0_opens_and_goes_on():
    def classes(x):
        return np.stack([x[:, 0], np.sin(2 * x[:, 1])], axis=1)

    watch = ah.Monitor.load(FILES / "monitor", classes)
    assert "200 of 200 points scored" in repr(watch)
    watch.update(np.random.default_rng(5).normal(size=(10, 2)))
    assert watch.seen == 210


def test_a_run_of_0_1_0_is_read():
    run = ah.llm.read_run(FILES / "run.jsonl")
    assert len(run) == 2
    assert np.isfinite(run.values).all()


def test_a_store_of_0_1_0_is_exported(tmp_path):
    shutil.copy(FILES / "store.sqlite", tmp_path / "store.db")
    done = CliRunner().invoke(
        app,
        ["export", str(tmp_path / "store.db"), str(tmp_path / "e.parquet")],
        catch_exceptions=False,
    )
    assert done.exit_code == 0, done.output
    events = pd.read_parquet(tmp_path / "e.parquet")
    assert list(events["id"]) == ["a", "b"]


def test_measures_take_the_shared_arguments_by_name():
    shared = {"radius", "scale", "reference", "moving", "bounds", "output", "batch_size", "seed"}
    for measure in (ah.gamma, ah.adversarial_search, ah.clever, ah.contributions):
        assert shared <= set(inspect.signature(measure).parameters), measure.__name__


def test_settings_read_like_those_of_0_1_0_with_a_word():
    settings = Settings.record(radius=0.5, columns=["a"])
    with pytest.warns(DeprecationWarning, match=r"write settings\.radius"):
        assert settings["radius"] == 0.5
    with pytest.warns(DeprecationWarning, match=r"write settings\.columns"):
        assert settings.get("columns") == ["a"]
    assert settings.get("ball", "none") == "none"
