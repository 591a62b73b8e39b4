"""All walks side by side: where each stands, what is known of its way, who is due a step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Lock

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.arrays import array_like
from anharmonic._core.margins import labels_of, margins_of
from anharmonic._core.progress import Telling
from anharmonic._core.protocols import Floats, Integers, Map
from anharmonic.errors import SettingsError
from anharmonic.measures.search.result import Search
from anharmonic.measures.search.step_rule import StepSettings
from anharmonic.measures.search.steps import Step, StepChooser, blocks
from anharmonic.measures.setup.batching import numbers
from anharmonic.measures.setup.sphere import rows_on_device
from anharmonic.models.cuda_overlap import STREAMS

__all__ = ["SearchState"]

SAME = (
    *("points", "fingerprint", "kind", "climb", "radius", "scale", "columns", "bounds", "grid"),
    *("ball", "directions", "stop", "seed", "kinds", "law"),
)
"""Settings that a search must share with the one it goes on from."""


class SearchState:
    """The state of a search, changed in place as answers come in."""

    def __init__(self, chooser: StepChooser, settings: StepSettings) -> None:
        self.chooser, self.settings = chooser, settings
        count, steps = len(chooser.caller.region), settings.steps
        start = rows_on_device(chooser.caller, np.arange(count))
        self.positions = array_namespace(start).asarray(start, copy=True)
        self.starts = np.array(numbers(start))
        # Column 0 of labels and margins is the start, column s + 1 the end of step s.
        self.choices = np.full((count, steps), -1, dtype=np.int64)
        self.labels = np.full((count, steps + 1), -1, dtype=np.int64)
        self.margins = np.full((count, steps + 1), np.nan)
        self.gammas = np.full((count, steps), np.nan)
        self.flips = np.full(count, -1, dtype=np.int64)
        self.queries = np.zeros(count, dtype=np.int64)
        self.distances = np.full(count, np.nan)
        # A table's steps take values from its reference, which no file has: kept as they come.
        self.trail = None
        if chooser.step_rule.table is not None:
            self.trail = np.full((count, steps + 1, self.starts.shape[1]), np.nan)
            self.trail[:, 0] = self.starts
        self.recording = Lock()

    def resume_from(self, earlier: Search) -> None:
        """Stand where another search stopped."""
        done, steps = earlier.settings.steps, self.settings.steps
        differing = earlier.settings.differing(self.settings, SAME)
        if differing or done > steps:
            raise SettingsError(
                f"resume= was searched with another {', '.join(differing) or 'number of steps'}: "
                "call with the same arguments and data as before (only steps= may grow)"
            )
        self.choices[:, :done], self.gammas[:, :done] = earlier.choices, earlier.gammas
        self.labels[:, : done + 1], self.margins[:, : done + 1] = earlier.labels, earlier.margins
        self.flips[:], self.queries[:] = earlier.flips, earlier.queries
        self.distances[:] = earlier.distances
        if self.trail is not None and earlier.trail is not None:
            self.trail[:, : done + 1] = earlier.trail
        moved = np.flatnonzero((earlier.choices >= 0).any(axis=1))
        if len(moved):
            # A file does not hold a ball of the caller's own, who has given it again.
            with_ball = replace(earlier, ball=self.chooser.step_rule.ball)
            ends = with_ball.end(moved).reshape(len(moved), -1)
            self.positions[moved.tolist()] = array_like(ends, self.positions)

    def search_so_far(self, finished: bool = True) -> Search:
        """What is known by now; `finished` says whether the search came to its end."""
        return Search(
            starts=self.starts,
            choices=self.choices.copy(),
            labels=self.labels.copy(),
            margins=self.margins.copy(),
            gammas=self.gammas.copy(),
            flips=self.flips.copy(),
            queries=self.queries.copy(),
            settings=self.settings if finished else self.settings.with_facts(unfinished=True),
            ball=self.chooser.step_rule.ball,
            ends=np.array(numbers(self.positions)),
            trail=None if self.trail is None else self.trail.copy(),
            index=self.chooser.caller.region.index,
            distances=self.distances.copy(),
            reached=self._lengths(np.arange(len(self.flips)), np.array(numbers(self.positions))),
            names=self.chooser.caller.region.row_names,
        )

    def _lengths(self, rows: Integers, ends: Floats) -> Floats:
        """How far ends (rows, n) are from where the rows started, in scaled units."""
        law, starts = self.chooser.caller.region.neighbourhood, self.starts[rows]
        if law is not None:
            return np.asarray(np.sqrt(law.squares(starts, ends).sum(axis=1)))
        return np.asarray(np.linalg.norm((ends - starts) / self.chooser.step_rule.units, axis=1))

    def begin(self) -> None:
        """Call the model at every start."""
        waiting = np.flatnonzero(self.labels[:, 0] < 0)
        if len(waiting) > self._left():
            raise SettingsError(
                f"a budget of {self.settings.budget:,} queries does not reach beyond the "
                f"{len(waiting):,} points themselves: raise it or search from fewer"
            )
        for rows in blocks(waiting, self.chooser.chunk):
            outputs = self.chooser.outputs(self.positions[rows.tolist()][:, None, :], rows)[:, 0]
            self.labels[rows, 0] = labels_of(outputs)
            self.margins[rows, 0] = margins_of(outputs, self.labels[rows, 0])
            self.queries[rows] += 1

    def walk(self, report_progress: Telling | None, save_if_due: Callable[[], None]) -> None:
        """All walks take steps until none is due one or the budget pays for none."""
        caller = self.chooser.caller
        run: Map = map
        if self.settings.budget is None:
            # With a budget, which rows it pays for must not depend on which are quicker.
            caller, run = caller.overlapped()
            self.chooser = replace(self.chooser, caller=caller)
        streams = STREAMS if run is not map else 1
        groups = [np.arange(stream, len(self.flips), streams) for stream in range(streams)]
        # The first step alone: a radius that moves nothing shows at once.
        for steps in (1, self.settings.steps):
            take_steps = partial(
                self._take_steps,
                steps=steps,
                report_progress=report_progress,
                save_if_due=save_if_due,
            )
            deque(run(take_steps, groups), maxlen=0)
            if steps == 1 and self._held_back() and (self.choices[:, 0] < 0).all():
                raise SettingsError(
                    "no step from any point went anywhere: a radius of "
                    f"{self.chooser.step_rule.radius:.4g} is rounded to nothing by the grid or "
                    "stopped by the bounds. Raise the radius"
                )

    def _held_back(self) -> bool:
        """Whether steps that go nowhere say that the radius is too short: others may be longer.

        Rows of a table step as far as other rows are away, and zeros of a sparse row stay.
        """
        rule = self.chooser.step_rule
        return self.chooser.climb != "random" and rule.table is None and not rule.zeros_stay

    def _take_steps(
        self,
        group: Integers,
        steps: int,
        report_progress: Telling | None,
        save_if_due: Callable[[], None],
    ) -> None:
        """Those rows of a group that are furthest behind take a step, until all have so many."""
        cost = self.chooser.cost
        while len(rows := self._due(group, steps)):
            number = int(self._taken()[rows[0]])
            for block in blocks(rows, self.chooser.rows_at_once):
                here = self.positions[block.tolist()]
                step = self.chooser.step(here, block, self.labels[block, 0], number)
                # One at a time, so that a checkpoint holds whole steps.
                with self.recording:
                    with self._atomically(block, number):
                        self._record(block, number, step)
                    save_if_due()
                    if report_progress is not None:
                        spent, active = int(self.queries.sum()), self._active()
                        due = int((self.settings.steps - self._taken()[active]).sum())
                        report_progress(spent, spent + due * cost)

    @contextmanager
    def _atomically(self, rows: Integers, number: int) -> Iterator[None]:
        """Whatever interrupts the record of a step, it was taken or it was not."""
        here = self.positions[rows.tolist()]
        flips, queries, distances = self.flips[rows], self.queries[rows], self.distances[rows]
        try:
            yield
        except BaseException:
            self.positions[rows.tolist()] = here
            self.choices[rows, number] = self.labels[rows, number + 1] = -1
            self.gammas[rows, number] = self.margins[rows, number + 1] = np.nan
            self.flips[rows], self.queries[rows] = flips, queries
            self.distances[rows] = distances
            raise

    def _record(self, rows: Integers, number: int, step: Step) -> None:
        """Write down a step; where it went nowhere, label and margin stay as they were."""
        first, moved = self.labels[rows, 0], step.choices >= 0
        self.positions[rows.tolist()] = step.ends
        if self.trail is not None:
            self.trail[rows, number + 1] = step.ends
        self.choices[rows, number] = step.choices
        self.gammas[rows, number] = np.where(moved, step.gammas, np.nan)
        labels, margins = labels_of(step.outputs), margins_of(step.outputs, first)
        self.margins[rows, number + 1] = np.where(moved, margins, self.margins[rows, number])
        self.labels[rows, number + 1] = np.where(moved, labels, self.labels[rows, number])
        first_flip = (self.flips[rows] < 0) & (self.labels[rows, number + 1] != first)
        self.flips[rows[first_flip]] = number + 1
        if first_flip.any():
            ends = np.array(numbers(step.ends[np.flatnonzero(first_flip).tolist()]))
            self.distances[rows[first_flip]] = self._lengths(rows[first_flip], ends)
        self.queries[rows] += step.queries

    def _due(self, group: Integers, steps: int) -> Integers:
        """Rows furthest behind among those still walking, as many as the budget pays for."""
        active = np.intersect1d(group, self._active(), assume_unique=True)
        taken = self._taken()[active]
        active, taken = active[taken < steps], taken[taken < steps]
        # Level by level, so that a budget that runs out leaves all walks about equally long.
        behind = active[taken == taken.min(initial=self.settings.steps)]
        affordable = int(min(len(behind), self._left() // self.chooser.cost))
        return np.asarray(behind[:affordable])

    def _active(self) -> Integers:
        """Rows that are still walking."""
        stopped = (self.flips >= 0) & bool(self.settings.stop)
        return np.flatnonzero(~stopped & (self._taken() < self.settings.steps))

    def _taken(self) -> Integers:
        """Steps of each row so far."""
        return np.asarray((self.labels >= 0).sum(axis=1) - 1)

    def _left(self) -> float:
        """Queries that the budget leaves."""
        budget = self.settings.budget
        return float("inf") if budget is None else budget - int(self.queries.sum())
