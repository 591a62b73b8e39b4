"""From points and a reference to the law of their neighbours: kinds, units, shares, chances."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.columns import shown
from anharmonic._core.frames import Table
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError
from anharmonic.regions.tables.choosing import choose_kinds
from anharmonic.regions.tables.coding import Coding, code_columns
from anharmonic.regions.tables.donors import COUNT, Donors, Site
from anharmonic.regions.tables.kinds import ColumnKind, Kinds
from anharmonic.regions.tables.moving import alternatives
from anharmonic.regions.tables.neighbourhood import LAW, TableNeighbourhood
from anharmonic.regions.tables.pairs import count_pairs

__all__ = ["SettledTable", "table_neighbourhood"]

DONORS = 1024
"""Reference rows, at most, that neighbours take values from."""
LOOKED_AT = 20_000
"""Reference rows, at most, that kinds and units are taken from."""
CALIBRATED = 256
"""Reference rows whose nearest rows say how far columns move."""
FEWEST = COUNT + 1
"""Reference rows, at least: each is to have as many others as a value is drawn from."""
LEAST = 0.5
"""How many categories of a neighbour at the distance between nearest rows are drawn anew, at the
least and on average: each has an equal part of it."""


class SettledTable(NamedTuple):
    """How rows move, the points and the reference coded, and columns that have to stay.

    `neighbourhood` is None where all that moves is plain numbers, which need no other law than
    the ball's.
    """

    neighbourhood: TableNeighbourhood | None
    points: Floats
    reference: Floats
    held: tuple[str, ...]


def table_neighbourhood(
    points: Table | Array,
    reference: Table | Array | None,
    names: Sequence[str],
    told: Kinds | None,
    seed: int,
) -> SettledTable:
    """The law of neighbours in these columns, from a reference or the points themselves.

    Parameters
    ----------
    points, reference
        Tables, or arrays (rows, columns) that hold just the columns that move.
    names
        The columns that may move.
    told
        Kinds that somebody gave.
    seed
        Of what is random: which reference rows values are taken from.
    """
    data = points if reference is None else reference
    arrays = not isinstance(data, nw.DataFrame)
    looked_at = generator(seed, Stream.TABLE_CALIBRATION)
    sample = data[_sample(len(data), LOOKED_AT, looked_at).tolist()]
    kinds, held = choose_kinds(_series(sample, names), told, arrays)
    if arrays:
        coding, codes, known = None, _floats(points), _floats(sample)
    else:
        coding = code_columns(kinds, points, sample)
        codes, known = coding.encode(points), coding.encode(sample)
    _refuse_infinity(kinds, codes, "points")
    _refuse_infinity(kinds, known, "reference")
    plain = all(kind.kind == "number" for kind in kinds)
    if plain and not (np.isnan(codes).any() or np.isnan(known).any()):
        return SettledTable(None, codes, known, held)
    units = _units(kinds, known)
    constant = np.isnan(units)
    if constant.any():
        held += tuple(kind.name for kind, flat in zip(kinds, constant, strict=True) if flat)
        kinds = tuple(kind for kind, flat in zip(kinds, constant, strict=True) if not flat)
        codes, known, units = codes[:, ~constant], known[:, ~constant], units[~constant]
        coding = None if coding is None else coding.only([kind.name for kind in kinds])
    if not kinds:
        return SettledTable(None, codes, known, held)
    _refuse_few(kinds, known, "points" if reference is None else "reference")
    law = _calibrated(kinds, coding, units, known, seed)
    return SettledTable(law, codes, known, held)


def _calibrated(
    kinds: tuple[ColumnKind, ...],
    coding: Coding | None,
    units: Floats,
    known: Floats,
    seed: int,
) -> TableNeighbourhood:
    """The law, with the shares and reaches that the reference's nearest rows show."""
    rows = known[_sample(len(known), DONORS, generator(seed, Stream.TABLE_ROWS))]
    # All from the reference alone: no row's neighbours depend on what other rows are measured.
    gaps = np.asarray(np.isnan(known).any(axis=0))
    sites = _sites(kinds, gaps)
    donors = Donors(kinds, units, sites, rows)
    low, high = _ends(kinds, known)
    law = TableNeighbourhood(
        kinds=kinds,
        coding=coding,
        units=units,
        donors=donors,
        pairs=count_pairs(kinds, known),
        low=low,
        high=high,
        number_share=0.0,
        site_shares=np.zeros(len(sites)),
        reaches=np.zeros(len(sites)),
        nearest=1.0,
        gaps=gaps,
    )
    looked_at = rows[:CALIBRATED]
    near = _near_rows(donors, looked_at)
    edits = np.array([site.movement == "edit" for site in sites], dtype=bool)
    if near is None and not edits.any():
        raise PointsError(
            "no two rows differ, so that no neighbour can be drawn from them: give "
            "reference=<data the model knows>"
        )
    shares = np.zeros(len(sites))
    number_share, nearest = 0.0, 1.0
    if near is not None:
        nearest, mean, gap = near
        for number, site in enumerate(sites):
            across = list(site.columns)
            if site.movement == "gap":
                shares[number] = gap[across].sum()
            elif site.movement != "edit":
                shares[number] = (mean - gap if site.movement == "step" else mean)[across].sum()
        balls = [column for column, kind in enumerate(kinds) if kind.movement == "ball"]
        number_share = float((mean - gap)[balls].sum())
        whole = number_share + shares.sum()
        shares, number_share = shares / whole, number_share / whole
    reaches = np.where(edits, 1.0, _reaches(law, looked_at))
    # No category stands still: where numbers are dense, nearest rows never differ in one.
    redraws = np.array([site.movement == "redraw" for site in sites], dtype=bool)
    least = LEAST / max(1, int(redraws.sum())) * reaches / nearest**2
    shares = np.where(redraws, np.maximum(shares, least), shares)
    # A text is edited once at the distance between nearest rows.
    shares[edits] = 1.0 / nearest**2
    return replace(
        law,
        number_share=number_share,
        site_shares=shares,
        reaches=reaches,
        nearest=nearest,
        fingerprint=_fingerprint(kinds, units, rows, (low, high)),
    )


