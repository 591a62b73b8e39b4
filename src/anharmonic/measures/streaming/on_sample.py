"""Settle what a run needs on a sample of its rows: which columns move, how far, by which ball."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import shown
from anharmonic._core.frames import as_table
from anharmonic._core.settings import Settings
from anharmonic.errors import MeasurementStopped, OutputError, PointsError, SettingsError
from anharmonic.measures.setup.batching import BatchSizer
from anharmonic.measures.setup.scale import with_neighbourhood
from anharmonic.measures.setup.settling import DEFAULTS, Setup, settle
from anharmonic.measures.streaming.answers import spread_rows
from anharmonic.measures.streaming.counting import Counted, with_model
from anharmonic.measures.streaming.faults import Measure
from anharmonic.measures.streaming.placing import (
    Frames,
    Placing,
    answered_rows,
    light,
    without_unanswered,
)
from anharmonic.models import as_model
from anharmonic.models.inputs import Inputs
from anharmonic.regions import Region, as_region
from anharmonic.regions.tables import TableNeighbourhood
from anharmonic.sources import Dataset, Rows, Source

__all__ = [
    "SAMPLE",
    "Prepared",
    "Preparing",
    "check_dropped",
    "inputs_of",
    "settle_on_sample",
    "within_bounds",
]

SAMPLE = 20_000
"""Rows that scale, radius and the ball are settled on, where no reference is given."""
CALL = 8192
"""Rows per call of a model in main memory where nobody said: always the same, because in batches
of another size a model that multiplies matrices may answer with other last digits."""


@dataclass(frozen=True)
class Prepared:
    """A measure that is ready for any rows.

    Parameters
    ----------
    measure
        Measures at a setup's region; it pickles.
    metric, settings
        What is measured, and how.
    setup
        What was settled on the sample.
    rows_at_once
        Rows that are measured together, always the same.
    queries_per_row
        What a row costs, about.
    queries
        What settling took.
    known_by
        Rows of the sample whose answers tell this model from another.
    """

    measure: Measure
    metric: str
    settings: Settings
    setup: Setup
    rows_at_once: int
    queries_per_row: float
    queries: int = 0
    known_by: Setup | None = None


Preparing = Callable[[Setup, Mapping[str, Any], Settings | None], Prepared]
"""From a setup on a sample, the measure's own arguments and the settings of an earlier start of
the same run to what measures rows."""


def settle_on_sample(
    model: object,
    sample: Rows,
    prepare: Preparing,
    arguments: Mapping[str, Any],
    numbers: bool = False,
    earlier: Settings | None = None,
    *,
    law: TableNeighbourhood | None = None,
    frames: Frames | None = None,
) -> tuple[Placing, Prepared]:
    """How rows become points and how these are measured, from a sample of the rows.

    `law` and `frames` are those of an earlier run, where that has settled them.
    """
    reference = arguments.get("reference")
    seed = int(arguments.get("seed", DEFAULTS["seed"]))
    output = arguments.get("output")
    if isinstance(reference, Source):
        wanted = inputs_of(model, output)
        reference = reference.open(seed=seed, wanted=wanted).sample(SAMPLE, seed).table
    known = [reference] if hasattr(reference, "column_names") else []
    frames = frames or Frames.like(sample.table, *known)
    whole = sample.take(~frames.gaps(sample.table))
    region = as_region(frames.frame(whole.table), arguments.get("moving"))
    adapted = as_model(model, output=output)
    region, asked = without_unanswered(adapted, replace(region, addresses=whole.addresses), numbers)
    if law is not None:
        region = with_neighbourhood(region, law)
    given: dict[str, Any] = {name: arguments[name] for name in DEFAULTS if name in arguments}
    given.pop("moving", None)
    if known:
        given["reference"] = frames.frame(reference)
    region = within_bounds(model, region, numbers, given)
    setup = _with_fixed_calls(settle(model, region, numbers=numbers, **given))
    counted = Counted(setup.model)
    counting, lost = with_model(setup, counted), 0
    try:
        prepared = prepare(counting, arguments, earlier)
    except (MeasurementStopped, OutputError) as problem:
        # Some row of the sample is one that the model cannot answer.
        answered = answered_rows(counting, problem)
        lost = counted.asked
        prepared = prepare(counting.at(answered), arguments, earlier)
    settled = with_model(prepared.setup, setup.model)
    return Placing(light(settled), frames), replace(
        prepared,
        setup=settled,
        queries=prepared.queries + asked + lost,
        known_by=setup.at(spread_rows(setup.region)),
    )


def check_dropped(source: Source, dataset: Dataset, reference: object, seed: int) -> None:
    """Refuse to leave out what is nowhere: a label whose name is mistyped would be a feature.

    A reference may be the one that has it.
    """
    lacking = [name for name in source.drop if name not in dataset.named]
    if not lacking:
        return
    if isinstance(reference, Source):
        # Standard input can be read once, and is read later.
        elsewhere = lacking if reference.is_stdin else reference.open(seed=seed).named
    else:
        table = None if reference is None else as_table(reference)
        elsewhere = () if table is None else table.columns
    if mistyped := [name for name in lacking if name not in elsewhere]:
        raise SettingsError(
            f"{source} has no column {shown(mistyped)} to leave out: there are "
            f"{shown(dataset.named)}; mend drop= (--drop)"
        )


def inputs_of(model: object, output: object) -> tuple[str, ...]:
    """The columns that a model takes by name; none where it knows none."""
    inputs: Inputs | None = getattr(as_model(model, output=output), "inputs", None)
    return () if inputs is None else inputs.names


def within_bounds(model: object, region: Region, numbers: bool, given: Mapping[str, Any]) -> Region:
    """A sample without rows outside the bounds: they are set aside here and later."""
    if given.get("bounds") is None:
        return region
    unbounded = settle(model, region, numbers=numbers, distance=False, **{**given, "bounds": None})
    if unbounded.region.neighbourhood is not None:
        return region  # such bounds are refused, in words of their own
    values = to_numpy64(unbounded.region.values)
    try:
        low, high = (np.asarray(edge, dtype=float) for edge in given["bounds"])
        outside = ((values < low) | (values > high)).any(axis=1)
    except (TypeError, ValueError):
        return region
    if not np.all(low < high):
        return region
    if outside.all():
        raise PointsError("every row of the sample lies outside the bounds: widen them")
    return region.rows(np.flatnonzero(~outside)) if outside.any() else region


def _with_fixed_calls(setup: Setup) -> Setup:
    """Calls of one size, so that the same rows are asked for together wherever they are."""
    sizer = setup.caller.sizer
    if sizer.fixed:
        return setup
    call = min(CALL, setup.chunk)
    return replace(setup, caller=setup.caller._replace(sizer=BatchSizer(call, fixed=True)))
