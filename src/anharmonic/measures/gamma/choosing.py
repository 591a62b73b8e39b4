"""What is settled before the first turn: noise, the ball, and the facts to record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace

from anharmonic import balls
from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Ball, Integers
from anharmonic._core.reductions import Reduction, chosen_reduction
from anharmonic._core.rotations import way
from anharmonic._core.settings import Settings
from anharmonic.errors import NoisyModel, PointsError, listed
from anharmonic.measures.gamma.pilot import MOST_QUERIES, Pilot, choose_ball, run_pilot
from anharmonic.measures.setup.settling import Setup, name_of
from anharmonic.measures.setup.sphere import Sphere, slack
from anharmonic.measures.setup.table_rows import complete_ball
from anharmonic.regions.tables.listing import list_neighbours

__all__ = [
    "AUTOMATIC",
    "check_room",
    "choose_sphere",
    "complete_if_few",
    "describe",
    "first_sphere",
    "pilot_of",
    "stuck_rows",
]

AUTOMATIC = ("auto", "auto pairs", "auto singles")
"""Balls in whose place all neighbours may be asked for, where these are few."""


def first_sphere(setup: Setup, reduction: Reduction | None) -> Sphere:
    """Spheres with a ball to begin with: the real one is chosen once a few points were asked."""
    beginning = balls.random(max(1, setup.ball_dimension), 1)
    return Sphere.of(setup, beginning, chosen_reduction(reduction, setup.model.kind))


def choose_sphere(
    sphere: Sphere, ball: str | Ball, directions: int | None, rotations: int, pilot: Pilot
) -> Sphere:
    """Spheres with the ball that the pilot speaks for, or the one that was asked for."""
    law = sphere.region.neighbourhood
    chosen = choose_ball(
        ball,
        sphere.region.dimension if law is None else len(law.numbers),
        directions,
        rotations,
        pilot.pairs_win,
        table=sphere.table is not None,
    )
    return replace(sphere, ball=chosen, noisy=bool(pilot.noise))


def describe(setup: Setup, sphere: Sphere, pilot: Pilot, given: Settings) -> Settings:
    """All that is needed to do it again, and what was chosen along the way."""
    ball = sphere.ball
    described = setup.describe(
        Settings,
        reduction=name_of(sphere.reduction),
        ball=ball.name,
        directions=ball.count,
        paired=ball.paired,
        rotation=way(setup.ball_dimension) if ball.name.startswith("rotated") else None,
        odd_power=pilot.odd,
        even_power=pilot.even,
        noise=pilot.noise,
        **({} if sphere.listed is None else {"complete": True}),
    )
    return given.with_facts(**described.plain())


def pilot_of(sphere: Sphere, ball: str | Ball, noise: str, earlier: Settings | None) -> Pilot:
    """What is known before the run: measured now, taken from an earlier run, or not needed."""
    if earlier is not None:
        return Pilot(earlier.noise, earlier.odd_power, earlier.even_power, 0)
    if ball != "auto" and noise == "ignore":
        return Pilot(0.0, 0.0, 0.0, 0)
    # Within bounds only pairs keep a slope from showing as a bend (see `sphere.around`).
    pilot = run_pilot(sphere, parity=ball == "auto" and sphere.limits is None)
    if pilot.noise and noise == "refuse":
        raise NoisyModel(
            f"two identical calls differ by {pilot.noise:.3g} (one standard deviation): switch "
            "off dropout or sampling in the model, or accept it with noise='include'"
        )
    return pilot._replace(noise=0.0) if noise == "ignore" else pilot


def complete_if_few(sphere: Sphere) -> Sphere:
    """The sphere with every neighbour there is, where that costs no more than drawing them."""
    table = sphere.table
    if table is None or sphere.noisy or len(table.law.numbers):
        return sphere
    listed = list_neighbours(table.law, table.values, table.donors, sphere.radius, MOST_QUERIES)
    if listed is None:
        return sphere
    return replace(sphere, ball=complete_ball(listed[0].shape[1]), listed=listed)


def stuck_rows(sphere: Sphere) -> Integers:
    """Points in a corner of the bounds, where no pair of neighbours fits."""
    longest = None if sphere.table is not None else slack(sphere, sphere.region.values)
    if longest is None:
        return np.empty(0, dtype=np.int64)
    movable = to_numpy64(array_namespace(longest).any(longest > 0, axis=1)).astype(bool)
    return np.flatnonzero(~movable)


def check_room(sphere: Sphere) -> None:
    """Refuse points in a corner of the bounds."""
    stuck = stuck_rows(sphere)
    if len(stuck):
        raise PointsError(
            f"rows {listed(stuck.tolist())} lie on the bounds in every column that moves, so that "
            "no neighbour has an opposite within them: leave them out, widen the bounds, or take "
            'ball="simplex", whose neighbours are cut where they leave'
        )
