"""Which functional standard ranks models by how much they overfit: on twelve sets in two halves.

`python -m studies.standards standards.json` measures, some minutes on a core; it goes on where it
was stopped. The page is made from what it keeps.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from anharmonic._core.estimate import Estimate
from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments
from anharmonic.measures.standards import deviation, standards
from anharmonic.models import as_model
from anharmonic.models.predictor import as_they_are
from studies.overfitting.families import CAPACITIES, FAMILIES, built
from studies.overfitting.sets import CHOSEN_ON, SETS, TESTED_ON, split
from studies.page import Page, Row, Section, Tell, silent
from studies.streams import OverfittingStream

__all__ = ["standards_page"]

KEPT = "docs/reproduce/results/standards.json"
POINTS = 60
EITHER = "convex or concave"
CLAIM = """Other functional standards than harmonicity may capture more of what makes a model good
(main paper, section 1); none is tried."""

AGAIN = """`python -m studies.standards new.json`, some minutes on a core; it goes on where it was
stopped. Seed 0; 65 queries per point and standard, biharmonic 129, at 120 points of each of 300
models."""


def _measured(name: str, seed: int) -> list[dict[str, Any]]:
    """25 models of a set: gap, and the larger mean of training and new points by every standard."""
    parts = split(name, seed)
    classes = parts.task == "classification"
    found = []
    for family in FAMILIES:
        for capacity in CAPACITIES:
            model = built(family, capacity, parts.task, parts.train.shape[1], seed)
            with warnings.catch_warnings():
                # The largest networks stop before they converge, as people's do.
                warnings.simplefilter("ignore")
                model.fit(parts.train, parts.train_answers)
            scores = [
                float(model.score(rows, answers))
                for rows, answers in (
                    (parts.train, parts.train_answers),
                    (parts.test, parts.test_answers),
                )
            ]
            # As those of a function all columns count, for convex and concave too.
            asked = as_model(model, output="onehot" if classes else None)
            asked = as_model(asked, output=as_they_are)
            places = [_some(rows, seed) for rows in (parts.train, parts.test)]
            means = {
                standard: max(
                    deviation(asked, rows, standard=standard, reference=parts.train, seed=seed).mean
                    for rows in places
                )
                for standard in standards()
            }
            found.append({"gap": scores[0] - scores[1], "train": scores[0], **means})
    return found


def _some(rows: Floats, seed: int) -> Floats:
    order = generator(seed, OverfittingStream.MEASURED_POINTS).permutation(len(rows))
    return rows[np.sort(order[:POINTS])]


def measure(path: Path, seed: int = 0) -> None:
    """All sets that the file does not hold yet."""
    held = json.loads(path.read_text()) if path.exists() else {}
    for name in SETS:
        if name not in held:
            held[name] = [
                {key: float(f"{value:.6g}") for key, value in model.items()}
                for model in _measured(name, seed)
            ]
            with whole_file(path) as temporary:
                Path(temporary).write_text(json.dumps(held))
            print(f"{name}: measured", flush=True)


def _figures(held: dict[str, Any], sets: tuple[str, ...], key: str) -> Floats:
    """Spearman's correlation with the gap, one per set; 0 where nothing varies."""
    found = []
    for name in sets:
        gaps = [model["gap"] for model in held[name]]
        if key == EITHER:
            values = [min(model["convex"], model["concave"]) for model in held[name]]
        else:
            values = [model[key] for model in held[name]]
        found.append(float(spearmanr(values, gaps).statistic) if np.ptp(values) else 0.0)
    return np.array(found)


def _estimate(values: Floats) -> Estimate:
    moments = Moments.of(values)
    return Estimate(float(moments.mean), float(moments.error))


def standards_page(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """The page from what `python -m studies.standards` kept."""
    held = json.loads(data.read_text())
    names = (*standards(), EITHER)
    ordered = sorted(names, key=lambda name: -_figures(held, CHOSEN_ON, name).mean())
    sections = []
    for half, sets in (("first", CHOSEN_ON), ("second", TESTED_ON)):
        rows = [Row(name, _estimate(_figures(held, sets, name))) for name in (*ordered, "train")]
        rows[-1] = Row("train score (needs labels)", rows[-1].measured)
        sections.append(
            Section(
                f"The {half} half",
                f"""Spearman's correlation of the mean deviation, the larger of training and new
                points, with the true gap over the 25 models of a set; the mean over
                {", ".join(sets)} and its error. Radius: the nearest-neighbour distance; decisions
                as columns of 0 and 1, or predicted numbers; 60 points of each place.""",
                tuple(rows),
            )
        )
    best = ordered[0]
    lead = _figures(held, TESTED_ON, best) - _figures(held, TESTED_ON, "harmonic")
    low, high = (float(end) for end in Moments.of(lead).interval())
    told = "is ahead" if low > 0 else "is behind" if high < 0 else "is not told apart"
    verdict = (
        f"""For overfitting: the best of the first half is {best}
        ({_estimate(_figures(held, CHOSEN_ON, best))} there). On the second half it has
        {_estimate(_figures(held, TESTED_ON, best))}, harmonic has
        {_estimate(_figures(held, TESTED_ON, "harmonic"))}: a difference of {lead.mean():+.3f}
        [{low:+.3f}, {high:+.3f}], so that it {told}.""",
        """For explanations: affine, which is unsigned gamma there, tells more than harmonic from
        the same queries ([explanations](explainable.md)).""",
        """Monotone and Lipschitz standards need to be told what is wanted of a model, and rank
        nothing without; they are for checking a promise.""",
    )
    sections.append(Section("How to measure again", AGAIN))
    title = "Other standards than harmonic"
    return Page("standards", title, CLAIM, tuple(sections), verdict, seed, needs=f"--data {KEPT}")


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