def _near_rows(donors: Donors, values: Floats) -> tuple[float, Floats, Floats] | None:
    """The median distance to the nearest row, and mean squares (columns,) of the nearest ones:
    of whole columns, and of their gaps. None where no two rows differ.

    Copies count once, or columns that are far apart would never be seen to differ.
    """
    rows = donors.reference
    _, first = np.unique(np.nan_to_num(rows, nan=-1e300), axis=0, return_index=True)
    once = rows[np.sort(first)]
    among = Donors(donors.kinds, donors.units, donors.sites, once)
    squares, totals, near = among.nearest(values)
    apart = np.isfinite(totals[:, 0])
    if not apart.any():
        return None
    known = np.isfinite(totals)[..., None]
    moved = np.array([kind.movement in ("ball", "step") for kind in donors.kinds])
    missing = np.isnan(values)[:, None, :] != np.isnan(once[near])
    count = max(1, int(known.sum()))
    mean = np.where(known, squares, 0.0).sum(axis=(0, 1)) / count
    gap = np.where(known & missing & moved, squares, 0.0).sum(axis=(0, 1)) / count
    return float(np.median(np.sqrt(totals[apart, 0]))), mean, gap


def _reaches(law: TableNeighbourhood, values: Floats) -> Floats:
    """The mean squared distance that a move of each site makes, over rows and their donors."""
    donors = law.donors.of(values)
    reaches = np.zeros(len(law.sites))
    for number, site in enumerate(law.sites):
        if site.movement != "edit":
            ends, weights = alternatives(law, values, donors, number)
            squares = law.squares(values[:, None, :], ends).sum(axis=-1)
            reaches[number] = float((squares @ weights).mean())
    return reaches


