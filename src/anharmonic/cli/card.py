"""`anharmonic card`: saved scores into a model card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import anharmonic as ah
from anharmonic.cli.groups import Json
from anharmonic.cli.output_files import claim
from anharmonic.cli.parsing import name_and_value
from anharmonic.cli.show import plain, tell

__all__ = ["card_command"]


def card_command(
    card: Annotated[Path, typer.Argument(help="The card, README.md; made where there is none.")],
    scores: Annotated[list[str], typer.Argument(help="DATASET=SCORES.parquet, one or more.")],
    model: Annotated[str | None, typer.Option(help="The model's name in the metadata.")] = None,
    task: Annotated[str | None, typer.Option(help="Such as tabular-classification.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write here and leave the card as is.")] = None,
    as_json: Json = False,
) -> None:
    """Add mean gamma by data set to a Hugging Face model card; nothing is uploaded.

    Example: anharmonic card README.md wine=scores.parquet
    """
    claim(out, ())
    datasets = {name: ah.Scores.load(path) for name, path in map(name_and_value, scores)}
    ah.card.add_to_card(card, datasets, model=model, task=task, out=out)
    written = out or card
    if as_json:
        summaries = {name: measured.summary() for name, measured in datasets.items()}
        print(json.dumps(plain({"card": str(written), "datasets": summaries})))
    else:
        tell(f"{written} now tells gamma on {', '.join(datasets)}.")
