"""Groups of options that the commands for language models share, and what their text means."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, cast

import typer

from anharmonic.cli.parsing import numbers
from anharmonic.errors import NotAModel, SettingsError

if TYPE_CHECKING:
    from anharmonic.llm.dispatch import Price
    from anharmonic.llm.statistics import Unit
    from anharmonic.llm.types import Client, Embed, Parameters

__all__ = ["AnswerOptions", "ClientOptions", "GammaOptions", "Perturb", "embedder", "priced"]

Perturb = Annotated[
    str,
    typer.Option(
        help="resample, control (the paper's), unicode, typos, …; several with + between them. "
        "auto: resample, or control for a function."
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """Which language model is asked, where, and how patiently."""

    source: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL", help="A name at --url, a .gguf file, hf:NAME, or module:function."
        ),
    ] = None
    model: Annotated[
        str | None, typer.Option(help="The same as MODEL, as 0.1.0 spelt it.", hidden=True)
    ] = None
    url: Annotated[
        str | None,
        typer.Option(help="An OpenAI-compatible server, such as http://localhost:8000/v1."),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE", help="The environment variable that holds the server's key."
        ),
    ] = None
    max_concurrency: Annotated[
        int | None,
        typer.Option(
            "--max-concurrency",
            min=1,
            help="Calls at once: 8 to a server, 1 to a function, if not given.",
        ),
    ] = None
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds for one answer.")] = 60.0
    retries: Annotated[int, typer.Option(min=0, help="How often a failed call is tried again.")] = 5
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="For a .gguf file: as many as processors are idle, if not given."),
    ] = None

    def named(self, about: str | None, option: str) -> tuple[str, str]:
        """The model, and what it is asked about: `about`, or the argument as 0.1.0 took it."""
        if self.model is not None and self.source is not None and about is None:
            return self.model, self.source
        if self.model is not None and self.source is not None:
            raise SettingsError(f"two models are named, {self.source} and {self.model}: give one")
        name = self.source or self.model
        if name is None or about is None:
            raise SettingsError(f"give a MODEL and {option}, or see --help")
        return name, about

    @contextmanager
    def open(self, model: str) -> Iterator[Client]:
        """The client for a model, closed at the end."""
        from anharmonic.cli.importing import folder_last
        from anharmonic.llm.clients import as_client, imported, is_function

        if is_function(model, self.url):
            with folder_last():
                imported(model)
        client = as_client(
            model,
            url=self.url,
            key=self.key,
            concurrency=self.max_concurrency,
            timeout=self.timeout,
            retries=self.retries,
            threads=self.threads,
        )
        try:
            yield client
        finally:
            getattr(client, "close", lambda: None)()


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """How the model is to answer."""

    temperature: Annotated[float, typer.Option(min=0, help="For all but resampled answers.")] = 0.0
    max_tokens: Annotated[int, typer.Option(min=1, help="The most tokens of an answer.")] = 256
    system: Annotated[str | None, typer.Option(help="A system prompt, the same for all.")] = None

    def parameters(self) -> Parameters:
        """The same as a request has it."""
        from anharmonic.llm.types import Parameters

        return Parameters(self.temperature, self.max_tokens, system=self.system)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GammaOptions:
    """How gamma of an answer is measured."""

    embed: Annotated[
        str,
        typer.Option(
            help="minilm, st:NAME (sentence-transformers), MODEL@URL (a server), module:function."
        ),
    ] = "minilm"
    count: Annotated[int, typer.Option(min=1, help="Perturbed prompts for each question.")] = 10
    perturb: Perturb = "auto"
    unit: Annotated[str, typer.Option(help="sqrt1mcos (the paper's) or angle, in degrees.")] = (
        "sqrt1mcos"
    )
    seed: Annotated[
        int,
        typer.Option(min=0, help="Of all that is random: the same gives the same questions."),
    ] = 0

    def embedder(self) -> Embed:
        """What makes vectors of answers."""
        return embedder(self.embed)

    def checked_unit(self) -> Unit:
        """One of the two units."""
        if self.unit not in ("sqrt1mcos", "angle"):
            raise SettingsError(f"--unit {self.unit}: give sqrt1mcos or angle")
        return cast("Unit", self.unit)


def embedder(text: str) -> Embed:
    """The embedder that a text stands for: minilm, st:NAME, MODEL@URL or module:function."""
    from anharmonic.cli.importing import folder_last
    from anharmonic.llm import embed
    from anharmonic.llm.clients import imported

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
        return cast("Embed", imported(text))


def priced(text: str | None) -> Price | None:
    """PROMPT,ANSWER: what a million tokens cost."""
    from anharmonic.llm.dispatch import Price

    prices = numbers(text, "--price")
    if prices is None:
        return None
    if len(prices) != 2:
        raise SettingsError(f"--price {text}: give two numbers, of prompts and of answers: 2.5,10")
    return Price(*prices)
