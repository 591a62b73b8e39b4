"""The score that most folds of the nested choice took, read on networks that had no part in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from studies.images.contest import MARGIN
from studies.images.measurements import Measurements
from studies.images.measuring import STEPS
from studies.images.nested import QUERIES, WALKS, family
from studies.images.outcome import queries
from studies.images.ranking import Interval, auroc, interval, ranked, resampled, resamples
from studies.images.scoring import LABELS, Label, Score, candidates, formed
from studies.page import Grid, Section

__all__ = ["unseen_section"]

ASKED = tuple(name for name, (climb, _) in LABELS.items() if climb == "margin")
"""Labels whose climbs are cheap enough for a processor."""


def unseen_section(
    found: Sequence[Measurements], kept: dict[str, Any], seed: int, wanted: float
) -> tuple[Section, tuple[str, ...]]:
    """The section and its verdict; nothing where no such network was measured.

    Parameters
    ----------
    found
        Networks that had no part in the choice, measured on the same photos.
    kept
        What the nested choice left (`nested.json`).
    seed
        Of the resamples of photos.
    wanted
        The AUROC that is aimed at.
    """
    if not found:
        return Section("Networks that had no part", "", ()), ()
    best = _named(next(iter(kept["chosen"])))
    rivals = [
        MARGIN,
        Score("z", QUERIES, formed("z", WALKS, QUERIES)),
        Score("sway", QUERIES, formed("sway", WALKS, QUERIES)),
    ]
    counts = resamples(len(found[0]), seed)
    lines, cells, leads = [], [], []
    for network in found:
        for name in ASKED:
            label = Label.of(network, name)
            known = np.flatnonzero(label.known)
            unstable = label.unstable[known]
            areas = [ranked(score.of(network)[known], unstable) for score in (best, *rivals)]
            own, margin = (score.of(network)[known] for score in (best, MARGIN))
            drawn = resampled(own, unstable, counts[:, known])
            drawn = drawn - resampled(margin, unstable, counts[:, known])
            lead = interval(auroc(own, unstable) - auroc(margin, unstable), drawn)
            shown = tuple(str(area) for area in areas)
            told = f"{int(unstable.sum())} of {len(known)}"
            lines.append((network.network, name, told, *shown, lead.signed))
            cells.append(areas[0])
            leads.append((lead.value, drawn))
    worst = min(cells, key=lambda area: area.value)
    drawn = np.mean([draws for _, draws in leads], axis=0)
    above = interval(float(np.mean([value for value, _ in leads])), drawn)
    return _section(best, found, tuple(lines)), _verdict(best, found, worst, above, wanted)


def _named(name: str) -> Score:
    """A candidate of the nested choice by the name it was kept under."""
    for score in (*family(), *candidates([QUERIES])):
        if str(score) == name:
            return score
    raise KeyError(name)


def _section(best: Score, found: Sequence[Measurements], lines: tuple[Any, ...]) -> Section:
    text = f"""{best}, as most folds chose it on two networks, and its rivals, on other networks
    with ImageNet weights; nothing was chosen here. Labels are those whose climbs lower the margin
    (3 seeds of {STEPS} steps); the gamma ascent costs some 8,000 queries per photo and seed, which
    a processor does not answer in a day. AUROC with 95% intervals; the lead is over the margin,
    photos drawn anew."""
    heads = ("network", "label", "unstable", "chosen before", "margin", "z", "sway", "lead")
    asked = sum(queries(network) for network in found)
    return Section("Networks that had no part", text, grid=Grid(heads, lines), asked=asked)


def _verdict(
    best: Score, found: Sequence[Measurements], worst: Interval, above: Interval, wanted: float
) -> tuple[str, ...]:
    held = "carried over" if worst.value >= wanted and above.low > 0 else "did not carry over"
    names = " and ".join(network.network for network in found)
    return (
        f"""On networks that had no part in choosing it ({names}, labels by lowering the margin)
        {best.name} has an AUROC of {worst.value:.3f} [{worst.low:.3f}, {worst.high:.3f}] at worst,
        and is above the margin by {above.signed} on average: what was aimed at {held}.""",
    )
