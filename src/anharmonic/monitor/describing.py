"""What changed, in words: the columns, classes or scores that carry it, and how large it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.monitor.detector import Carrier
from anharmonic.monitor.histograms import Histogram
from anharmonic.monitor.input_evidence import FittedInputs
from anharmonic.monitor.inputs import Inputs, InputStream
from anharmonic.monitor.rank_bets import LOG_ODDS, SHIFTS

__all__ = [
    "ColumnDrift",
    "describe_classes",
    "describe_columns",
    "describe_inputs",
    "describe_score",
]

NAMED = 3
"""Columns that an alarm names."""
CLEAR = 1.0
"""Log evidence from which a column is said to have changed: what chance seldom brings about."""


class ColumnDrift(NamedTuple):
    """How much a column has changed.

    Parameters
    ----------
    name, kind
        The column, and what it is.
    evidence
        The log of how many times larger than usual the evidence of its strongest stream is.
    change
        In words, "" where nothing is remembered; beginning with "no clear change" where the
        evidence is too small to say so.
    labels
        Of the histogram's bins, or levels.
    reference, recent
        Shares of rows in each of them, of the reference and of the rows in memory.
    """

    name: str
    kind: str
    evidence: float
    change: str
    labels: list[str]
    reference: list[float]
    recent: list[float]


def describe_inputs(fitted: FittedInputs, carriers: Sequence[Carrier]) -> tuple[str, ...]:
    """The streams that carry an alarm, the strongest of each column.

    From the evidence alone, so that a monitor that was restarted says the same.
    """
    words: dict[str, str] = {}
    for carrier in carriers:
        stream = fitted.inputs.streams[carrier.stream]
        if stream.column not in words and len(words) < NAMED:
            usual = float(fitted.means[carrier.stream])
            words[stream.column] = _describe_shift(fitted.inputs, stream, carrier.shift, usual)
    return tuple(words.values())


def describe_columns(fitted: FittedInputs, codes: Floats | None) -> list[ColumnDrift]:
    """All columns, the most changed first; `codes` (rows, columns) are those in memory."""
    inputs, logs = fitted.inputs, fitted.evidence.stream_evidence()
    recent = None if codes is None or not len(codes) else inputs.of_codes(codes)
    best: dict[str, int] = {}
    for number, stream in enumerate(inputs.streams):
        if stream.column not in best or logs[number] > logs[best[stream.column]]:
            best[stream.column] = number
    kinds = {kind.name: kind.kind for kind in inputs.kinds}
    drifts = []
    for column, number in best.items():
        words = ""
        if recent is not None and np.isfinite(now := _mean(recent[:, number])):
            usual = float(fitted.means[number])
            describe = _describe if logs[number] >= CLEAR else _describe_unclear
            words = describe(inputs, inputs.streams[number], usual, now)
        shown = fitted.histograms.get(column, Histogram((), (), ()))
        cells = (
            None
            if codes is None or column not in inputs.names
            else codes[:, _place(inputs, column)]
        )
        drifts.append(
            ColumnDrift(
                column,
                kinds.get(column, "rows"),
                float(logs[number]),
                words,
                list(shown.labels),
                list(shown.shares),
                [] if cells is None else shown.shares_of(cells),
            )
        )
    return sorted(drifts, key=lambda drift: -drift.evidence)


def describe_score(carriers: Sequence[Carrier]) -> tuple[str, ...]:
    """How far a score moved."""
    return (f"by {_deviations(carriers[0].shift)}",) if carriers else ()


def describe_classes(
    levels: Sequence[float], usual: Floats, carriers: Sequence[Carrier], names: Sequence[object]
) -> tuple[str, ...]:
    """Classes whose share changed, from their usual shares (classes + 1,).

    `names` are what the model calls its classes, by number; empty where it does not.
    """
    # Beside one class the others say the same again.
    told = [carrier for carrier in carriers if carrier.stream < len(levels) or len(levels) > 1]
    words = []
    for carrier in (told or carriers)[:NAMED]:
        share = float(usual[carrier.stream])
        if carrier.stream == len(levels):
            what = "other classes"
        else:
            number = int(levels[carrier.stream])
            what = f"class {names[number] if number < len(names) else number}"
        now = _share_after(share, carrier.shift)
        words.append(f"{what} in {now} of rows instead of {_percent(share)}")
    return tuple(words)


def _describe_shift(inputs: Inputs, stream: InputStream, shift: float, usual: float) -> str:
    """One stream, from the shift that its evidence speaks for."""
    if stream.aspect == "unseen":
        return f"{stream.column} {_unseen(inputs, stream)}"
    if stream.aspect == "missing":
        now = _share_after(usual, shift)
        return f"{stream.column} is missing in {now} of rows instead of {_percent(usual)}"
    if stream.aspect == "level":
        now = _share_after(usual, shift)
        what = f"{stream.column} = {_level(inputs, stream)}"
        return f"{what} in {now} of rows instead of {_percent(usual)}"
    moved = _movement(stream, shift > 0)
    return f"{moved}{_beside_spike(inputs, stream)} by {_deviations(shift)}"


def _movement(stream: InputStream, rises: bool) -> str:
    if stream.aspect == "distance":
        return "rows lie farther from the usual ones" if rises else "rows lie nearer to each other"
    if stream.aspect == "size":
        return f"{stream.column} {'spread out' if rises else 'narrowed'}"
    return f"{stream.column} {'rose' if rises else 'fell'}"


def _beside_spike(inputs: Inputs, stream: InputStream) -> str:
    """Which cells are spoken of: a spike is watched as a level, and left out of the value."""
    spiked = stream.aspect in ("value", "size") and not np.isnan(stream.level)
    return f" where it is not {_level(inputs, stream)}" if spiked else ""


def _deviations(shift: float) -> str:
    """A shift of ranks as people read it; bets end at the largest shift."""
    size = abs(shift)
    return "2 sd or more" if size > 0.9 * max(SHIFTS) else f"about {size:.2g} sd"


def _share_after(usual: float, shift: float) -> str:
    """A share after its log odds have moved: see `LOG_ODDS`."""
    share = min(max(usual, 1e-4), 1 - 1e-4)
    odds = share / (1 - share) * np.exp(LOG_ODDS * shift)
    return f"about {_percent(float(odds / (1 + odds)))}"


def _describe(inputs: Inputs, stream: InputStream, usual: float, now: float) -> str:
    """One stream, from its usual mean to the recent one."""
    if stream.aspect in ("level", "missing", "unseen"):
        return _describe_share(inputs, stream, usual, now)
    what = _movement(stream, now >= usual)
    word = "distance" if stream.aspect in ("distance", "size") else "mean"
    now_is, usually = _amount(inputs, stream, now), _amount(inputs, stream, usual)
    return f"{what}{_beside_spike(inputs, stream)} ({word} {now_is} instead of {usually})"


def _describe_unclear(inputs: Inputs, stream: InputStream, usual: float, now: float) -> str:
    """The strongest stream of a column that has not clearly changed."""
    if stream.aspect in ("level", "missing", "unseen"):
        unseen = _unseen(inputs, stream).removeprefix("is ").removeprefix("has values that are ")
        what = {"missing": "missing", "unseen": unseen}.get(stream.aspect)
        what = what or _level(inputs, stream)
        shares = f"{_percent(now)} of rows, usually {_percent(usual)}"
        return f"no clear change ({what} in {shares})" if now or usual else ""
    word = "distance" if stream.aspect in ("distance", "size") else "mean"
    now_is, usually = _amount(inputs, stream, now), _amount(inputs, stream, usual)
    return f"no clear change ({word} {now_is}, usually {usually})"


def _describe_share(inputs: Inputs, stream: InputStream, usual: float, now: float) -> str:
    if stream.aspect == "unseen":
        what = f"{stream.column} {_unseen(inputs, stream)}"
        return f"{what}, in {_percent(now)} of rows instead of {_percent(usual)}" if now else ""
    missing = stream.aspect == "missing"
    what = "is missing" if missing else f"= {_level(inputs, stream)}"
    return f"{stream.column} {what} in {_percent(now)} of rows instead of {_percent(usual)}"


def _unseen(inputs: Inputs, stream: InputStream) -> str:
    """What cells are that the reference lacks: of numbers only those that are none."""
    place = _place(inputs, stream.column)
    gaps = bool(inputs.gaps[place])
    if not len(inputs.levels[place]):
        return "is infinite" if gaps else "is missing or infinite"
    return "has values that are new or rare" if gaps else "has values that are missing, new or rare"


def _level(inputs: Inputs, stream: InputStream) -> str:
    if inputs.coding is None:
        return f"{stream.level:g}"
    return inputs.text(_place(inputs, stream.column), stream.level)


def _amount(inputs: Inputs, stream: InputStream, value: float) -> str:
    """A mean or a distance as people read it; of times a day, and days."""
    if inputs.coding is None or stream.column not in inputs.names:
        return _number(value)
    calendar = inputs.coding.columns[_place(inputs, stream.column)].calendar
    if calendar is None:
        return _number(value)
    return calendar.shown(value) if stream.aspect == "value" else f"{calendar.days(value):.3g} days"


def _place(inputs: Inputs, column: str) -> int:
    return inputs.names.index(column)


def _mean(values: Floats) -> float:
    present = values[np.isfinite(values)]
    return float(present.mean()) if len(present) else float("nan")


def _number(value: float) -> str:
    """Three digits, or all before the point: 0.0123, 47.4, 14,400."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def _percent(share: float) -> str:
    """A share as people read it: 0.4%, 12%."""
    return f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}"
