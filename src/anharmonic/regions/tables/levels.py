"""The levels that cells are coded by, in an order that other rows do not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import narwhals.stable.v1 as nw

from anharmonic._core.columns import shown
from anharmonic._core.frames import in_order, missing_cells
from anharmonic.errors import SettingsError
from anharmonic.regions.tables.kinds import ColumnKind

__all__ = ["levels_of", "plain_cell"]


def levels_of(
    kind: ColumnKind, reference: nw.Series, points: nw.Series | None = None
) -> tuple[object, ...]:
    """A column's levels: the reference's, and behind them those that only the points have.

    Categories are in the order of their type or of their names, so that neither the rows' order
    nor the points change the reference's codes. Levels of an order keep it: what only the type of
    the points has stands there after the level that it follows.
    """
    known = _present(reference)
    if kind.kind == "ordered":
        order: list[object] = [plain_cell(level) for level in kind.order or in_order(reference)]
        strange = [str(level) for level in known if level not in order] if order else []
        if strange:
            raise SettingsError(
                f"column {kind.name} has {shown(strange)}, which its order does not name: put it "
                "where it belongs"
            )
        further = [] if points is None or kind.order else in_order(points)
        return tuple(_with_further(order or _sorted(known), map(plain_cell, further)))
    rank = {plain_cell(level): place for place, level in enumerate(in_order(reference))}
    further = [] if points is None else [level for level in _present(points) if level not in known]
    return (*_sorted(known, rank), *_sorted(further))


def plain_cell(cell: object) -> object:
    """A cell that can be looked up: what cannot be hashed by its text."""
    try:
        hash(cell)
    except TypeError:
        return str(cell)
    return cell


def _present(series: nw.Series) -> dict[object, None]:
    """The cells of a column once each; those that are missing are none."""
    # Of objects not all can be sorted or hashed by their library.
    cells = series if series.dtype == nw.Object else series.unique()
    gone = missing_cells(cells)
    return dict.fromkeys(
        plain_cell(cell)
        for cell, missing in zip(cells.to_list(), gone.tolist(), strict=True)
        if not missing
    )


def _sorted(levels: Iterable[object], rank: Mapping[object, int] | None = None) -> list[object]:
    """Levels by their rank, or else by name."""
    found: list[object] = list(levels)
    if rank:
        return sorted(found, key=lambda level: rank.get(level, len(rank)))
    try:
        return sorted(found)  # type: ignore[type-var]
    except TypeError:
        return sorted(found, key=lambda level: (type(level).__name__, str(level)))


def _with_further(order: list[object], further: Iterable[object]) -> list[object]:
    """An order with the levels of another one that it lacks, each after the one it follows there.

    >>> _with_further(["low", "high"], ["lowest", "low", "middle", "high"])
    ['lowest', 'low', 'middle', 'high']
    """
    merged, place = list(order), 0
    for level in further:
        if level not in merged:
            merged.insert(place, level)
        place = merged.index(level) + 1
    return merged
