"""What a SPADE result says of its own precision, and of what was done about an odd graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

import anharmonic as ah
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.spectral import distortion

RANDOM = np.random.default_rng(5)
INPUTS = RANDOM.normal(size=(400, 3))
OUTPUTS = np.stack([np.sin(3 * INPUTS[:, 0]), INPUTS[:, 1]], axis=1)


@pytest.fixture(scope="module")
def scores():
    return ah.spade(INPUTS, OUTPUTS)


def test_the_error_is_the_spread_of_the_blocks_logarithms(scores):
    known = replace(scores, blocks=np.exp(np.array([1.0, 2.0, 4.0])))
    # About their mean of 7/3 the squares add up to 14/3; there are two degrees of freedom.
    assert known.error == pytest.approx(scores.score * np.sqrt(14 / 3 / 2))
    low, high = known.interval()
    reach = t.ppf(0.975, 2) * np.sqrt(14 / 3 / 2)
    assert low == pytest.approx(scores.score * np.exp(-reach))
    assert high == pytest.approx(scores.score * np.exp(reach))


def test_two_blocks_have_an_error_and_one_has_none(scores):
    assert np.isfinite(replace(scores, blocks=np.array([1.0, 3.0])).error)
    assert np.isnan(replace(scores, blocks=np.array([1.0])).error)


def test_growth_is_the_slope_from_blocks_to_all_points(scores):
    settings = replace(scores.settings, nodes=1600, block_size=100)
    blocks = np.full(4, scores.score / 2)
    # A score twice as large at sixteen times the points grows with their fourth root.
    growth = replace(scores, settings=settings, blocks=blocks).growth
    assert growth.value == pytest.approx(0.25)
    assert growth.error == pytest.approx(0.0)


def test_only_an_output_graph_in_parts_is_spoken_of(scores):
    assert scores.settings.output_parts == 1
    assert "component" not in repr(scores)
    clump = np.arange(400) % 2
    apart = ah.spade(INPUTS, OUTPUTS + 100 * clump[:, None])
    assert apart.settings.output_parts == 2
    assert "2 output components" in repr(apart)
    assert "joined by 1 edges, which the score measures" in repr(apart)


def test_blocks_are_as_many_as_have_four_points_per_neighbour_and_itself():
    # 4 · (9 + 1) = 40 points are the least for a block.
    for points, expected in ((79, 0), (80, 2), (119, 2), (120, 3), (400, 8)):
        measured = ah.spade(INPUTS[:points], OUTPUTS[:points], neighbours=9)
        assert len(measured.blocks) == expected
        assert measured.settings.block_size == (points // expected if expected else 0)


@pytest.mark.parametrize(("values", "advice"), [(20, "rather than labels"), (21, "finer ones")])
def test_up_to_twenty_values_are_taken_for_labels(values, advice):
    few = np.repeat(np.arange(values), 400 // values)
    with pytest.raises(PointsError, match=advice):
        ah.spade(INPUTS[: len(few)], few[:, None].astype(float))


def test_top_and_random_edges_are_at_most_half_of_all_each(scores):
    half = len(scores.edges) // 2
    ratios = distortion(scores, half)
    both = (*ratios.top_edges.tolist(), *ratios.chance_edges.tolist())
    taken = {tuple(edge) for edge in both}
    assert len(taken) == 2 * half
    for count in (0, half + 1):
        with pytest.raises(SettingsError, match=f"from 1 to {half}"):
            distortion(scores, count)


def test_a_fast_search_still_solves_to_a_thousandth():
    fast = ah.spade(INPUTS, OUTPUTS, search="fast")
    assert fast.settings.residual <= 1e-3
    assert fast.score == pytest.approx(ah.spade(INPUTS, OUTPUTS).score, rel=0.05)
