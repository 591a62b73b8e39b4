"""`anharmonic llm score`: gamma of every question in a file, resumable, with an exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from anharmonic.cli.check import FAILED
from anharmonic.cli.groups import Json, grouped
from anharmonic.cli.llm.groups import AnswerOptions, ClientOptions, GammaOptions, priced
from anharmonic.cli.llm.show import calls_bar, least_steady, problems, run_table
from anharmonic.cli.show import plain, tell
from anharmonic.errors import InputError, SettingsError
from anharmonic.gate import below
from anharmonic.llm.bands import Bands
from anharmonic.llm.cache import Cache
from anharmonic.llm.clients import samples
from anharmonic.llm.dispatch import Budget, BudgetSpent, Usage
from anharmonic.llm.perturb import settled
from anharmonic.llm.questions import Question, read_questions
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.runs import RunFile, run
from anharmonic.llm.summaries import RunSummary, read_run

__all__ = ["score_command"]


@grouped
def score_command(
    client_options: ClientOptions,
    measure: GammaOptions,
    answers: AnswerOptions,
    out: Annotated[Path, typer.Option(help="The run: JSON lines, appended to; goes on if there.")],
    questions: Annotated[
        str | None, typer.Option(help="Questions: a .csv, .jsonl or .parquet file.")
    ] = None,
    gamma0: Annotated[
        bool, typer.Option(help="Ask the same prompt again too: what noise alone would read.")
    ] = True,
    resample_temperature: Annotated[
        float, typer.Option(min=0.01, help="For answers of --perturb resample.")
    ] = 1.0,
    column: Annotated[str | None, typer.Option(help="The column that holds the prompt.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The first so many questions.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call the model in results.")] = None,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Ask again where answers failed.")
    ] = False,
    cache: Annotated[Path | None, typer.Option(help="Keep answers here.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no answers.")] = False,
    budget: Annotated[int | None, typer.Option(min=1, help="The most calls.")] = None,
    budget_money: Annotated[
        float | None, typer.Option(min=0, help="The most money, in the currency of --price.")
    ] = None,
    price: Annotated[
        str | None, typer.Option(metavar="PROMPT,ANSWER", help="Of a million tokens each.")
    ] = None,
    max_gamma: Annotated[
        float | None, typer.Option(help="Fail when the mean gamma is really above it.")
    ] = None,
    allow_missing: Annotated[
        float, typer.Option(min=0, max=1, help="The share of answers that may be missing.")
    ] = 0.0,
    bands: Annotated[
        Path | None, typer.Option(help="Bands written by llm calibrate instead of the paper's.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure every question: exit code 0, or 100 when a criterion is not met.

    Example: anharmonic llm score NAME --url https://host/v1 --questions q.jsonl --out run.jsonl

    The criteria: every answer came (or --allow-missing), the budget lasted, and --max-gamma.
    Stop it any time; the same command goes on, and what was answered is not paid again.
    """
    model, asked_about = client_options.named(questions, "--questions")
    file_of_questions = Path(asked_about)
    if max_gamma is not None and measure.count < 2:
        raise SettingsError("--max-gamma needs --count 2 or more: one answer shows no noise")
    limits = None if bands is None else Bands.load(bands)
    usage = Usage(priced(price), Budget(budget, budget_money))
    vectors = measure.embedder()
    stopped = None
    with ExitStack() as open_things:
        client = open_things.enter_context(client_options.open(model))
        recipe = Recipe(
            perturb=settled(measure.perturb, samples(client)),
            count=measure.count,
            repeats=measure.count if gamma0 else 0,
            unit=measure.checked_unit(),
            seed=measure.seed,
            parameters=answers.parameters(),
            resample_temperature=resample_temperature,
        )
        header = {
            "model": name or Path(model).name,
            "client": client.name,
            "data": file_of_questions.stem,
            "embed": measure.embed,
            "recipe": recipe.plain(),
        }
        file = open_things.enter_context(RunFile.open(out, header))
        place = None if no_cache else cache or out.with_suffix(".cache.sqlite")
        kept = None if place is None else open_things.enter_context(Cache(place))
        due = _due(file, read_questions(file_of_questions, column, limit), retry_errors)
        total, most = recipe.estimate((question.prompt for question in due), usage.price)
        if not total and not file.done:
            raise InputError(f"{file_of_questions} holds no questions: give a file with some")
        if not as_json:
            cost = "" if usage.price is None else f", at most about {most:.4g} in money"
            about = f"{total // recipe.calls:,} questions, {total:,} answers{cost}"
            tell(about if total else f"{out} holds all of these questions already")
        again = read_questions(file_of_questions, column, limit)
        try:
            with calls_bar(total, as_json or not total) as moved:
                run(
                    *(file, client, again, recipe, vectors),
                    cache=kept,
                    usage=usage,
                    retry_errors=retry_errors,
                    told=lambda step: moved(usage, recipe.calls),
                )
        except BudgetSpent:
            stopped = "the budget is spent: raise it and run again to go on"
    _finish(read_run(out), limits, usage, stopped, max_gamma, allow_missing, as_json)


def _due(file: RunFile, questions: Iterator[Question], retry_errors: bool) -> Iterator[Question]:
    return (question for question in questions if file.due(question, retry_errors))


def _finish(
    found: RunSummary,
    bands: Bands | None,
    usage: Usage,
    stopped: str | None,
    max_gamma: float | None,
    allow_missing: float,
    as_json: bool,
) -> None:
    wrong = problems(found, stopped, allow_missing)
    bands = bands or found.paper_bands
    verdict = None
    if max_gamma is not None and len(found.measured) > 1:
        # Questions without a gamma are a problem of their own.
        verdict = below(found.scores(found.measured), max_gamma)
    elif max_gamma is not None:
        wrong.append("--max-gamma needs at least two questions with a gamma")
    if as_json:
        about: dict[str, Any] = {
            **found.plain(bands),
            "passed": not wrong and (verdict is None or verdict.passed),
            "problems": wrong,
            "verdict": None if verdict is None else verdict.summary(),
            "calls": usage.calls,
            "cached": usage.cached,
            "cost": usage.cost,
        }
        print(json.dumps(plain(about)))
    else:
        console = Console(highlight=False)
        console.print(run_table(found, bands, usage))
        if len(found.measured):
            console.print(least_steady(found))
        tell(f"every answer is in {found.path}")
        for line in [*wrong, *([verdict.sentence] if verdict is not None else [])]:
            tell(line)
    if wrong or (verdict is not None and not verdict.passed):
        raise typer.Exit(FAILED)
