"""One HTML file about an audit: findings in words, pictures, what was checked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from anharmonic._core.files import write_text_whole
from anharmonic.auditing.finding import CheckResult, Finding
from anharmonic.auditing.glossary import GLOSSARY, used_in
from anharmonic.auditing.result import Audit
from anharmonic.auditing.wording import chance_of
from anharmonic.plots.inline import draw
from anharmonic.report.rendering import filled

__all__ = ["audit_page", "write_audit"]


FACT = "It is a fact about the rows that were asked, not an estimate."


class FindingCard(NamedTuple):
    """A finding as the page shows it."""

    severity: str
    name: str
    what: str
    comparison: str
    next_step: str
    picture: str
    rows: str
    chance: str
    price: str


class CheckRow(NamedTuple):
    """A line of the table of checks."""

    title: str
    told: str
    state: str
    word: str
    queries: str
    seconds: str
    picture: str


def write_audit(
    path: str | os.PathLike[str],
    audit: Audit,
    *,
    title: str | None = None,
    command: str | None = None,
) -> Path:
    """Write one self-contained HTML file about an audit and return its path.

    Parameters
    ----------
    path
        Where it goes; replaced whole or not at all.
    audit
        From `audit`.
    title
        What stands on top; the model's name if not told.
    command
        The line that made it, to be shown.
    """
    return write_text_whole(path, audit_page(audit, title=title, command=command))


def audit_page(audit: Audit, *, title: str | None = None, command: str | None = None) -> str:
    """The page as text.

    Parameters
    ----------
    audit, title, command
        As in `write_audit`.
    """
    facts = {result.check for result in audit.checks if result.factual}
    shown = [_card(finding, finding.check in facts) for finding in audit.findings]
    rows = [_row(result, audit) for result in audit.checks]
    words = used_in([*_texts(shown), *(row.told for row in rows)])
    return filled(
        "audit.html",
        {
            "title": title or f"Audit of {audit.model}",
            "today": datetime.now(UTC).strftime("%Y-%m-%d"),
            "audit": audit,
            "about": _about(audit),
            "findings": shown,
            "checks": rows,
            "words": [(word, GLOSSARY[word]) for word in words],
            "command": command,
            "settings": [(name, _setting(value)) for name, value in audit.facts.items()],
        },
    )


def _texts(cards: list[FindingCard]) -> Iterator[str]:
    for card in cards:
        yield from (card.name, card.what, card.comparison, card.next_step)


def _about(audit: Audit) -> str:
    facts = audit.facts
    asked = (
        f"asked at {facts['reference rows asked']:,} of {facts['reference rows']:,} reference rows"
    )
    if facts["new rows"]:
        asked += f" and {facts['new rows asked']:,} of {facts['new rows']:,} new ones"
    return f"The model was {asked}: {audit.queries:,} queries in all, {audit.seconds:.0f} seconds."


def _card(finding: Finding, is_fact: bool) -> FindingCard:
    return FindingCard(
        finding.severity,
        finding.name,
        finding.what,
        finding.comparison,
        finding.next_step,
        "" if finding.picture is None else draw(finding.picture),
        finding.listed,
        FACT if is_fact else _chance(finding.chance),
        f"It took {finding.queries:,} queries." if finding.queries else "It took no further query.",
    )


def _chance(chance: float) -> str:
    if chance < 1e-6:
        return "Chance explains it less than once in a million."
    return f"Chance explains it with a probability of at most {chance_of(chance)}."


def _row(result: CheckResult, audit: Audit) -> CheckRow:
    found = sum(1 for finding in audit.findings if finding.check == result.check)
    if result.skipped:
        state, word, told = "skipped", "not done", f"Not done: {result.skipped}."
    elif found:
        state, told = "found", result.summary
        word = "1 finding" if found == 1 else f"{found} findings"
    else:
        state, told = "clean", result.summary
        word = "clean" if result.tests else "described"
    return CheckRow(
        result.title,
        told,
        state,
        word,
        f"{result.queries:,}",
        f"{result.seconds:.1f}",
        "" if result.picture is None or found else draw(result.picture),
    )


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)
