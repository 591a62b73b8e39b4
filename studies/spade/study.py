"""SPADE's Tables 1 and 2 and Fig. 3: does the score fall as robustness grows?"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic.errors import InputError
from studies.page import Page, Row, Section, Tell, prose, silent
from studies.pictures import Curve, Picture, curves
from studies.spade.case import CIFAR, MNIST, TABLE
from studies.spade.measuring import DISTANCES, EDGES, RANDOM, Found, mean_of
from studies.spade.networks import REDUCED, Effort
from studies.spade.results import digits_found, read
from studies.spade.verdict import verdict

__all__ = ["spade_cifar_tables", "spade_tables", "tables_page"]


def spade_tables(
    data: Path, seed: int = 0, tell: Tell = silent, effort: Effort = REDUCED, digits: int = 10_000
) -> Page:
    """The page from kept measurements, or from digits: networks trained, scored and compared."""
    kept = data / f"{MNIST.name}.json"
    if kept.is_file():
        return tables_page(read(kept, MNIST), MNIST.needs)
    return tables_page(digits_found(data, seed, tell, effort, digits), "--data MNIST")


def spade_cifar_tables(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """The page from kept measurements; how they are made is said on the page."""
    kept = data / f"{CIFAR.name}.json"
    if not kept.is_file():
        raise InputError(
            f"there is no {kept.name} in {data}: give docs/reproduce/results, or measure anew with "
            "python -m studies.spade_cifar.running and studies.spade_cifar.results"
        )
    return tables_page(read(kept, CIFAR), CIFAR.needs)


def tables_page(found: Found, needs: str) -> Page:
    """What was found, as a page; a reduced run is not held against the paper's figures."""
    case = found.case
    reduced = found.about.get("reduced")
    if reduced:
        found = replace(found, case=case.without_figures())
    sections = (_trained(found), _table_1(found), _figure_3(found), *_table_2(found))
    return Page(
        name=case.name,
        title=case.title,
        claim=case.claim,
        sections=(*sections, Section("The whole run", case.whole)) if reduced else sections,
        verdict=(reduced, *map(_in_small, verdict(found))) if reduced else verdict(found),
        seed=int(found.about["seed"]),
        needs=needs,
    )


def _in_small(line: str) -> str:
    """The same without a judgement of the paper's claim."""
    return re.sub(r"^(?:Confirmed in part|Not confirmed|Confirmed)\b", "In small", prose(line))


def _trained(found: Found) -> Section:
    clean = found.over_seeds([each["clean"] for each in found.networks])
    rows = []
    for at, radius in enumerate(found.trained):
        rows.append(Row(f"ε = {radius:g}, clean", clean[at], queries=_asked(found, "clean")))
        for place, attack in enumerate(found.case.attacks):
            share = found.over_seeds([each["robust"][place] for each in found.networks])[at]
            case = f"ε = {radius:g}, under PGD-20 of {attack:g}"
            rows.append(Row(case, share, queries=_asked(found, "attacked") * 21))
    return Section("The networks", found.about["networks"], tuple(rows))


def _asked(found: Found, which: str) -> int:
    """Forward passes of the networks of one radius."""
    return int(found.about[which]) * len(np.unique(found.seeds))


def _table_1(found: Found) -> Section:
    case, rows = found.case, []
    for count in TABLE:
        means = found.over_seeds(found.values(count))
        for at, radius in enumerate(found.trained):
            name = f"{count} neighbours, ε = {radius:g}"
            paper, remark = case.paper(case.scores, count, at), _remark(found, count, radius)
            rows.append(Row(name, means[at], paper, remark=remark))
    for count in TABLE:
        rows += _falls(found, count, papers=True)
    return Section(
        "Model scores (Table 1)",
        """The largest eigenvalue over the test set, mean over seeds and its error. A single
        network's score has a spread of its own for new points, from 8 disjoint blocks. The log
        ratios are between networks of one seed: above 0, the robust network has the smaller
        score.""",
        tuple(rows),
    )


