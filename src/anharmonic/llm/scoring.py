"""Score a file of questions: one call from the client's name to the finished run."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from anharmonic.errors import InputError
from anharmonic.llm.cache import Cache
from anharmonic.llm.clients import borrowed, samples
from anharmonic.llm.dispatch import BudgetSpent, Usage
from anharmonic.llm.perturb import Kind
from anharmonic.llm.questions import read_questions
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.records import Header
from anharmonic.llm.runs import RunFile, run
from anharmonic.llm.statistics import Unit
from anharmonic.llm.summaries import RunSummary, read_run
from anharmonic.llm.types import DEFAULTS, Embed, Parameters

__all__ = ["Expected", "Scored", "score_questions"]

PathLike = str | os.PathLike[str]
SPENT = "the budget is spent: raise it and run again to go on"


class Expected(NamedTuple):
    """What a run will take: questions that are not done yet, their answers, at most their cost."""

    questions: int
    answers: int
    cost: float


Progress = Callable[[Expected], AbstractContextManager[Callable[[Usage, int], None]]]
"""Called once with what a run will take; gives what is called with the answers of each question."""


@dataclass(frozen=True)
class Scored:
    """A run read back, what it took this time, and what ended it early, if anything did."""

    run: RunSummary
    usage: Usage
    stopped: str | None


def score_questions(
    client: object,
    questions: PathLike,
    out: PathLike,
    *,
    embed: Embed,
    embed_name: str,
    name: str,
    perturb: Kind = "auto",
    count: int = 10,
    gamma0: bool | int = True,
    unit: Unit = "sqrt1mcos",
    seed: int = 0,
    parameters: Parameters = DEFAULTS,
    resample_temperature: float = 1.0,
    column: str | None = None,
    limit: int | None = None,
    cache: PathLike | Literal["beside"] | None = "beside",
    usage: Usage | None = None,
    retry_errors: bool = False,
    progress: Progress | None = None,
) -> Scored:
    """Measure every question of a file into a run file, or go on with one.

    Parameters
    ----------
    client, embed, perturb, count, gamma0, unit, seed, parameters, resample_temperature
        As in `gamma`.
    questions, column, limit
        The file, the column that holds the prompt, and how many questions to take at most.
    out
        The run file: JSON lines, appended to.
    name, embed_name
        What the run file calls the model and the embedder.
    cache
        The file that keeps answers: "beside" the run file, another one, or None.
    usage
        Counts calls, and holds price and budget.
    retry_errors
        Whether to ask again where answers failed.
    progress
        From what the run will take to a context that lasts as long as it does; see `Progress`.
    """
    usage = Usage() if usage is None else usage
    stopped = None
    with ExitStack() as resources:
        opened = resources.enter_context(borrowed(client))
        recipe = Recipe.settle(
            samples(opened),
            perturb=perturb,
            count=count,
            gamma0=gamma0,
            unit=unit,
            seed=seed,
            parameters=parameters,
            resample_temperature=resample_temperature,
        )
        header: Header = {
            "model": name,
            "client": opened.name,
            "data": Path(questions).stem,
            "embed": embed_name,
            "recipe": recipe.plain(),
        }
        file = resources.enter_context(RunFile.open(out, header))
        if cache == "beside":
            cache = Path(out).with_suffix(".cache.sqlite")
        store = None if cache is None else resources.enter_context(Cache(cache))
        # Read twice, once to count and once to ask: a file of any size fits into memory.
        due = (
            question.prompt
            for question in read_questions(questions, column, limit)
            if file.due(question, retry_errors)
        )
        answers, cost = recipe.estimate(due, usage.price)
        if not answers and not file.done:
            raise InputError(f"{questions} holds no questions: give a file with some")
        show = _no_progress if progress is None else progress
        try:
            with show(Expected(answers // recipe.calls, answers, cost)) as advance:
                run(
                    file,
                    opened,
                    read_questions(questions, column, limit),
                    recipe,
                    embed,
                    cache=store,
                    usage=usage,
                    retry_errors=retry_errors,
                    on_step=lambda step: advance(usage, recipe.calls),
                )
        except BudgetSpent:
            stopped = SPENT
    return Scored(read_run(out), usage, stopped)


def _no_progress(expected: Expected) -> AbstractContextManager[Callable[[Usage, int], None]]:
    return nullcontext(lambda usage, answers: None)
