"""`python -m benchmarks.fixes NAME --data FOLDER`: labelling, label-noise, proposals, smoothing.

FOLDER has electricity.csv, `tables/` and, for MNIST, `mnist/` with the idx files. With --chosen
the sets that choices were made on are measured instead of the published ones. With --kept cases
that a file holds are not measured again: a run goes on where it was stopped, and one set after the
other can be measured with --sets, before all are reported.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.fixes import label_noise, labelling, proposals, smoothing
from benchmarks.fixes.kept import Kept
from benchmarks.fixes.sets import CHOSEN_ON, LABEL_NOISE_TABLES, PROPOSED_ON, TESTED_ON

NAMES = ("labelling", "label-noise", "proposals", "smoothing")


def main() -> bool:
    """Measure, print, and say whether all bars were met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--chosen", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", help="with commas; those of the benchmark if not given")
    parser.add_argument("--kept", type=Path, help="a file of cases that were measured")
    given = parser.parse_args()
    sets: tuple[str, ...] = CHOSEN_ON if given.chosen else TESTED_ON
    if given.name == "label-noise":
        sets = LABEL_NOISE_TABLES["chosen" if given.chosen else "tested"]
    if given.name == "proposals" and not given.chosen:
        sets = PROPOSED_ON
    sets = tuple(given.sets.split(",")) if given.sets else sets
    bars = _measured(given.name, sets, given.seeds, given.data, Kept(given.kept))
    for bar, met in bars.items():
        print(f"{'met' if met else 'MISSED'}: {bar}")
    return all(bars.values())


def _measured(
    name: str, sets: tuple[str, ...], seeds: int, data: Path, kept: Kept
) -> dict[str, bool]:
    if name == "labelling":
        return labelling.report(labelling.measure_curves(sets, seeds, data, kept))
    if name == "label-noise":
        return label_noise.report(
            {each: label_noise.measure_noise(each, seeds, data, kept) for each in sets}
        )
    if name == "proposals":
        return proposals.report(proposals.measure_proposals(sets, seeds, data, kept))
    return smoothing.report(sets, seeds, data, kept)


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
