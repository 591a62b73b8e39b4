"""Rounds of tasks until no point is due more turns."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from anharmonic._core.progress import Telling
from anharmonic._core.protocols import Integers, Map
from anharmonic._core.settings import Settings
from anharmonic.measures.gamma.accumulator import Accumulator, TurnBudget, further_turns
from anharmonic.measures.gamma.deviation import Task, TaskResult, measure_ahead, measure_task
from anharmonic.measures.setup.batching import non_finite_error
from anharmonic.measures.setup.sphere import Sphere

__all__ = ["results_of", "run_rounds", "tasks_of", "turn_budget_of"]

TASK_SECONDS = 1.0
"""How long a task may take, so that progress shows and little is lost when a model fails."""


def run_rounds(
    sphere: Sphere,
    accumulator: Accumulator,
    turn_budget: TurnBudget,
    settings: Settings,
    map: Map,
    report_progress: Telling | None,
    save_if_due: Callable[[], None],
) -> None:
    """Rounds of tasks until no point is due more; a round that was begun is finished as it was."""

    def turns_owed() -> Integers:
        return (
            accumulator.owed.copy()
            if accumulator.owed.any()
            else further_turns(accumulator, turn_budget, settings)
        )

    while (extra := turns_owed()).any():
        accumulator.owed = extra.copy()
        expected = accumulator.queries + _cost(extra, turn_budget)
        tasks = tasks_of(sphere, accumulator.turns.copy(), extra)
        bad: list[int] = []
        for result in results_of(sphere, tasks, map):
            with accumulator.atomically(result.rows):
                accumulator.add(result)
                accumulator.owed[result.rows] = 0
            save_if_due()
            bad += result.bad.tolist()
            if report_progress is not None:
                report_progress(accumulator.queries, expected)
            if bad and not accumulator.started.any():
                break  # It may answer nothing at all.
        if bad:
            raise non_finite_error(np.array(bad), sphere.region)


def results_of(sphere: Sphere, tasks: Iterable[Task], map: Map) -> Iterable[TaskResult]:
    """What tasks measure, shared out by `map`; of tables in this process, each built ahead."""
    if sphere.table is not None and map is builtins.map:
        return measure_ahead(sphere, tasks)
    return map(partial(measure_task, sphere), tasks)


def tasks_of(
    sphere: Sphere, turns: Integers, extra: Integers, seconds: float | None = TASK_SECONDS
) -> Iterator[Task]:
    """Rows that are due the same turns, as many at a time as fit in memory and some seconds.

    Without `seconds` tasks do not depend on how fast the model is: the same rows go together
    wherever they are measured.
    """
    turn_queries = sphere.ball.count + sphere.noisy
    waiting = np.flatnonzero(extra)
    for first in np.unique(turns[waiting]).tolist():
        alike = waiting[turns[waiting] == first]
        for count in np.unique(extra[alike]).tolist():
            rows = alike[extra[alike] == count]
            while len(rows):
                # Asked anew for every task: the sizer learns how fast the model is.
                sizer, chunk = sphere.caller.sizer, sphere.chunk
                queries = chunk if seconds is None else sizer.within(seconds, chunk)
                rows_per_task = max(1, queries // (count * turn_queries + 1))
                yield Task(rows[:rows_per_task], first, count)
                rows = rows[rows_per_task:]


def _cost(extra: Integers, turn_budget: TurnBudget) -> int:
    """Queries that further turns take."""
    started = int(np.count_nonzero(extra))
    return int(extra.sum()) * turn_budget.turn_cost + started * turn_budget.part_cost


def turn_budget_of(
    sphere: Sphere, rotations: int, budget: int | None, tolerance: float | None
) -> TurnBudget:
    """How many turns points get, and what a turn of this sphere costs."""
    # A noisy model's centre is asked for with every turn, else once with every task.
    return TurnBudget(
        rotations=max(1, rotations),
        turn_cost=sphere.ball.count + sphere.noisy,
        part_cost=int(not sphere.noisy),
        budget=budget,
        tolerance=tolerance,
    )
