"""One score for instability, chosen on some photos and read on others: nested cross-validation.

The candidates are all ways of the contest and a family that holds the best of them: the margin plus
a share of what walks take from it, over a power of how much that varies, (m + a·mean Δ)/(sd Δ)^b.
It is the margin at a = b = 0, the end margin at a = 1, b = 0, and z at a = b = 1. The family was
written down before it was measured.

Photos are dealt into ten folds. Nine choose the candidate whose smallest AUROC over networks and
labels is the largest; in the tenth it is read. AUROC is pooled over folds from pairs of photos of
one fold, as chosen scores of two folds may have other units. So the worst network and label is
looked for in figures of all photos and not, as in a single fold, in the noise of a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from studies.images.contest import MARGIN, Contest
from studies.images.measurements import Measurements
from studies.images.ranking import Interval, interval
from studies.images.scoring import KINDS, Score, margin
from studies.streams import ImageStream

__all__ = ["Nested", "family", "nested"]

SHARES = (0.0, 0.5, 1.0, 1.5, 2.0)
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
WALKS = KINDS[3]
QUERIES = 20
FOLDS, REPEATS = 10, 20
DRAWS, REPEATS_DRAWN = 200, 3


@dataclass(frozen=True)
class Nested:
    """What the nested choice has on photos that had no part in it.

    `cells` are AUROCs by network and label, `worst` the smallest of them with a bootstrap interval
    of that cell over photos, `above` how much the mean over cells is above the margin's. `chosen`
    counts how often each candidate was; `best` is the one chosen on all photos.
    """

    cells: dict[tuple[str, str], float]
    margins: dict[tuple[str, str], float]
    worst: Interval
    above: Interval
    chosen: Counter[str]
    best: Score
    candidates: int


def family() -> list[Score]:
    """Every share and power, from twenty walks."""
    return [
        Score(f"(m + {share:g}·mean Δ)/(sd Δ)^{power:g}", QUERIES, _formed(share, power))
        for share in SHARES
        for power in POWERS
        if share or power
    ]


def _formed(share: float, power: float) -> Callable[[Measurements], Floats]:
    def of(found: Measurements) -> Floats:
        ends = found.around(WALKS, QUERIES)
        changes = ends.reshape(len(ends), -1)
        spread = np.maximum(changes.std(axis=1, ddof=1), 1e-6)
        return np.asarray((margin(found) - share * changes.mean(axis=1)) / spread**power)

    return of


class _Pairs:
    """For every cell, which photos are stable or not, and who is above whom by every candidate."""

    def __init__(self, contest: Contest, scores: list[Score]) -> None:
        self.cells, self.above = [], []
        for found, label, known, unstable in contest.cells():
            self.cells.append((found.network, label, known[unstable], known[~unstable]))
            values = np.stack([score.of(found) for score in scores])
            one = values[:, known[unstable], None]
            other = values[:, None, known[~unstable]]
            self.above.append(((one > other) + 0.5 * (one == other)).astype(np.float32))

    def areas(self, counts: Array) -> Floats:
        """AUROCs (candidates, cells) with each photo taken as often as `counts` says."""
        return np.stack(
            [
                _area(above, counts[bad], counts[good])
                for above, (_, _, bad, good) in zip(self.above, self.cells, strict=True)
            ],
            axis=1,
        )

    def hits(self, candidate: int, counts: Array) -> tuple[Floats, Floats]:
        """Pairs told in the right order by one candidate, and all pairs, (cells,) each."""
        told, every = [], []
        for above, (_, _, bad, good) in zip(self.above, self.cells, strict=True):
            told.append(float(counts[bad] @ above[candidate] @ counts[good]))
            every.append(float(counts[bad].sum() * counts[good].sum()))
        return np.array(told), np.array(every)


def _area(above: Array, bad: Array, good: Array) -> Floats:
    pairs = bad.sum() * good.sum()
    return np.asarray((above @ good) @ bad / pairs if pairs else np.full(len(above), np.nan))


def nested(contest: Contest, repeats: int = REPEATS, draws: int = DRAWS) -> Nested:
    """Choose and read in folds; the interval draws photos anew, copies of one in one fold."""
    scores = [*(score for score, _ in contest.ordered), *family()]
    pairs, baseline = _Pairs(contest, scores), _Pairs(contest, [MARGIN])
    random = generator(contest.seed, ImageStream.NESTED_FOLDS)
    photos = len(contest.found[0])
    # In single precision, as the pairs are: a copy of them in double would take most of the time.
    once = np.ones(photos, dtype=np.float32)
    chosen: Counter[str] = Counter()
    cells = np.mean(
        [_folded(pairs, once, random.permutation(photos), chosen, scores) for _ in range(repeats)],
        axis=0,
    )
    margins = baseline.areas(once)[0]
    worsts, aboves = [], []
    for _ in range(draws):
        counts = random.multinomial(photos, np.full(photos, 1 / photos)).astype(np.float32)
        orders = [random.permutation(photos) for _ in range(REPEATS_DRAWN)]
        drawn = np.mean(
            [_folded(pairs, counts, order, Counter(), scores) for order in orders], axis=0
        )
        worsts.append(drawn[cells.argmin()])
        aboves.append(drawn.mean() - baseline.areas(counts)[0].mean())
    names = [(network, label) for network, label, _, _ in pairs.cells]
    everywhere = pairs.areas(once).min(axis=1)
    return Nested(
        cells=dict(zip(names, cells.tolist(), strict=True)),
        margins=dict(zip(names, margins.tolist(), strict=True)),
        worst=interval(float(cells.min()), np.array(worsts)),
        above=interval(float(cells.mean() - margins.mean()), np.array(aboves)),
        chosen=chosen,
        best=scores[int(everywhere.argmax())],
        candidates=len(scores),
    )


def _folded(
    pairs: _Pairs, counts: Array, order: Integers, chosen: Counter[str], scores: list[Score]
) -> Floats:
    """AUROC in every cell, from pairs within folds, each by what the other folds chose."""
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) % FOLDS
    told, every = np.zeros(len(pairs.cells)), np.zeros(len(pairs.cells))
    for left_out in range(FOLDS):
        inside = np.where(fold == left_out, np.float32(0), counts)
        worst = np.nan_to_num(pairs.areas(inside).min(axis=1), nan=-1.0)
        best = int(worst.argmax())
        chosen[str(scores[best])] += 1
        hits = pairs.hits(best, np.where(fold == left_out, counts, np.float32(0)))
        told, every = told + hits[0], every + hits[1]
    return np.asarray(told / every)


def kept(found: Nested) -> dict[str, object]:
    """The result as plain data, ready for JSON."""
    return {
        "cells": {" | ".join(name): value for name, value in found.cells.items()},
        "margins": {" | ".join(name): value for name, value in found.margins.items()},
        "worst": list(found.worst),
        "above": list(found.above),
        "chosen": dict(found.chosen.most_common()),
        "best": str(found.best),
        "candidates": found.candidates,
    }


if __name__ == "__main__":
    import json
    import sys
    from pathlib import Path

    from studies.images.measurements import read_measurements

    # python -m studies.images.nested docs/reproduce/results/images nested.json
    _contest = Contest(read_measurements(Path(sys.argv[1])), 0)
    Path(sys.argv[2]).write_text(json.dumps(kept(nested(_contest)), indent=1))
