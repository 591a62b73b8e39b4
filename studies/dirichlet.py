"""Harmonic functions as minimal interpolators (supplement, section 1)."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from anharmonic import balls
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.measures.gamma.measure import gamma
from anharmonic.regions import Region
from anharmonic.scores import Scores
from studies.interpolation import (
    Surface,
    bending,
    boundary,
    energy,
    harmonic,
    nodes,
    relaxed,
    rivals,
    sampled,
    spline,
)
from studies.known import uniform
from studies.page import Page, Row, Section, Tell, silent
from studies.pictures import Curve, Panel, Picture, curves, maps
from studies.streams import PaperStream

__all__ = ["minimal_interpolation"]

SQUARE = [(0.0, 1.0), (0.0, 1.0)]
REACH = 1 / 16

CLAIM = """Given values on a closed boundary there is one function that fills the inside with
∇²f = 0, and it has the minimum average curvature of all that meet these values. In the unit disc it
is Poisson's integral. On a grid it is found by applying the mean-value condition over and over
until it relaxes."""


def minimal_interpolation(
    seed: int = 0, tell: Tell = silent, steps: int = 64, points: int = 2000
) -> Page:
    """Relax a boundary to its harmonic interpolation; compare gamma and energy with rivals."""
    tell("relaxing …")
    sections = [_relaxation(steps), _disc(seed, points)]
    tell("filling the square in eight ways …")
    surfaces = rivals(steps, seed)
    fields = {name: sampled(surface, steps) for name, surface in surfaces.items()}
    sections += [_energies(fields), _gammas(surfaces, fields, seed, points), _bendings(fields)]
    title = "Harmonic functions as minimal interpolators"
    return Page("dirichlet", title, CLAIM, tuple(sections), _verdict(sections), seed)


def _at_nodes(field: Floats, x: Floats) -> Floats:
    at = np.rint(x * (field.shape[0] - 1)).astype(int)
    return np.asarray(field[at[:, 0], at[:, 1]])


def _node_gamma(field: Floats) -> Scores:
    """Gamma at the inner nodes with their four neighbours: the mean-value condition on a grid."""
    steps = field.shape[0] - 1
    grid = nodes(steps)
    inner = grid[((grid > 0) & (grid < 1)).all(axis=1)]
    return gamma(
        partial(_at_nodes, field),
        inner,
        radius=1 / steps,
        ball=balls.cross(2),
        rotations=0,
        scale=None,
        noise="ignore",
    )


def _relaxation(steps: int) -> Section:
    field = sampled(boundary, steps)
    field[1:-1, 1:-1] = 0.0
    rate = math.cos(math.pi / steps)
    # So many sweeps that the slowest wave is down to rounding.
    last = math.ceil(-36 / math.log(rate))
    stages = [0, *(round(last * share) for share in (0.002, 0.01, 0.05, 0.2, 0.4, 1.0))]
    rows, means, done = [], [], 0
    for stage in stages:
        field, done = relaxed(field, stage - done), stage
        scores = _node_gamma(field)
        means.append(scores.mean)
        estimate = Estimate(scores.mean, scores.error)
        truth = 0.0 if stage == last else None
        rows.append(Row(f"gamma after {stage:,} sweeps", estimate, "", truth, scores.queries))
    measured = (means[-2] / means[-3]) ** (1 / (stages[-2] - stages[-3]))
    rows.append(Row("what a sweep leaves of gamma", Estimate(measured, 0.0), "", rate))
    left = float(np.abs(field - harmonic(field)).max())
    rows.append(Row("largest distance from the direct solution", Estimate(left, 0.0), "", 0.0))
    picture = Picture(
        "relaxing",
        f"""Mean gamma at the nodes of a {steps} × {steps} grid against the number of sweeps: the
        slowest wave loses the factor cos(π/{steps}) in each, until only rounding is left.""",
        curves(
            [
                Curve("gamma", stages[1:], means[1:]),
                Curve("∝ cos(π/n)^sweeps", *_tail(stages, means, rate), dash="dot"),
            ],
            "sweeps",
            "gamma",
            "y",
        ),
    )
    return Section(
        "Relaxing a boundary",
        f"""Boundary values cos(5x)·sin(4y + 1) on the unit square, 0 inside to begin with, a grid
        of {steps} × {steps} steps. A sweep puts the mean of its four neighbours at every inner
        node. Gamma, with the cross of one grid step as the ball, is exactly how far the next sweep
        will move a node; so relaxing is making gamma 0.""",
        tuple(rows),
        (picture,),
    )


def _tail(stages: list[int], means: list[float], rate: float) -> tuple[list[int], list[float]]:
    """The line of the slowest wave through the last stage that rounding has not reached."""
    shown = stages[3:-1]
    return shown, [means[-2] * rate ** (stage - shown[-1]) for stage in shown]


def _poisson(x: Floats) -> Floats:
    """Poisson's integral of a step on the unit circle: 1 on the upper half, 0 on the lower."""
    angles = (np.arange(400) + 0.5) * 2 * math.pi / 400
    around = np.exp(1j * angles[angles < math.pi])
    inside = (x[:, 0] + 1j * x[:, 1])[:, None]
    kernel = (1 - np.abs(inside) ** 2) / np.abs(around - inside) ** 2
    return np.asarray(kernel.sum(axis=1) / 400)


