"""The Dirichlet problem on a grid: exact relaxing, least energy, and not the least bending."""

from __future__ import annotations

import math

import numpy as np
import pytest

from studies import dirichlet, interpolation


@pytest.fixture(scope="module")
def page():
    return dirichlet.minimal_interpolation(steps=24, points=300)


def rows(page, start):
    found = next(each for each in page.sections if each.title.startswith(start))
    return {row.case: row for row in found.rows}


def test_relaxing_makes_gamma_0_at_the_rate_of_theory(page):
    found = rows(page, "Relaxing")
    gammas = [row.measured.value for case, row in found.items() if case.startswith("gamma")]
    assert gammas == sorted(gammas, reverse=True)
    assert gammas[-1] < 1e-15
    rate = found["what a sweep leaves of gamma"]
    assert rate.measured.value == pytest.approx(math.cos(math.pi / 24), abs=1e-6)
    assert found["largest distance from the direct solution"].exact


def test_poissons_integral_is_harmonic(page):
    found = rows(page, "Poisson")
    assert found["gamma, 64 directions"].exact
    assert found["gamma, simplex"].measured.value < 0.01


def test_the_harmonic_fill_has_the_least_energy_and_gamma(page):
    energies = rows(page, "Dirichlet")
    assert energies.pop("harmonic").exact
    assert len(energies) == 7
    for case, row in energies.items():
        assert row.measured.value > 1, case
    gammas = rows(page, "Gamma")
    assert gammas["harmonic, at the nodes"].exact
    least = gammas["harmonic, anywhere"].measured.value
    for name in energies:
        assert gammas[f"{name}, anywhere"].measured.value > 10 * least, name


def test_it_has_not_the_least_bending(page):
    for case, row in rows(page, "Bending").items():
        if case == "least bending":
            assert row.exact
        else:
            assert row.measured.value > 1.05, case


def test_the_direct_solution_is_the_known_one():
    def known(x):
        return np.sin(np.pi * x[:, 0]) * np.sinh(np.pi * x[:, 1]) / np.sinh(np.pi)

    worst = []
    for steps in (16, 32):
        exact = interpolation.sampled(known, steps)
        edge = exact.copy()
        edge[1:-1, 1:-1] = 0.0
        worst.append(np.abs(interpolation.harmonic(edge) - exact).max())
    assert worst[0] / worst[1] == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("fill", [interpolation.harmonic, interpolation.least_bending])
def test_nothing_near_it_is_less(fill):
    measure = interpolation.energy if fill is interpolation.harmonic else interpolation.bending
    field = fill(interpolation.sampled(interpolation.boundary, 12))
    least = measure(field)
    random = np.random.default_rng(0)
    for _ in range(20):
        other = field.copy()
        other[1:-1, 1:-1] += 0.01 * random.normal(size=(11, 11))
        assert measure(other) > least


def test_bending_of_a_known_surface():
    # f = x² + 3xy: second derivatives 2, 0 and twice 3, so 4 + 18 for each unit of area.
    def surface(x):
        return x[:, 0] ** 2 + 3 * x[:, 0] * x[:, 1]

    steps = 20
    field = interpolation.sampled(surface, steps)
    assert interpolation.bending(field) == pytest.approx(22 * ((steps - 1) / steps) ** 2)
