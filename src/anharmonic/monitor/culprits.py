"""Who carries the evidence: points, segments, features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core import tables
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.reductions import is_additive
from anharmonic._core.statistics import Moments
from anharmonic._core.streams import Stream
from anharmonic.measures.explain import contributions
from anharmonic.monitor.alarms import Alarm
from anharmonic.monitor.channels import Channel
from anharmonic.monitor.detector import Evidence
from anharmonic.monitor.recent_points import Memory, Recalled
from anharmonic.monitor.rows import count_of, taken
from anharmonic.monitor.scorer import Scorer, Watched

__all__ = ["Culprits", "FeatureShare", "culprits_of", "usual_shares"]

ASKED = 64
MOST_FEATURES = 1000


class FeatureShare(NamedTuple):
    """How much a feature's bend has grown: its mean size among the culprits and as usual."""

    name: str
    now: Estimate
    usual: Estimate

    @property
    def growth(self) -> float:
        return self.now.value - self.usual.value


@dataclass(frozen=True)
class Culprits:
    """The rows, segments and features that carry an alarm's evidence, largest first.

    `contributions` (rows,) are the rows' shares of the log evidence; `segments` sums them up.
    """

    alarm: Alarm
    rows: Integers
    scores: Floats
    contributions: Floats
    points: list[Any]
    segments: dict[str, float]
    features: tuple[FeatureShare, ...]
    queries: int

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line a point, as the first installed of pandas, polars and pyarrow, or as told."""
        columns = {"row": self.rows, "score": self.scores, "contribution": self.contributions}
        return tables.frame(tables.arrow(columns, {"holds": "culprits"}), backend)

    def __repr__(self) -> str:
        listed = ", ".join(str(row) for row in self.rows[:5].tolist())
        named = ", ".join(share.name for share in self.features[:3] if share.growth > 0)
        return f"<culprits of {self.alarm}: rows {listed}{'; ' + named if named else ''}>"


def culprits_of(
    alarm: Alarm,
    channel: Channel,
    memory: Memory,
    place: int,
    count: int,
    scorer: Scorer | None,
    usual: tuple[Estimate, ...],
) -> Culprits:
    """Rank what is remembered since the estimated change."""
    found = memory.since(alarm.since, alarm.segment)
    nothing = np.empty(0)
    if found is None or not len(found.rows):
        none = np.empty(0, dtype=np.int64)
        return Culprits(alarm, none, nothing, nothing, [], {}, (), 0)
    scores = found.scores[place]
    if isinstance(channel, Evidence):
        shares = channel.contributions(scores, alarm.direction)
    else:
        shares = np.abs(scores - np.median(scores))
    order = np.argsort(-shares, kind="stable")
    segments: dict[str, float] = {}
    if found.segments is not None:
        for name in np.unique(found.segments).tolist():
            segments[name] = float(shares[found.segments == name].sum())
    features, queries = _features(scorer, found.some(order[:ASKED]), usual)
    worst = order[:count]
    return Culprits(
        alarm,
        found.rows[worst],
        scores[worst],
        shares[worst],
        found.some(worst).points(),
        dict(sorted(segments.items(), key=lambda item: -item[1])),
        features,
        queries,
    )


def usual_shares(
    scorer: Scorer, reference: Any, watch: dict[str, Watched], seed: int
) -> tuple[tuple[Estimate, ...], int]:
    """Each feature's mean bend in the reference, and the queries that took."""
    if "gamma" not in watch.values() or not _explainable(scorer):
        return (), 0
    count = count_of(reference)
    few = np.sort(generator(seed, Stream.CULPRITS_SAMPLE).permutation(count)[:ASKED])
    return _bends(scorer, [taken(reference, few)])


def _explainable(scorer: Scorer) -> bool:
    return is_additive(scorer.reduction) and len(scorer.columns) <= MOST_FEATURES


def _features(
    scorer: Scorer | None, worst: Recalled, usual: tuple[Estimate, ...]
) -> tuple[tuple[FeatureShare, ...], int]:
    points = [point for point in worst.points() if point is not None]
    if scorer is None or not usual or not points:
        return (), 0
    now, queries = _bends(scorer, points)
    shares = [FeatureShare(*each) for each in zip(scorer.columns, now, usual, strict=True)]
    return tuple(sorted(shares, key=lambda share: -share.growth)), queries


def _bends(scorer: Scorer, batches: list[Any]) -> tuple[tuple[Estimate, ...], int]:
    """The mean size of each feature's second difference over some points."""
    found = [
        contributions(
            scorer.model,
            scorer.region(batch),
            radius=scorer.radius,
            scale=scorer.units,
            reduction=scorer.reduction,
            bounds=scorer.bounds,
            batch_size=scorer.batch_size,
        )
        for batch in batches
    ]
    moments = Moments.of(np.abs(np.concatenate([each.values for each in found])))
    means = tuple(
        Estimate(float(mean), float(error))
        for mean, error in zip(moments.mean, np.atleast_1d(moments.error), strict=True)
    )
    return means, sum(each.queries for each in found)
