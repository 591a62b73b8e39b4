"""A real stream that drifts: who sees it without labels, and does it mean errors?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ks_2samp, spearmanr

from anharmonic._core.estimate import Estimate
from anharmonic._core.files import read_data
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.errors import MissingExtra
from anharmonic.monitor import Evidence, Monitor
from studies.page import Page, Row, Section, Tell, silent
from studies.pictures import Curve, Picture, curves
from studies.streams import PaperStream

__all__ = ["electricity"]

CLAIM = """The paper promises gamma for inference time: no labels are needed and each prediction
is scored by itself, so that drift can be seen on the day it happens. It shows no such case. This is
one: half-hourly prices of the electricity market of New South Wales, 1996 to 1998, with a label
that says whether the price is above its mean of the last day. Models are trained on the first part
and never again."""

TRAINED, REFERENCE, WEEK = 10_000, 5_000, 336
RATE = 100_000
WATCH = ("gamma", "flip", "confidence", "margin")
LEVEL = 0.001


class Watched(NamedTuple):
    """A model's stream: what was watched, when it was raised, and the errors revealed after."""

    name: str
    reference: dict[str, Floats]
    scores: dict[str, Floats]
    blocks: dict[str, int]
    first: dict[str, tuple[str, int, int] | None]
    ways: dict[str, set[str]]
    restless: dict[str, bool]
    errors: tuple[Floats, Floats]
    flagged: dict[str, tuple[float, int | None, float]]
    queries: dict[str, int]


