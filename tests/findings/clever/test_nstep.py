"""Chances of a flip on the way, and errors that are not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anharmonic as ah
from anharmonic import stability


def slope(points: Any) -> Any:
    along = points @ np.array([1.0, -0.8, 0.6, 0.9, -1.1, 0.7])
    return np.stack([along, -along], axis=1)


@pytest.mark.finding("numbers A15: nstep drift, event='ever' on a flat boundary")
@pytest.mark.parametrize("steps", [1, 9, 25, 100])
@pytest.mark.parametrize("margin", [0.5, 1.0, 3.0])
def test_walks_in_steps_cross_a_line_as_often_as_said(steps: int, margin: float) -> None:
    """A Brownian path crosses 12 to 15% more often than a walk that is only asked each step."""
    changes = np.random.default_rng(0).normal(size=(20_000, steps))
    lowest = margin + np.cumsum(changes, axis=1).min(axis=1)
    seen = (lowest < 0).mean()
    one = np.ones(1)
    chance, _ = stability.flip_chance(margin * one, 0 * one, one, steps, "ever")
    assert chance[0] == pytest.approx(seen, abs=0.012 if steps > 1 else 0.03)
    end, _ = stability.flip_chance(margin * one, 0 * one, one, steps, "end")
    assert chance[0] >= end[0]


@pytest.mark.finding("numbers A15: nstep drift, event='ever' on a flat boundary")
def test_a_flat_boundary_is_crossed_as_often_as_said() -> None:
    points = np.random.default_rng(0).normal(size=(150, 6))
    common: dict[str, Any] = {"radius": 0.25, "scale": None, "steps": 25}
    said = ah.nstep_robustness(slope, points, kind="drift", event="ever", **common)
    seen = stability.observed_flips(slope, points, walks=12, event="ever", **common)
    assert said.mean == pytest.approx(seen.rates.mean(), rel=0.05)


@pytest.mark.finding("numbers A15: nstep drift error where the ball is whole")
def test_what_one_step_cannot_know_is_not_called_0() -> None:
    points = np.random.default_rng(0).normal(size=(30, 6))
    whole = ah.nstep_robustness(slope, points, kind="drift", radius=0.3, scale=None)
    drawn = ah.nstep_robustness(
        slope, points, kind="drift", radius=0.3, scale=None, ball="random", directions=8
    )
    assert np.isnan(whole.errors).all()
    assert np.isfinite(drawn.errors).all()
    assert np.isfinite(whole.values).all()
    assert whole.worst(3).tolist() == np.argsort(-whole.values, kind="stable")[:3].tolist()
    assert "±" in repr(whole)  # the error of the mean is over the points