def _disc(seed: int, points: int) -> Section:
    turn = np.arange(64) * 2 * math.pi / 64
    circle = balls.fixed(np.stack((np.cos(turn), np.sin(turn)), axis=1), "circle of 64")
    angle, size = generator(seed, PaperStream.DIRICHLET_POINTS).random((2, points)) * [
        [2 * math.pi],
        [0.6],
    ]
    inside = np.stack((size * np.cos(angle), size * np.sin(angle)), axis=1)
    rows = []
    for name, ball, rotations in (("64 directions", circle, 0), ("simplex", balls.simplex(2), 4)):
        scores = gamma(
            _poisson, inside, radius=0.2, ball=ball, rotations=rotations, scale=None, seed=seed
        )
        estimate = Estimate(scores.mean, scores.error)
        remark = "" if rotations == 0 else f"noise alone would read {scores.floor:.2g}"
        rows.append(Row(f"gamma, {name}", estimate, "0", 0.0, scores.queries, remark))
    return Section(
        "Poisson's integral in the disc",
        """Boundary values 1 on the upper half circle and 0 on the lower; points up to 0.6 from the
        centre, r = 0.2. A jump on the boundary is harmonic inside all the same.""",
        tuple(rows),
    )


def _least(field: Floats) -> float:
    return energy(field) / energy(harmonic(field))


def _energies(fields: dict[str, Floats]) -> Section:
    wanted = fields["harmonic"]
    rows = []
    for name, field in fields.items():
        ratio = _least(field)
        # The same field seen with twice the step tells what the grid does to the figure.
        error = 0.0 if name == "harmonic" else abs(ratio - _least(field[::2, ::2]))
        edge = np.abs(field - wanted)
        edge[1:-1, 1:-1] = 0.0
        remark = f"misses the boundary by up to {edge.max():.2g}" if edge.max() > 1e-6 else ""
        truth, paper = (1.0, "1") if name == "harmonic" else (None, "> 1")
        rows.append(Row(name, Estimate(ratio, error), paper, truth, 0, remark))
    panels = [Panel(name, field, SQUARE, "values") for name, field in fields.items()]
    caption = """Eight ways to fill the square from the same boundary values."""
    return Section(
        "Dirichlet's energy, in units of the least possible",
        """The integral of the squared slope, divided by that of the harmonic function with the same
        values on the boundary; for models that only come near the given values, with their own.
        The error is the change when every other node is left out. For nearest neighbour and trees
        it cannot be small: they jump, and the energy of a jump has no limit.""",
        tuple(rows),
        (Picture("surfaces", caption, maps([panels[:4], panels[4:]])),),
    )


