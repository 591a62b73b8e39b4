"""One fitted model as a function of displaced rows, one number per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from studies.over_data.sets import Split

__all__ = ["Answering"]


@dataclass(frozen=True)
class Answering:
    """A model around some rows (points, n), in units of the training rows' standard deviations.

    Only the columns `moving` move. What counts is the probability of the class that is decided at
    the row itself, or the predicted number in units of the training answers' spread.
    """

    model: Any
    rows: Floats
    units: Floats
    moving: Integers
    spread: float
    classes: Integers | None

    @classmethod
    def of(cls, model: Any, parts: Split, rows: Floats) -> Answering:
        moving = np.asarray(parts.moving)
        units = parts.train_numbers[:, moving].std(axis=0)
        moving, units = moving[units > 0], units[units > 0]
        if parts.task == "classification":
            decided = model.predict_proba(rows).argmax(axis=1)
            return cls(model, rows, units, moving, 1.0, decided)
        spread = float(np.std(np.asarray(parts.train_answers, dtype=float)))
        return cls(model, rows, units, moving, spread, None)

    @property
    def width(self) -> int:
        """How many columns move."""
        return len(self.moving)

    def places(self, steps: Floats) -> Floats:
        """Rows moved by `steps` (points, count, width): (points, count, n)."""
        moved = np.repeat(self.rows[:, None, :], steps.shape[1], axis=1)
        moved[..., self.moving] += steps * self.units
        return moved

    def at(self, places: Floats) -> Floats:
        """The answers at places (points, count, n): (points, count)."""
        points, count, columns = places.shape
        flat = places.reshape(-1, columns)
        if self.classes is None:
            return np.asarray(self.model.predict(flat) / self.spread).reshape(points, count)
        sure = self.model.predict_proba(flat).reshape(points, count, -1)
        return np.asarray(np.take_along_axis(sure, self.classes[:, None, None], axis=2)[..., 0])

    def around(self, steps: Floats) -> Floats:
        """The answers (points, count) at rows moved by steps (points, count, width)."""
        return self.at(self.places(steps))

    def log_outputs(self, places: Floats) -> Floats:
        """What alibi's measure looks at: log probabilities of all classes, or the number itself."""
        points, count, columns = places.shape
        flat = places.reshape(-1, columns)
        if self.classes is None:
            return np.asarray(self.model.predict(flat) / self.spread).reshape(points, count, 1)
        return np.asarray(np.log(self.model.predict_proba(flat) + 1e-10)).reshape(points, count, -1)
