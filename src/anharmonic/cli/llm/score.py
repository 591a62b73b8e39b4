"""`anharmonic llm score`: gamma of every question in a file, resumable, with an exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anharmonic.cli.check import FAILED
from anharmonic.cli.groups import Json, grouped
from anharmonic.cli.llm.groups import AnswerOptions, ClientOptions, GammaOptions, priced
from anharmonic.cli.llm.show import calls_bar, least_steady, problems, run_table
from anharmonic.cli.show import plain, tell
from anharmonic.errors import SettingsError
from anharmonic.gate import below
from anharmonic.llm.bands import Bands
from anharmonic.llm.dispatch import Budget, Usage
from anharmonic.llm.scoring import Expected, Scored, score_questions

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
    model, question_path = client_options.named(questions, "--questions")
    if max_gamma is not None and measure.count < 2:
        raise SettingsError("--max-gamma needs --count 2 or more: one answer shows no noise")
    limits = None if bands is None else Bands.load(bands)
    usage = Usage(priced(price), Budget(budget, budget_money))
    vectors = measure.embedder()

    @contextmanager
    def progress(expected: Expected) -> Iterator[Callable[[Usage, int], None]]:
        if not as_json:
            tell(_forecast(expected, usage, out))
        with calls_bar(expected.answers, as_json or not expected.answers) as advance:
            yield advance

    with client_options.open(model) as client:
        scored = score_questions(
            client,
            Path(question_path),
            out,
            embed=vectors,
            embed_name=measure.embed,
            name=name or Path(model).name,
            perturb=measure.perturb,
            count=measure.count,
            gamma0=gamma0,
            unit=measure.checked_unit(),
            seed=measure.seed,
            parameters=answers.parameters(),
            resample_temperature=resample_temperature,
            column=column,
            limit=limit,
            cache=None if no_cache else cache or "beside",
            usage=usage,
            retry_errors=retry_errors,
            progress=progress,
        )
    _finish(scored, limits, max_gamma, allow_missing, as_json)


def _forecast(expected: Expected, usage: Usage, out: Path) -> str:
    """What a run will take, in words."""
    if not expected.answers:
        return f"{out} holds all of these questions already"
    cost = "" if usage.price is None else f", at most about {expected.cost:.4g} in money"
    return f"{expected.questions:,} questions, {expected.answers:,} answers{cost}"


def _finish(
    scored: Scored,
    bands: Bands | None,
    max_gamma: float | None,
    allow_missing: float,
    as_json: bool,
) -> None:
    """Print the result, and exit by what the criteria say."""
    run, usage = scored.run, scored.usage
    faults = problems(run, scored.stopped, allow_missing)
    bands = bands or run.paper_bands
    verdict = None
    if max_gamma is not None and len(run.measured) > 1:
        # Questions without a gamma are a problem of their own.
        verdict = below(run.scores(run.measured), max_gamma)
    elif max_gamma is not None:
        faults.append("--max-gamma needs at least two questions with a gamma")
    if as_json:
        facts: dict[str, object] = {
            **run.plain(bands),
            "passed": not faults and (verdict is None or verdict.passed),
            "problems": faults,
            "verdict": None if verdict is None else verdict.summary(),
            "calls": usage.calls,
            "cached": usage.cached,
            "cost": usage.cost,
        }
        print(json.dumps(plain(facts)))
    else:
        console = Console(highlight=False)
        console.print(run_table(run, bands, usage))
        if len(run.measured):
            console.print(least_steady(run))
        tell(f"every answer is in {run.path}")
        for line in [*faults, *([verdict.sentence] if verdict is not None else [])]:
            tell(line)
    if faults or (verdict is not None and not verdict.passed):
        raise typer.Exit(FAILED)
