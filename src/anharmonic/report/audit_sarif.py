"""An audit as SARIF 2.1.0, which code hosts show beside the code."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from anharmonic import __version__
from anharmonic._core.files import write_text_whole
from anharmonic.auditing.finding import CheckResult, Finding, Severity
from anharmonic.auditing.result import Audit

__all__ = ["sarif_of", "write_sarif"]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: dict[Severity, str] = {"high": "error", "medium": "warning", "low": "note"}


def write_sarif(
    path: str | os.PathLike[str],
    audit: Audit,
    *,
    data: str | os.PathLike[str] | None = None,
    reference: str | os.PathLike[str] | None = None,
) -> Path:
    """Write an audit as a SARIF log and return its path.

    Parameters
    ----------
    path
        Where it goes.
    audit
        From `audit`.
    data, reference
        The files that new rows and reference came from: what findings point to.
    """
    log = sarif_of(audit, data=data, reference=reference)
    return write_text_whole(path, json.dumps(log, indent=1, ensure_ascii=False))


def sarif_of(
    audit: Audit,
    *,
    data: str | os.PathLike[str] | None = None,
    reference: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """The same as a dictionary.

    Parameters
    ----------
    audit, data, reference
        As in `write_sarif`.
    """
    files = {"new": data, "reference": reference}
    rules = [_rule(result) for result in audit.checks]
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "anharmonic",
                        "semanticVersion": __version__,
                        "version": __version__,
                        "rules": rules,
                    }
                },
                "invocations": [{"executionSuccessful": True}],
                "results": [_result(finding, numbers, files, audit) for finding in audit.findings],
                "properties": {"queries": audit.queries, "falseFindingRate": audit.rate},
            }
        ],
    }


def _id(check: str) -> str:
    return "anharmonic/" + re.sub(r"\W+", "-", check)


def _rule(result: CheckResult) -> dict[str, Any]:
    return {
        "id": _id(result.check),
        "name": "".join(word.capitalize() for word in result.check.split()),
        "shortDescription": {"text": result.title},
        "fullDescription": {"text": result.summary or f"Not done: {result.skipped}."},
    }


def _result(
    finding: Finding,
    numbers: dict[str, int],
    files: dict[str, str | os.PathLike[str] | None],
    audit: Audit,
) -> dict[str, Any]:
    rule = _id(finding.check)
    same = f"{rule} {finding.name} {finding.subject}"
    return {
        "ruleId": rule,
        "ruleIndex": numbers[rule],
        "level": LEVELS[finding.severity],
        "message": {
            "text": f"{finding.name}: {finding.what} {finding.comparison} {finding.next_step}"
        },
        "locations": [_location(finding, files, audit)],
        # The same finding has the same print in every run, whatever its number is.
        "partialFingerprints": {"finding/v1": hashlib.sha256(same.encode()).hexdigest()[:32]},
        "properties": {
            "severity": finding.severity,
            "subject": finding.subject,
            "value": _finite(finding.measured.value),
            "interval": [_finite(finding.measured.low), _finite(finding.measured.high)],
            "chance": finding.chance,
            "rows": list(finding.rows),
            "rowNames": list(finding.row_names),
        },
    }


def _location(
    finding: Finding, files: dict[str, str | os.PathLike[str] | None], audit: Audit
) -> dict[str, Any]:
    """The file that a finding is about; in a table of text, the line of its first row."""
    chosen = files.get(finding.side) or files["reference"] or files["new"]
    if chosen is None:
        name = audit.model
        return {"logicalLocations": [{"name": name, "kind": "object"}]}
    path = Path(chosen)
    where: dict[str, Any] = {"artifactLocation": {"uri": _address(os.fspath(chosen))}}
    single = not finding.drawn and not set(path.name) & set("*?[")
    if finding.rows and finding.side and single and path.suffix.lower() == ".csv":
        # Rows count from 0, lines from 1, and the first line has the names.
        where["region"] = {"startLine": finding.rows[0] + 2}
    return {"physicalLocation": where}


def _address(place: str) -> str:
    """A file as a URI: relative where its path is, which means within the repository."""
    if "://" in place:
        return quote(place, safe=":/?&=%")
    path = Path(place)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _finite(value: float) -> float | None:
    return value if value == value and abs(value) != float("inf") else None
