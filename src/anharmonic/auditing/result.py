"""`Audit`: findings in words, what was checked, what it cost."""

from __future__ import annotations

import html
import json
import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anharmonic._core.files import write_text_whole
from anharmonic.auditing.finding import (
    SEVERITIES,
    CheckResult,
    Finding,
    Measured,
    Severity,
    at_least,
)
from anharmonic.auditing.picture import Picture
from anharmonic.errors import InputError

__all__ = ["Audit"]

FORMAT = 1


@dataclass(frozen=True, repr=False)
class Audit:
    """What an audit found.

    Parameters
    ----------
    findings
        What is wrong, the worst first. Empty for a clean model and clean data.
    checks
        What was checked, in order, with what each check saw.
    rate
        The chance of any false finding on the whole page, for a clean model and clean data.
    queries, seconds
        What it cost.
    facts
        The model, rows, columns, seed and budget.
    """

    findings: tuple[Finding, ...]
    checks: tuple[CheckResult, ...]
    rate: float
    queries: int
    seconds: float
    facts: Mapping[str, Any]

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.facts["model"])

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def headline(self) -> str:
        """The result in a sentence."""
        done = sum(1 for result in self.checks if not result.skipped)
        if self.clean:
            return f"Nothing wrong was found in {done} checks."
        counts = Counter(finding.severity for finding in self.findings)
        parts = [f"{counts[level]} {level}" for level in SEVERITIES if counts[level]]
        count = len(self.findings)
        return f"{count} {'finding' if count == 1 else 'findings'}: {', '.join(parts)}."

    @property
    def promise(self) -> str:
        """What the findings can be held to, in a sentence."""
        return (
            f"For a clean model and clean data the chance of any finding on this page is at most "
            f"{self.rate:.0%}: it is shared among the checks, and within each among its tests."
        )

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of this severity or worse.

        Parameters
        ----------
        severity : "high", "medium" or "low"
            The limit.
        """
        if severity not in SEVERITIES:
            raise InputError(f"severity {severity!r}: give one of {', '.join(SEVERITIES)}")
        return tuple(finding for finding in self.findings if at_least(finding.severity, severity))

    def __repr__(self) -> str:
        lines = [f"<Audit of {self.model}: {self.headline}"]
        for finding in self.findings:
            lines.append(f"  {finding.severity:<6} {finding.name}: {finding.what}")
        lines.append(f"  {self.queries:,} queries, {self.seconds:.0f} s>")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(finding.severity)}</td><td><b>{html.escape(finding.name)}</b>. "
            f"{html.escape(finding.what)} {html.escape(finding.comparison)} "
            f"<i>{html.escape(finding.next_step)}</i> {html.escape(finding.listed)}</td></tr>"
            for finding in self.findings
        )
        told = f"{self.headline} {self.queries:,} queries, {self.seconds:.0f} s."
        return f"<p><b>{html.escape(told)}</b></p><table>{rows}</table>"

    def plain(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        kept: dict[str, Any] = _finite(
            {
                "format": FORMAT,
                "holds": "audit",
                "clean": self.clean,
                "headline": self.headline,
                "promise": self.promise,
                "rate": self.rate,
                "queries": self.queries,
                "seconds": self.seconds,
                "settings": dict(self.facts),
                "findings": [finding.plain() for finding in self.findings],
                "checks": [
                    {name: part for name, part in asdict(result).items() if name != "candidates"}
                    | {"picture": None if result.picture is None else result.picture.plain()}
                    for result in self.checks
                ],
            }
        )
        return kept

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.plain(), indent=1, ensure_ascii=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as JSON, whole or not at all.

        Parameters
        ----------
        path
            Where to.
        """
        return write_text_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Audit:
        """Read what `save` wrote.

        Parameters
        ----------
        path
            Where it is.
        """
        try:
            kept = json.loads(Path(path).read_text(encoding="utf-8"))
            if kept["holds"] != "audit" or kept["format"] > FORMAT:
                raise KeyError("holds")
            findings = tuple(_finding(entry) for entry in kept["findings"])
            checks = tuple(_check(entry) for entry in kept["checks"])
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise InputError(
                f"{path} holds no audit: give a file written by Audit.save or audit --json"
            ) from problem
        return cls(
            findings, checks, kept["rate"], kept["queries"], kept["seconds"], kept["settings"]
        )


def _finding(kept: dict[str, Any]) -> Finding:
    measured: dict[str, Any] = {
        name: float("nan") if part is None else part for name, part in kept["measured"].items()
    }
    return Finding(
        **kept
        | {
            "measured": Measured(**measured),
            "columns": tuple(kept["columns"]),
            "rows": tuple(kept["rows"]),
            "row_names": tuple(kept.get("row_names", ())),
            "picture": None if kept["picture"] is None else Picture.read(kept["picture"]),
        }
    )


def _check(kept: dict[str, Any]) -> CheckResult:
    picture = None if kept["picture"] is None else Picture.read(kept["picture"])
    return CheckResult(**kept | {"picture": picture})


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: say null."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
