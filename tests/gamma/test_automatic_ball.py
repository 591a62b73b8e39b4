"""The ball that is chosen: whole where it fits the turns' shares of 64 queries, a part beyond."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.measures.gamma.pilot import choose_ball


@pytest.mark.parametrize(
    ("dimension", "paired", "name", "count"),
    [
        (1, True, "rotated antisimplex", 4),
        (5, True, "rotated antisimplex", 12),
        (6, True, "rotated orthonormal pairs", 12),
        (1000, True, "rotated orthonormal pairs", 12),
        (1, False, "rotated simplex", 2),
        (11, False, "rotated simplex", 12),
        (12, False, "rotated orthonormal", 12),
    ],
)
def test_the_whole_ball_is_taken_while_twelve_directions_hold_it(dimension, paired, name, count):
    ball = choose_ball("auto", dimension, None, 4, paired)
    assert (ball.name, ball.count, ball.paired) == (name, count, paired)


@pytest.mark.parametrize(
    ("rotations", "count"), [(0, 53), (1, 53), (2, 26), (3, 17), (4, 12), (5, 12), (40, 12)]
)
def test_up_to_four_turns_share_64_queries_with_the_centre_and_the_probe(rotations, count):
    assert choose_ball("auto", 1000, None, rotations, False).count == count
    assert min(rotations, 4) * count + 1 + 10 <= 64


def test_directions_bound_a_turn():
    assert choose_ball("auto", 3, 8, 4, True).name == "rotated antisimplex"
    ball = choose_ball("auto", 3, 7, 4, True)
    assert (ball.name, ball.count) == ("rotated orthonormal pairs", 6)
    assert choose_ball("auto", 100, 1, 4, False).count == 1


def test_a_name_says_pairs_or_singles_and_auto_leaves_it_to_the_pilot():
    for paired in (True, False):
        assert choose_ball("auto", 4, None, 4, paired).paired == paired
        assert choose_ball("auto pairs", 4, None, 4, paired).paired
        assert not choose_ball("auto singles", 4, None, 4, paired).paired


def test_without_rotations_a_ball_stays_as_it_is():
    assert choose_ball("auto", 3, None, 0, True).name == "antisimplex"
    assert choose_ball("simplex", 3, None, 0, True).name == "simplex"
    assert choose_ball("simplex", 3, None, 1, True).name == "rotated simplex"
    given = ah.balls.fixed(np.eye(3), "mine")
    assert choose_ball(given, 3, None, 0, True) is given
    assert choose_ball(given, 3, None, 2, True).name == "rotated mine"
    assert choose_ball("random", 3, 6, 2, True).name == "random", "as uniform as it can be"


def test_beside_a_tables_other_columns_a_small_ball_is_repeated():
    assert choose_ball("auto", 2, None, 4, True, table=True).name == "rotated antisimplex × 2"
    assert choose_ball("auto", 2, None, 4, True, table=True).count == 12
    assert choose_ball("auto", 5, None, 4, True, table=True).name == "rotated antisimplex"
    assert choose_ball("auto", 2, None, 4, True).count == 6


def test_where_no_number_moves_a_ball_counts_neighbours():
    for paired in (True, False):
        ball = choose_ball("auto", 0, None, 4, paired, table=True)
        assert (ball.dimension, ball.count, ball.paired) == (0, 12, paired)
    with pytest.raises(SettingsError, match="'simplex' has nothing to move: leave it out"):
        choose_ball("simplex", 0, None, 4, True)


@pytest.mark.parametrize("dimension", [2, 4])
def test_a_ball_of_other_dimensions_is_refused(dimension):
    with pytest.raises(SettingsError, match=f"has {dimension} dimensions and 3 columns move: bui"):
        choose_ball(ah.balls.simplex(dimension), 3, None, 4, True)
