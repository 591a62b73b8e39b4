"""The public surface is a list; changing it means changing this test."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import anharmonic as ah

NAMES = {
    "AnharmonicError",
    "CleverScores",
    "GammaMap",
    "Monitor",
    "Scores",
    "Search",
    "adversarial_search",
    "SpadeScores",
    "as_model",
    "balls",
    "baselines",
    "card",
    "clever",
    "collect",
    "compare",
    "contributions",
    "errors",
    "explain",
    "gamma",
    "gate",
    "images",
    "llm",
    "load",
    "measured_like",
    "monitor",
    "nstep_robustness",
    "plan",
    "plots",
    "regions",
    "report",
    "stability",
    "spade",
    "spectral",
    "sweep",
    "tracking",
    "training",
    "workers",
}
PARAMETERS = [
    *("model", "points", "radius", "ball", "directions", "rotations", "output", "reduction"),
    *("scale", "reference", "moving", "bounds", "budget", "tolerance", "noise", "resume"),
    "checkpoint",
    *("batch_size", "seed", "map", "progress"),
]


def test_the_public_names_are_these():
    assert set(ah.__all__) == NAMES
    assert set(dir(ah)) == NAMES | {"__version__"}
    with pytest.raises(AttributeError, match="No anharmonic attribute gama"):
        _ = ah.gama


def test_rooms_are_entered_when_asked_for():
    told = "import sys, anharmonic; print('numpy' in sys.modules, anharmonic.gamma.__name__)"
    command = [sys.executable, "-c", told]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "gamma"]


def test_no_module_has_the_name_of_a_function_beside_it():
    for name in NAMES:
        thing = getattr(ah, name)
        if not inspect.ismodule(thing):
            assert not thing.__module__.endswith(f".{name}")


def test_gamma_takes_these():
    assert sorted(inspect.signature(ah.gamma).parameters) == sorted(PARAMETERS)


def test_everything_public_is_documented():
    for name in NAMES:
        assert inspect.getdoc(getattr(ah, name))
    rooms = (ah.balls, ah.regions, ah.workers, ah.errors, ah.plots, ah.report, ah.gate, ah.card)
    for room in (*rooms, ah.tracking, ah.stability, ah.spectral, ah.monitor):
        for name in room.__all__:
            assert inspect.getdoc(getattr(room, name)), name
