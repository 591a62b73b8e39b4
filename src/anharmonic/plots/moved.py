"""Which columns of a table a model's answers move with: a bar for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from anharmonic._core.columns import titled
from anharmonic.errors import SettingsError
from anharmonic.plots.named import Several, named
from anharmonic.plots.style import LEGEND_BELOW, blank, finished, graph_objects, model_styles, short

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from anharmonic.scores import Scores

__all__ = ["moved_columns"]

MOST = 15
ROW, AROUND = 26, 150
"""Pixels of a column's bars, and of what is around them."""


def moved_columns(scores: Several, most: int = MOST) -> Figure:
    """How far answers move with each column of a table, of one model or several.

    Parameters
    ----------
    scores
        Of gamma, of rows that are not all numbers.
    most
        The most columns that are shown.
    """
    models: Mapping[str, Scores] = named(scores)
    moved = {name: its.along() for name, its in models.items()}
    first = next(iter(moved.values()))
    if not first:
        raise SettingsError(
            "all that moved is numbers, which move together: `contributions` tells them apart"
        )
    go = graph_objects()
    order = [column.name for column in first[:most]]
    kinds = {column.name: column.kind for column in first}
    styles = model_styles(models)
    traces = []
    for name, columns in moved.items():
        changes = {column.name: column.change for column in columns}
        shown = [column for column in order if column in changes]
        traces.append(
            go.Bar(
                y=[f"{short(titled(column))} ({kinds[column]})" for column in shown],
                x=[changes[column].value for column in shown],
                error_x={"array": [2 * changes[column].error for column in shown]},
                orientation="h",
                name=short(name),
                marker={"color": styles[name]["color"]},
                showlegend=len(models) > 1,
            )
        )
    figure = blank(traces)
    figure.update_layout(barmode="group", legend=LEGEND_BELOW)
    figure.update_yaxes(autorange="reversed", title=None)
    figure.update_xaxes(title="how much further the answer moves where the column moved")
    return finished(
        figure,
        "What answers move with",
        "Every neighbour moves some columns. A bar is how much longer the change of the answer is "
        "where a column moved than where it did not, with twice its error; the column with most "
        "weight, how often it moves counted in, stands first.",
        height=AROUND + ROW * len(order) * max(1, len(models)),
    )
