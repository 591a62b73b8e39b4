"""`audit`: the checks that fit the model, the data and the budget, and one page of findings."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from anharmonic._core.printable import visible
from anharmonic._core.progress import Progress, shown
from anharmonic.auditing.asking import Meter
from anharmonic.auditing.checks import CHECKS
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding
from anharmonic.auditing.given import Given
from anharmonic.auditing.holding import held
from anharmonic.auditing.planning import BUDGET, Plan, make_plan
from anharmonic.auditing.preparing import prepare
from anharmonic.auditing.result import Audit
from anharmonic.errors import SettingsError

__all__ = ["audit"]

RATE = 0.05
"""False findings on a page, at most: the chance of any."""


def audit(
    model: object,
    points: object,
    *,
    reference: object = None,
    labels: object = None,
    reference_labels: object = None,
    budget: int | None = None,
    rate: float = RATE,
    seed: int = 0,
    progress: Progress = None,
) -> Audit:
    """Say what is wrong with a model and its data, how bad it is, and what to do.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    points
        Rows that the model meets now: a table with any columns, an array, or a `sources.Source`,
        of which 20,000 rows are drawn.
    reference
        Rows that it was fitted to, with the same columns. Without them the points are taken for
        these, and nothing is said of drift.
    labels
        Of the points, where they are known; of a source the name of their column, which holds
        for a reference that is a source too.
    reference_labels
        Of the reference: with them quick models are fitted to hold the model against, and labels
        are checked themselves.
    budget
        Queries in all, 30,000 if not given.
    rate
        The chance of any false finding, for a clean model and clean data.
    seed
        Of all that is random.
    progress
        True prints an estimate first and then shows a bar; a function is called with queries made
        and expected.

    Returns
    -------
    Audit
        `findings` in words, the worst first; `checks`; `save`, `to_json`; `report.write_audit`
        makes a page of it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rows = np.random.default_rng(0).normal(size=(400, 3))
    >>> labels = (rows[:, 0] > 0).astype(int)
    >>> model = LogisticRegression().fit(rows[:300], labels[:300])
    >>> drifted = rows[300:] + [0, 2, 0]
    >>> result = audit(model, drifted, reference=rows[:300], budget=1000)
    >>> {finding.subject for finding in result.findings}
    {'column 1'}
    """
    if not 0 < rate < 1:
        raise SettingsError(f"rate={rate}: give a chance between 0 and 1")
    begun = time.perf_counter()
    given = Given(model, points, reference, labels, reference_labels, seed)
    meter = Meter()
    plan = make_plan(given, budget, meter)
    if progress is True:
        print(plan, file=sys.stderr)
    with shown(progress) as report:
        context = prepare(given, plan, seed, meter)
        results = []
        for check in CHECKS.values():
            if report is not None:
                report(meter.queries, max(plan.queries, meter.queries))
            results.append(_timed(check, context))
        if report is not None:
            report(meter.queries, meter.queries)
    return Audit(
        findings=tuple(_named(finding, given) for finding in held(results, rate)),
        checks=tuple(results),
        rate=rate,
        queries=meter.queries,
        seconds=time.perf_counter() - begun,
        facts=_facts(context, plan, seed, budget) | _drawn(given),
    )


def _named(finding: Finding, given: Given) -> Finding:
    """A finding whose rows are called what the user calls them."""
    known = finding.side == "reference" or given.new is None
    region = given.reference if known else given.new
    assert region is not None
    names = region.row_names if finding.rows else None
    drawn = (given.reference_of if known else given.new_of) is not None
    called = () if names is None else tuple(visible(names[row]) for row in finding.rows)
    return replace(finding, row_names=called, drawn=drawn and bool(finding.rows))


def _drawn(given: Given) -> dict[str, object]:
    """How many rows there are where a sample was drawn."""
    sides = {"new": given.new_of, "reference": given.reference_of}
    return {f"{side} rows in all": count for side, count in sides.items() if count is not None}


def _timed(check: object, context: Context) -> CheckResult:
    assert callable(check)
    begun = time.perf_counter()
    result: CheckResult = check(context)
    return replace(result, seconds=time.perf_counter() - begun)


def _facts(context: Context, plan: Plan, seed: int, budget: int | None) -> dict[str, object]:
    new = context.new
    return {
        "model": context.model.name,
        "task": context.task,
        "classes": list(context.classes),
        "columns": list(context.names),
        "left out": list(context.encoded.left_out),
        "reference rows": len(context.reference),
        "new rows": 0 if new is None else len(new),
        "reference rows asked": len(context.reference.sample),
        "new rows asked": 0 if new is None else len(new.sample),
        "labels": context.reference.labels is not None,
        "new labels": new is not None and new.labels is not None,
        "budget": budget or BUDGET,
        "planned queries": plan.queries,
        "estimated seconds": round(plan.seconds, 1),
        "seed": seed,
    }
