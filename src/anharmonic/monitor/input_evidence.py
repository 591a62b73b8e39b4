"""One channel of many input streams, and what it says in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.monitor.dependence import FEWEST
from anharmonic.monitor.histograms import Histogram, fit_histograms
from anharmonic.monitor.inputs import ALL_COLUMNS, Inputs, InputStream
from anharmonic.monitor.rank_bets import SHIFTS
from anharmonic.monitor.rank_evidence import (
    ASIDE,
    Lines,
    RankEvidence,
    Settled,
    fit_group,
    settle_stream,
)

__all__ = ["FittedInputs", "fit_input_evidence"]

WHOLE = 0.25
"""The part of the evidence that whole rows have; columns share the rest."""
BINARY = ("level", "missing", "unseen")
"""Streams of yes and no: their rates are learnt from the part that is set aside."""
NEEDS_ASIDE = ("size", "distance", "component", *BINARY)
"""What is made with the middles, units and rates of the part that is set aside."""


@dataclass(frozen=True)
class FittedInputs:
    """A channel of input streams, and what was left out of it.

    Parameters
    ----------
    inputs
        With the streams that are watched.
    evidence
        Their channel.
    means : (streams,)
        Of the reference.
    left_out
        Columns of which nothing can be promised, and why.
    histograms
        Of the reference's columns.
    """

    inputs: Inputs
    evidence: RankEvidence
    means: Floats
    left_out: dict[str, str]
    histograms: dict[str, Histogram]


def fit_input_evidence(
    inputs: Inputs,
    codes: Floats,
    rate: float,
    block: int | str,
    promise: bool,
    seed: int,
) -> FittedInputs:
    """Evidence against a reference's coded rows (rows, columns), in their own order.

    A stream that depends on itself over more than the reference can speak for is left out, unless
    no promise is asked for.
    """
    values = inputs.of_codes(codes).T.copy()
    aside = max(2, int(ASIDE * values.shape[1]))
    rates = np.full(len(values), np.nan)
    for number, stream in enumerate(inputs.streams):
        if stream.aspect in BINARY:
            first = values[number, :aside]
            rates[number] = _rate(inputs, codes[:aside], stream, first)
        if stream.aspect in NEEDS_ASIDE:
            values[number, :aside] = np.nan
    settled = [_settle(inputs.streams[k], values[k], block, seed) for k in range(len(values))]
    kept: list[int] = []
    reasons: dict[str, str] = {}
    unpromised: str | None = None
    for number, (stream, one) in enumerate(zip(inputs.streams, settled, strict=True)):
        if one is None or (promise and one.unpromised is not None):
            reasons[stream.column] = "too few cells" if one is None else str(one.unpromised)
        else:
            kept.append(number)
            unpromised = unpromised or one.unpromised
    watched = {inputs.streams[number].column for number in kept}
    left_out = {name: why for name, why in reasons.items() if name not in watched}
    if not kept:
        reason = next(iter(left_out.values()), "nothing varies")
        # Where cells are too few, nothing is gained by going without a promise.
        settling = promise and any(one is not None for one in settled)
        hint = "; or promise=False (--no-promise) to go without" if settling else ""
        raise PointsError(f"no column can be watched: {reason}{hint}")
    streams = tuple(inputs.streams[number] for number in kept)
    chosen = [one for number in kept if (one := settled[number]) is not None]
    groups, members = [], []
    for length in sorted({one.block for one in chosen}):
        mine = np.array([k for k, one in enumerate(chosen) if one.block == length])
        numbers = np.array(kept)[mine]
        memory = [chosen[k].memory for k in mine.tolist()]
        groups.append(fit_group(values[numbers], length, memory, rates[numbers].tolist(), seed))
        members.append(mine)
    evidence = RankEvidence.of(groups, members, _lines(streams), rate, None, unpromised)
    means = np.array([_mean(row) for row in values[kept]])
    watching = replace(inputs, streams=streams)
    return FittedInputs(watching, evidence, means, left_out, fit_histograms(inputs, codes))


def _settle(stream: InputStream, values: Floats, block: int | str, seed: int) -> Settled | None:
    """How a stream is watched; None where it has too little to say."""
    present = values[np.isfinite(values)]
    if len(present) < FEWEST:
        return None
    if present.min() == present.max():
        # What never happens has no order to learn from.
        return Settled(1, 0.0, None)
    return settle_stream(present, block, seed)


def _rate(inputs: Inputs, codes: Floats, stream: InputStream, first: Floats) -> float:
    """How often yes is to be expected, from the part that is set aside; any guess is fair.

    Of levels that this part has not, by how many it has once (Good and Turing).
    """
    if stream.aspect == "unseen":
        place = inputs.names.index(stream.column)
        known = inputs.levels[place]
        once = sum(int(np.sum(codes[:, place] == level)) == 1 for level in known.tolist())
        return once / len(codes) if len(known) > 1 else 0.0
    return _mean(first) if np.isfinite(first).any() else 0.0


def _lines(streams: Sequence[InputStream]) -> Lines:
    """All streams speak for one direction, "either"; columns count alike, however many streams."""
    columns = [stream.column for stream in streams]
    others = set(columns) - {ALL_COLUMNS}
    weights = np.empty((1, len(streams), len(SHIFTS)))
    for number, column in enumerate(columns):
        if column == ALL_COLUMNS:
            part = WHOLE if others else 1.0
        else:
            part = (1 - WHOLE if ALL_COLUMNS in columns else 1.0) / len(others)
        weights[0, number] = part / columns.count(column) / len(SHIFTS)
    return Lines(("either",), np.ones(1), weights)


def _mean(values: Floats) -> float:
    present = values[np.isfinite(values)]
    return float(present.mean()) if len(present) else float("nan")
