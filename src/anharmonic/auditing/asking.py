"""The model asked at rows that may be too much for it: where it fails is found, not fatal."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers, Model
from anharmonic.errors import MeasurementStopped, OutputError, first_line
from anharmonic.measures.over_data.asking import ask_rows
from anharmonic.regions import Region

__all__ = ["Answers", "Meter", "ask_patiently"]

CALL = 1024
"""Rows per call at first; a call that fails is halved."""


@dataclass
class Meter:
    """Counts what the model was asked for, and how long it took."""

    queries: int = 0
    seconds: float = 0.0
    limits: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Answers:
    """The model's answers at rows, (rows, columns), NaN at rows where it gave none, and why."""

    numbers: Floats
    reason: str = ""

    @property
    def given(self) -> NDArray[np.bool_]:
        """At which rows it answered, (rows,)."""
        return np.asarray(np.isfinite(self.numbers).all(axis=1))


def ask_patiently(model: Model, region: Region, rows: Integers, meter: Meter) -> Answers:
    """Answers at some rows of a region, one query each; rows that fail are told apart."""
    parts: list[Floats | None] = []
    reasons: list[str] = []

    def ask(chosen: Integers) -> None:
        meter.queries += len(chosen)
        try:
            parts.append(ask_rows(model, region.rows(chosen), None).answers)
        except (MeasurementStopped, OutputError) as problem:
            if len(chosen) > 1:
                ask(chosen[: len(chosen) // 2])
                ask(chosen[len(chosen) // 2 :])
                return
            reasons.append(first_line(problem))
            parts.append(None)

    for start in range(0, len(rows), CALL):
        ask(rows[start : start + CALL])
    width = next((part.shape[1] for part in parts if part is not None), None)
    if width is None:
        raise MeasurementStopped(
            f"the model answered none of {len(rows):,} rows; the first time it said: {reasons[0]}",
            "try model.predict on one row, and give audit the columns that it takes",
        )
    numbers = [np.full((1, width), np.nan) if part is None else part for part in parts]
    return Answers(np.concatenate(numbers), reasons[0] if reasons else "")
