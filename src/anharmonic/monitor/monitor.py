"""`Monitor`: a model's scores on a stream, watched for drift without labels."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anharmonic import models
from anharmonic._core import tables
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.reductions import Reduction
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.over_data.asking import BALL
from anharmonic.monitor import storing
from anharmonic.monitor.alarms import Alarm, Observation, points_per_alarm
from anharmonic.monitor.allowance import Allowance
from anharmonic.monitor.channels import Channel, DetectorFactory
from anharmonic.monitor.culprits import Culprits, culprits_of, usual_shares
from anharmonic.monitor.evidence_tracker import EvidenceTracker
from anharmonic.monitor.fitting import fitted_channels
from anharmonic.monitor.input_evidence import FittedInputs
from anharmonic.monitor.memorising import memorisation_warning
from anharmonic.monitor.monitor_settings import MonitorSettings
from anharmonic.monitor.performance_watch import (
    PERFORMANCE,
    Labelled,
    PerformanceWatch,
    fit_performance_watch,
)
from anharmonic.monitor.recent_points import RecentRows
from anharmonic.monitor.rows import (
    Segmenting,
    as_rows,
    count_of,
    rows_of,
    segments_of,
    spread_over,
    taken,
)
from anharmonic.monitor.scorer import (
    INPUTS,
    PREDICTION,
    Scorer,
    Watch,
    Watched,
    chosen_watch,
    usual_watch,
)
from anharmonic.monitor.scorer_fitting import (
    DIRECTIONS,
    fit_scorer,
    inputs_of,
    measure_reference,
)
from anharmonic.monitor.windows import WindowArguments, Windows, windows_of
from anharmonic.performance import Curve, Fall, Groups, Performance
from anharmonic.regions.tables import Kinds

__all__ = ["Monitor"]


class Monitor(EvidenceTracker):
    """Watches what a model does on a stream of points; labels are never needed.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    reference, quiet
        Points from a quiet time, in their own order if they have one. Not those that the model
        was trained on: it is surer of these, so that all traffic looks like a change. Both names
        say the same.
    radius, moving, kinds, output, reduction, scale, bounds, batch_size, seed
        As in `gamma`; for "gamma data", `moving` names the columns that make rows alike.
    false_alarms
        How many are allowed, among scored points: "1 per 100000" means that
        P(alarm within T scored points) ≤ T/100000 while nothing changes, with everything that
        is watched taken together. It rests on bounds from the reference.
    segment
        A column, or a function from points to labels. Segments share one allowance of false
        alarms, all traffic has another.
    watch
        "inputs" (every column's values, gaps and levels, and whole rows; no query), "prediction",
        "confidence", "margin" (one query for all of them), "gamma", "flip" (the chance that 25
        random steps change the decision), "gamma data" (how far an answer is from the weighted
        mean of the reference's: one query, and any columns), a function from points to numbers,
        several of these, or a mapping of names to them. Each has evidence of its own. "auto" is
        gamma, inputs, prediction and, where the model has classes, confidence.
    score
        How much is scored: a fraction, "5000 queries per second", "20% of the time".
    confidence
        That all bounds from the reference hold together.
    block
        Scores averaged before each bet; "auto" by the reference's own autocorrelation, at least 1.
    promise
        Where the reference's own order shows that scores depend on each other over more than it
        can speak for, no rate can be promised. That is an error, which says how many points are
        needed; False goes on without, and says so in `promise`, in `repr` and with each alarm.
    detector
        "ranks": exact for any reference; "evidence", that of 0.1.0: bets against bounds from the
        reference; or a function from the reference's scores to anything with
        `update(value) -> bool`, such as `monitor.river("ADWIN")`.
    directions
        The most neighbours per point.
    memory
        The latest rows kept for `culprits`, `columns`, `to_label` and `groups`, and how many rows
        wait for a label: one that comes later is not used.
    labels : (rows,)
        The reference's: then `performance` says how accurate the model is on the stream, without
        labels or with few and late ones.
    window
        Rows per window of the performance curve.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> wave = lambda x: np.sin(3 * x[:, 0]) * (x[:, 0] > 0)
    >>> watch = Monitor(wave, random.normal(size=(2000, 2)) - 1, radius=0.3)
    >>> watch.update(random.normal(size=(2000, 2)) - 1).alarm
    False
    >>> watch.update(random.normal(size=(500, 2))).alarm
    True
    >>> sorted({alarm.watched for alarm in watch.alarms})
    ['gamma', 'inputs', 'prediction']
    >>> print(next(alarm for alarm in watch.alarms if alarm.watched == "inputs").carriers[0])
    0 rose by about 0.73 sd

    References
    ----------
    Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for sequential change
    detection" (2023), https://arxiv.org/abs/2203.03532
    """

    def __init__(
        self,
        model: object,
        reference: Array = None,
        *,
        quiet: Array = None,
        radius: float | Literal["auto"] = "auto",
        false_alarms: str | float = "1 per 100000",
        segment: Segmenting = None,
        watch: Watch = "auto",
        score: float | str = 1.0,
        seed: int = 0,
        confidence: float = 0.9,
        block: int | Literal["auto"] = "auto",
        promise: bool = True,
        detector: Literal["ranks", "evidence"] | DetectorFactory = "ranks",
        directions: int = DIRECTIONS,
        moving: Sequence[str | int] | None = None,
        kinds: Kinds | None = None,
        output: object = None,
        reduction: Reduction | None = None,
        scale: ArrayLike | Literal["auto"] | None = "auto",
        bounds: object = None,
        batch_size: int | None = None,
        memory: int = 2000,
        labels: Array = None,
        window: int = 500,
    ) -> None:
        if (reference is None) == (quiet is None):
            raise SettingsError("give the points of a quiet time once, as quiet= or as reference")
        if not isinstance(memory, int | np.integer) or memory < 0:
            raise SettingsError(f"memory {memory!r}: give a number of rows, 0 or more")
        reference = as_rows(quiet if reference is None else reference)
        rate = points_per_alarm(false_alarms)
        watched = (
            usual_watch(models.as_model(model, output=output), detector == "ranks")
            if watch == "auto"
            else chosen_watch(watch)
        )
        scorer, fit_cost = fit_scorer(
            model,
            reference,
            watched,
            moving=moving,
            kinds=kinds,
            radius=radius,
            directions=directions,
            output=output,
            reduction=reduction,
            scale=scale,
            bounds=bounds,
            batch_size=batch_size,
            seed=seed,
        )
        # Each feature's bend as it usually is, with which `culprits` compares later.
        usual, usual_cost = usual_shares(scorer, reference, watched, seed)
        if INPUTS in watched.values():
            scorer = replace(scorer, inputs=inputs_of(scorer.model, reference, kinds))
        scorer, scores = measure_reference(
            scorer, watched, reference, moving=moving, reduction=reduction, seed=seed
        )
        queries_per_row = scorer.queries_per_row(watched)
        suspicion, suspicion_cost = memorisation_warning(scorer, reference, watched, seed)
        if suspicion:
            warnings.warn(suspicion, stacklevel=2)
        channels, fitted_inputs = fitted_channels(
            scores,
            segments_of(reference, segment),
            rate,
            confidence,
            block,
            detector,
            seed,
            promise,
            levels=[name for name, thing in watched.items() if thing == PREDICTION]
            if scorer.has_classes
            else (),
            inputs=None
            if scorer.inputs is None
            else (scorer.inputs, scorer.inputs.codes(reference)),
            lenient=watch == "auto",
        )
        kept = {name for name, _ in channels}
        watched = {name: thing for name, thing in watched.items() if name in kept}
        if fitted_inputs is not None:
            scorer = replace(scorer, inputs=fitted_inputs.inputs)
        self._assemble(
            scorer=scorer,
            watch=watched,
            reference={name: scores[name] for name in watched},
            channels=channels,
            inputs=fitted_inputs,
            rate=rate,
            segment=segment,
            score=score,
            seed=seed,
            memory=memory,
            usual_shares=usual,
            fit_queries=(
                fit_cost + usual_cost + suspicion_cost + count_of(reference) * queries_per_row
            ),
            suspicion=suspicion,
        )
        if labels is not None:
            inputs = scorer.inputs or inputs_of(scorer.model, reference, kinds)
            self.judge = fit_performance_watch(
                scorer.model,
                inputs,
                scorer.answers_at(scorer.region(reference)),
                labels,
                inputs.codes(reference),
                advancing=[
                    kind.name
                    for kind in inputs.kinds
                    if kind.kind == "date" and kind.name not in (kinds or {})
                ],
                window=window,
                memory=memory,
                seed=seed,
            )

    def _assemble(
        self,
        *,
        scorer: Scorer,
        watch: dict[str, Watched],
        reference: dict[str, Floats],
        channels: dict[tuple[str, str | None], Channel],
        rate: float,
        segment: Segmenting,
        score: float | str,
        seed: int,
        memory: int,
        usual_shares: tuple[Estimate, ...],
        fit_queries: int,
        suspicion: str = "",
        inputs: FittedInputs | None = None,
        judge: PerformanceWatch | None = None,
    ) -> None:
        """All that does not change as the stream goes by, and an empty stream."""
        super().__init__(channels, rate, memory, suspicion, inputs, reference)
        self.judge = judge
        self.class_names = tuple(scorer.model.classes or ())
        self.scorer, self.watch = scorer, watch
        self.segment, self.score, self.seed = segment, score, seed
        self.usual_shares, self.fit_queries = usual_shares, fit_queries
        self._allowance = Allowance(score, seed)

    @property
    def queries_per_row(self) -> int:
        """Model queries that scoring one row costs."""
        return self.scorer.queries_per_row(self.watch, self.judge is not None)

    @property
    def queries(self) -> int:
        """Model queries so far, those for the reference included."""
        return self.fit_queries + self.scored * self.queries_per_row

    def measure(self, points: Array) -> dict[str, Floats]:
        """Scores (rows,) of everything watched: a function of the points alone.

        Where performance is tracked, the model's "answers" (rows, columns) too.

        Parameters
        ----------
        points
            One point or many, as the reference's.
        """
        rows = rows_of(points, self.scorer.shape)
        return self.scorer.measure_all(self.watch, rows, self.judge is not None)

    measured = measure
    """The name of `measure` in 0.1.0."""

    def update(
        self,
        points: Array,
        segments: Array = None,
        *,
        ids: Sequence[object] | None = None,
        times: Sequence[object] | None = None,
    ) -> Observation:
        """Score the stream's next rows and update the evidence.

        Parameters
        ----------
        points
            One point or many, as the reference's.
        segments : (rows,)
            Their labels; by the rule `segment` if not given.
        ids, times : (rows,)
            By which labels will come, the rows' numbers if not given; and when they came.
        """
        rows = rows_of(points, self.scorer.shape)
        scores, reasons = self.considered(rows)
        labels = segments_of(rows, self.segment) if segments is None else segments
        return self.observed(rows, scores, segments=labels, reasons=reasons, ids=ids, times=times)

    def considered(self, points: Array) -> tuple[dict[str, Floats], NDArray[np.str_]]:
        """Scores of the next rows as far as the allowance goes, and why others have none.

        Parameters
        ----------
        points
            One point or many, as the reference's.

        Returns
        -------
        scores : (rows,) each
            Of everything watched, NaN where a row was not scored.
        reasons : (rows,)
            Why not, "" where it was.
        """
        rows = rows_of(points, self.scorer.shape)
        if not count_of(rows):
            raise PointsError("there are no points: give at least one row")
        numbers = self.seen + np.arange(count_of(rows))
        not_finite = self.scorer.unusable(rows)
        allowed = self._allowance.allowed(numbers, max(1, self.queries_per_row))
        reasons = np.where(not_finite, "not finite", np.where(allowed, "", self._allowance.reason))
        # Only these rows cost queries; all others keep NaN.
        chosen = np.flatnonzero(reasons == "")
        scores = {name: np.full(len(numbers), np.nan) for name in self.watch}
        if len(chosen):
            begun = time.perf_counter()
            for name, values in self.measure(taken(rows, chosen)).items():
                scores[name] = spread_over(len(numbers), chosen, values)
            self._allowance.spent(len(chosen), time.perf_counter() - begun)
        return scores, reasons

    def culprits(self, count: int = 10, alarm: Alarm | None = None) -> Culprits:
        """Points, segments and features that carry an alarm's evidence.

        Points are those in memory since the estimated change, by their share of the evidence.
        Features are measured at the worst of them, 2n+1 queries per point, where gamma is watched.

        Parameters
        ----------
        count
            Points named.
        alarm
            Whose; the oldest's if not given.
        """
        if alarm is None and not self._raised:
            raise SettingsError("there is no alarm: culprits are of an alarm")
        alarm = alarm or self.alarms[0]
        if alarm.watched == PERFORMANCE:
            raise SettingsError("labels raised this alarm, and no row carries it more than others")
        return culprits_of(
            alarm,
            self.channels[alarm.watched, alarm.segment],
            self._memory,
            list(self.watch).index(alarm.watched),
            count,
            self.scorer if self.watch[alarm.watched] == "gamma" else None,
            self.usual_shares,
            self._input_values if self.watch[alarm.watched] == INPUTS else None,
        )

    def _input_values(self, recent: RecentRows) -> Floats | None:
        """What the inputs' channel reads of remembered rows, (rows, streams)."""
        codes = self.recent_codes(recent)
        if codes is None or self.fitted_inputs is None:
            return None
        return self.fitted_inputs.inputs.of_codes(codes)

    def performance(self, level: float | None = None) -> Performance:
        """How accurate the model is in the newest window, with intervals, or that nobody can know.

        Parameters
        ----------
        level
            Of the intervals, 0.9 if not given.
        """
        return self._judging().tracker.performance(level=level)

    def performance_curve(self, segment: str | None = None, level: float | None = None) -> Curve:
        """The same, window after window, of all traffic or of a segment."""
        return self._judging().tracker.curve(segment=segment, level=level)

    def performance_by_segment(self, level: float | None = None) -> dict[str, Performance]:
        """The newest window of each segment."""
        return self._judging().tracker.by_segment(level=level)

    def groups(self, level: float | None = None) -> Groups:
        """Performance by segment over the rows in memory, and differences between segments.

        By labels where every segment has at least five among these rows, else as estimated.

        Parameters
        ----------
        level
            Of each metric's differences together.
        """
        return self._judging().compare_segments(level)

    def add_labels(
        self,
        ids: Sequence[object],
        labels: Array,
        probabilities: Floats | float | None = None,
        *,
        share: float | None = None,
    ) -> Labelled:
        """Labels of rows that went by: they sharpen `performance`, and may raise an alarm.

        Parameters
        ----------
        ids
            As given to `update`; the rows' numbers if none were given.
        labels : (ids,)
            Of their rows.
        probabilities
            The chance with which each row was chosen for a label, from `to_label`; None says that
            all rows of the stream had the same one.
        share
            With chances given, the share of all rows that gets labels, from `to_label` too:
            without it they sharpen the estimates and raise no alarm.
        """
        report = self._judging().add_labels(ids, labels, probabilities, share)
        raised = [] if report.fall is None else self._raise_fall(report.fall)
        return Labelled(report.used, report.unknown, tuple(raised))

    def _raise_fall(self, fall: Fall) -> list[Alarm]:
        """The alarm that labels raise, none where it stands."""
        tracker = self._judging().tracker
        rate = tracker.detector.rate
        now, usual = tracker.loss_unit * fall.loss, tracker.reference_loss
        if tracker.estimator.kind == "classes":
            words = f"error {now:.0%}, {usual:.0%} in the reference"
        else:
            words = f"mean absolute error {now:.3g}, {usual:.3g} in the reference"
        words += f", since about label {fall.since + 1:,} of {fall.at + 1:,}"
        at = max(0, self.seen - 1)
        alarm = Alarm(
            *(PERFORMANCE, None, "down", at, min(at, max(0, fall.row))),
            *(fall.log_evidence, float(np.log(rate))),
            remark=f"at most 1 false alarm per {rate:,.0f} labels",
            carriers=(words,),
        )
        if alarm.key in self._raised:
            return []
        self._raised[alarm.key] = alarm
        return [alarm]

    def to_label(self, count: int = 100, path: str | os.PathLike[str] | None = None) -> Any:
        """Rows to label next: those that say most about performance, and why.

        Parameters
        ----------
        count
            How many.
        path
            A file to write them to, .csv or .parquet.

        Returns
        -------
        One line per row: id, row, segment, the chance with which it was chosen and the share of
        rows that are (both for `add_labels`), and the reason.
        """
        recent, chosen, share = self._judging().choose(count, self.seed + self.seen)
        columns: dict[str, Array] = {
            "id": np.array(recent.ids),
            "row": recent.rows,
            "probability": chosen.probabilities,
            "share": np.full(len(recent.rows), share),
            "reason": np.array(chosen.reasons),
        }
        if any(recent.segments):
            columns["segment"] = np.array(recent.segments)
        table = tables.arrow(columns, {"holds": "rows to label"})
        if path is not None:
            tables.write_for_people(table, path)
        return tables.frame(table)

    def _judging(self) -> PerformanceWatch:
        if self.judge is None:
            raise SettingsError("performance needs a labelled reference: give labels= to Monitor")
        return self.judge

    def windows(self, watched: str | None = None, **arguments: Unpack[WindowArguments]) -> Windows:
        """Windows of the scored points in memory, and which of their means are unusual.

        Parameters
        ----------
        watched
            The name of what is watched; the first if not given.
        **arguments
            `count` rows per window, `level` and `limits` of the band: see `windows_of`.
        """
        name = watched or next(iter(self.watch))
        recent = self._memory.since(0, None)
        if recent is None:
            raise SettingsError("nothing is scored yet: update first")
        scores = recent.scores[list(self.watch).index(name)]
        rows = np.arange(len(recent.rows))
        return windows_of(name, rows, scores, self.reference[name], **arguments)

    @property
    def settings(self) -> MonitorSettings:
        """How points are scored and watched."""
        scorer, over_data = self.scorer, self.scorer.over_data
        columns = scorer.columns
        if scorer.ball is None and over_data is not None:
            columns = over_data.encoded.used
        return MonitorSettings(
            model=scorer.model.name,
            watch=tuple(self.watch),
            radius=None if scorer.ball is None else scorer.radius,
            scale=tuple(scorer.units),
            columns=tuple(columns),
            ball=BALL if scorer.ball is None else scorer.ball.name,
            queries_per_row=self.queries_per_row,
            reference=len(next(iter(self.reference.values()))),
            score=self.score,
            segments=tuple(self.segments),
            blocks={str(name): block for name, block in self.blocks.items()},
            promise=self.promise,
            promised=self.promised,
            seed=self.seed,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything but the model and the memory of points, whole or not at all."""
        return storing.save(self, path, self._memory.capacity)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], model: object, watch: Watch | None = None
    ) -> Monitor:
        """Read what `save` wrote.

        Parameters
        ----------
        path
            The file.
        model
            The model, which is not in it.
        watch
            Functions that were watched, by name, which are not in it either.
        """
        parts, state = storing.load(path, model, watch)
        # `__init__` fits to a reference; here everything is fitted already.
        monitor = cls.__new__(cls)
        monitor._assemble(**parts)
        monitor.restore(state)
        return monitor

    def __repr__(self) -> str:
        state = f"{len(self._raised)} alarms" if self._raised else "quiet"
        return (
            f"<monitor of {', '.join(self.watch)}: {state}, {self.scored:,} of {self.seen:,} "
            f"points scored, {self.queries:,} queries; {self.promise}>"
        )

    def _repr_html_(self) -> str:
        cells: dict[str, object] = {
            "watched": ", ".join(self.watch),
            "scored": f"{self.scored:,} of {self.seen:,} points",
            "alarms": "; ".join(str(alarm) for alarm in self.alarms) or "none",
            "reference": f"{self.settings.reference:,} points",
            "radius": "none" if self.scorer.ball is None else f"{self.scorer.radius:.4g}",
            "queries": f"{self.queries:,}",
        }
        return tables.facts(cells)
