"""`anharmonic llm search`: near a prompt, one whose answers hold together least."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from anharmonic._core.printable import shortened
from anharmonic.cli.groups import Json, grouped
from anharmonic.cli.llm.groups import AnswerOptions, ClientOptions, GammaOptions
from anharmonic.cli.show import command_line, plain, tell
from anharmonic.llm.pages.searches import write_searches
from anharmonic.llm.prompt_search import PromptSearch, search

__all__ = ["search_command"]


class Way(StrEnum):
    """How to search."""

    greedy = "greedy"
    random = "random"
    best = "best"


@grouped
def search_command(
    client_options: ClientOptions,
    answers: AnswerOptions,
    measure: GammaOptions = GammaOptions(perturb="unicode"),
    prompt: Annotated[str | None, typer.Option(help="Where to begin.")] = None,
    way: Annotated[
        list[Way] | None,
        typer.Option(help="greedy (the paper's), random walks, best of as many; all by default."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="The most steps of a search.")] = 5,
    budget: Annotated[int | None, typer.Option(min=1, help="The most calls for each way.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Keep answers here.")] = None,
    page: Annotated[Path | None, typer.Option(help="Write the paths as an HTML page.")] = None,
    as_json: Json = False,
) -> None:
    """Search near a prompt for a large gamma, beside random walks and the best of as many.

    Example: anharmonic llm search NAME --url https://host/v1 --prompt "Who wrote Faust?"
    """
    model, begin = client_options.named(prompt, "--prompt")
    vectors = measure.embedder()
    with client_options.open(model) as client:
        searches = [
            search(
                client,
                begin,
                embed=vectors,
                way=chosen.value,
                steps=steps,
                count=measure.count,
                perturb=measure.perturb,
                unit=measure.checked_unit(),
                seed=measure.seed,
                parameters=answers.parameters(),
                cache=cache,
                budget=budget,
            )
            for chosen in way or list(Way)
        ]
    if page is not None:
        tell(f"written: {write_searches(page, searches, command_line())}")
    if as_json:
        print(json.dumps(plain([_plain(path) for path in searches])))
    else:
        Console(highlight=False).print(_table(searches))


def _plain(path: PromptSearch) -> dict[str, object]:
    return {
        "way": path.way,
        "candidates": path.candidates,
        "calls": path.calls,
        "gain": list(path.gain),
        "steps": [
            {
                "prompt": step.prompt,
                "answer": step.answer,
                "gamma": list(step.gamma),
                "fresh": list(step.fresh),
            }
            for step in path.steps
        ],
        "settings": path.settings.plain(),
    }


def _table(searches: list[PromptSearch]) -> Table:
    table = Table(title="gamma near a prompt; “afresh” had no part in the choice")
    heads = ("way", "start", "end, as chosen", "end, afresh", "candidates", "calls", "ends at")
    for name in heads:
        table.add_column(name, justify="left" if name in ("way", "ends at") else "right")
    for path in searches:
        last = path.steps[-1]
        table.add_row(
            path.way,
            str(path.steps[0].fresh),
            str(last.gamma),
            str(last.fresh),
            f"{path.candidates:,}",
            f"{path.calls:,}",
            escape(shortened(last.prompt, 60)),
        )
    return table
