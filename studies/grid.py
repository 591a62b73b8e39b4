"""Does the size of the grid matter? Gamma of the four Wine models on ever finer grids."""

from __future__ import annotations

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.statistics import Moments
from anharmonic.demos.wine import wine
from studies.page import Page, Row, Section, Tell, silent

__all__ = ["grid_size"]

STEPS = (10, 20, 40, 80)
SPLITS = 4
CLAIM = """The size of the grid hardly matters for the average of gamma over the box (main paper,
section 4, footnote 3)."""


def grid_size(seed: int = 0, tell: Tell = silent, splits: int = SPLITS) -> Page:
    """The four models of some splits on grids of growing size."""
    found: dict[tuple[str, int], list[float]] = {}
    queries: dict[tuple[str, int], int] = {}
    wins: dict[int, int] = dict.fromkeys(STEPS, 0)
    for number in range(splits * seed, splits * (seed + 1)):
        for steps in STEPS:
            tell(f"split {number}, {steps} × {steps} points …")
            models = {row.name: row.scores for row in wine(number, steps, rotations=2)}
            for name, scores in models.items():
                found.setdefault((name, steps), []).append(scores.mean)
                queries[name, steps] = queries.get((name, steps), 0) + scores.queries
            wins[steps] += sum(
                models[f"{family}-2"].mean > models[f"{family}-1"].mean
                for family in ("GBDT", "MLP")
            )
    names = list(dict.fromkeys(name for name, _ in found))
    finest = {name: np.array(found[name, STEPS[-1]]) for name in names}
    rows = []
    for name in names:
        for steps in STEPS:
            values = np.array(found[name, steps])
            moments = Moments.of(values)
            ratios = values / finest[name]
            span = f"{ratios.min():.2f} to {ratios.max():.2f} times the finest grid's, by split"
            remark = span if steps < STEPS[-1] else ""
            rows.append(
                Row(
                    f"{name}, {steps} × {steps}",
                    Estimate(float(moments.mean), float(moments.error)),
                    queries=queries[name, steps],
                    remark=remark,
                )
            )
    spans = {
        steps: [
            ratio
            for name in names
            for ratio in (np.array(found[name, steps]) / finest[name]).tolist()
        ]
        for steps in STEPS[:-1]
    }
    told = "; ".join(
        f"{min(ratios):.2f} to {max(ratios):.2f} times on {steps} × {steps} points"
        for steps, ratios in spans.items()
    )
    order = ", ".join(f"{wins[steps]} of {2 * splits} on {steps} × {steps}" for steps in STEPS)
    verdict = (
        f"""In part: of one model of one split gamma is {told}, beside {STEPS[-1]} × {STEPS[-1]}. A
        boundary is a line, and a coarse grid meets it by luck.""",
        f"""The order hardly depends on it: the overfit model has the larger gamma in {order}.""",
    )
    text = f"""Mean gamma of the class label over the box, r = 0.05, {splits} splits; the error is
    that over splits, the remark has the span of single splits."""
    section = Section("Four models on four grids", text, tuple(rows))
    return Page("grid", "The size of the grid", CLAIM, (section,), verdict, seed)
