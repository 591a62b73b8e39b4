"""Searches as one readable page: prompt, answer and gamma at every step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from anharmonic._core.printable import shortened
from anharmonic.llm.differences import differences
from anharmonic.llm.pages import write_page
from anharmonic.llm.prompt_search import WAYS, PromptSearch, SearchStep

__all__ = ["write_searches"]


def write_searches(
    path: str | os.PathLike[str], searches: Sequence[PromptSearch], command: str | None = None
) -> Path:
    """Write searches from one prompt, side by side, and return the page's path."""
    best = max(searches, key=lambda path: path.steps[-1].fresh.value)
    settings = searches[0].settings
    start = searches[0].steps[0]
    return write_page(
        path,
        "search.html",
        kind="prompt search",
        title=f"Near “{shortened(start.prompt, 80)}”",
        lead=(
            f"Gamma went from {start.fresh} to {best.steps[-1].fresh} by the way "
            f"“{best.way}”, measured afresh."
        ),
        model=settings.model,
        count=settings.count,
        perturb=settings.perturb,
        ways=[_way(path) for path in searches],
        command=None if command is None else shortened(command, 2000),
    )


def _way(path: PromptSearch) -> dict[str, object]:
    first, last = path.steps[0], path.steps[-1]
    shown = [_step(0, first, first, first)]
    shown += [
        _step(number, before, step, first)
        for number, (before, step) in enumerate(pairwise(path.steps), 1)
    ]
    return {
        "name": path.way,
        "words": WAYS[path.way],
        "start": first.fresh,
        "chosen": last.gamma,
        "fresh": last.fresh,
        "candidates": f"{path.candidates:,}",
        "calls": f"{path.calls:,}",
        "steps": shown,
    }


def _step(
    number: int, before: SearchStep, step: SearchStep, first: SearchStep
) -> dict[str, object]:
    return {
        "number": number,
        "gamma": step.gamma,
        "fresh": step.fresh,
        "prompt": differences(before.prompt, step.prompt),
        "answer": differences(first.answer, step.answer, words=True),
    }
