"""`anharmonic llm search`: near a prompt, one whose answers hold together least."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from anharmonic.cli.llm.options import (
    CachePath,
    Concurrency,
    CountOption,
    EmbedOption,
    Key,
    LanguageModel,
    MaxTokens,
    PerturbOption,
    Retries,
    Seed,
    System,
    Temperature,
    Threads,
    Timeout,
    UnitOption,
    Url,
    embedder,
    opened,
    parameters,
    unit_value,
)
from anharmonic.cli.options import Json
from anharmonic.cli.show import command_line, plain, tell
from anharmonic.llm.climbing import PromptSearch, search
from anharmonic.llm.pages.climbs import write_searches
from anharmonic.llm.visible import shortened

__all__ = ["search_command"]


class Way(StrEnum):
    """How to search."""

    greedy = "greedy"
    random = "random"
    best = "best"


def search_command(
    prompt: Annotated[str, typer.Argument(help="Where to begin.")],
    model: LanguageModel,
    url: Url = None,
    key: Key = None,
    embed: EmbedOption = "minilm",
    way: Annotated[
        list[Way] | None,
        typer.Option(help="greedy (the paper's), random walks, best of as many; all by default."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1)] = 5,
    count: CountOption = 10,
    perturb: PerturbOption = "unicode",
    unit: UnitOption = "sqrt1mcos",
    seed: Seed = 0,
    temperature: Temperature = 0.0,
    max_tokens: MaxTokens = 256,
    system: System = None,
    max_concurrency: Concurrency = None,
    timeout: Timeout = 60.0,
    retries: Retries = 5,
    threads: Threads = None,
    budget: Annotated[int | None, typer.Option(min=1, help="The most calls for each way.")] = None,
    cache: CachePath = None,
    page: Annotated[Path | None, typer.Option(help="Write the paths as an HTML page.")] = None,
    as_json: Json = False,
) -> None:
    """Climb in gamma from a prompt, beside random walks and the best of as many."""
    vectors = embedder(embed)
    with opened(model, url, key, max_concurrency, timeout, retries, threads) as client:
        found = [
            search(
                client,
                prompt,
                embed=vectors,
                way=each.value,
                steps=steps,
                count=count,
                perturb=perturb,
                unit=unit_value(unit),
                seed=seed,
                parameters=parameters(temperature, max_tokens, system),
                cache=cache,
                budget=budget,
            )
            for each in way or list(Way)
        ]
    if page is not None:
        tell(f"written: {write_searches(page, found, command_line())}")
    if as_json:
        print(json.dumps(plain([_plain(each) for each in found])))
    else:
        Console(highlight=False).print(_table(found))


def _plain(found: PromptSearch) -> dict[str, Any]:
    return {
        "way": found.way,
        "candidates": found.candidates,
        "calls": found.calls,
        "gain": list(found.gain),
        "steps": [
            {
                "prompt": step.prompt,
                "answer": step.answer,
                "gamma": list(step.gamma),
                "fresh": list(step.fresh),
            }
            for step in found.steps
        ],
        "settings": found.settings,
    }


def _table(found: list[PromptSearch]) -> Table:
    table = Table(title="gamma near a prompt; “afresh” had no part in the choice")
    heads = ("way", "start", "end, as chosen", "end, afresh", "candidates", "calls", "ends at")
    for name in heads:
        table.add_column(name, justify="left" if name in ("way", "ends at") else "right")
    for each in found:
        last = each.steps[-1]
        table.add_row(
            each.way,
            str(each.steps[0].fresh),
            str(last.gamma),
            str(last.fresh),
            f"{each.candidates:,}",
            f"{each.calls:,}",
            escape(shortened(last.prompt, 60)),
        )
    return table
