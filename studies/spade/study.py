"""SPADE's Tables 1 and 2 and Fig. 3 on MNIST: does the score fall as robustness grows?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from studies.mnist import read_mnist
from studies.page import Page, Row, Section, Tell, silent
from studies.pictures import Curve, Picture, curves
from studies.spade.measuring import CURVE, DISTANCES, EDGES, TABLE, Found, measured
from studies.spade.networks import FILE, RADII, REDUCED, Effort, Networks, trained
from studies.spade.verdict import verdict

__all__ = ["spade_tables"]

WHOLE = 60_000
PAPER_SCORES = {10: ("42", "40", "37", "33"), 20: ("41", "39", "36", "30")}
PAPER_TOP = {10: ("6.6", "6.1", "6.5", "7.7"), 20: ("5.1", "5.3", "5.6", "6.4")}
PAPER_CHANCE = {10: ("3.1", "2.6", "2.5", "2.7"), 20: ("2.4", "2.3", "2.2", "2.2")}


def spade_tables(
    data: Path, seed: int = 0, tell: Tell = silent, effort: Effort = REDUCED, digits: int = 10_000
) -> Page:
    """Train networks (or read what `networks` wrote into the folder), score and compare them."""
    learned, test = read_mnist(data)
    asked = test.first(digits)
    kept = data / FILE
    networks = Networks.load(kept) if kept.exists() else trained(learned, asked, effort, seed, tell)
    found = measured(networks, asked, seed, tell)
    return Page(
        name="spade",
        title="SPADE and robustness on MNIST",
        claim="""SPADE scores fall as networks become more robust: 42, 40, 37, 33 for PGD training
            at ε = 0, 0.1, 0.2, 0.3 (Table 1, 10 neighbours). The 100 edges with the largest scores
            are distorted more than random ones (Table 2). With few neighbours the order can be
            wrong (Fig. 3).""",
        sections=(_trained(found), _table_1(found), _figure_3(found), *_table_2(found)),
        verdict=verdict(found),
        seed=seed,
        needs="--data DIR",
    )


def _trained(found: Found) -> Section:
    networks, effort = found.networks, found.networks.effort
    rows = []
    for at, radius in enumerate(RADII):
        rows.append(Row(f"ε = {radius:g}, clean", found.over_seeds(networks.clean)[at]))
        for place, attack in enumerate(RADII[1:]):
            share = found.over_seeds(networks.robust[:, place])[at]
            rows.append(Row(f"ε = {radius:g}, under PGD-20 of {attack:g}", share))
    less = " The paper's networks had the whole training set and more time."
    less = less if effort.rows < WHOLE else ""
    return Section(
        "The networks",
        f"""LeNet-5, trained plainly (ε = 0) and under PGD-{effort.steps} in L∞ balls of radius ε,
        {effort.seeds} seeds each: {effort.rows:,} digits, {effort.epochs} epochs, batches of
        {effort.batch}. Accuracy on {networks.logits.shape[1]:,} test digits, under attack on the
        first {effort.attacked:,}; mean over seeds and its error.{less}""",
        tuple(rows),
    )


def _table_1(found: Found) -> Section:
    rows = []
    for neighbours in TABLE:
        means = found.over_seeds(found.values(neighbours))
        for at, radius in enumerate(RADII):
            rows.append(
                Row(
                    f"{neighbours} neighbours, ε = {radius:g}",
                    means[at],
                    PAPER_SCORES[neighbours][at],
                    remark=_remark(found, neighbours, radius),
                )
            )
    for neighbours in TABLE:
        logarithms = np.log(found.values(neighbours))
        for radius in RADII[1:]:
            fall = _fall(found, logarithms, radius)
            told = _paper_fall(neighbours, radius)
            rows.append(Row(f"{neighbours} neighbours, log of ε = 0 over {radius:g}", fall, told))
    return Section(
        "Model scores (Table 1)",
        """The largest eigenvalue over the test digits, mean over seeds and its error. A single
        network's score has a spread of its own for new digits, from 8 disjoint blocks. The log
        ratios are between networks of one seed: above 0, the robust network has the smaller
        score.""",
        tuple(rows),
    )


def _fall(found: Found, logarithms: Floats, radius: float) -> Estimate:
    """How much smaller the logarithm is than that of the plain network of the same seed."""
    radii = found.networks.radii
    gaps = np.full(len(radii), np.nan)
    gaps[radii == radius] = logarithms[radii == 0] - logarithms[radii == radius]
    return found.over_seeds(gaps)[RADII.index(radius)]


def _paper_fall(neighbours: int, radius: float) -> str:
    first, other = (float(PAPER_SCORES[neighbours][RADII.index(each)]) for each in (0, radius))
    return f"{np.log(first / other):.2f}"


def _remark(found: Found, neighbours: int, radius: float) -> str:
    """What a reader must know beside the mean: spread for new digits, and repairs."""
    radii = found.networks.radii.tolist()
    both = zip(radii, found.scores(neighbours), strict=True)
    own = [each for other, each in both if other == radius]
    spread = np.mean([each.error / each.score for each in own])
    added = [each.settings.edges_added for each in own]
    joints = f"; {', '.join(map(str, added))} edges added to join parts" if any(added) else ""
    return f"one network ± {spread:.0%} for new digits{joints}"


def _figure_3(found: Found) -> Section:
    lines, rows = [], []
    for at, radius in enumerate(RADII):
        means = [found.over_seeds(found.values(neighbours))[at] for neighbours in CURVE]
        heights, errors = zip(*means, strict=True)
        lines.append(Curve(f"ε = {radius:g}", CURVE, heights, errors))
        if radius:
            rows += [
                Row(
                    f"{neighbours} neighbours, log of ε = 0 over {radius:g}",
                    _fall(found, np.log(found.values(neighbours)), radius),
                )
                for neighbours in CURVE
                if neighbours not in TABLE
            ]
    picture = Picture(
        "neighbours",
        "SPADE against the number of neighbours (Fig. 3), mean over seeds and its error.",
        curves(lines, "neighbours", "SPADE score", "y"),
    )
    return Section(
        "Scores against neighbours (Fig. 3)",
        "The same networks and digits, with other numbers of neighbours.",
        tuple(rows),
        (picture,),
    )


def _table_2(found: Found) -> list[Section]:
    sections = []
    for distance in DISTANCES:
        rows = []
        for neighbours in TABLE:
            each = found.stretched[neighbours, distance]
            sides = {
                "top": ([one.means[0].value for one in each], PAPER_TOP),
                "random": ([one.means[1].value for one in each], PAPER_CHANCE),
            }
            for which, (values, paper) in sides.items():
                for at, mean in enumerate(found.over_seeds(np.array(values))):
                    told = paper[neighbours][at] if distance == "geodesic" else ""
                    case = f"{neighbours} neighbours, ε = {RADII[at]:g}, {which} edges"
                    rows.append(Row(case, mean, told))
        sections.append(
            Section(
                f"Distortion by {distance} distance" + " (Table 2)" * (distance == "geodesic"),
                f"""Distance among outputs over distance among inputs, mean over the {EDGES} edges
                with the largest scores (one eigenvector, as in the paper) and over {EDGES} random
                edges of the input graph; mean over seeds and its error.""",
                tuple(rows),
            )
        )
    return sections