def _gammas(
    surfaces: dict[str, Surface], fields: dict[str, Floats], seed: int, points: int
) -> Section:
    inside = uniform([(REACH, 1 - REACH)] * 2, points, seed)
    rows = []
    for name, field in fields.items():
        scores = _node_gamma(field)
        estimate = Estimate(scores.mean, scores.error)
        truth = 0.0 if name == "harmonic" else None
        rows.append(Row(f"{name}, at the nodes", estimate, "", truth, scores.queries))
    measure = partial(_gamma_anywhere, inside=inside, seed=seed)
    found = {name: measure(surface) for name, surface in surfaces.items()}
    for name, scores in found.items():
        estimate = Estimate(scores.mean, scores.error)
        remark = f"noise alone would read {scores.floor:.1g}"
        rows.append(Row(f"{name}, anywhere", estimate, "", None, scores.queries, remark))
    fine = found["harmonic"]
    coarse = measure(spline(harmonic(fields["harmonic"][::2, ::2])))
    ratio = coarse.mean / fine.mean
    error = ratio * math.hypot(coarse.error / coarse.mean, fine.error / fine.mean)
    case = "harmonic on half as many steps ÷ harmonic"
    rows.append(Row(case, Estimate(ratio, error), "", 4.0, coarse.queries, "4 as the step → 0"))
    return Section(
        "Gamma of the same surfaces",
        f"""At the nodes, with the cross of one grid step: the discrete mean-value condition, where
        the harmonic fill is exact. Anywhere: at {points:,} random points with r = 1/16 and a turned
        antisimplex, the surfaces as functions; the first two are cubic splines through the nodes,
        so that straight pieces between nodes do not add kinks of their own. What is left of the
        harmonic fill there is the grid's own error, which falls with the square of the step; the
        last row shows it.""",
        tuple(rows),
    )


def _gamma_anywhere(surface: Surface, inside: Region, seed: int) -> Scores:
    return gamma(
        surface, inside, radius=REACH, ball="antisimplex", scale=None, noise="ignore", seed=seed
    )


def _bendings(fields: dict[str, Floats]) -> Section:
    least = bending(fields["least bending"])
    coarse_least = bending(fields["least bending"][::2, ::2])
    rows = []
    for name, field in fields.items():
        ratio = bending(field) / least
        error = abs(ratio - bending(field[::2, ::2]) / coarse_least)
        if name == "least bending":
            rows.append(Row(name, Estimate(ratio, 0.0), "", 1.0))
            continue
        rows.append(Row(name, Estimate(ratio, error), "least" if name == "harmonic" else ""))
    return Section(
        "Bending, in units of the least possible",
        """The integral of all squared second derivatives, the energy of a bent plate. If
        “curvature” meant this, the harmonic fill would not be the least: its second derivatives
        cancel along two axes, they do not vanish. Errors as above.""",
        tuple(rows),
    )


def _verdict(sections: list[Section]) -> tuple[str, ...]:
    relaxing, _, energies, gammas, bendings = (section.rows for section in sections)
    others = [row for row in energies if row.case != "harmonic"]
    nearest = min(others, key=lambda row: row.measured.value)
    anywhere = {row.case.split(",")[0]: row for row in gammas if "anywhere" in row.case}
    rival = min(
        (row for name, row in anywhere.items() if name != "harmonic"),
        key=lambda row: row.measured.value,
    )
    flat = {row.case: row.measured for row in bendings}
    ratio = rival.measured.value / anywhere["harmonic"].measured.value
    return (
        f"""Confirmed: relaxing takes gamma from {relaxing[0].measured.value:.3g} to
        {relaxing[-3].measured.value:.0e}, by the factor cos(π/n) a sweep that theory predicts, to
        the same surface as a direct solution.""",
        f"""Confirmed for Dirichlet's energy: each of the other {len(others)} fills has more than
        the harmonic one with the same boundary, the nearest ({nearest.case})
        {nearest.measured.value:.3g} times as much.""",
        f"""Gamma tells it from all of them: between the nodes the smallest rival
        ({rival.case.split(",")[0]}) reads {ratio:.3g} times the harmonic fill.""",
        f"""Corrected: “minimum average curvature” holds for the slope's energy and, trivially, for
        the squared Laplacian, which is 0. It does not hold for bending: a thin plate held at its
        edge bends less, the harmonic fill has {flat["harmonic"]} times its bending.""",
        """Not shown: that a model should be harmonic. Data inside the square would forbid it, as a
        harmonic function has no peaks; the paper says so too.""",
    )