def _falls(found: Found, count: int, papers: bool = False) -> list[Row]:
    """How much smaller the logarithm is than that of the plain network of the same seed."""
    logarithms, case, rows = np.log(found.values(count)), found.case, []
    for at, radius in enumerate(found.trained):
        if not radius:
            continue
        fall = mean_of(found.gaps(logarithms, radius))
        first, other = (
            (case.paper(case.scores, count, place) for place in (0, at))
            if papers
            else (
                "",
                "",
            )
        )
        told = f"{np.log(float(first) / float(other)):.2f}" if other else ""
        rows.append(Row(f"{count} neighbours, log of ε = 0 over {radius:g}", fall, told))
    return rows


def _remark(found: Found, count: int, radius: float) -> str:
    """What a reader must know beside the mean: spread for new points, and repairs."""
    both = zip(found.radii.tolist(), found.scores(count), strict=True)
    own = [each for other, each in both if other == radius]
    spread = np.mean([np.log(each["blocks"]).std(ddof=1) for each in own])
    added = [each["added"] for each in own]
    joints = f"; {', '.join(map(str, added))} edges added to join parts" if any(added) else ""
    return f"one network ± {spread:.0%} for new points{joints}"


def _figure_3(found: Found) -> Section:
    lines, rows = [], []
    curve = found.curve()
    for at, radius in enumerate(found.trained):
        means = [found.over_seeds(found.values(count))[at] for count in curve]
        heights, errors = zip(*means, strict=True)
        lines.append(Curve(f"ε = {radius:g}", curve, heights, errors))
    for count in curve:
        rows += [] if count in TABLE else _falls(found, count)
    picture = Picture(
        "neighbours",
        "SPADE against the number of neighbours (Fig. 3), mean over seeds and its error.",
        curves(lines, "neighbours", "SPADE score", "y"),
    )
    return Section(
        "Scores against neighbours (Fig. 3)",
        "The same networks and points, with other numbers of neighbours; the paper's end at 20.",
        tuple(rows),
        (picture,),
    )


def _table_2(found: Found) -> list[Section]:
    case, sections = found.case, []
    for distance in DISTANCES:
        rows = []
        for count in TABLE:
            for which, figures in (("top", case.top), ("chance", case.chance)):
                values: Floats = np.array(found.stretched(count, distance, which))[:, 0]
                word = "top" if which == "top" else "random"
                for at, mean in enumerate(found.over_seeds(values)):
                    told = case.paper(figures, count, at) if distance == "geodesic" else ""
                    name = f"{count} neighbours, ε = {found.trained[at]:g}, {word} edges"
                    rows.append(Row(name, mean, told))
        sections.append(
            Section(
                f"Distortion by {distance} distance" + " (Table 2)" * (distance == "geodesic"),
                f"""Distance among outputs over distance among inputs, mean over the {EDGES} edges
                with the largest scores (one eigenvector, as in the paper) and over {EDGES} random
                edges of the input graph; mean over seeds and its error.""",
                tuple(rows),
            )
        )
    return [*sections, _random_edges(found)]


def _random_edges(found: Found) -> Section:
    rows = []
    for count in TABLE:
        means = np.array(found.stretched(count, "random", ""))[:, 0]
        for at, mean in enumerate(found.over_seeds(means)):
            rows.append(Row(f"{count} neighbours, ε = {found.trained[at]:g}", mean))
        for before, radius in zip(found.trained, found.trained[1:], strict=False):
            gap: Estimate = mean_of(found.gaps(means, radius, before))
            rows.append(Row(f"{count} neighbours, ε = {before:g} less {radius:g}", gap))
    return Section(
        "Random edges (observation 2)",
        f"""Geodesic distortion of {RANDOM:,} random edges, for more precision than 100 give; the
        differences are between networks of one seed.""",
        tuple(rows),
    )
