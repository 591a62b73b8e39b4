"""The measured lines as tables, and the bars."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.performance.cases import Floats
from benchmarks.performance.measuring import Line
from benchmarks.performance.sources import BLIND, SOURCES

Lines = dict[str, list[dict[str, Line]]]


class Row(NamedTuple):
    """One data set and metric, over all its seeds."""

    data: str
    metric: str
    parts: dict[str, float]
    """Means over windows and seeds of each part of a `Line`."""
    spread: float
    """Standard deviation of our error between seeds."""
    behind: float
    """How far our error is above theirs, in standard errors over windows."""
    covered: float
    covered_late: float
    windows: int
    """Known windows per seed."""

    @property
    def rivalled(self) -> bool:
        return bool(np.isfinite(self.parts["theirs"]))


def summarise(data: str, metric: str, found: list[Line]) -> Row:
    """Means over windows, then over seeds."""
    parts = {
        part: float(np.mean([np.mean(getattr(line, part)) for line in found]))
        for part in Line._fields
    }
    ours = np.array([line.ours.mean() for line in found])
    # Seeds of real data share most of their traffic: windows, not seeds, are what varies.
    shortest = min(len(line.ours) for line in found)
    gaps = np.mean([line.ours[:shortest] - line.theirs[:shortest] for line in found], axis=0)
    known = np.concatenate([line.known for line in found]) > 0
    error = gaps.std(ddof=1) / np.sqrt(len(gaps))
    return Row(
        data,
        metric,
        parts,
        float(ours.std(ddof=1)) if len(ours) > 1 else np.nan,
        float(gaps.mean() / error) if error > 0 else 0.0,
        _mean(np.concatenate([line.covered for line in found])[known]),
        _mean(np.concatenate([line.covered_late for line in found])[known]),
        round(known.sum() / len(found)),
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else np.nan


def report(
    lines: Lines, savings: dict[str, list[Floats]], halves: dict[str, list[dict[str, Floats]]]
) -> dict[str, bool]:
    """Print the tables; the bars and whether they are met."""
    rows = [
        summarise(data, metric, [seed[metric] for seed in found])
        for data, found in lines.items()
        for metric in found[0]
    ]
    print("\n| data | group | metric | ours | ± seeds | NannyML | floor | 2%, then | 2%, late "
          "| least | covered | with 2% | known |\n" + "|---" * 13 + "|")  # fmt: skip
    for row in rows:
        part = row.parts
        theirs = f"{part['theirs']:.4g}" if row.rivalled else "–"
        print(f"| {row.data} | {SOURCES[row.data].group} | {row.metric} | {part['ours']:.4g} "
              f"| {row.spread:.2g} | {theirs} | {part['floor']:.4g} | {part['then']:.4g} "
              f"| {part['late']:.4g} | {part['least']:.4g} | {row.covered:.0%} "
              f"| {row.covered_late:.0%} | {part['known']:.0%} |")  # fmt: skip
    print("\n| data | group | saved, plain mean | ± seeds | saved, prediction-powered "
          "| bound, plain mean |\n" + "|---" * 6 + "|")  # fmt: skip
    for data, found in savings.items():
        plain, powered, bound = np.mean(found, axis=0)
        print(f"| {data} | {SOURCES[data].group} | {plain:.0%} | {np.std(found, axis=0)[0]:.0%} "
              f"| {powered:.0%} | {bound:.0%} |")  # fmt: skip
    print()
    _by_chance(halves)
    return {**_against(rows), **_coverage(rows), **_halving(rows), **_saving(savings)}


def _by_chance(halves: dict[str, list[dict[str, Floats]]]) -> None:
    """What ratios two fits of one law have: how often one is above the other, and how far."""
    apart = {
        f"{data} {metric}": np.mean([seed[metric] for seed in found], axis=0)
        for data, found in halves.items()
        for metric in found[0]
    }
    logs = np.log([odd / even for even, odd in apart.values()])
    above = [f"{name} {np.expm1(log):+.1%}" for name, log in zip(apart, logs, strict=True)]
    above = [said for said, log in zip(above, logs, strict=True) if log > 0]
    print(f"NannyML from every other row of the reference against those between: above in "
          f"{len(above)} of {len(logs)}, on average a factor of {np.exp(np.abs(logs).mean()):.3f} "
          f"up or down; up: {', '.join(above)}")  # fmt: skip


def _against(rows: list[Row]) -> dict[str, bool]:
    pairs = [row for row in rows if row.rivalled]
    above = [row for row in pairs if row.parts["ours"] > row.parts["theirs"]]
    clear = [f"{row.data} {row.metric}" for row in above if row.behind > 2]
    said = [
        f"{row.data} {row.metric} {row.parts['ours'] / row.parts['theirs'] - 1:+.1%}"
        for row in above
    ]
    for group in ("chosen", "seen", "fresh"):
        ratios = [
            row.parts["ours"] / row.parts["theirs"]
            for row in pairs
            if SOURCES[row.data].group == group
        ]
        if ratios:
            mean = np.exp(np.mean(np.log(ratios)))
            print(f"error over NannyML's, {group}: geometric mean {mean:.2f}, "
                  f"below in {sum(ratio < 1 for ratio in ratios)} of {len(ratios)}")  # fmt: skip
    print(f"above NannyML by more than two standard errors: {', '.join(clear) or 'none'}")
    below = len(pairs) - len(above)
    return {
        f"not above NannyML on any (above: {', '.join(said) or 'none'})": not above,
        f"below NannyML on half ({below} of {len(pairs)})": below * 2 >= len(pairs),
    }


def _coverage(rows: list[Row]) -> dict[str, bool]:
    """Blind shifts have nothing to be known by, so that their intervals are not counted."""
    counted = [row for row in rows if row.data not in BLIND and np.isfinite(row.covered)]
    inside = [row for row in counted if 0.85 <= row.covered <= 0.95]
    # With so few windows a perfect interval is off by this much: two standard errors.
    narrow = [
        f"{row.data} {row.metric} {row.covered:.0%}"
        for row in counted
        if row.covered < 0.85 - 2 * np.sqrt(0.09 / max(row.windows, 1))
    ]
    print(f"intervals too narrow beyond chance: {', '.join(narrow) or 'none'}")
    shares = {}
    for group in ("chosen", "seen", "fresh"):
        found = [row for row in counted if SOURCES[row.data].group == group]
        weights = [row.windows for row in found]
        if sum(weights):
            shares[group] = np.average([row.covered for row in found], weights=weights)
            late = np.average([row.covered_late for row in found], weights=weights)
            print(
                f"covered where known, {group}: {shares[group]:.1%} of windows, with 2% {late:.1%}"
            )
    weights = [row.windows for row in counted]
    overall = float(np.average([row.covered for row in counted], weights=weights))
    counts = f"{len(inside)} of {len(counted)}"
    return {
        f"intervals cover 85–95% in each data set and metric ({counts})": inside == counted,
        f"intervals cover 85–95% of all known windows ({overall:.1%})": 0.85 <= overall <= 0.95,
    }


def _halving(rows: list[Row]) -> dict[str, bool]:
    pairs = [row for row in rows if row.rivalled]
    ratio = {id(row): row.parts["late"] / row.parts["ours"] for row in pairs}
    reachable = [row for row in pairs if row.parts["ours"] / 2 >= row.parts["least"]]
    halved = [row for row in reachable if ratio[id(row)] <= 0.5]
    missed = [
        f"{row.data} {row.metric} {ratio[id(row)]:.2f}" for row in reachable if ratio[id(row)] > 0.5
    ]
    worst = max(pairs, key=lambda row: ratio[id(row)])
    print(f"2% of labels: median ratio {np.median(list(ratio.values())):.2f}, largest "
          f"{ratio[id(worst)]:.2f} ({worst.data} {worst.metric}); half of the error is out of "
          f"reach in {len(pairs) - len(reachable)} of {len(pairs)}; in reach and not halved: "
          f"{', '.join(missed) or 'none'}")  # fmt: skip
    return {
        f"2% of labels halve the error in every data set ({sum(r <= 0.5 for r in ratio.values())} "
        f"of {len(pairs)})": max(ratio.values()) <= 0.5,
        f"2% of labels halve the error wherever that is in reach ({len(halved)} of "
        f"{len(reachable)})": len(halved) == len(reachable),
        "2% of labels nowhere make the error more than 10% larger": max(ratio.values()) <= 1.1,
    }


def _saving(savings: dict[str, list[Floats]]) -> dict[str, bool]:
    found = np.array([np.mean(lines, axis=0) for lines in savings.values()])
    plain, powered, bound = np.median(found, axis=0)
    medians = f"median {plain:.0%}, bound {bound:.0%}"
    most = -found[:, :2].min()
    return {
        f"30% fewer labels than random and the plain mean ({medians})": plain >= 0.3,
        f"30% fewer labels than random, prediction-powered (median {powered:.0%})": powered >= 0.3,
        f"chosen rows nowhere cost over 10% more labels (most {most:.0%})": most <= 0.1,
    }
