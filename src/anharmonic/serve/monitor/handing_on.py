"""An alarm and a point as pages to hand on: what changed, since when, and the rows behind it."""

from __future__ import annotations

from typing import Any, TypedDict

from anharmonic.monitor.performance_watch import PERFORMANCE
from anharmonic.serve.monitor.history import Curves, read_curves
from anharmonic.serve.monitor.past import ShownAlarm, is_small_end, shown_alarm
from anharmonic.serve.monitor.queries import AlarmRow, EventRow, LabelRow, SegmentRow
from anharmonic.serve.monitor.records import Cell, LabelValue
from anharmonic.serve.monitor.short import short
from anharmonic.serve.monitor.summaries import UsualScores, UsualValues
from anharmonic.serve.monitor.views import View, named_point

__all__ = ["AlarmPage", "PointPage", "read_alarm", "read_point"]

ROWS, BUCKETS = 20, 60
AROUND = 200
"""Events before the change and after the alarm that are charted at least."""


class CarryingRow(TypedDict):
    """A row that carries an alarm: its value of what alarmed, and its label if known."""

    id: str
    sequence: int
    time: float
    received: float
    segment: str | None
    value: float | None
    label: LabelValue | None


class AlarmPage(TypedDict):
    """All that is known of an alarm; `began` is the time of the event that it began near.

    One that labels raised is `by_labels`: it has neither curves of its own nor rows that carry it.
    """

    by_labels: bool
    model: str
    version: str
    alarm: ShownAlarm
    began: float | None
    rows: list[CarryingRow]
    rows_by: str
    segments: list[SegmentRow]
    reference: UsualScores | None
    curves: Curves


class PointValue(TypedDict):
    """A cell beside what is usual for its column."""

    name: str
    value: Cell
    usual: str
    unusual: bool


class PointPage(TypedDict):
    """All that is known of an event."""

    model: str
    version: str
    event: EventRow
    scores: dict[str, float | None]
    values: list[PointValue]
    label: LabelRow | None


def read_alarm(view: View, id: str) -> AlarmPage | None:
    """An alarm with the rows and segments since it began; None where there is none."""
    alarm = view.queries.alarm(id)
    if alarm is None:
        return None
    status, watch, watched = view.status(), view.summary["watch"], alarm["watched"]
    column = None if watched == watch[0] else watched
    rows, rows_by = _carrying_rows(view, alarm, column)
    labels = view.queries.labels([row["id"] for row in rows])
    values: list[Any] = list(rows)
    around = max(AROUND, alarm["sequence"] - alarm["since"] + 1)
    span = (max(1, alarm["since"] - around), min(view.last, alarm["sequence"] + around))
    alone = set(watch) | set(view.evidence) == {watched}
    return {
        "by_labels": watched == PERFORMANCE,
        "model": status["model"],
        "version": status["version"],
        "alarm": shown_alarm(alarm),
        "began": _time_of(view, alarm["since"]),
        "rows": [
            {
                "id": row["id"],
                "sequence": row["sequence"],
                "time": row["time"],
                "received": row["received"],
                "segment": row["segment"],
                "value": row["value"],
                "label": labels.get(row["id"]),
            }
            for row in values
        ],
        "rows_by": rows_by,
        "segments": _segments(view, alarm, column) if watched in watch else [],
        "reference": view.summary["scores"].get(watched),
        "curves": read_curves(
            view.queries,
            watch,
            [watched],
            span,
            BUCKETS,
            alone=alone,
            segment=alarm["segment"],
        ),
    }


def _time_of(view: View, sequence: int) -> float | None:
    """An event's own time; None where it is no longer kept."""
    for row in view.queries.scores(sequence - 1, 1):
        return row["time"] if row["sequence"] == sequence else None
    return None


def _carrying_rows(view: View, alarm: AlarmRow, column: str | None) -> tuple[list[EventRow], str]:
    """The rows between its beginning and the alarm whose values speak most for it."""
    queries, watched = view.queries, alarm["watched"]
    begin, end, segment = alarm["since"] - 1, alarm["sequence"], alarm["segment"]
    if watched == PERFORMANCE:
        return [], ""
    if watched not in view.summary["watch"]:
        return queries.newest(ROWS, end, segment), "the latest before the alarm"
    small, usual = is_small_end(watched, alarm), view.summary["scores"].get(watched)
    if alarm["direction"] not in ("up", "down") and usual is not None:
        rows = queries.worst(ROWS, begin, column, last=end, segment=segment, far_from=usual["mean"])
        return rows, f"{watched} farthest from the reference's mean"
    rows = queries.worst(ROWS, begin, column, small, last=end, segment=segment)
    return rows, f"the {'smallest' if small else 'largest'} {watched}"


def _segments(view: View, alarm: AlarmRow, column: str | None) -> list[SegmentRow]:
    """Segments since it began, those first that moved most in all; none where there are none."""
    rows = view.queries.segments(alarm["since"] - 1, column, last=alarm["sequence"])
    if all(row["segment"] is None for row in rows):
        return []
    usual = view.summary["scores"].get(alarm["watched"])
    mean = usual["mean"] if usual else 0.0
    sign = -1.0 if alarm["direction"] == "down" else 1.0

    def moved(row: SegmentRow) -> float:
        shift = sign * ((row["mean"] if row["mean"] is not None else mean) - mean)
        return row["scored"] * (shift if alarm["direction"] in ("up", "down") else abs(shift))

    return sorted(rows, key=moved, reverse=True)


def read_point(view: View, id: str) -> PointPage | None:
    """An event with its values beside the usual ones; None where there is none."""
    event = view.queries.point(id)
    if event is None:
        return None
    status = view.status()
    usual = view.summary["columns"]
    point = named_point(view.columns, event["point"])
    return {
        "model": status["model"],
        "version": status["version"],
        "event": event,
        "scores": {view.summary["watch"][0]: event["score"], **(event["others"] or {})},
        "values": [_beside_usual(name, value, usual.get(name)) for name, value in point.items()],
        "label": view.queries.label(id),
    }


def _beside_usual(name: str, value: Cell, usual: UsualValues | None) -> PointValue:
    words, unusual = ("", False) if usual is None else _usual_words(value, usual)
    return {"name": name, "value": value, "usual": words, "unusual": unusual}


def _usual_words(value: Cell, usual: UsualValues) -> tuple[str, bool]:
    """What is usual for a column, in words, and whether this value is not."""
    missing = usual["missing"]
    if value is None:
        return f"missing in {missing:.1%} of the reference", missing < 0.05
    if usual["kind"] == "number":
        if "middle" not in usual:
            return "never there in the reference", True
        words = f"{short(usual['middle'])} ({short(usual['low'])} to {short(usual['high'])})"
        outside = isinstance(value, int | float) and not usual["low"] <= value <= usual["high"]
        return words, outside
    share = usual["shares"].get(str(value))
    if share is not None:
        return f"in {share:.1%} of the reference", share < 0.01
    if usual["levels"] > len(usual["shares"]):
        return f"not among the {len(usual['shares'])} commonest values", True
    return "never in the reference", True
