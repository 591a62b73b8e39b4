"""Verdicts as JUnit XML, which GitHub, GitLab, Jenkins and others show beside the tests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from anharmonic._core.files import whole_file
from anharmonic.auditing.finding import Severity
from anharmonic.auditing.result import Audit
from anharmonic.gate import Verdict

__all__ = ["write_audit", "write_error", "write_verdicts"]

CLASS = "anharmonic.check"
# What XML 1.0 cannot hold, not even escaped: a model's message may have colour codes in it.
ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_verdicts(path: Path, verdicts: Iterable[Verdict], seconds: float) -> None:
    """One test case per criterion; a failure's message is the verdict's sentence."""
    _write(path, [_suite_of(verdict, seconds) for verdict in verdicts])


def write_audit(path: Path, audit: Audit, fail_on: Severity | None) -> None:
    """One test case per check of an audit: it fails with its findings of some severity."""
    failing = () if fail_on is None else audit.at_least(fail_on)
    suites = []
    for result in audit.checks:
        ours = [finding for finding in failing if finding.check == result.check]
        properties: dict[str, object] = {"queries": result.queries, "tests": result.tests}
        suite, case = _suite(result.title, result.seconds, len(ours) > 0, 0, properties)
        if result.skipped:
            suite.set("skipped", "1")
            ElementTree.SubElement(case, "skipped", message=_clean(result.skipped))
        elif ours:
            _add(case, "failure", ours[0].severity, "\n".join(map(str, ours)))
        else:
            mild = [str(finding) for finding in audit.findings if finding.check == result.check]
            said = "\n".join([result.summary, *mild])
            ElementTree.SubElement(case, "system-out").text = _clean(said)
        suites.append(suite)
    _write(path, suites)


def write_error(path: Path, problem: BaseException, seconds: float) -> None:
    """The check itself could not be done: one test case with an error in it."""
    suite, case = _suite("check", seconds, errors=1)
    _add(case, "error", type(problem).__name__, str(problem))
    _write(path, [suite])


def _suite_of(verdict: Verdict, seconds: float) -> ElementTree.Element:
    low, high = verdict.interval
    properties = {
        "estimate": verdict.estimate.value,
        "error": verdict.estimate.error,
        "limit": verdict.limit,
        "interval": f"{low!r} {high!r}",
        "level": verdict.level,
        "outcome": verdict.outcome,
        "statistic": verdict.statistic,
        "queries": verdict.queries,
    }
    suite, case = _suite(verdict.criterion, seconds, not verdict.passed, 0, properties)
    if not verdict.passed:
        _add(case, "failure", "threshold", verdict.sentence)
    else:
        ElementTree.SubElement(case, "system-out").text = _clean(verdict.sentence)
    return suite


def _suite(
    name: str,
    seconds: float,
    failures: int = 0,
    errors: int = 0,
    properties: dict[str, object] | None = None,
) -> tuple[ElementTree.Element, ElementTree.Element]:
    """A suite of one case: only a suite may have properties in every dialect of JUnit."""
    suite = ElementTree.Element(
        "testsuite",
        name=_clean(name),
        tests="1",
        failures=str(int(failures)),
        errors=str(errors),
        skipped="0",
        time=f"{seconds:.3f}",
        timestamp=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        hostname="localhost",
    )
    if properties:
        block = ElementTree.SubElement(suite, "properties")
        for key, value in properties.items():
            ElementTree.SubElement(block, "property", name=key, value=_clean(str(value)))
    case = ElementTree.SubElement(
        suite, "testcase", classname=CLASS, name=_clean(name), time=f"{seconds:.3f}"
    )
    return suite, case


def _add(case: ElementTree.Element, tag: str, kind: str, message: str) -> None:
    text = _clean(message)
    ElementTree.SubElement(case, tag, message=text, type=kind).text = text


def _write(path: Path, suites: list[ElementTree.Element]) -> None:
    root = ElementTree.Element("testsuites", name="anharmonic")
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    root.extend(suites)
    tree = ElementTree.ElementTree(root)
    ElementTree.indent(tree)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        tree.write(temporary, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    return ILLEGAL.sub("�", text)