def _sites(kinds: tuple[ColumnKind, ...], gaps: Array) -> tuple[Site, ...]:
    """What moves as one: groups, single columns, and gaps of columns that can have them."""
    sites: list[Site] = []
    groups: dict[int, list[int]] = {}
    for column, kind in enumerate(kinds):
        if kind.movement == "redraw" and kind.group >= 0:
            groups.setdefault(kind.group, []).append(column)
        elif kind.movement != "ball":
            sites.append(Site((column,), kind.movement))
        if kind.movement in ("ball", "step") and gaps[column]:
            sites.append(Site((column,), "gap"))
    sites += [Site(tuple(columns), "redraw") for columns in groups.values()]
    return tuple(sites)


def _units(kinds: Sequence[ColumnKind], known: Floats) -> Floats:
    """Standard deviations of what is there; 1 for categories, NaN for what never varies."""
    units = np.ones(len(kinds))
    for column, kind in enumerate(kinds):
        present = known[np.isfinite(known[:, column]), column]
        gaps = len(present) < len(known)
        if kind.movement == "edit":
            continue
        spread = float(present.std()) if len(present) else 0.0
        varies = len(present) and spread > 1e-12 * float(np.abs(present).max())
        if not varies:
            units[column] = 1.0 if gaps and len(present) else np.nan
        elif kind.movement != "redraw" or kind.kind == "spiked":
            units[column] = spread
    return units


def _ends(kinds: Sequence[ColumnKind], values: Floats) -> tuple[Floats, Floats]:
    """Where steps and bounded numbers end: at what the reference has."""
    low, high = np.full(len(kinds), -np.inf), np.full(len(kinds), np.inf)
    for column, kind in enumerate(kinds):
        present = values[np.isfinite(values[:, column]), column]
        if kind.kind == "share":
            low[column] = 0.0
        elif len(present) and (kind.movement == "step" or kind.kind == "bounded"):
            low[column], high[column] = present.min(), present.max()
    return low, high


def _refuse_few(kinds: Sequence[ColumnKind], known: Floats, what: str) -> None:
    """Edits of texts need no other rows; all else is learnt from them."""
    if len(known) < FEWEST and any(kind.movement != "edit" for kind in kinds):
        raise PointsError(
            f"{len(known)} rows of the {what} cannot say how rows of this table differ: give "
            f"reference= (--reference) with at least {FEWEST} rows of data the model knows"
        )


def _refuse_infinity(kinds: Sequence[ColumnKind], values: Floats, what: str) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        names = [kinds[column].name for column in np.flatnonzero(infinite.any(axis=0)).tolist()]
        rows = np.flatnonzero(infinite.any(axis=1)).tolist()
        raise PointsError(
            f"infinity in the {what}, in column {shown(names)} of rows {shown(rows)}: drop or "
            "replace it, or hold the column still by naming the others in moving= (--moving)"
        )


def _series(data: Table | Array, names: Sequence[str]) -> dict[str, nw.Series]:
    if isinstance(data, nw.DataFrame):
        return {name: data[name] for name in names}
    columns = _floats(data)
    return {
        name: nw.new_series(name, columns[:, place], backend="pyarrow")
        for place, name in enumerate(names)
    }


def _floats(values: Array) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _sample(count: int, most: int, random: np.random.Generator) -> Integers:
    """So many of the rows at random, in their own order; all where there are no more."""
    if count <= most:
        return np.arange(count)
    return np.sort(random.choice(count, most, replace=False))


def _fingerprint(
    kinds: Sequence[ColumnKind], units: Floats, rows: Floats, ends: tuple[Floats, Floats]
) -> str:
    """A short text that is the same for the same law, as this version has it."""
    names = [[kind.name, kind.kind, kind.group] for kind in kinds]
    digest = blake2b(json.dumps([LAW, names]).encode(), digest_size=16)
    for numbers in (units, rows, *ends):
        digest.update(np.asarray(np.nan_to_num(numbers, nan=-1e300), dtype="<f8").tobytes())
    return digest.hexdigest()
