"""Progress: a bar for whoever asks for one, a function for whoever gives one."""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError

POINTS = np.random.default_rng(0).normal(size=(80, 3))


def model(x):
    return np.stack([np.sin(3 * x[:, 0]), x[:, 1]], axis=1)


LONG = {
    "gamma": partial(ah.gamma, model, POINTS),
    "compare": partial(ah.compare, {"a": model, "b": model}, POINTS, reference=POINTS + 1),
    "sweep": partial(ah.sweep, {"a": model, "b": model}, POINTS, [0.1, 0.2]),
    "search": partial(ah.adversarial_search, model, POINTS, steps=3),
    "clever": partial(ah.clever, model, POINTS[:9], blocks=10, block_size=2),
    "nstep": partial(ah.nstep_robustness, model, POINTS, steps=3),
}


@pytest.mark.finding("newcomer B11", "newcomer jobs 12")
@pytest.mark.parametrize("name", LONG)
def test_true_shows_a_bar_and_a_function_is_told_all(name, capsys):
    LONG[name]()
    assert capsys.readouterr().err == ""
    LONG[name](progress=True)
    assert "measuring" in capsys.readouterr().err
    seen = []
    found = LONG[name](progress=lambda done, expected: seen.append((done, expected)))
    assert seen
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    if name in ("gamma", "compare", "sweep", "nstep"):
        assert seen[-1][0] == found.queries


@pytest.mark.finding("newcomer B11")
@pytest.mark.parametrize("name", LONG)
def test_a_functions_own_error_is_not_the_models(name):
    def told(done, expected):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as stop:
        LONG[name](progress=told)
    if name in ("gamma", "search"):
        assert stop.value.partial.started
    with pytest.raises(SettingsError, match="progress='yes'"):
        LONG[name](progress="yes")


@pytest.mark.finding("newcomer jobs 12")
def test_a_notebook_gets_a_bar_that_is_renewed(monkeypatch, capsys):
    pages = []
    handle = SimpleNamespace(update=lambda page: pages.append(page))

    def display(page, display_id):
        pages.append(page)
        return handle

    shell, shown = ModuleType("IPython"), ModuleType("IPython.display")
    shell.get_ipython = lambda: SimpleNamespace(kernel=object())
    shown.HTML, shown.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    found = LONG["gamma"](progress=True)
    assert f"{found.queries:,} of {found.queries:,} queries" in pages[-1]
    assert capsys.readouterr().err == ""
