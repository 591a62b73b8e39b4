"""Searches as one readable page: prompt, answer and gamma at every step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from anharmonic._core.printable import shortened
from anharmonic.llm.differences import differences
from anharmonic.llm.pages import write_page
from anharmonic.llm.prompt_search import WAYS, PromptSearch, SearchStep

__all__ = ["write_searches"]


def write_searches(
    path: str | os.PathLike[str], searches: Sequence[PromptSearch], command: str | None = None
) -> Path:
    """Write searches from one prompt, side by side, and return the page's path."""
    best = max(searches, key=lambda each: each.steps[-1].fresh.value)
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
        ways=[_way(each) for each in searches],
        command=None if command is None else shortened(command, 2000),
    )


def _way(found: PromptSearch) -> dict[str, Any]:
    first, last = found.steps[0], found.steps[-1]
    shown = [_step(0, first, first, first)]
    shown += [
        _step(number, before, step, first)
        for number, (before, step) in enumerate(pairwise(found.steps), 1)
    ]
    return {
        "name": found.way,
        "words": WAYS[found.way],
        "start": first.fresh,
        "chosen": last.gamma,
        "fresh": last.fresh,
        "candidates": f"{found.candidates:,}",
        "calls": f"{found.calls:,}",
        "steps": shown,
    }


def _step(number: int, before: SearchStep, step: SearchStep, first: SearchStep) -> dict[str, Any]:
    return {
        "number": number,
        "gamma": step.gamma,
        "fresh": step.fresh,
        "prompt": differences(before.prompt, step.prompt),
        "answer": differences(first.answer, step.answer, words=True),
    }
