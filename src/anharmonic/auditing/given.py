"""What a user hands over, checked before the model is asked for more than a few rows."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy
from anharmonic._core.columns import shown
from anharmonic._core.protocols import Model
from anharmonic.auditing.drawing import draw
from anharmonic.errors import InputError, PointsError
from anharmonic.measures.streaming.on_sample import inputs_of
from anharmonic.models import as_model
from anharmonic.regions import Region, unmoved
from anharmonic.sources import Source

__all__ = ["FEWEST", "Given"]

FEWEST = 30
"""Rows of a reference below which nothing can be said."""


class Given:
    """What a user handed over, checked before the model is asked for more than a few rows."""

    def __init__(
        self,
        model: object,
        points: object,
        reference: object,
        labels: object,
        known: object,
        seed: int = 0,
    ) -> None:
        self.model: Model = as_model(model)
        # What has a `predict` is an estimator, and says itself whether it knows classes.
        self.is_estimator = hasattr(model, "predict")
        self.is_file = isinstance(model, str | PathLike)
        if isinstance(labels, str) and known is None:
            # One name for both sides; either of two sources may lack the column.
            known = labels if isinstance(reference, Source) else None
        wanted = inputs_of(self.model, None)
        alone = reference is None or not isinstance(known, str)
        points, labels, self.new_of = draw(points, labels, seed, must=alone, wanted=wanted)
        reference, known, self.reference_of = draw(reference, known, seed, wanted=wanted)
        given = unmoved(points)
        # Without a reference the points are the rows that are known.
        self.new: Region | None = None if reference is None else given
        self.reference: Region = given if reference is None else unmoved(reference)
        own = labels if reference is None else known
        self.reference_labels = _labels(own, len(self.reference), "reference_labels")
        self.new_labels = None if self.new is None else _labels(labels, len(self.new), "labels")
        _check(self.reference, self.new)


def _check(reference: Region, new: Region | None) -> None:
    """Refuse rows of which nothing can be said."""
    if len(reference) < FEWEST:
        raise PointsError(
            f"the reference has {len(reference)} rows: an audit needs {FEWEST} at least, and says "
            "little below 200"
        )
    if new is not None and new.is_table:
        lacking = [name for name in new.names if name not in reference.names]
        if lacking:
            raise PointsError(
                f"the reference has no column {shown(lacking)}: give both sides the same columns "
                "(labels go into labels= and reference_labels=, or --labels)"
            )


def _labels(labels: object, rows: int, name: str) -> NDArray[Any] | None:
    if labels is None:
        return None
    values = np.asarray(to_numpy(labels)).reshape(-1)
    if len(values) != rows:
        raise InputError(f"{name} has {len(values):,} entries for {rows:,} rows: give one per row")
    return values
