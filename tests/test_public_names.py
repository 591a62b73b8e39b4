"""The public surface is a list; changing it means changing this test."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import anharmonic as ah

NAMES = {
    "AnharmonicError",
    "Audit",
    "CleverScores",
    "GammaMap",
    "Monitor",
    "Scores",
    "Search",
    "StoredScores",
    "adversarial_search",
    "SpadeScores",
    "as_model",
    "audit",
    "balls",
    "baselines",
    "card",
    "clever",
    "collect",
    "compare",
    "contributions",
    "errors",
    "explain",
    "Fixes",
    "fix",
    "fixes",
    "gamma",
    "gamma_data",
    "gate",
    "images",
    "llm",
    "load",
    "measured_like",
    "monitor",
    "nstep_robustness",
    "plan",
    "over_data",
    "plots",
    "regions",
    "scorer",
    "sources",
    "report",
    "stability",
    "smoothed",
    "standards",
    "spade",
    "spectral",
    "support",
    "plausibility",
    "suspects",
    "sweep",
    "tracking",
    "performance",
    "training",
    "workers",
}
SHARED = [
    *("radius", "scale", "reference", "moving", "kinds", "bounds", "output"),
    *("batch_size", "seed"),
]
PARAMETERS = [
    *("model", "points", "ball", "directions", "rotations", "reduction", "budget", "tolerance"),
    *("noise", "resume", "checkpoint", "map", "progress", "engine", "out", "fresh"),
    *SHARED,
]
MEASURES = {
    ah.gamma: set(),
    ah.adversarial_search: set(),
    ah.clever: set(),
    ah.compare: set(),
    ah.contributions: set(),
    ah.explain: set(),
    ah.nstep_robustness: set(),
    ah.plan: {"output", "batch_size"},
    ah.sweep: {"radius"},
    ah.stability.class_table: set(),
    ah.stability.observed_flips: set(),
    ah.baselines.flip_rate: set(),
    ah.training.gamma_scorer: set(),
}
"""Every measure that takes the shared arguments, and which of them it does not take."""


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


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)
def test_a_measure_lists_its_arguments_and_takes_no_others(measure):
    parameters = inspect.signature(measure).parameters
    assert set(SHARED) - set(parameters) == MEASURES[measure]
    assert not [each for each in parameters.values() if each.kind is each.VAR_KEYWORD]
    for name in ("radus", *MEASURES[measure]):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            measure(**{name: 1})


def test_what_a_measure_hands_on_has_the_defaults_it_has_there():
    listed = inspect.signature(ah.explain).parameters
    searched = inspect.signature(ah.adversarial_search).parameters
    assert listed["directions"].default == searched["directions"].default == 20
    assert inspect.signature(ah.stability.class_table).parameters["output"].default == "logit"


def test_everything_public_is_documented():
    for name in NAMES:
        assert inspect.getdoc(getattr(ah, name))
    rooms = (ah.balls, ah.regions, ah.workers, ah.errors, ah.plots, ah.report, ah.gate, ah.card)
    for room in (*rooms, ah.tracking, ah.stability, ah.spectral, ah.monitor):
        for name in room.__all__:
            assert inspect.getdoc(getattr(room, name)), name
