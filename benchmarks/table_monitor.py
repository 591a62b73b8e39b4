"""Whether a monitor keeps its promise on rows that are not all numbers.

    python -m benchmarks.table_monitor FOLDER

FOLDER holds adult.csv. A forest is watched by gamma with categories, counts and gaps moving.
Streams are rows of the same pool as their reference, so that every alarm is a false one; one per
20,000 rows is allowed, and so at most a tenth of the streams of 2,000 rows may raise one. Printed
are the streams that did, the traffic's mean score over the reference's, and after how many rows a
change is found: every sex turned round and every third occupation lost.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

import anharmonic as ah
from anharmonic._core.statistics import Moments, Rate
from benchmarks.table_overhead import pipelines
from studies.tables.sets import read_table

STREAMS, REFERENCE, ROWS, BATCH = 40, 1000, 2000, 500
ALLOWED = "1 per 20000"


def main() -> int:
    """Print the figures; 1 where more streams alarm than may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    frame, answers = read_table("adult", given.folder)
    order = np.random.default_rng(0).permutation(len(frame))
    frame, answers = frame.iloc[order].reset_index(drop=True), answers[order]
    model = pipelines(frame)["one-hot, forest"]
    model.steps[-1][1].set_params(n_estimators=30)
    model.fit(frame[:5000], answers[:5000])
    pool = frame[5000:].reset_index(drop=True)
    alarms, ratios, delays = 0, [], []
    for seed in range(STREAMS):
        random = np.random.default_rng(seed)
        chosen = random.permutation(len(pool))[: REFERENCE + ROWS]
        reference, traffic = (
            pool.iloc[part].reset_index(drop=True)
            for part in (chosen[:REFERENCE], chosen[REFERENCE:])
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            monitor = ah.Monitor(
                model, reference, false_alarms=ALLOWED, promise=False, seed=seed, directions=8
            )
        scores = []
        for start in range(0, ROWS, BATCH):
            update = monitor.update(traffic[start : start + BATCH].reset_index(drop=True))
            scores.append(update.scores["gamma"])
        alarms += bool(monitor.alarm)
        ratios.append(np.nanmean(np.concatenate(scores)) / monitor.reference["gamma"].mean())
        if not monitor.alarm and seed < STREAMS // 4:
            delays.append(_delay(monitor, traffic))
    rate, mean = Rate.of(alarms, STREAMS), Moments.of(np.array(ratios))
    print(f"streams that raised a false alarm: {alarms} of {STREAMS}, {rate}; allowed 10%")
    print(f"traffic's mean over the reference's: {float(mean.mean):.3f} ± {float(mean.error):.3f}")
    found = [delay for delay in delays if delay is not None]
    middle = f"{np.median(found):.0f} rows" if found else "never"
    print(f"a change is found in {len(found)} of {len(delays)} streams, after {middle}")
    return int(rate.low > 0.1)


def _delay(monitor: ah.Monitor, traffic: object) -> int | None:
    """Rows until a change is found, in batches; None where it is not."""
    changed = traffic.copy()  # type: ignore[attr-defined]
    changed["sex"] = changed["sex"].map({"Male": "Female", "Female": "Male"})
    changed.loc[changed.index % 3 == 0, "occupation"] = None
    for start in range(0, len(changed), BATCH):
        monitor.update(changed[start : start + BATCH].reset_index(drop=True))
        if monitor.alarm:
            return start + BATCH
    return None


if __name__ == "__main__":
    sys.exit(main())
