"""The supplement's functions: exact where mathematics is exact, and who is nearer to the truth."""

from __future__ import annotations

import numpy as np
import pytest

from studies import functions, known
from studies.coverage import last_coordinates
from tests import oracles


@pytest.fixture(scope="module")
def page():
    return functions.known_functions(points=300)


@pytest.fixture(scope="module")
def rows(page):
    return {row.case: row for row in page.rows().values()}


def test_designs_are_exact_on_squares_in_every_dimension(rows):
    for case, row in rows.items():
        design = "simplex" in case or "± one-hot" in case
        if design and case.startswith(("linear", "f₁", "f₂", "centrality", "isotropy")):
            assert row.exact, case


def test_one_hot_vectors_are_even_but_off_centre(rows):
    assert rows["isotropy, one-hot, n = 100"].exact
    assert rows["centrality, one-hot, n = 100"].measured.value == pytest.approx(10)
    assert rows["linear, one-hot, n = 10"].measured.value == pytest.approx(1)
    assert rows["linear, ± one-hot, n = 10"].exact


def test_random_vectors_drift_as_theory_says(rows):
    for n in (2, 10, 100):
        for what in ("centrality", "isotropy"):
            assert abs(rows[f"{what}, n random vectors, n = {n}"].off) < 4.5


def test_an_odd_number_of_terms_is_not_harmonic(rows):
    for terms in (3, 5):
        assert rows[f"f₁, simplex, {terms} terms"].measured.value == pytest.approx(1 / terms)


def test_the_angles_of_a_simplex_spread(rows):
    for n in (2, 10, 100):
        spread = rows[f"spread of angles, simplex, n = {n}"].measured.value
        assert spread == pytest.approx(known.sphere_angle_spread(n), rel=0.05)


def test_random_noise_halves_with_four_times_the_directions(rows):
    few, many = (rows[f"f₁, {count} random directions"].measured for count in (11, 704))
    assert few.value / many.value == pytest.approx(8, rel=0.2)


def test_figure_6_needs_a_small_radius(rows):
    def read(ball, n, radius):
        return rows[f"f₃, {ball}, n = {n}, r = {radius}"].measured.value

    assert read("simplex", 10, 1) > 2 * read("random", 10, 1)
    assert read("simplex, turned at random", 10, 1) < read("random", 10, 1)
    for n in (2, 10):
        assert 20 * read("simplex", n, 0.1) < read("random", n, 0.1)
        assert 20 * read("simplex, turned at random", n, 0.1) < read("random", n, 0.1)
        for radius in (1, 0.1):
            assert read("simplex and reflection", n, radius) < read("simplex", n, radius)


def test_equation_19_turns_the_wrong_way():
    for n in (1, 2, 5, 30):
        written, mended = last_coordinates(n)
        assert mended < 1e-12
        assert written > 0.1


def test_the_exact_answers_agree_with_the_oracles():
    x = np.random.default_rng(0).random((20, 6))
    np.testing.assert_allclose(known.alternating(x), oracles.saddle(x))
    np.testing.assert_allclose(known.squares(x), oracles.squares(x))
    np.testing.assert_allclose(known.waves(x[:, :2]), oracles.wave(x[:, :2]))
    # Σx = √n·(a·x), so f₄ is the oracle's exponential seen √n times larger.
    larger = x * np.sqrt(6)
    expected = np.abs(oracles.exponential_deviation(larger, 0.5 * np.sqrt(6)))
    np.testing.assert_allclose(known.exponential_gamma(x, 0.5), expected)


def test_the_sphere_spreads_evenly_in_the_plane():
    assert known.sphere_angle_spread(2) == pytest.approx(np.pi / np.sqrt(12), rel=1e-6)
    # In three dimensions the cosine is uniform: the variance of the angle is π²/4 − 2.
    assert known.sphere_angle_spread(3) == pytest.approx(np.sqrt(np.pi**2 / 4 - 2), rel=1e-6)


def test_queries_are_counted(page):
    assert page.queries == sum(row.queries for row in page.rows().values())
    assert page.rows()["Squares: f₁ and f₂ (Fig. 5): f₁, simplex, 2 terms"].queries == 300 * 4
