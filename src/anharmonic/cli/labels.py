"""What commands with `--labels` share: a column of the data that is true, and never a feature."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from anharmonic.cli.groups import PointOptions
from anharmonic.cli.parsing import chosen, column_of, given_data, split

if TYPE_CHECKING:
    from anharmonic._core.protocols import Array

__all__ = ["Labels", "labels_of", "without_labels"]

Labels = Annotated[
    str | None, typer.Option(help="The column with the labels, which is never a feature.")
]


def without_labels(points: PointOptions, labels: str | None) -> PointOptions:
    """The same points and reference without the column of labels.

    Parameters
    ----------
    points
        The options, whose `--drop` may name more.
    labels
        The column, if there is one.
    """
    if labels is None:
        return points
    return dataclasses.replace(points, drop=",".join([*(split(points.drop) or []), labels]))


def labels_of(points: PointOptions, labels: str | None) -> Array | None:
    """The labels, one per row of the points; None where no column was named.

    Parameters
    ----------
    points
        The options with `--data`.
    labels
        The column.
    """
    if labels is None:
        return None
    from anharmonic._core.files import read_data

    path = given_data(points.data)
    return column_of(chosen(read_data(path), labels, None, path), labels)
