"""Rows of a source: an audit asks at some thousands at most, so it draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from anharmonic.errors import SettingsError
from anharmonic.measures.streaming.placing import Frames
from anharmonic.sources import Dataset, Source

__all__ = ["DRAWN", "Drawn", "draw"]

DRAWN = 20_000
"""Rows of a source that are looked at, at most."""


class Drawn(NamedTuple):
    """Rows in memory, their labels if they have any, and how many rows the source has."""

    rows: object
    labels: object
    of: int | None = None


def draw(
    points: object,
    labels: object,
    seed: int,
    *,
    must: bool = True,
    wanted: Sequence[str] = (),
) -> Drawn:
    """Points and labels as they came; of a source a sample, its labels by the column's name.

    Parameters
    ----------
    points, labels
        What the user gave.
    seed
        Of the sample.
    must
        Whether a source without the column of labels is refused.
    wanted
        Columns that the model takes by name: what folders say is read where it is one.
    """
    if not isinstance(points, Source):
        if isinstance(labels, str):
            raise SettingsError(
                f"labels {labels!r}: a column's name is for sources; give the labels themselves, "
                "and rows without them"
            )
        return Drawn(points, labels)
    if labels is not None and not isinstance(labels, str):
        raise SettingsError("labels of a source are one of its columns: give the column's name")
    dataset = _opened(points, labels, seed, wanted)
    if labels is not None and labels not in dataset.columns:
        if must:
            raise SettingsError(f"{points} has no column {labels}: give the column of the labels")
        labels = None
    table: Any = dataset.sample(DRAWN, seed).table
    if labels is None:
        return Drawn(Frames.like(table).frame(table), None, len(dataset))
    known = table[labels].to_numpy(zero_copy_only=False)
    cells = table.drop_columns([labels])
    return Drawn(Frames.like(cells).frame(cells), known, len(dataset))


def _opened(source: Source, labels: str | None, seed: int, wanted: Sequence[str]) -> Dataset:
    """The source with its column of labels, whatever else it leaves out."""
    if labels is None:
        return source.open(seed=seed, wanted=wanted)
    drop = tuple(name for name in source.drop if name != labels)
    with_labels = replace(source, drop=drop)
    if source.columns is not None and labels not in source.columns:
        wider = replace(with_labels, columns=(*source.columns, labels))
        whole = replace(with_labels, columns=None).open(seed=seed, wanted=wanted)
        return (wider if labels in whole.columns else source).open(seed=seed, wanted=wanted)
    return with_labels.open(seed=seed, wanted=wanted)
