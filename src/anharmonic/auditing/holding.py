"""Which proposed findings hold, at one rate of false findings for the whole page.

The rate is shared equally among the checks that made a test; facts about the rows that were asked,
such as an error, have no chance and take no part of it. Within a check its part is shared
among its tests (Holm, 1979). So the chance that a clean model with clean data gets a page with any
false finding is at most the rate, however the tests depend on one another (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence

from anharmonic.auditing.finding import SEVERITIES, CheckResult, Finding

__all__ = ["held", "part_of"]


def part_of(rate: float, results: Sequence[CheckResult]) -> float:
    """Each check's part of the page's rate."""
    tested = sum(
        1 for result in results if result.tests and not result.skipped and not result.factual
    )
    return rate / max(1, tested)


def held(results: Sequence[CheckResult], rate: float) -> tuple[Finding, ...]:
    """The findings that hold, the worst first and among equals the surest."""
    part = part_of(rate, results)
    kept = [finding for result in results for finding in _holm(result, part)]
    return tuple(
        sorted(kept, key=lambda finding: (SEVERITIES.index(finding.severity), finding.chance))
    )


def _holm(result: CheckResult, part: float) -> list[Finding]:
    """From the surest on, each against its share of what is left, until one fails."""
    kept: list[Finding] = []
    for place, finding in enumerate(sorted(result.candidates, key=lambda item: item.chance)):
        if finding.chance > part / max(1, result.tests - place):
            break
        kept.append(finding)
    return kept