def electricity(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """Watch models on the rest of a stream whose first part they were trained on."""
    table = read_data(data)
    points, labels = table.drop(columns="class"), np.asarray(table["class"])
    known, stream = TRAINED, TRAINED + REFERENCE
    found, linear = [], None
    for name, model in _models(seed).items():
        model.fit(points[:known], labels[:known])
        wrong = (model.predict(points) != labels).astype(np.float64)
        tell(f"{name}: trained …")
        if name == "linear":
            linear = _linear(model, points, wrong, seed)
        else:
            found.append(_watched(name, model, points, wrong, seed))
        tell(f"{name}: watched {len(points) - stream:,} points …")
    assert linear is not None
    sections = (
        _happened(found),
        *(_raised(each) for each in found),
        _followed(found, seed),
        linear,
    )
    title = "Watching a real stream: electricity"
    needs = "--data electricity.csv"
    return Page("electricity", title, CLAIM, sections, _verdict(found), seed, needs)


def _models(seed: int) -> dict[str, Any]:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError as problem:
        raise MissingExtra("scikit-learn", "sklearn") from problem
    network = MLPClassifier((64,), max_iter=400, random_state=seed)
    return {
        "boosting": HistGradientBoostingClassifier(random_state=seed),
        "network": make_pipeline(StandardScaler(), network),
        "linear": make_pipeline(StandardScaler(), LogisticRegression()),
    }


def _watched(name: str, model: Any, points: Any, wrong: Floats, seed: int) -> Watched:
    """Everything watched on one model's stream, each with the whole allowance to itself."""
    usual, stream = slice(TRAINED, TRAINED + REFERENCE), slice(TRAINED + REFERENCE, None)
    watch = Monitor(model, points[usual], watch=WATCH, false_alarms=RATE, promise=False, seed=seed)
    scores = watch.measure(points[stream])
    known = watch.reference | {"labels": wrong[usual]}
    seen = scores | {"labels": wrong[stream]}
    first, ways, blocks, restless = {}, {}, {}, {}
    for what, values in seen.items():
        evidence = Evidence(known[what], RATE, promise=False, seed=seed)
        raised, _ = evidence.feed(values, np.arange(len(values)))
        begun = min(raised, key=lambda each: each.at, default=None)
        first[what] = None if begun is None else (begun.direction, begun.at, begun.since)
        ways[what] = {each.direction for each in raised}
        blocks[what] = evidence.block
        restless[what] = _restless(known[what], seed)
    answers = model.predict_proba(points)[:, 1]
    inputs = points.to_numpy(dtype=np.float64)
    count = len(wrong) - TRAINED
    return Watched(
        name,
        known,
        seen,
        blocks,
        first,
        ways,
        restless,
        (wrong[usual], wrong[stream]),
        {
            "KS test of the inputs": _weeks(inputs[usual], inputs[stream]),
            "KS test of the predictions": _weeks(answers[usual, None], answers[stream, None]),
        },
        {what: count * watch.scorer.queries(what) for what in WATCH},
    )


def _restless(reference: Floats, seed: int) -> bool:
    """Whether the reference's second half already raises an alarm against its first."""
    half = len(reference) // 2
    evidence = Evidence(reference[:half], RATE, promise=False, seed=seed)
    raised, _ = evidence.feed(reference[half:], np.arange(half))
    return bool(raised)


def _weeks(reference: Floats, stream: Floats) -> tuple[float, int | None, float]:
    """Share of weeks a KS test flags, the first one's last row, and the share in the reference."""

    def flags(week: Floats, others: Floats) -> bool:
        tests = (
            ks_2samp(week[:, column], others[:, column], method="asymp").pvalue
            for column in range(week.shape[1])
        )
        return bool(min(tests) < LEVEL / week.shape[1])

    def cut(values: Floats) -> list[Floats]:
        return [values[at : at + WEEK] for at in range(0, len(values) - WEEK + 1, WEEK)]

    weeks = cut(reference)
    at_home = [
        flags(week, np.concatenate(weeks[:place] + weeks[place + 1 :]))
        for place, week in enumerate(weeks)
    ]
    found = [flags(week, reference) for week in cut(stream)]
    first = (found.index(True) + 1) * WEEK - 1 if any(found) else None
    return float(np.mean(found)), first, float(np.mean(at_home))


def _by_week(values: Floats) -> Floats:
    whole = len(values) // WEEK * WEEK
    return np.asarray(values[:whole].reshape(-1, WEEK).mean(axis=1))


def _happened(found: list[Watched]) -> Section:
    rows = []
    for each in found:
        usual, now = each.errors
        for case, values in (("reference", usual), ("stream", now)):
            share = _by_week(values)
            error = float(share.std(ddof=1) / np.sqrt(len(share)))
            remark = f"from {share.min():.0%} to {share.max():.0%} by week"
            rows.append(
                Row(f"{each.name}, {case}", Estimate(float(values.mean()), error), remark=remark)
            )
    text = f"""Trained on rows 0 to {TRAINED:,}, reference {TRAINED:,} to {TRAINED + REFERENCE:,}
    (not trained on), stream after that. The share of wrong answers, revealed afterwards; errors
    are over weeks of {WEEK} half-hours. From about row 2,800 of the stream three of the six
    columns, constant until then, begin to move: the market was joined with Victoria's."""
    first = found[0]
    wrong = _by_week(first.errors[1])
    weeks = [float(place * WEEK) for place in range(len(wrong))]
    lines = [Curve("wrong answers", weeks, wrong)]
    for what in ("gamma", "flip", "confidence"):
        multiple = _by_week(first.scores[what]) / float(first.reference[what].mean())
        lines.append(Curve(f"{what} / usual", weeks, multiple))
    picture = Picture(
        "weeks",
        f"The {first.name} model by week: the share of wrong answers, and what was watched as a "
        "multiple of its mean in the reference.",
        curves(lines, "row of the stream", "share, or multiple of the reference"),
    )
    return Section("What happened to the errors", text, tuple(rows), (picture,))


def _raised(each: Watched) -> Section:
    rows = []
    names = {"labels": "the true errors (needs labels)"}
    for what in ("labels", *WATCH):
        first = each.first[what]
        home = "raised" if each.restless[what] else "quiet"
        block = f"block {each.blocks[what]}; {home} within the reference"
        at = float("nan") if first is None else float(first[1])
        remark = "no alarm" if first is None else f"{first[0]}, since about {first[2]:,}"
        rows.append(
            Row(
                names.get(what, what),
                Estimate(at, 0.0),
                queries=each.queries.get(what, 0),
                remark=f"{remark}; {block}",
            )
        )
    for what, (share, week, at_home) in each.flagged.items():
        rows.append(
            Row(
                what,
                Estimate(float("nan") if week is None else float(week), 0.0),
                remark=f"flags {share:.0%} of weeks, and {at_home:.0%} of the reference's own",
            )
        )
    text = f"""The row of the first alarm, at 1 false alarm per {RATE:,} points each. The KS tests
    compare each week with the reference, at p < {LEVEL} over all columns; the reference's own
    weeks, each against the others, show what that means on traffic that remembers. For the same
    reason the last words say whether the reference's second half raises an alarm against its
    first: where it does, the traffic is never like the reference for long."""
    return Section(f"Who raises when: {each.name}", text, tuple(rows))


def _followed(found: list[Watched], seed: int) -> Section:
    rows = []
    for each in found:
        errors = _by_week(each.errors[1])
        for what in WATCH:
            values = _by_week(each.scores[what])
            rows.append(Row(f"{each.name}, {what}", _correlation(values, errors, seed)))
    text = """Spearman's correlation over the stream's weeks of what is watched with the share of
    wrong answers; errors from 500 resamplings of the weeks, which ignore that weeks remember each
    other. If gamma and the flip chance meant errors it would be positive, and if confidence and
    margin meant right answers it would be negative."""
    return Section("Does the level follow the errors", text, tuple(rows))


def _correlation(one: Floats, other: Floats, seed: int) -> Estimate:
    random = generator(seed, PaperStream.ELECTRICITY)

    def measure(rows: Any) -> float:
        return float(spearmanr(one[rows], other[rows]).statistic)

    drawn = [measure(random.integers(0, len(one), len(one))) for _ in range(500)]
    return Estimate(measure(slice(None)), float(np.nanstd(drawn)))


def _linear(model: Any, points: Any, wrong: Floats, seed: int) -> Section:
    usual, stream = slice(TRAINED, TRAINED + REFERENCE), slice(TRAINED + REFERENCE, None)
    rows = []
    for output, plural in (("logit", "logits"), ("probability", "probabilities")):
        watch = Monitor(
            model,
            points[usual],
            output=output,
            watch="gamma",
            detector="evidence",
            false_alarms=RATE,
            promise=False,
            seed=seed,
        )
        found = watch.update(points[stream])
        values = found.scores["gamma"]
        told = str(watch.alarms[0]) if watch.alarms else "no alarm"
        rows.append(
            Row(
                f"gamma of its {plural}, mean over the stream",
                Estimate(float(values.mean()), float(values.std() / np.sqrt(len(values)))),
                truth=0.0 if output == "logit" else None,
                queries=watch.queries,
                remark=told,
            )
        )
    before, after = float(wrong[usual].mean()), float(wrong[stream].mean())
    text = f"""Logistic regression on the same split is wrong in {before:.1%} of the reference and
    {after:.1%} of the stream. Its logits are linear, so their gamma is 0 under any drift whatever:
    nothing can be seen that way. Its probabilities bend near the decision, so their gamma tells how
    much traffic is there."""
    return Section("A linear model", text, tuple(rows))


def _verdict(found: list[Watched]) -> tuple[str, ...]:
    many = len(found)
    risen = sum("up" in each.ways["gamma"] for each in found)
    lost = sum("down" in each.ways["confidence"] for each in found)
    return (
        *(_told(each) for each in found),
        f"""The drift moved traffic away from the decision: the models became more confident, less
        bent, and more often wrong. In the whole stream a rise of gamma is raised for {risen} of
        {many} models and a loss of confidence for {lost}. A change in either direction says that
        the traffic is not the reference's; it does not say whether the model is right.""",
        f"""Confidence, which costs one query per point, was raised before gamma, which costs up to
        seventeen, for {_before(found)} of {many} models: here gamma is no earlier a warning.
        {_home(found)} KS tests flag the reference's own weeks too, because half-hours
        remember each other: they state a level that they do not keep.""",
    )


def _home(found: list[Watched]) -> str:
    """Whether the reference was steady, in a sentence."""
    many, confidence, gamma = len(found), _unsteady(found, "confidence"), _unsteady(found, "gamma")
    if not confidence and not gamma:
        return "Within the reference, its second half against its first, neither is raised."
    return f"""Part of that is a reference that is not steady: its second half already raises
        confidence against its first for {confidence} of {many} models, and gamma for {gamma}."""


def _unsteady(found: list[Watched], what: str) -> int:
    """For how many models a thing is raised within the reference."""
    return sum(each.restless[what] for each in found)


def _before(found: list[Watched]) -> int:
    """For how many models confidence is raised before gamma."""
    never = ("", np.inf, 0)
    return sum(
        (each.first["confidence"] or never)[1] < (each.first["gamma"] or never)[1] for each in found
    )


def _told(each: Watched) -> str:
    """One model's story in two sentences."""
    usual, now = (float(values.mean()) for values in each.errors)
    level, seen = (float(part["gamma"].mean()) for part in (each.reference, each.scores))
    raised = {what: first for what, first in each.first.items() if first is not None}
    order = sorted((what for what in WATCH if what in raised), key=lambda what: raised[what][1])
    alarms = ", ".join(f"{what} at {raised[what][1]:,} ({raised[what][0]})" for what in order)
    labels = f"at {raised['labels'][1]:,}" if "labels" in raised else "never"
    return f"""{each.name.capitalize()}: errors went from {usual:.1%} to {now:.1%}, and mean gamma
    from {level:.3g} to {seen:.3g}. Without labels the first alarms are: {alarms or "none"}. The
    same detector on the true errors raises {labels}."""
