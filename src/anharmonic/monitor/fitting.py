"""From a reference's scores to channels that share one allowance of false alarms."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError, SettingsError
from anharmonic.monitor.channels import Channel, Channels, DetectorChannel, DetectorFactory
from anharmonic.monitor.dependence import FEWEST
from anharmonic.monitor.detector import Evidence
from anharmonic.monitor.evidence_tracker import part_count
from anharmonic.monitor.input_evidence import FittedInputs, fit_input_evidence
from anharmonic.monitor.inputs import ALL_COLUMNS, Inputs
from anharmonic.monitor.rank_evidence import RankEvidence
from anharmonic.monitor.scorer import INPUTS

__all__ = ["errors_of", "fitted_channels"]


def fitted_channels(
    reference: dict[str, Floats],
    segments: NDArray[np.str_] | None,
    rate: float,
    confidence: float,
    block: int | str,
    detector: str | DetectorFactory,
    seed: int,
    promise: bool = True,
    *,
    levels: Sequence[str] = (),
    inputs: tuple[Inputs, Floats] | None = None,
    lenient: bool = False,
) -> tuple[Channels, FittedInputs | None]:
    """A channel for everything watched, in all traffic and in each segment that is large enough.

    Parameters
    ----------
    reference : (rows,) each
        The reference's scores of each thing watched.
    segments : (rows,)
        Its labels, None where there are none.
    rate
        The number of points among which one false alarm is allowed, by all together.
    confidence
        That all bounds hold together, where a detector has bounds.
    block, seed
        As in `RankEvidence`.
    detector
        "ranks", "evidence", or what makes another from the reference's scores.
    promise
        Whether a rate must be promised. A segment for which none can be is then not watched by
        itself.
    levels
        Things watched whose scores are numbers of classes.
    inputs
        What the inputs' channel reads, and the reference's coded rows.
    lenient
        Whether something that cannot be promised is left out with a warning, not an error.
    """
    if block != "auto" and not (isinstance(block, int | np.integer) and block >= 1):
        raise SettingsError(f'block {block!r}: give "auto", or a number of scores from 1 on')
    parts = _parts(reference, segments, block)
    if callable(detector):
        if inputs is not None:
            raise SettingsError("inputs are watched by ranks: leave detector= out, or inputs")
        return {name: DetectorChannel(detector, scores) for name, scores in parts.items()}, None
    if detector not in ("ranks", "evidence"):
        raise SettingsError(
            f'detector {detector!r}: "ranks", "evidence", or a function that makes one'
        )
    # Each channel gets its part of the false alarms, and of the error of bounds (Bonferroni).
    count = part_count(parts) + (inputs is not None)
    errors = errors_of(parts, 1 - confidence)
    channels: Channels = {}
    fitted: FittedInputs | None = None
    reasons: list[str] = []
    if inputs is not None:
        try:
            fitted = fit_input_evidence(*inputs, rate * count, block, promise, seed)
            channels[INPUTS, None] = fitted.evidence
            if fitted.left_out:
                name, why = next(iter(fitted.left_out.items()))
                one = name if name == ALL_COLUMNS else f"column {name}"
                more = len(fitted.left_out) - 1
                what = f"{one} and {more} more" if more else one
                are = "are" if more or name == ALL_COLUMNS else "is"
                warnings.warn(f"{what} {are} not watched: {why}", stacklevel=3)
        except PointsError as problem:
            if not lenient:
                raise
            reasons.append(f"inputs are not watched: {problem}")
    for (watched, segment), scores in parts.items():
        if segment is not None and (watched, None) not in channels:
            continue
        try:
            channel: Channel
            if detector == "ranks":
                channel = RankEvidence(
                    scores,
                    rate * count,
                    levels=watched in levels,
                    block=block,
                    promise=promise and segment is None,
                    seed=seed,
                )
            else:
                channel = Evidence(
                    scores,
                    rate * count,
                    block=block,
                    confidence=1 - errors[watched, segment],
                    promise=promise and segment is None,
                    seed=seed,
                )
        except PointsError as problem:
            if not lenient or segment is not None:
                raise
            reasons.append(f"{watched} is not watched: {problem}")
            continue
        if promise and channel.unpromised is not None:
            reasons.append(f"{segment} is not watched by itself ({watched}): {channel.unpromised}")
        else:
            channels[watched, segment] = channel
    if not channels:
        raise PointsError("; ".join(reasons))
    for words in reasons:
        warnings.warn(words, stacklevel=3)
    # In the order of what is watched, segments behind all traffic.
    order = {name: place for place, name in enumerate(reference)}
    names = sorted(channels, key=lambda name: order[name[0]])
    return {name: channels[name] for name in names}, fitted


def _parts(
    reference: dict[str, Floats], segments: NDArray[np.str_] | None, block: int | str
) -> dict[tuple[str, str | None], Floats]:
    """Scores of all traffic and of segments that are large enough."""
    parts: dict[tuple[str, str | None], Floats] = {}
    for watched, scores in reference.items():
        if watched == INPUTS:
            continue
        parts[watched, None] = scores
        for name in [] if segments is None else np.unique(segments[segments != ""]).tolist():
            # With block="auto" a segment needs enough for blocks of two.
            if (segments == name).sum() >= FEWEST * (2 if isinstance(block, str) else block):
                parts[watched, name] = scores[segments == name]
    return parts


def errors_of(
    parts: Iterable[tuple[str, str | None]], error: float
) -> dict[tuple[str, str | None], float]:
    """Each part's share of the chance that a bound is wrong: all traffic's is half, if parted."""
    names = list(parts)
    # All traffic and its segments are a kind each, per thing watched; a kind's error is split.
    kinds = Counter((watched, segment is None) for watched, segment in names)
    return {
        (watched, segment): error / len(kinds) / kinds[watched, segment is None]
        for watched, segment in names
    }
