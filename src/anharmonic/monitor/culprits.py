"""Who carries the evidence: points, segments, features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core import tables
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.reductions import is_additive
from anharmonic._core.statistics import Moments
from anharmonic._core.streams import Stream
from anharmonic.measures.explain import contributions
from anharmonic.monitor.alarms import Alarm
from anharmonic.monitor.channels import Channel
from anharmonic.monitor.detector import Evidence
from anharmonic.monitor.rank_evidence import RankEvidence
from anharmonic.monitor.recent_points import RecentPoints, RecentRows
from anharmonic.monitor.rows import count_of, taken
from anharmonic.monitor.scorer import Scorer, Watched

__all__ = ["Culprits", "FeatureShare", "culprits_of", "usual_shares"]

SAMPLE = 64
"""Points whose features are looked at: the reference's at random, an alarm's the worst."""
MOST_FEATURES = 1000
"""Features beyond which none are looked at: each costs two queries per point."""


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

    Parameters
    ----------
    alarm
        Whose culprits they are.
    rows, scores, contributions : (rows,)
        Numbers in the stream, scores, and shares of the log evidence.
    points
        The rows' points, each a batch of one row; None where they were not at hand.
    segments
        Each segment's sum of contributions, over all rows since the change.
    features
        How much the model bends along each feature, beside the reference; where gamma is watched.
    queries
        What that took.
    """

    alarm: Alarm
    rows: Integers
    scores: Floats
    contributions: Floats
    points: list[Array]
    segments: dict[str, float]
    features: tuple[FeatureShare, ...]
    queries: int

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line per point, as the first installed of pandas, polars and pyarrow.

        Parameters
        ----------
        backend
            Which of them instead.
        """
        columns = {"row": self.rows, "score": self.scores, "contribution": self.contributions}
        return tables.frame(tables.arrow(columns, {"holds": "culprits"}), backend)

    def __repr__(self) -> str:
        rows = ", ".join(str(row) for row in self.rows[:5].tolist())
        names = ", ".join(share.name for share in self.features[:3] if share.growth > 0)
        return f"<culprits of {self.alarm}: rows {rows}{'; ' + names if names else ''}>"


def culprits_of(
    alarm: Alarm,
    channel: Channel,
    memory: RecentPoints,
    watched: int,
    count: int,
    scorer: Scorer | None,
    usual: tuple[Estimate, ...],
    values_of: Callable[[RecentRows], Floats | None] | None = None,
) -> Culprits:
    """Rank what is remembered since the estimated change.

    `watched` is the place, among all that is watched, of what the alarm is about; `scorer` is
    None where its features are not to be looked at, and `usual` (features,) their usual bends.
    `values_of` gives what the channel reads, (rows, streams), where that is not a score.
    """
    recent = memory.since(alarm.since, alarm.segment)
    if recent is not None and values_of is None:
        # Rows that were not scored say nothing of a score.
        recent = recent.take(np.flatnonzero(np.isfinite(recent.scores[watched])))
    if recent is None or not len(recent.rows):
        no_rows, no_values = np.empty(0, dtype=np.int64), np.empty(0)
        return Culprits(alarm, no_rows, no_values, no_values, [], {}, (), 0)
    scores = recent.scores[watched]
    values = scores if values_of is None else values_of(recent)
    if isinstance(channel, Evidence | RankEvidence) and values is not None:
        # What each row adds to the log evidence.
        shares = channel.contributions(values, alarm.direction)
    else:
        # A foreign detector has no evidence to share out: the distance from the median stands in.
        shares = np.abs(scores - np.median(scores))
    order = np.argsort(-shares, kind="stable")
    segments: dict[str, float] = {}
    if recent.segments is not None:
        for name in np.unique(recent.segments[recent.segments != ""]).tolist():
            segments[name] = float(shares[recent.segments == name].sum())
    features, queries = _feature_shares(scorer, recent.take(order[:SAMPLE]), usual)
    worst = order[:count]
    return Culprits(
        alarm,
        recent.rows[worst],
        scores[worst],
        shares[worst],
        recent.take(worst).points(),
        dict(sorted(segments.items(), key=lambda item: -item[1])),
        features,
        queries,
    )


def usual_shares(
    scorer: Scorer, reference: Array, watch: dict[str, Watched], seed: int
) -> tuple[tuple[Estimate, ...], int]:
    """Each feature's mean bend in the reference (features,), and the queries that took."""
    if "gamma" not in watch.values() or not _explainable(scorer):
        return (), 0
    count = count_of(reference)
    sample = np.sort(generator(seed, Stream.CULPRITS_SAMPLE).permutation(count)[:SAMPLE])
    return _mean_bends(scorer, [taken(reference, sample)])


def _explainable(scorer: Scorer) -> bool:
    """Whether gamma is a sum over few features."""
    return is_additive(scorer.reduction) and len(scorer.columns) <= MOST_FEATURES


def _feature_shares(
    scorer: Scorer | None, worst: RecentRows, usual: tuple[Estimate, ...]
) -> tuple[tuple[FeatureShare, ...], int]:
    points = [point for point in worst.points() if point is not None]
    if scorer is None or not usual or not points:
        return (), 0
    now, queries = _mean_bends(scorer, points)
    shares = [FeatureShare(*values) for values in zip(scorer.columns, now, usual, strict=True)]
    return tuple(sorted(shares, key=lambda share: -share.growth)), queries


def _mean_bends(scorer: Scorer, batches: Sequence[Array]) -> tuple[tuple[Estimate, ...], int]:
    """The mean size of each feature's second difference over some points."""
    results = [
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
    # |f(x) − (f(x + r·eᵢ) + f(x − r·eᵢ))/2|/n, (points, features), averaged to (features,).
    moments = Moments.of(np.abs(np.concatenate([result.values for result in results])))
    means = tuple(
        Estimate(float(mean), float(error))
        for mean, error in zip(moments.mean, np.atleast_1d(moments.error), strict=True)
    )
    return means, sum(result.queries for result in results)
