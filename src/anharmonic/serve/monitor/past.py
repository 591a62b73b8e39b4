"""What a page shows of the store: channels, alarms, the worst points, segments."""

from __future__ import annotations

from typing import TypedDict

from anharmonic.monitor.alarms import direction_word
from anharmonic.serve.monitor.history import Axis, Bucket, Series, read_curves
from anharmonic.serve.monitor.queries import AlarmRow, SegmentRow
from anharmonic.serve.monitor.summaries import UsualScores
from anharmonic.serve.monitor.views import View, named_point

__all__ = ["Past", "ShownAlarm", "is_small_end", "read_past", "shown_alarm"]

EVENTS_SHOWN = 20_000
"""How many events back the page looks."""
BUCKETS, ALARMS, WORST = 80, 20, 6
MOST_CHANNELS = 12
SMALL_IS_FRAGILE = ("confidence", "margin")
"""What is watched that is small where a model is fragile."""


class Shown(TypedDict):
    """What points are listed by, and which end of its values."""

    watched: str
    smallest: bool
    title: str


class Channel(Series):
    """One thing watched, as it is charted."""

    watched: str
    title: str
    small_end: bool
    alarmed: bool
    since: int | None
    log_evidence: float | None
    reference: UsualScores | None


class NamedSegment(SegmentRow):
    """A segment's summary with the name that the page shows."""

    name: str
    log_evidence: float | None


class ShownAlarm(AlarmRow):
    """An alarm with the word for its direction, and whether it stands."""

    change: str
    stands: bool


class Past(TypedDict):
    """What is read from the store."""

    model: str | None
    axis: Axis
    outside: int
    buckets: list[Bucket]
    steps: list[Bucket]
    channels: list[Channel]
    quiet_channels: int
    shown: Shown
    alarms: list[ShownAlarm]
    worst_since: int | None
    worst: list[dict[str, object]]
    segments: list[NamedSegment]


def read_past(view: View, axis: Axis) -> Past:
    """The last events of a monitor, in the order and the words of the page."""
    queries, last = view.queries, view.last
    after = max(0, last - EVENTS_SHOWN)
    alarms = queries.alarms(ALARMS)
    standing = queries.standing(ALARMS)
    cause = next((row for row in standing if row["watched"] in view.summary["watch"]), None)
    shown = _choose_shown(view, cause)
    first = view.summary["watch"][0]
    # The first thing watched has a column of its own in the store.
    watched = None if shown["watched"] == first else shown["watched"]
    since = cause["since"] if cause else standing[0]["since"] if standing else None
    begin = max(after, (since or 1) - 1)
    worst = queries.worst(WORST, begin, watched, shown["smallest"])
    names = _order_channels(view, standing)
    curves = read_curves(
        queries,
        view.summary["watch"],
        names[:MOST_CHANNELS],
        (after + 1, max(last, after + 1)),
        BUCKETS,
        axis,
        alone=len(names) == 1,
    )
    return {
        "model": None if view.live else view.name,
        "axis": axis,
        "outside": curves["outside"],
        "buckets": curves["buckets"],
        "steps": curves["steps"],
        "channels": [
            _channel(view, name, standing, curves["series"][name]) for name in names[:MOST_CHANNELS]
        ],
        "quiet_channels": max(0, len(names) - MOST_CHANNELS),
        "shown": shown,
        "alarms": [shown_alarm(row) for row in alarms],
        "worst_since": since,
        "worst": [{**row, "point": named_point(view.columns, row["point"])} for row in worst],
        "segments": _segments(view, after, watched),
    }


def shown_alarm(row: AlarmRow) -> ShownAlarm:
    """An alarm as pages show it."""
    stands = row["cleared"] is None
    return {**row, "change": direction_word(row["direction"]), "stands": stands}


def is_small_end(watched: str, alarm: AlarmRow | None) -> bool:
    """Whether the small end of its values is the one to look at.

    It is the end that the alarm's direction points to, and without an alarm the fragile one.
    """
    return alarm["direction"] == "down" if alarm else watched in SMALL_IS_FRAGILE


def _choose_shown(view: View, alarm: AlarmRow | None) -> Shown:
    """What points are listed by: what alarmed first, if it has values, else the first watched."""
    watched = alarm["watched"] if alarm else view.summary["watch"][0]
    smallest = is_small_end(watched, alarm)
    return {"watched": watched, "smallest": smallest, "title": _title(watched)}


def _title(watched: str) -> str:
    return watched[:1].upper() + watched[1:]


def _order_channels(view: View, standing: list[AlarmRow]) -> list[str]:
    """What alarmed, the first on top; then what is scored; then the rest by its evidence."""
    evidence, watch = view.evidence, view.summary["watch"]
    rest = sorted(
        (name for name in evidence if name not in watch), key=lambda name: -evidence[name]
    )
    # Labels raise alarms too, and have no scores to chart.
    charted = {*watch, *evidence}
    alarmed = [row["watched"] for row in standing if row["watched"] in charted]
    return list(dict.fromkeys([*alarmed, *watch, *rest]))


def _channel(view: View, name: str, standing: list[AlarmRow], series: Series) -> Channel:
    alarm = next((row for row in standing if row["watched"] == name), None)
    return {
        **series,
        "watched": name,
        "title": _title(name),
        "small_end": is_small_end(name, alarm),
        "alarmed": alarm is not None,
        "since": alarm["since"] if alarm else None,
        "log_evidence": view.evidence.get(name),
        "reference": view.summary["scores"].get(name),
    }


def _segments(view: View, after: int, watched: str | None) -> list[NamedSegment]:
    evidence = view.segment_evidence
    rows = view.queries.segments(after, watched)
    named: list[NamedSegment] = [
        {**row, "name": row["segment"], "log_evidence": evidence.get(row["segment"])}
        for row in rows
        if row["segment"]
    ]
    rest: list[NamedSegment] = [
        {**row, "name": "no segment", "log_evidence": None}
        for row in rows
        if not row["segment"] and named
    ]
    return [_all_traffic(rows, evidence.get(None)), *named, *rest] if rows else []


def _all_traffic(rows: list[SegmentRow], log: float | None) -> NamedSegment:
    """All traffic, from its segments as far as `rows` has them."""
    scored = sum(row["scored"] for row in rows)
    means = [row["scored"] * row["mean"] for row in rows if row["mean"] is not None]
    return {
        "segment": None,
        "name": "all",
        "points": sum(row["points"] for row in rows),
        "scored": scored,
        "mean": sum(means) / scored if scored else None,
        "largest": max((r["largest"] for r in rows if r["largest"] is not None), default=None),
        "smallest": min((r["smallest"] for r in rows if r["smallest"] is not None), default=None),
        "log_evidence": log,
    }
