"""Inputs and outputs side by side, checked, every distinct pair of them once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import is_index
from anharmonic._core.frames import as_table
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import OutputError, PointsError, listed
from anharmonic.measures.setup.batching import answers, caller_for
from anharmonic.measures.setup.scale import scaled
from anharmonic.models import as_model
from anharmonic.regions import Region, as_region
from anharmonic.regions.tables.distances import features_of

__all__ = ["Pairs", "is_data", "pair_inputs_and_outputs", "share_of_crowded_rows"]

KEYED = 2**18
"""Numbers whose keys are computed at once."""
LABELS = 20
"""More different outputs than this are hardly labels."""
MIXED = np.uint64(32)
"""High bits, where floats differ, must reach the low ones: a product moves bits up only."""


class Pairs(NamedTuple):
    """Distinct rows: inputs (nodes, n) and, by model, outputs (nodes, columns).

    `rows` (nodes,) says where each occurs first among the points and `nodes` (points,) which of
    them a point is. A copy of a point with the same outputs says nothing new of the model.
    `units` (n,) are those of the inputs, None where they are raw.
    """

    inputs: Floats
    outputs: dict[str, Floats]
    rows: Integers
    nodes: Integers
    queries: int
    columns: tuple[str, ...]
    still: tuple[str, ...]
    units: Floats | None = None


def is_data(thing: object) -> bool:
    """Whether something is points rather than a model."""
    if isinstance(thing, (Region, list, tuple)) or hasattr(thing, "__array__"):
        return True
    return as_table(thing) is not None


def pair_inputs_and_outputs(
    points: object,
    sources: Mapping[str, object],
    scale: ArrayLike | str | None,
    output: object = None,
) -> Pairs:
    """Points, and for every name its outputs: an array of them, or those of a model there."""
    whole = as_region(points)
    models = [as_model(source) for source in sources.values() if not is_data(source)]
    region, units, _ = scaled(whole, scale, None, models, raw=True)
    law = region.neighbourhood
    if law is not None:
        # Categories and gaps as numbers whose squared differences are distances, in units already.
        whole, units = region, np.ones(1)
        known = law.donors.reference
        inputs = features_of(law.kinds, law.units, known, to_numpy64(region.values))
    else:
        inputs = _in_main_memory(region.values)
    raw = not (units != 1).any()
    if not raw:
        inputs = inputs / units
    outputs, queries = {}, 0
    for name, source in sources.items():
        if is_data(source):
            outputs[name] = _recorded_outputs(source, len(inputs), name)
        else:
            outputs[name] = _model_outputs(source, whole, output)
            queries += len(inputs)
    # A pair is a copy only where the outputs of every source are the same too.
    rows, nodes = _distinct([inputs, *outputs.values()])
    if len(rows) < len(inputs):
        inputs, outputs = inputs[rows], {name: values[rows] for name, values in outputs.items()}
    kept = None if raw else to_numpy64(units)
    return Pairs(inputs, outputs, rows, nodes, queries, region.columns, region.still, kept)


def _in_main_memory(values: Array) -> Floats:
    """Values in main memory; single precision stays so, which halves the memory of the largest
    array there is. Distances between its numbers are computed in double precision all the same.
    """
    single = isinstance(values, np.ndarray) and values.dtype == np.float32
    return values if single else to_numpy64(values)


def _recorded_outputs(source: Array, count: int, name: str) -> Floats:
    """Recorded outputs as (count, columns), finite."""
    table = as_table(source)
    try:
        if table is not None:
            source = table.drop([column for column in table.columns if is_index(column)]).to_numpy()
        outputs = to_numpy64(source)
    except (TypeError, ValueError) as problem:
        raise OutputError(f"the outputs of {name} are not numbers: give logits") from problem
    if outputs.ndim == 0 or len(outputs) != count:
        raise PointsError(
            f"{count} rows of inputs and outputs of shape {outputs.shape}: give one row of "
            "outputs for each input"
        )
    outputs = outputs.reshape(count, -1)
    bad = np.flatnonzero(~np.isfinite(outputs).all(axis=1)).tolist()
    if bad:
        raise OutputError(f"NaN or infinity in the outputs' rows {listed(bad)}: leave them out")
    return outputs


def _model_outputs(source: object, region: Region, output: object) -> Floats:
    """A model's outputs at a region's points, (points, columns)."""
    model = as_model(source, output=output)
    caller, _ = caller_for(model, region)
    # One point per row: (points, 1, n).
    values = model.place(region.values[:, None, :])
    return answers(caller, values, np.arange(len(region)))[:, 0, :]


def _distinct(arrays: list[Floats]) -> tuple[Integers, Integers]:
    """Where each distinct row occurs first, and which of those every row equals."""
    keys = _keys(arrays)
    _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
    # A key of 64 bits can be shared by chance: then compare whole rows, slowly.
    copies = np.flatnonzero(first[groups] != np.arange(len(keys)))
    if any((array[copies] != array[first[groups[copies]]]).any() for array in arrays):
        whole = np.concatenate(arrays, axis=1)
        _, first, groups = np.unique(whole, axis=0, return_index=True, return_inverse=True)
    # Numbered by where they occur first, not by their keys.
    order = np.argsort(first)
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[order] = np.arange(len(first))
    return first[order], numbers[groups.ravel()]


def _keys(arrays: list[Floats]) -> NDArray[np.uint64]:
    """A hash of each row, equal for equal rows: its bits times odd numbers, summed modulo 2⁶⁴."""
    keys = np.zeros(len(arrays[0]), dtype=np.uint64)
    for number, array in enumerate(arrays):
        width = array.shape[1]
        random = generator(number, Stream.ROW_KEYS)
        odd = random.integers(2**63, size=width, dtype=np.uint64) * 2 + 1
        for start in range(0, len(array), step := max(1, KEYED // width)):
            # Adding 0 turns -0 into 0, so that equal numbers have equal bits.
            bits = np.add(array[start : start + step], 0.0, dtype=np.float64).view(np.uint64)
            keys[start : start + step] += ((bits ^ (bits >> MIXED)) * odd).sum(axis=1)
    return keys


def share_of_crowded_rows(points: Floats, neighbours: int, what: str) -> float:
    """Share of rows with more exact copies than neighbours; an error where most are.

    Their neighbours are then an arbitrary choice, so the graph would be one.
    """
    rows, groups = _distinct([points])
    sizes = np.bincount(groups)
    if len(rows) == 1:
        raise PointsError(f"all {what} are equal, so there is nothing to measure: check them")
    share = float((sizes[groups] > neighbours + 1).mean())
    if share > 0.5:
        raise PointsError(
            f"the {what} take {len(rows):,} values in {len(points):,} rows, and {share:.0%} of "
            f"the rows have more than {neighbours} exact copies: which are neighbours would be "
            f"chance. {_finer_outputs(len(rows))}, drop copies, or raise neighbours"
        )
    return share


def _finer_outputs(values: int) -> str:
    """What to give instead of outputs of few different values."""
    if values > LABELS:
        return "Probabilities of trees come in steps: give finer ones (more trees, or calibrated)"
    return "Give logits or probabilities rather than labels"
