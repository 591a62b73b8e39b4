"""What pages need of a monitor besides its events: what is usual in its reference.

It is stored with the monitor, so that a process that only has the store can show it too.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypedDict

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic.monitor import Monitor
from anharmonic.regions import unmoved
from anharmonic.serve.monitor.row_schema import RowSchema

__all__ = ["Summary", "UsualScores", "UsualValues", "read_summary", "summarise"]

MOST_COLUMNS = 2_000
"""Columns whose usual values are kept; wider rows (images, say) have none."""
MOST_LEVELS = 20
MOST_CHARACTERS = 200


class UsualScores(TypedDict):
    """Mean and spread of the reference's own scores."""

    mean: float
    deviation: float


class UsualValues(TypedDict, total=False):
    """A column in the reference: 5th, 50th and 95th percentile, or the commonest values."""

    kind: str
    missing: float
    low: float
    middle: float
    high: float
    shares: dict[str, float]
    levels: int


class Summary(TypedDict):
    """What is usual, and the line that evidence must reach."""

    watch: list[str]
    threshold: float
    promise: str
    scores: dict[str, UsualScores]
    columns: dict[str, UsualValues]


def read_summary(text: str | None) -> Summary | None:
    """What `summarise` wrote; None where a store has none yet."""
    summary: Summary | None = None if text is None else json.loads(text)
    return summary


def summarise(monitor: Monitor, reference: object, row_schema: RowSchema) -> Summary:
    """The summary of a monitor that was fitted on `reference`."""
    return {
        "watch": list(monitor.watch),
        "threshold": float(monitor.threshold),
        "promise": str(monitor.promise),
        "scores": {
            name: {"mean": float(np.mean(scores)), "deviation": float(np.std(scores))}
            for name, scores in monitor.reference.items()
            if np.size(scores) and np.isfinite(scores).all()
        },
        "columns": _usual_columns(reference, row_schema),
    }


def _usual_columns(reference: object, row_schema: RowSchema) -> dict[str, UsualValues]:
    if len(row_schema.columns) > MOST_COLUMNS:
        return {}
    region = unmoved(reference)
    if not region.is_table:
        flat = to_numpy64(region.source).reshape(-1, len(row_schema.columns))
        return {name: _usual_numbers(flat[:, i]) for i, name in enumerate(row_schema.columns)}
    usual: dict[str, UsualValues] = {}
    for name, numeric in zip(row_schema.columns, row_schema.numeric, strict=True):
        column: Any = region.source[name]
        usual[name] = (
            _usual_numbers(column.cast(nw.Float64()).to_numpy())
            if numeric
            else _usual_texts(column.to_list())
        )
    return usual


def _usual_numbers(values: Any) -> UsualValues:
    finite = values[np.isfinite(values)]
    missing = 1 - len(finite) / max(1, len(values))
    if not len(finite):
        return {"kind": "number", "missing": missing}
    low, middle, high = np.quantile(finite, (0.05, 0.5, 0.95)).tolist()
    return {"kind": "number", "missing": missing, "low": low, "middle": middle, "high": high}


def _usual_texts(values: list[Any]) -> UsualValues:
    counts: dict[str, int] = {}
    for value in values:
        if value is not None and not (isinstance(value, float) and math.isnan(value)):
            name = str(value)[:MOST_CHARACTERS]
            counts[name] = counts.get(name, 0) + 1
    total = max(1, len(values))
    commonest = sorted(counts, key=lambda name: (-counts[name], name))[:MOST_LEVELS]
    return {
        "kind": "text",
        "missing": 1 - sum(counts.values()) / total,
        "levels": len(counts),
        "shares": {name: counts[name] / total for name in commonest},
    }
