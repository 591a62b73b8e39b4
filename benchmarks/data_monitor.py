"""Gamma over the data, watched: is traffic like the reference scored like it, and left in peace?

    python -m benchmarks.data_monitor

For each kind of model and rows, many references and 10,000 rows of traffic drawn alike: the ratio
of mean scores, false alarms (the bound is one in ten), and the median delay until a model is found
that mixes up 15% of its answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.measures.over_data.fitted import fit_weights
from anharmonic.measures.over_data.recorded import Answered
from anharmonic.monitor import Evidence
from anharmonic.regions import unmoved

ROWS, TRAFFIC, REFERENCES, MIXED = 1000, 10_000, 60, 0.15


class Kind(NamedTuple):
    """How rows are drawn, and what the model answers."""

    draw: Callable[[np.random.Generator, int], Floats]
    answer: Callable[[Floats], Floats]


def _table(random: np.random.Generator, count: int) -> Floats:
    """Four codes and a number that is often missing."""
    codes = random.integers(0, 4, size=(count, 4)).astype(float)
    number = np.where(random.random((count, 1)) < 0.2, np.nan, random.normal(size=(count, 1)))
    return np.concatenate([codes, number], axis=1)


KINDS = {
    "waves": Kind(
        lambda random, count: random.uniform(-2, 2, size=(count, 2)),
        lambda x: np.sin(4 * x[:, 0]) * (x[:, 0] > 0) + 0.5 * x[:, 1],
    ),
    "heavy tail": Kind(
        lambda random, count: random.normal(size=(count, 3)),
        lambda x: np.sin(3 * x[:, 0]) * (x[:, 0] > 0) + 0.3 * x[:, 1] * x[:, 2],
    ),
    "decisions": Kind(
        lambda random, count: random.normal(size=(count, 5)),
        lambda x: (np.sin(2 * x[:, 0]) + x[:, 1] > 0).astype(float),
    ),
    "table": Kind(_table, lambda x: x[:, 0] * x[:, 1] + (x[:, 2] == 1) * np.nan_to_num(x[:, 4])),
}


def main() -> None:
    for name, kind in KINDS.items():
        ratios: list[float] = []
        delays: list[int] = []
        alarms = refused = 0
        for seed in range(REFERENCES):
            random = np.random.default_rng((seed, ROWS))
            rows, traffic = kind.draw(random, ROWS), kind.draw(random, TRAFFIC)
            answers = kind.answer(traffic)[:, None]
            fitted = fit_weights(
                Answered(unmoved(rows), kind.answer(rows)[:, None]), kind="value", seed=seed
            )
            scores = fitted.score(unmoved(traffic), answers)
            ratios.append(float(scores.mean() / fitted.reference_scores.mean()))
            try:
                evidence = Evidence(fitted.reference_scores, seed=seed)
            except PointsError:
                refused += 1
                continue
            alarms += bool(evidence.feed(scores, np.arange(TRAFFIC))[0])
            evidence.reset()
            mixed = np.where(random.random(TRAFFIC) < MIXED, random.permutation(TRAFFIC), -1)
            changed = np.where(mixed[:, None] < 0, answers, answers[mixed])
            found = evidence.feed(fitted.score(unmoved(traffic), changed), np.arange(TRAFFIC))[0]
            delays.append(found[0].at if found else TRAFFIC)
        error = np.std(ratios) / np.sqrt(len(ratios))
        print(
            f"{name}: ratio {np.mean(ratios):.3f} ± {error:.3f}, {alarms} false alarms in "
            f"{REFERENCES - refused} references ({refused} refused), delay {np.median(delays):.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
