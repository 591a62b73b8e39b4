"""How far a step is: one unit for each feature, and a radius that is small among the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from numpy.typing import ArrayLike

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import is_id, is_index, shown
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError, SettingsError
from anharmonic.models.inputs import Inputs
from anharmonic.regions import Region, as_region, require_finite
from anharmonic.regions.tables import Kinds, TableNeighbourhood, table_neighbourhood

__all__ = [
    "limits",
    "nearest_distance",
    "radius_of",
    "read_columns",
    "scaled",
    "with_neighbourhood",
]

FRACTION = 1.0
"""Of the median distance to the nearest neighbour: what best separated overfit models in the
study."""
TREE_DIMENSIONS = 15
"""Up to so many dimensions a k-d tree is faster than all distances."""
QUERIED, AMONG = 100, 20_000
"""Points whose nearest neighbour is looked for, and points among which."""


def scaled(
    region: Region,
    scale: ArrayLike | str | None,
    reference: object,
    models: Sequence[object] = (),
    kinds: Kinds | None = None,
    seed: int = 0,
    numbers: bool = False,
    raw: bool = False,
) -> tuple[Region, Floats, Region]:
    """What moves of the region, a unit for each such column, and the reference.

    Columns that none of the `models` reads stay, where these know, and so do constant ones.
    "auto" takes the standard deviation in the reference data (the points themselves where
    none are given); an image or a grid is in one unit already; None keeps raw units. Rows that
    are not all numbers get a neighbourhood of their own, in units of their own; where only
    `numbers` may move, all else stays. `raw` says that None means nothing else than raw units.
    """
    if region.neighbourhood is not None:
        return region, region.neighbourhood.units, region
    known = None if reference is None else as_region(reference)
    kinds = kinds or region.told
    if _may_be_table(region) and not numbers:
        region, known = _coded(region, known, models, kinds, seed)
        if region.neighbourhood is not None:
            if not (isinstance(scale, str) or (raw and scale is None)):
                raise SettingsError(
                    "scale= is for rows of numbers: here units come from the reference, so leave "
                    f"it out ({_kinds_in_words(region)})"
                )
            return region, region.neighbourhood.units, known or region
    elif kinds:
        raise SettingsError("kinds= is for tables and arrays of rows: leave it out here")
    region = replace(_read_by(region, models, alone=known is None), plain=True)
    require_finite(region, "points")
    data = region
    if known is not None:
        data = _with_same_columns(known, region)
        require_finite(data, "reference")
    if scale is None or (isinstance(scale, str) and scale == "auto" and region.one_unit):
        return region, np.ones(region.dimension), data
    if isinstance(scale, str):
        if scale != "auto":
            raise SettingsError(f'scale {scale!r}: give "auto", None (raw units) or numbers')
        return _by_spread(region, data)
    units = np.asarray(scale, dtype=np.float64)
    if units.shape not in ((), (1,), (region.dimension,)):
        raise SettingsError(
            f"scale has the shape {units.shape} and {region.dimension} columns move "
            f"({shown(region.columns)}): give one number, or one for each of these"
        )
    units = np.broadcast_to(units, (region.dimension,)).copy()
    if not (np.isfinite(units).all() and (units > 0).all()):
        raise SettingsError("scale must be positive and finite: hold a column still instead of 0")
    return region, units, data


def _may_be_table(region: Region) -> bool:
    """Whether rows may be other than numbers: tables, and arrays of rows that are no images."""
    if region.kind == "grid" or region.plain:
        return False
    return region.is_table or (is_numpy_array(region.values) and len(region.shape) < 2)


def _coded(
    region: Region,
    known: Region | None,
    models: Sequence[object],
    kinds: Kinds | None,
    seed: int,
) -> tuple[Region, Region | None]:
    """The region and the reference with a neighbourhood, where not all that moves is numbers."""
    if not region.is_table:
        # An array's cells are numbers; only gaps, or kinds that were told, make more of them.
        both = [region.values, *([] if known is None else [known.values])]
        if not (kinds or any(_has_gaps(values) for values in both)):
            return region, known
    names = _movable(region, models)
    if not names:
        return region, known
    if known is not None:
        offered = known.names if known.is_table else known.columns
        lacking = [name for name in names if name not in offered]
        if lacking or known.is_table != region.is_table:
            # Said by what follows, which compares the columns of both.
            return region, known
    settled = table_neighbourhood(
        _moving_cells(region, names),
        None if known is None else _moving_cells(known, names),
        names,
        kinds,
        seed,
    )
    law = settled.neighbourhood
    if law is None:
        if region.is_table and settled.held and not region.settled:
            region = replace(region.along([n for n in names if n not in settled.held]))
        return region, known
    moved = with_neighbourhood(region, law, settled.points)
    return moved, None if known is None else with_neighbourhood(known, law)


def _has_gaps(values: Array) -> bool:
    """Whether any cell of an array is missing."""
    if not is_numpy_array(values):
        return False
    # One pass without an array of flags: a sum is finite unless something in it is not.
    whole = np.isfinite(np.add.reduce(values, axis=None, dtype=np.float64))
    return not whole and bool(np.isnan(values).any())


def _movable(region: Region, models: Sequence[object]) -> list[str]:
    """Columns that may move: those named, those the models read, or all that may be features."""
    if region.settled or not region.is_table:
        return list(region.columns)
    read = read_columns(region, models)
    if read is not None:
        return [name for name in region.names if name in read and not is_index(name)]
    return [name for name in region.names if not (is_index(name) or is_id(name))]


def _moving_cells(region: Region, names: Sequence[str]) -> Array:
    """A table as it is, or the columns of an array."""
    if region.is_table:
        return region.source
    return to_numpy64(region.along(list(names)).values)


def with_neighbourhood(
    region: Region, law: TableNeighbourhood, coded: Floats | None = None
) -> Region:
    """The region coded, with what the law moves moving; `coded` where that is done already."""
    if region.neighbourhood is law:
        return region
    values = coded
    if values is None:
        if region.is_table != (law.coding is not None):
            was = "an array" if law.coding is None else f"a table with {shown(law.names)}"
            raise PointsError(f"the reference is {was}: give rows that are the same")
        values = (
            to_numpy64(region.along(law.names).values)
            if law.coding is None
            else law.coding.encode(region.source)
        )
    still = tuple(name for name in region.names if name not in law.names)
    return replace(
        region, values=values, columns=law.names, still=still, settled=True, neighbourhood=law
    )


def _kinds_in_words(region: Region) -> str:
    law = region.neighbourhood
    assert law is not None
    return ", ".join(f"{kind.name}: {kind.kind}" for kind in law.kinds if kind.kind != "number")


def read_columns(region: Region, models: Sequence[object]) -> set[str] | None:
    """The columns of a table that any of the models reads, where all of them know."""
    offered = [getattr(model, "inputs", None) for model in models]
    inputs = [read for read in offered if isinstance(read, Inputs)]
    if not (region.is_table and inputs) or len(inputs) < len(offered):
        return None
    return {name for model_inputs in inputs for name in model_inputs.read(region.source)}


def _read_by(region: Region, models: Sequence[object], alone: bool) -> Region:
    """The region with what the models read moving, unless somebody has said what moves.

    `alone` where nobody gave a reference.
    """
    if not (region.settled or region.kind == "grid"):
        read = read_columns(region, models)
        if read is not None:
            # An index that a model was fitted to is still the number of a row.
            moving = [name for name in region.numeric if name in read and not is_index(name)]
            region = region.along(moving)
        region = replace(region, settled=bool(models))
    if not region.dimension:
        where = " of these points, or of a reference= (--reference)," if alone else ""
        raise PointsError(
            f"no column can move ({shown(region.still)} stay): columns that the model reads and "
            f"that differ between rows{where} are needed, or name some in moving= (--moving)"
        )
    return region


def _with_same_columns(reference: Region, region: Region) -> Region:
    """The reference, with the same columns moving as in the region."""
    columns = reference.columns if not reference.still else reference.numeric
    missing = [name for name in region.columns if name not in columns]
    if missing or (not reference.is_table and len(reference.names) != len(region.names)):
        raise PointsError(
            f"the reference has columns {shown(columns) or 'none'} and the points move along "
            f"{shown(region.columns)}: give both the same numeric columns"
        )
    return replace(reference.along(region.columns), settled=region.settled)


def _by_spread(region: Region, reference: Region) -> tuple[Region, Floats, Region]:
    """Standard deviations in the reference as units; columns that are constant there stay."""
    spread = to_numpy64(reference.values).std(axis=0)
    # Rounding leaves a trace of spread in a constant column: 1e-12 of its size is no spread.
    constant = spread <= 1e-12 * np.abs(to_numpy64(reference.values[:1])[0])
    if constant.all():
        what = "one point" if len(reference) == 1 else "every column is constant"
        raise PointsError(
            f"{what}: no scale can be taken from that. Pass reference=<data the model knows>, "
            "or scale=None and a radius in the features' own units"
        )
    still = [name for name, flat in zip(region.columns, constant, strict=True) if flat]
    return region.holding(still), spread[~constant], reference.holding(still)


def radius_of(
    radius: float | str, reference: Region, units: Floats, seed: int
) -> tuple[float, float | None]:
    """The radius in scaled units, and the nearest-neighbour distance it was taken from."""
    if isinstance(radius, str):
        if radius != "auto":
            raise SettingsError(f'radius {radius!r}: give a number or "auto"')
        if reference.kind == "grid":
            raise SettingsError(
                "on a grid the distance between points says nothing about the data: "
                "give a radius, or reference=<data>"
            )
        law = reference.neighbourhood
        distance = nearest_distance(reference.values, units, seed) if law is None else law.nearest
        return FRACTION * distance, distance
    number = float(radius)
    if not (np.isfinite(number) and number > 0):
        raise SettingsError(f'the radius must be positive and finite, got {radius!r}: try "auto"')
    return number, None


def nearest_distance(values: Array, units: Floats, seed: int = 0) -> float:
    """Median over points of the distance, in units, to the nearest one that differs.

    The neighbour is exact among up to 200,000 points in a few dimensions, among 20,000 in more;
    the median is that of 400 or 100 points.
    """
    random = generator(seed, Stream.NEAREST_DISTANCE)
    low_dimensional = len(units) <= TREE_DIMENSIONS
    among = to_numpy64(_sample(values, 10 * AMONG if low_dimensional else AMONG, random)) / units
    queried = _sample(among, 4 * QUERIED if low_dimensional else QUERIED, random)
    search = _nearest_by_tree if low_dimensional else _nearest_by_all_pairs
    nearest = search(queried, among)
    if not np.isfinite(nearest).all():
        raise PointsError(
            "no two points differ, so there is no distance to take a radius from: "
            "give a radius, or reference=<data>"
        )
    return float(np.median(nearest))


def _nearest_by_tree(queried: Floats, among: Floats) -> Floats:
    """Distance of each point to the nearest that differs; infinite where none does."""
    from scipy.spatial import KDTree

    # The first neighbour is the point itself.
    nearest = KDTree(among).query(queried, k=2)[0][:, 1]
    if (nearest == 0).any():
        # Copies of a point are no neighbours of it, however many there are.
        nearest = KDTree(np.unique(among, axis=0)).query(queried, k=2)[0][:, 1]
    return cast(Floats, nearest)


def _nearest_by_all_pairs(queried: Floats, among: Floats) -> Floats:
    """The same where trees are of no use: in many dimensions."""
    from scipy.spatial.distance import cdist

    squares = cdist(queried, among, "sqeuclidean")
    # 0 is the point itself, or a copy of it.
    squares[squares == 0] = np.inf
    return cast(Floats, np.sqrt(squares.min(axis=1)))


def _sample(values: Array, count: int, random: np.random.Generator) -> Array:
    """So many rows at random, in their own order; all where there are no more."""
    if len(values) <= count:
        return values
    return values[np.sort(random.choice(len(values), count, replace=False))]


def limits(bounds: object, region: Region) -> tuple[Floats, Floats] | None:
    """Lower and upper bounds for each moving column."""
    if bounds is None:
        return None
    if region.neighbourhood is not None:
        raise SettingsError(
            "bounds= is for rows of numbers: here columns stay within what the reference has; "
            'kinds={"column": "bounded"} says it of a number'
        )
    try:
        low, high = cast(Iterable[ArrayLike], bounds)
        lower = np.broadcast_to(np.asarray(low, dtype=np.float64), (region.dimension,))
        upper = np.broadcast_to(np.asarray(high, dtype=np.float64), (region.dimension,))
    except (TypeError, ValueError) as problem:
        raise SettingsError(
            "bounds are (low, high): numbers, or one for each column that moves"
        ) from problem
    if not (lower < upper).all():
        raise SettingsError(f"every lower bound must be below its upper bound, got {bounds!r}")
    xp = array_namespace(region.values)
    # Extremes first: they are found on the device, and only they are copied.
    least, most = (to_numpy64(extreme(region.values, axis=0)) for extreme in (xp.min, xp.max))
    if (least < lower).any() or (most > upper).any():
        outside = (to_numpy64(region.values) < lower) | (to_numpy64(region.values) > upper)
        rows = np.flatnonzero(outside.any(axis=1))
        raise PointsError(f"row {rows[0]} lies outside the bounds already: widen them or drop it")
    return lower, upper
