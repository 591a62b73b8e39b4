"""What CLEVER's bounds say beside their values: how far their fits can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.metrics import Description, Metric, register
from anharmonic._core.protocols import Floats
from anharmonic._core.settings import Settings
from anharmonic._core.statistics import half_widths
from anharmonic.measures.clever.weibull import State
from anharmonic.scores import Scores

__all__ = ["CLEVER", "CleverScores", "CleverSettings"]

CleverScores = Scores
"""The name that 0.1.0 had for scores of `clever`."""
Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class CleverSettings(Settings):
    """Settings of `clever`.

    Parameters
    ----------
    norm, targets
        The attack's norm (1, 2 or "inf"), and the classes it may aim at.
    blocks, block_size
        Blocks per point, and samples per block.
    gradients, slopes
        How many gradients were taken, and how.
    guided
        Whether a guide chose the points.
    """

    norm: int | str = 2
    targets: str | tuple[int, ...] = "all"
    blocks: int = 0
    block_size: int = 0
    gradients: int = 0
    slopes: str = ""
    guided: bool = False


def masked(scores: Scores) -> Flags:
    """Points whose gradients vanish or whose outputs jump, (points,)."""
    hidden = [int(State.masked), int(State.jumps)]
    return np.asarray(np.isin(scores.columns["state"], hidden).any(axis=1))


def jumping(scores: Scores) -> Flags:
    """Points whose outputs jump, as trees' do, and have no slope, (points,)."""
    return np.asarray((scores.columns["state"] == int(State.jumps)).any(axis=1))


def capped(scores: Scores) -> Flags:
    """Points whose bound is the radius itself: the ball was too small to say more."""
    return np.asarray(scores.values >= scores.settings.radius)


def fits(scores: Scores) -> dict[str, int]:
    """How many ends were found in which way."""
    return {state.name: int((scores.columns["state"] == int(state)).sum()) for state in State}


def steepest(scores: Scores) -> Floats:
    """The largest slopes that were met, (points, targets); files of 0.1.0 do not have them."""
    slopes = scores.columns.get("steepest")
    return np.full_like(scores.columns["slope"], np.nan) if slopes is None else slopes


def _intervals(scores: Scores, level: float) -> tuple[Floats, Floats]:
    """For each point's bound: from the fit below, from slopes that were met above."""
    widths, radius = half_widths(scores.errors, scores.turns, level), scores.settings.radius
    # Margin over a slope that was met: no bound can be above it.
    with np.errstate(divide="ignore", invalid="ignore"):
        ceiling = np.fmin.reduce(scores.outputs / steepest(scores), axis=1)
    high = np.fmin(np.where(np.isnan(ceiling), scores.values + widths, ceiling), radius)
    return np.maximum(scores.values - widths, 0.0), np.where(np.isnan(scores.values), np.nan, high)


def _describe(scores: Scores) -> Description:
    """How many points are unfinished, masked or at the radius, in words and as facts."""
    hidden, beyond = int(masked(scores).sum()), int(capped(scores).sum())
    jumps = int(jumping(scores).sum())
    words = f", {hidden - jumps:,} masked (no gradient)" if hidden > jumps else ""
    words += f", {jumps:,} masked (outputs jump, as trees' do)" if jumps else ""
    words += f", {beyond:,} at the radius or beyond" if beyond else ""
    # A masked point holds NaN, and is finished all the same.
    unfinished = int(np.isnan(scores.values).sum()) - hidden
    facts = {"masked": hidden, "capped": beyond, "fits": fits(scores)}
    return Description(max(unfinished, 0), words, facts)


CLEVER = register(
    Metric(
        "clever",
        fragile="small",
        unit="a distance, in scaled units",
        settings=CleverSettings,
        intervals=_intervals,
        describe=_describe,
        columns={
            "masked": masked,
            "jumping": jumping,
            "capped": capped,
            "fits": fits,
            "steepest": steepest,
            "targets": lambda scores: scores.columns["target"],
            "slopes": lambda scores: scores.columns["slope"],
            "shapes": lambda scores: scores.columns["shape"],
            "states": lambda scores: scores.columns["state"],
        },
        skips_unknown=True,
    )
)
"""A lower bound on the distance of an attack: the smallest over the targets.

`signed` (points, targets) has each target's bound, at most the radius, and `outputs` the margin
to it. Columns: `target`, the class, -1 for none; `slope`, the estimated largest slope of each
margin in the ball; `shape` and `agreement` of its fit, the law's shape and Kolmogorov and
Smirnov's probability; `state`, how it was found; `steepest`, the largest slope that was met on a
sample or by gradient ascent: no bound is above the margin over it, so intervals end there. A
point whose gradients vanish, or whose outputs jump, is masked and holds NaN: flat is not the same
as robust.
"""
