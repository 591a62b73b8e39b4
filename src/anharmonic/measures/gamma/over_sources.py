"""Gamma of a source's rows: settled on a sample, then measured block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Ball
from anharmonic._core.reductions import Reduction
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.gamma.accumulator import Accumulator, TurnBudget, further_turns
from anharmonic.measures.gamma.choosing import (
    AUTOMATIC,
    choose_sphere,
    complete_if_few,
    describe,
    first_sphere,
    pilot_of,
    stuck_rows,
)
from anharmonic.measures.gamma.listed_rows import listed_spheres
from anharmonic.measures.gamma.rounds import results_of, tasks_of, turn_budget_of
from anharmonic.measures.over_data.asking import names_rows
from anharmonic.measures.over_data.weights import Weights
from anharmonic.measures.setup.settling import Setup
from anharmonic.measures.setup.sphere import Sphere
from anharmonic.measures.streaming.calling import scattered, together
from anharmonic.measures.streaming.on_sample import Prepared
from anharmonic.scores import Scores

__all__ = ["GammaOfRows", "prepare_gamma"]

TASKS = 8
"""Tasks in a block: more of them cost less for each row, fewer lose less."""


@dataclass(frozen=True)
class GammaOfRows:
    """Gamma at the points of any setup, with the ball that was chosen on a sample.

    Parameters
    ----------
    ball, reduction, noisy
        As the sample's sphere has them.
    rotations, tolerance
        How many turns, and when a point has enough of them.
    settings
        What was asked and chosen.
    complete
        How many neighbours are asked for where all of them are; None where they are drawn.
    """

    ball: Ball
    reduction: Reduction
    noisy: bool
    rotations: int
    tolerance: float | None
    settings: Settings
    complete: int | None = None

    def __call__(self, setup: Setup) -> Scores:
        """Scores of the points; one without a number has no turn."""
        if self.complete is None:
            sphere = Sphere.of(setup, self.ball, self.reduction)
            return self._scores(setup, replace(sphere, noisy=self.noisy))
        listed = listed_spheres(setup, self.complete, self.reduction)
        parts = [(self._scores(here, sphere), rows) for here, sphere, rows in listed]
        return together(parts, len(setup.region))

    def _scores(self, setup: Setup, sphere: Sphere) -> Scores:
        """Scores around the rows of a setup."""
        caller, map = sphere.caller.overlapped()
        sphere = replace(sphere, caller=caller)
        turn_budget = turn_budget_of(sphere, self.rotations, None, self.tolerance)
        bad = np.zeros(len(setup.region), dtype=bool)
        bad[stuck_rows(sphere)] = True
        accumulator = self._measured(sphere, turn_budget, bad, map)
        if self.tolerance is not None and bad.any() and not bad.all():
            # Who is due more turns is decided among points that have some.
            good = np.flatnonzero(~bad)
            rest = self(setup.at(setup.region.rows(good)))
            return scattered(rest, good, len(bad))
        return accumulator.scores(self.settings)

    def _measured(
        self, sphere: Sphere, turn_budget: TurnBudget, bad: NDArray[np.bool_], map: Any
    ) -> Accumulator:
        """All turns of all points that give numbers; the others are flagged in `bad`."""
        accumulator = Accumulator(len(bad), sphere.reduction)
        while True:
            extra = further_turns(accumulator, turn_budget, self.settings)
            extra[bad] = 0
            if not extra.any():
                return accumulator
            tasks = tasks_of(sphere, accumulator.turns.copy(), extra, seconds=None)
            for result in results_of(sphere, tasks, map):
                accumulator.add(result)
                bad[result.bad] = True


def prepare_gamma(
    setup: Setup, arguments: Mapping[str, Any], earlier: Settings | None = None
) -> Prepared:
    """Gamma, ready for rows: the ball is chosen by a few questions at the sample."""
    ball = arguments.get("ball", "auto")
    if isinstance(ball, Weights) or names_rows(ball):
        raise SettingsError(
            'ball="data" compares each row with all others, which takes them at once: measure a '
            "sample in memory, or leave it out"
        )
    rotations = int(arguments.get("rotations", 4))
    tolerance = arguments.get("tolerance")
    directions = arguments.get("directions")
    sphere = first_sphere(setup, arguments.get("reduction"))
    pilot = pilot_of(sphere, ball, arguments.get("noise", "include"), earlier)
    sphere = choose_sphere(sphere, ball, directions, rotations, pilot)
    if ball in AUTOMATIC and rotations:
        sphere = complete_if_few(sphere)
    settings = describe(
        setup,
        sphere,
        pilot,
        Settings().with_facts(rotations=rotations, budget=None, tolerance=tolerance),
    )
    measure = GammaOfRows(
        sphere.ball,
        sphere.reduction,
        sphere.noisy,
        rotations if sphere.listed is None else 1,
        tolerance,
        settings,
        None if sphere.listed is None else sphere.ball.count,
    )
    turn_budget = turn_budget_of(sphere, measure.rotations, None, tolerance)
    around_row = turn_budget.rotations * turn_budget.turn_cost
    rows_per_task = max(1, sphere.chunk // (around_row + 1))
    return Prepared(
        measure=measure,
        metric="gamma",
        settings=settings,
        setup=setup,
        rows_at_once=TASKS * rows_per_task,
        queries_per_row=around_row + turn_budget.part_cost,
        queries=pilot.queries,
    )
