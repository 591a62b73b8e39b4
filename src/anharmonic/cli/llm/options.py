"""Options that the commands for language models share, and what their text stands for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, cast

import typer

from anharmonic.cli.importing import folder_last
from anharmonic.cli.options import numbers
from anharmonic.errors import NotAModel, SettingsError
from anharmonic.llm import embed
from anharmonic.llm.asking import Price
from anharmonic.llm.clients import as_client, imported, is_function
from anharmonic.llm.shapes import Client, Embed, Parameters
from anharmonic.llm.statistics import Unit

__all__ = [
    "CachePath",
    "Concurrency",
    "CountOption",
    "EmbedOption",
    "Key",
    "LanguageModel",
    "MaxTokens",
    "PerturbOption",
    "Retries",
    "Seed",
    "System",
    "Temperature",
    "Threads",
    "Timeout",
    "UnitOption",
    "Url",
    "embedder",
    "opened",
    "parameters",
    "priced",
    "unit_value",
]

LanguageModel = Annotated[
    str,
    typer.Option(help="A name at --url, a .gguf file, hf:NAME, or module:function."),
]
Url = Annotated[
    str | None, typer.Option(help="An OpenAI-compatible server, such as http://localhost:8000/v1.")
]
Key = Annotated[
    str | None,
    typer.Option(metavar="VARIABLE", help="The environment variable that holds the server's key."),
]
EmbedOption = Annotated[
    str,
    typer.Option(
        help="minilm, st:NAME (sentence-transformers), MODEL@URL (a server), or module:function."
    ),
]
CountOption = Annotated[int, typer.Option(min=1, help="Perturbed prompts for each question.")]
PerturbOption = Annotated[
    str,
    typer.Option(
        help="resample, control (the paper's), unicode, typos, …; several with + between them. "
        "auto: resample, or control for a function."
    ),
]
UnitOption = Annotated[str, typer.Option(help="sqrt1mcos (the paper's) or angle, in degrees.")]
Seed = Annotated[int, typer.Option(min=0)]
Temperature = Annotated[float, typer.Option(min=0, help="For all but resampled answers.")]
MaxTokens = Annotated[int, typer.Option(min=1, help="The most tokens of an answer.")]
System = Annotated[str | None, typer.Option(help="A system prompt, the same for all.")]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "--max-concurrency",
        min=1,
        help="Calls at once: 8 to a server, 1 to a function, if not told.",
    ),
]
Timeout = Annotated[float, typer.Option(min=0.01, help="Seconds for one answer.")]
Retries = Annotated[int, typer.Option(min=0, help="How often a failed call is tried again.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="For a .gguf file: as many as processors are idle, if not told."),
]
CachePath = Annotated[Path | None, typer.Option(help="Keep answers here.")]


@contextmanager
def opened(
    model: str,
    url: str | None,
    key: str | None,
    concurrency: int | None,
    timeout: float,
    retries: int,
    threads: int | None = None,
) -> Iterator[Client]:
    """The client that the options stand for, closed at the end."""
    if is_function(model, url):
        with folder_last():
            imported(model)
    client = as_client(
        model,
        url=url,
        key=key,
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        threads=threads,
    )
    try:
        yield client
    finally:
        getattr(client, "close", lambda: None)()


def embedder(text: str) -> Embed:
    """The embedder that a text stands for: minilm, st:NAME, MODEL@URL or module:function."""
    if text == "minilm":
        return embed.minilm()
    if text.startswith("st:"):
        return embed.sentence_transformer(text.removeprefix("st:"))
    model, _, url = text.partition("@")
    if url:
        return embed.endpoint(url, model)
    if ":" not in text:
        raise NotAModel(f"no embedder {text}: give minilm, st:NAME, MODEL@URL or module:function")
    with folder_last():
        return cast(Embed, imported(text))


def parameters(temperature: float, max_tokens: int, system: str | None) -> Parameters:
    """How the model is to answer."""
    return Parameters(temperature, max_tokens, system=system)


def priced(text: str | None) -> Price | None:
    """PROMPT,ANSWER: what a million tokens cost."""
    found = numbers(text, "--price")
    if found is None:
        return None
    if len(found) != 2:
        raise SettingsError(f"--price {text}: give two numbers, of prompts and of answers: 2.5,10")
    return Price(*found)


def unit_value(text: str) -> Unit:
    """One of the two units."""
    if text not in ("sqrt1mcos", "angle"):
        raise SettingsError(f"--unit {text}: give sqrt1mcos or angle")
    return cast(Unit, text)
