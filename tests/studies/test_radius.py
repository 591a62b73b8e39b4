"""Gamma against the radius: steady order on Wine, a turning one on two moons."""

from __future__ import annotations

import pytest

from studies import radius

# Models are trained for all of it.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sections():
    return radius.radius_dependence(count=400).sections


def test_overfit_models_are_above_on_wine(sections):
    for row in sections[0].rows:
        # The smallest radii meet few boundaries with so few points: only the sign of what is sure.
        assert row.measured.value > -2 * row.measured.error, row
    assert all(row.measured.value > 0 for row in sections[0].rows if "0.2" in row.case)


def test_gamma_of_labels_grows_with_the_radius(sections):
    for row in sections[1].rows:
        assert abs(row.measured.value - 1) < 4.5 * row.measured.error + 0.1, row


def test_the_order_turns_with_the_radius_and_the_region(sections):
    rows = {row.case: row.measured for row in sections[2].rows}
    box_small = rows["SVM-2 − SVM-1, the box, r = 0.03"]
    box_large = rows["SVM-2 − SVM-1, the box, r = 0.6"]
    training = rows["SVM-2 − SVM-1, training points, r = 0.6"]
    assert box_small.value > 2 * box_small.error
    assert box_large.value < -4 * box_large.error
    assert training.value > 4 * training.error
    assert rows["SVM-1, test accuracy"].value > rows["SVM-2, test accuracy"].value + 0.2
