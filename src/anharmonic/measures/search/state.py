"""All walks side by side: where each stands, what is known of its way, who is due a step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Lock

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic._core.margins import labels_of, margins_of
from anharmonic._core.progress import Telling
from anharmonic._core.protocols import Integers, Map
from anharmonic.errors import SettingsError
from anharmonic.measures.search.result import Search, StepSettings
from anharmonic.measures.search.steps import Step, StepChooser, blocks
from anharmonic.measures.setup.batching import numbers
from anharmonic.measures.setup.sphere import rows_on_device
from anharmonic.models.cuda_overlap import STREAMS

__all__ = ["SearchState"]

SAME = (
    *("points", "fingerprint", "kind", "climb", "radius", "scale", "columns", "bounds", "grid"),
    *("ball", "directions", "stop", "seed"),
)
"""Settings that a search must share with the one it goes on from."""


class SearchState:
    """The state of a search, changed in place as answers come in."""

    def __init__(self, chooser: StepChooser, settings: StepSettings) -> None:
        self.chooser, self.settings = chooser, settings
        many, steps = len(chooser.caller.region), settings.steps
        start = rows_on_device(chooser.caller, np.arange(many))
        self.positions = array_namespace(start).asarray(start, copy=True)
        self.starts = np.array(numbers(start))
        self.choices = np.full((many, steps), -1, dtype=np.int64)
        self.labels = np.full((many, steps + 1), -1, dtype=np.int64)
        self.margins = np.full((many, steps + 1), np.nan)
        self.gammas = np.full((many, steps), np.nan)
        self.flips = np.full(many, -1, dtype=np.int64)
        self.queries = np.zeros(many, dtype=np.int64)
        self.telling = Lock()

    def resume_from(self, before: Search) -> None:
        """Stand where another search stopped."""
        known, steps = before.settings.steps, self.settings.steps
        differing = before.settings.differing(self.settings, SAME)
        if differing or known > steps:
            raise SettingsError(
                f"resume= was searched with another {', '.join(differing) or 'number of steps'}: "
                "call with the same arguments and data as before (only steps= may grow)"
            )
        self.choices[:, :known], self.gammas[:, :known] = before.choices, before.gammas
        self.labels[:, : known + 1], self.margins[:, : known + 1] = before.labels, before.margins
        self.flips[:], self.queries[:] = before.flips, before.queries
        moved = np.flatnonzero((before.choices >= 0).any(axis=1))
        if len(moved):
            # A file does not hold a ball of the caller's own, who has given it again.
            again = replace(before, ball=self.chooser.step_rule.ball)
            ends = again.end(moved).reshape(len(moved), -1)
            here = self.positions
            there = array_namespace(here).asarray(ends, dtype=here.dtype, device=device(here))
            here[moved.tolist()] = there

    def found(self, finished: bool = True) -> Search:
        """What is known by now, and whether the search came to its end."""
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
        )

    def begin(self) -> None:
        """Ask for every start."""
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

    def walk(self, tell: Telling | None, keep: Callable[[], None]) -> None:
        """Everyone takes steps until nobody is due one or can pay for it."""
        caller = self.chooser.caller
        run: Map = map
        if self.settings.budget is None:
            # With one, who is paid for must not depend on who happens to be quicker.
            caller, run = caller.overlapped()
            self.chooser = replace(self.chooser, caller=caller)
        streams = STREAMS if run is not map else 1
        groups = [np.arange(stream, len(self.flips), streams) for stream in range(streams)]
        for steps in (1, self.settings.steps):
            deque(run(partial(self._go, steps=steps, tell=tell, keep=keep), groups), maxlen=0)
            if steps == 1 and self.chooser.climb != "random" and (self.choices[:, 0] < 0).all():
                raise SettingsError(
                    "no step from any point went anywhere: a radius of "
                    f"{self.chooser.step_rule.radius:.4g} is rounded to nothing by the grid or "
                    "stopped by the bounds. Raise the radius"
                )

    def _go(
        self, group: Integers, steps: int, tell: Telling | None, keep: Callable[[], None]
    ) -> None:
        """Those of a group who are furthest behind take a step, until all have so many."""
        cost = self.chooser.cost
        while len(rows := self._due(group, steps)):
            number = int(self._taken()[rows[0]])
            for few in blocks(rows, self.chooser.rows_at_once):
                here = self.positions[few.tolist()]
                step = self.chooser.step(here, few, self.labels[few, 0], number)
                # One at a time, so that what is kept holds whole steps.
                with self.telling:
                    with self._whole(few, number):
                        self._record(few, number, step)
                    keep()
                    if tell is not None:
                        spent, active = int(self.queries.sum()), self._active()
                        due = int((self.settings.steps - self._taken()[active]).sum())
                        tell(spent, spent + due * cost)

    @contextmanager
    def _whole(self, rows: Integers, number: int) -> Iterator[None]:
        """Whatever interrupts the record of a step, it was taken or it was not."""
        here = self.positions[rows.tolist()]
        flips, queries = self.flips[rows], self.queries[rows]
        try:
            yield
        except BaseException:
            self.positions[rows.tolist()] = here
            self.choices[rows, number] = self.labels[rows, number + 1] = -1
            self.gammas[rows, number] = self.margins[rows, number + 1] = np.nan
            self.flips[rows], self.queries[rows] = flips, queries
            raise

    def _record(self, rows: Integers, number: int, step: Step) -> None:
        first, moved = self.labels[rows, 0], step.choices >= 0
        self.positions[rows.tolist()] = step.ends
        self.choices[rows, number] = step.choices
        self.gammas[rows, number] = np.where(moved, step.gammas, np.nan)
        labels, margins = labels_of(step.outputs), margins_of(step.outputs, first)
        self.margins[rows, number + 1] = np.where(moved, margins, self.margins[rows, number])
        self.labels[rows, number + 1] = np.where(moved, labels, self.labels[rows, number])
        new = (self.flips[rows] < 0) & (self.labels[rows, number + 1] != first)
        self.flips[rows[new]] = number + 1
        self.queries[rows] += step.queries

    def _due(self, group: Integers, steps: int) -> Integers:
        """Rows furthest behind among those still walking, as many as the budget has room for."""
        active = np.intersect1d(group, self._active(), assume_unique=True)
        taken = self._taken()[active]
        active, taken = active[taken < steps], taken[taken < steps]
        behind = active[taken == taken.min(initial=self.settings.steps)]
        within = int(min(len(behind), self._left() // self.chooser.cost))
        return np.asarray(behind[:within])

    def _active(self) -> Integers:
        stopped = (self.flips >= 0) & bool(self.settings.stop)
        return np.flatnonzero(~stopped & (self._taken() < self.settings.steps))

    def _taken(self) -> Integers:
        return np.asarray((self.labels >= 0).sum(axis=1) - 1)

    def _left(self) -> float:
        budget = self.settings.budget
        return float("inf") if budget is None else budget - int(self.queries.sum())
