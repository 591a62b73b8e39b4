"""A kind for each column: the one that was told, or the one that it looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import narwhals.stable.v1 as nw

from anharmonic._core.columns import shown
from anharmonic._core.frames import dense, in_order
from anharmonic.errors import SettingsError
from anharmonic.regions.tables.groups import grouped_one_hot, within_bounds
from anharmonic.regions.tables.kinds import KINDS, ColumnKind, Kinds
from anharmonic.regions.tables.looking import looks_like, unchangeable

__all__ = ["ChosenKinds", "choose_kinds"]

NUMBERS = ("number", "bounded", "share", "whole", "spiked")
"""Kinds that only numbers can be."""


class ChosenKinds(NamedTuple):
    """What each column is, and the columns that have no kind to move by, such as names."""

    kinds: tuple[ColumnKind, ...]
    held: tuple[str, ...]


def choose_kinds(
    columns: Mapping[str, nw.Series], told: Kinds | None, arrays: bool = False
) -> ChosenKinds:
    """A kind for each column, from the reference's cells; what was told stays.

    In `arrays` all columns are numbers, unless told otherwise: they have no types of their own.
    """
    told = told or {}
    unknown = [name for name in told if name not in columns]
    if unknown:
        raise SettingsError(
            f"kinds= names {shown(unknown)}, and the columns that move are "
            f"{shown(list(columns))}: mend the name, or let it move with moving="
        )
    columns = {name: dense(series) for name, series in columns.items()}
    kinds, held = [], []
    for name, series in columns.items():
        if name in told:
            kinds.append(_told_kind(name, told[name]))
            if not arrays:
                _refuse_others(kinds[-1], series)
            continue
        kind = "number" if arrays else looks_like(series)
        if kind is None:
            held.append(name)
        else:
            kinds.append(ColumnKind(name, kind))
    chosen = tuple(kinds)
    if not arrays:
        chosen = grouped_one_hot(chosen, columns, told)
        if any(kind.kind != "number" for kind in chosen):
            chosen = within_bounds(chosen, columns, told)
    return ChosenKinds(chosen, tuple(held))


def _told_kind(name: str, given: object) -> ColumnKind:
    """What somebody said of a column."""
    if callable(given):
        return ColumnKind(name, "own", change=given)
    if isinstance(given, list | tuple):
        levels = tuple(given)
        plain = all(isinstance(level, str | int | float) for level in levels)
        if len(set(levels)) < max(2, len(levels)) or not plain:
            raise SettingsError(
                f"column {name} cannot be in the order {given!r}: name each of its levels once, "
                f'from the least to the largest, such as {{"{name}": ["S", "M", "L"]}}'
            )
        return ColumnKind(name, "ordered", order=levels)
    if given not in KINDS:
        raise SettingsError(
            f"column {name} cannot be {given!r}: choose one of {', '.join(KINDS)}, or give its "
            "levels in order, or a function of a cell and a generator"
        )
    return ColumnKind(name, str(given))


def _refuse_others(kind: ColumnKind, series: nw.Series) -> None:
    """Refuse a kind that a column of the reference cannot be."""
    objection = _objection(kind, series)
    if objection:
        raise SettingsError(
            f"column {kind.name} cannot be {kind.kind!r}: it holds {series.dtype}, {objection}"
        )


def _objection(kind: ColumnKind, series: nw.Series) -> str:
    """Why a column's cells cannot be moved as a kind is; empty where they can."""
    dtype = series.dtype
    numbers = dtype.is_numeric() or dtype == nw.Boolean
    if kind.kind == "own":
        return ""
    if unchangeable(series):
        return "which only a function of a cell and a generator can change: give one"
    if kind.kind in NUMBERS and not numbers:
        return 'which is no number: make it one first, or say "category"'
    if kind.kind == "date" and (not dtype.is_temporal() or dtype == nw.Time):
        return "which is no date: make it one first, as pandas.to_datetime does"
    if kind.kind == "text" and (numbers or dtype.is_temporal()):
        return "which is no text: make it one first, or give a function"
    if kind.order and numbers:
        return 'whose order is its own: say "ordered"'
    unordered = kind.kind == "ordered" and not (kind.order or in_order(series))
    if unordered and any(isinstance(cell, str) for cell in series.to_list()):
        levels = f'kinds={{"{kind.name}": ["S", "M", "L"]}}'
        return f"whose order nobody knows: give the levels from the least up, as in {levels}"
    return ""
