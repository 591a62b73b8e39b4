"""`anharmonic llm serve`: a gateway on loopback that scores what passes."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from anharmonic.cli.address import require_free
from anharmonic.cli.llm.options import (
    CountOption,
    EmbedOption,
    Key,
    PerturbOption,
    Seed,
    UnitOption,
    embedder,
    unit_value,
)
from anharmonic.cli.show import plain, tell
from anharmonic.errors import MissingExtra
from anharmonic.llm.clients import Endpoint
from anharmonic.llm.drift import ChatWatch, quiet_time, way_of_measuring
from anharmonic.llm.gateway import Gateway
from anharmonic.llm.perturb import settled
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.scorer import ChatScore, Scorer

__all__ = ["serve_command"]


def serve_command(
    url: Annotated[str, typer.Argument(help="The server behind, such as https://host/v1.")],
    key: Key = None,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8711,
    share: Annotated[float, typer.Option(min=0, max=1, help="Of the chats that are scored.")] = 0.1,
    out: Annotated[Path | None, typer.Option(help="Append each score here, as JSON.")] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="A run of llm score, or a file of --out, from a quiet time: watch gamma."
        ),
    ] = None,
    false_alarms: Annotated[
        str, typer.Option(help="How many are allowed, among scored chats.")
    ] = "1 per 10000",
    embed: EmbedOption = "minilm",
    count: CountOption = 10,
    perturb: PerturbOption = "auto",
    gamma0: Annotated[bool, typer.Option(help="Ask the same prompt again too.")] = False,
    unit: UnitOption = "sqrt1mcos",
    seed: Seed = 0,
    max_concurrency: Annotated[int, typer.Option(min=1, help="Scoring calls at once.")] = 4,
) -> None:
    """Forward chat completions unchanged, and score a share of them on the side.

    A request with the header x-anharmonic-score: inline waits for its gamma and gets it in the
    header x-anharmonic-gamma; with yes or no it is scored in the background or not at all.
    With --reference an alarm is raised when gamma rises or falls; /anharmonic/status shows it.
    """
    try:
        import uvicorn
    except ImportError as problem:
        raise MissingExtra("uvicorn", "llm") from problem
    require_free(port)
    recipe = Recipe(
        settled(perturb, samples=True), count, count if gamma0 else 0, unit_value(unit), seed
    )
    way = way_of_measuring(recipe, embed)
    watch = None
    if reference is not None:
        watch = ChatWatch(quiet_time(reference, way), false_alarms, seed)
    with ExitStack() as open_things:
        client = open_things.enter_context(
            Endpoint(url, "as asked", key=key, concurrency=max_concurrency)
        )
        file = None if out is None else open_things.enter_context(out.open("a", encoding="ascii"))

        def told(score: ChatScore) -> None:
            if file is not None:
                print(json.dumps(plain({**score.plain(), "way": way})), file=file, flush=True)
            if score.problem is not None:
                tell(f"chat {score.number} was not scored: {score.problem}")
            for alarm in () if watch is None else watch.update(score):
                tell(f"alarm: {alarm} (of the scored chats; this is chat {score.number:,})")

        scorer = Scorer(client, embedder(embed), recipe, share, told)
        gateway = Gateway(url, scorer, watch=watch, key=key)
        tell(f"serving http://127.0.0.1:{port}/v1, scoring {share:.0%} of the chats")
        if watch is not None:
            tell(f"watching gamma against {watch.reference:,} of a quiet time")
        uvicorn.run(gateway, host="127.0.0.1", port=port, log_level="warning", ws="none")
