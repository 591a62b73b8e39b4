"""The page about a replayed stream: what would have been raised, when, and by which points."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from anharmonic._core.estimate import Estimate
from anharmonic._core.extras import require
from anharmonic._core.files import write_text_whole
from anharmonic._core.statistics import Moments
from anharmonic.monitor import Alarm, Culprits, Replay
from anharmonic.plots.streams import evidence_curve, score_curve
from anharmonic.report.figures import section_of
from anharmonic.report.rendering import rendered
from anharmonic.report.words import Headline

__all__ = ["write_replay"]

MOST = 50
CAUTION = (
    "No labels were used. An alarm says that what is watched has changed, not that the model is "
    "wrong."
)
LABELLED = (
    "Labels were used for performance: an alarm about it says that the model does worse, any other "
    "that what is watched has changed, not that the model is wrong."
)


class AlarmRow(NamedTuple):
    """An alarm in the table."""

    what: str
    where: str
    at: str
    since: str
    time: str


class Explained(NamedTuple):
    """What carries an alarm: points, segments, features."""

    title: str
    points: list[tuple[str, str, str]]
    segments: list[tuple[str, str]]
    features: list[tuple[str, str, str]]


def write_replay(
    path: str | os.PathLike[str],
    replay: Replay,
    *,
    title: str | None = None,
    command: str | None = None,
) -> Path:
    """Write one self-contained HTML file about a replayed stream and return its path.

    Parameters
    ----------
    path
        Where it goes; replaced whole or not at all.
    replay
        From `monitor.replay`.
    title
        What stands on top; the model and the number of points if not told.
    command
        The line that made it, to be shown.
    """
    require("report")
    pictures = [section_of("evidence", [evidence_curve(replay)])]
    pictures += [
        section_of(f"score-{index}", [score_curve(replay, name)])
        for index, name in enumerate(replay.scores)
    ]
    page = rendered(
        "replay.html",
        pictures,
        title=title or f"{replay.settings.model} over {len(replay):,} points",
        headline=Headline(_lead(replay), [LABELLED if replay.labels_used else CAUTION]),
        facts=_facts(replay),
        alarms=[_row(replay, alarm) for alarm in replay.alarms[:MOST]],
        more=max(0, len(replay.alarms) - MOST),
        explained=[_explained(culprits) for culprits in replay.culprits],
        timed=replay.times is not None,
        restarted=replay.restarted,
        command=command,
    )
    return write_text_whole(path, page)


def _lead(replay: Replay) -> str:
    if not replay.alarms:
        return "Nothing to raise."
    count = len(replay.alarms)
    return f"{count} alarm{'s' if count > 1 else ''}. The first: {replay.alarms[0]}."


def _facts(replay: Replay) -> list[tuple[str, str]]:
    means = []
    for name, scores in replay.scores.items():
        usual = Moments.of(replay.reference[name])
        # A point that was not scored is NaN, which does not equal itself.
        now = Moments.of(scores[scores == scores])
        means.append(
            (
                f"mean {name}, reference → stream",
                f"{Estimate(float(usual.mean), float(usual.error))} → "
                f"{Estimate(float(now.mean), float(now.error))}",
            )
        )
    skipped = ", ".join(f"{count:,} {why}" for why, count in replay.skipped.items())
    averaged = ", ".join(f"{name}: {block:,}" for name, block in replay.blocks.items())
    radius = replay.settings.radius
    return [
        *means,
        ("points scored", f"{replay.scored:,} of {len(replay):,}"),
        ("not scored", skipped or "none"),
        ("reference", f"{replay.settings.reference:,} points"),
        ("false alarms allowed", replay.promise),
        ("scores averaged before each bet", averaged),
        ("radius, in scaled units", "none" if radius is None else f"{radius:.4g}"),
        ("queries", f"{replay.queries:,} ({replay.settings.queries_per_row} per point)"),
    ]


def _row(replay: Replay, alarm: Alarm) -> AlarmRow:
    return AlarmRow(
        f"{alarm.watched} {alarm.change}",
        "all traffic" if alarm.segment is None else alarm.segment,
        f"{alarm.at:,}",
        f"{alarm.since:,}",
        replay.time_of(alarm),
    )


def _explained(culprits: Culprits) -> Explained:
    columns = zip(culprits.rows, culprits.scores, culprits.contributions, strict=True)
    return Explained(
        str(culprits.alarm),
        [(f"{row:,}", f"{score:.4g}", f"{share:+.3g}") for row, score, share in columns],
        [(name, f"{share:+.3g}") for name, share in list(culprits.segments.items())[:8]],
        [(share.name, str(share.usual), str(share.now)) for share in culprits.features[:6]],
    )
