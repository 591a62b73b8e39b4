"""Figures 3 and 5 in numbers: photos that have changed class by each step, the Gamma Map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anharmonic._core.auroc import auroc_interval
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.statistics import Rate
from studies.images.further.tables import gammas_of, mean_of, percent
from studies.images.measurements import CLIMBS, NOT_WALKED, Measurements
from studies.images.measuring import STEPS
from studies.images.ranking import Interval
from studies.images.scoring import KINDS, Label
from studies.page import Grid, Row, Section
from studies.pictures import Cloud, Curve, Picture, clouds, curves

__all__ = ["flips_section", "map_section"]


def map_section(every: Sequence[Measurements]) -> tuple[Section, tuple[str, ...]]:
    """The Gamma Map of each network, and a contour chosen on half of the photos."""
    drawn, lines, verdict = [], [], []
    for found in every:
        sure, gammas = found.arrays["probability"].astype(np.float64), gammas_of(found)
        unstable = Label.of(found, "gamma ascent").unstable
        for name, mine in (("stable", ~unstable), ("unstable", unstable)):
            drawn.append(Cloud(found.network, name, gammas[mine], sure[mine]))
        first = np.arange(len(sure)) % 2 == 0
        rules = {
            "P·exp(−25·gamma)": sure * np.exp(-STEPS * gammas),
            "P alone": sure,
            "gamma alone": -gammas,
        }
        cells = {}
        for name, values in rules.items():
            line = _best_line(values[first], unstable[first])
            below = values[~first] < line
            caught, spared = (
                Rate.of(int((below & mine).sum()), int(mine.sum()))
                for mine in (unstable[~first], ~unstable[~first])
            )
            area = Interval(*auroc_interval(-values[~first], unstable[~first]))
            cells[name] = area
            lines.append((found.network, name, percent(caught), percent(spared), str(area)))
        verdict.append(
            f"""{found.network}: on the half of the photos that had no part in drawing the contour
            the map ranks unstable photos with {cells["P·exp(−25·gamma)"]}, P alone with
            {cells["P alone"]}, gamma alone with {cells["gamma alone"]}."""
        )
    picture = Picture(
        "map",
        """Gamma Maps (Fig. 5): the predicted class's probability against its gamma, photos that the
        gamma ascent changes and the others.""",
        clouds(drawn, "gamma of the predicted class's logit", "probability", "x"),
    )
    text = """Photos by probability and gamma (200 one-hot neighbours). The line of each rule is the
    one that errs least on every other photo; the shares below it are those of the photos in
    between, which had no part in it."""
    heads = ("network", "rule", "unstable below the line", "stable below the line", "AUROC")
    section = Section(
        "The Gamma Map (Fig. 5)", text, pictures=(picture,), grid=Grid(heads, tuple(lines))
    )
    return section, tuple(verdict)


def _best_line(values: Floats, unstable: Array) -> float:
    """Below which value most unstable and fewest stable points lie (Youden)."""
    lines = np.unique(values)
    gains = [(values[unstable] < line).mean() - (values[~unstable] < line).mean() for line in lines]
    return float(lines[int(np.argmax(gains))])


def flips_section(every: Sequence[Measurements]) -> tuple[Section, tuple[str, ...]]:
    """Fig. 3 in numbers: the share of photos that have changed class by each step."""
    drawn, rows, verdict = [], [], []
    steps = np.arange(1.0, STEPS + 1)
    for found in every:
        for number, climb in enumerate(CLIMBS):
            flips = found.arrays[f"{climb}/flips"][:2]
            walked = flips[flips != NOT_WALKED]
            shares = [float(((walked >= 0) & (walked <= step)).mean()) for step in steps]
            drawn.append(
                Curve(
                    f"{found.network}, {climb}",
                    steps,
                    shares,
                    None,
                    "solid" if found is every[0] else "dash",
                    number,
                )
            )
        ends = {}
        for kind in (KINDS[3], KINDS[4]):
            changes = found.around(kind, 200)
            margins = found.arrays["margin"].astype(np.float64)[:, None, None]
            ends[kind] = mean_of((margins + changes < 0).mean(axis=(1, 2)))
        rows += [
            Row(
                f"{found.network}: random walks of {number} steps that end in another class",
                share,
                queries=200 * len(found),
            )
            for number, share in zip((25, 100), ends.values(), strict=True)
        ]
        verdict.append(
            f"""{found.network}: random walks end in another class with {ends[KINDS[3]]} after 25
            steps and with {ends[KINDS[4]]} after 100: that labels change ever more often on the way
            (Fig. 3) needs no gamma."""
        )
    picture = Picture(
        "steps",
        """The share of walks that have left their class by each step, for four ways to climb
        (solid: the first network, dashed: the second).""",
        curves(drawn, "steps", "share that has flipped"),
    )
    text = """Fig. 3 shows one image on its way and Fig. 4 one changed example of every class. The
    photos here may not be passed on, so their numbers stand in place of them: how many of all
    photos have changed class by each step, and where random walks end."""
    return Section("On the way (Figs. 3 and 4)", text, tuple(rows), (picture,)), tuple(verdict)
