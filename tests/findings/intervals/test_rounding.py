"""Rounding of the centre's answer is common to all turns: it must not be taken for signal."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic._core.uncertainty import precision
from anharmonic.report.words import headline

WEIGHTS = np.arange(1, 9.0)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(300, 8))


def single(x):
    return x.astype(np.float32) @ WEIGHTS.astype(np.float32)


@pytest.mark.finding("numbers A6")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda x: x @ WEIGHTS, lambda x: 1000 * (x @ WEIGHTS)),
        (lambda x: x @ WEIGHTS, lambda x: x @ WEIGHTS + 1e6),
        (single, lambda x: single(x) + np.float32(1000)),
    ],
    ids=["thousandfold", "offset", "single precision"],
)
def test_gates_do_not_fail_for_rounding(points, before, after):
    baseline = ah.gamma(before, points, radius=0.5, scale=None, ball="auto pairs")
    verdict = ah.gate.no_worse(ah.measured_like(baseline, after, points), baseline)
    assert verdict.passed, str(verdict)
    assert "rotations" not in str(verdict), "no number of rotations removes rounding"


@pytest.mark.finding("numbers A6")
def test_prices_in_single_precision_have_intervals_that_hold_0(points):
    slopes = (np.random.default_rng(1).normal(size=8) * 20_000).astype(np.float32)
    scores = ah.gamma(
        lambda x: x.astype(np.float32) @ slopes + np.float32(250_000), points, radius=0.1
    )
    assert scores.settings.precision == np.finfo(np.float32).eps
    assert (scores.intervals()[0] == 0).mean() >= 0.99
    assert scores.mean < scores.floor


@pytest.mark.finding("numbers A6")
@pytest.mark.parametrize("radius", [0.03, 0.003])
def test_intervals_of_a_price_network_in_single_precision_cover(points, radius):
    random = np.random.default_rng(3)
    inner, shift = random.normal(size=(8, 32)), random.normal(size=32)
    outer = random.normal(size=32) * 20_000

    def network(x, number):
        hidden = np.maximum(x.astype(number) @ inner.astype(number) + shift.astype(number), 0)
        return hidden @ outer.astype(number) + number(250_000)

    arguments = {"radius": radius, "scale": None, "noise": "ignore"}
    truth = ah.gamma(
        lambda x: network(x, np.float64), points, rotations=200, seed=9, **arguments
    ).values
    low, high = ah.gamma(lambda x: network(x, np.float32), points, **arguments).intervals()
    assert np.mean((low <= truth) & (truth <= high)) >= 0.93


@pytest.mark.finding("numbers A6")
def test_a_tiny_radius_is_known_to_read_rounding(points):
    scores = ah.gamma(lambda x: (x**2).sum(axis=1), points, radius=1e-7, scale=None)
    low, high = scores.intervals()
    assert ((low <= 1e-14) & (high >= 1e-14)).all()


@pytest.mark.finding("numbers A6")
def test_a_report_does_not_call_rounding_the_model(points):
    scores = ah.gamma(single, points, radius=0.5, scale=None)
    assert "this is the model" not in " ".join(headline({"linear": scores}, None).rest)


def test_precision_is_judged_by_the_numbers():
    doubles = np.random.default_rng(0).normal(size=100)
    assert precision(doubles) == np.finfo(np.float64).eps
    assert precision(doubles.astype(np.float32).astype(np.float64)) == np.finfo(np.float32).eps
    assert precision(np.array([0.0, 1.0, 2.0])) == 0, "labels are exact"
    large = (1e9 * doubles).astype(np.float32).astype(np.float64)
    assert precision(large) == np.finfo(np.float32).eps, "whole numbers above 2^24 are rounded too"
