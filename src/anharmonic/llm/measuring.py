"""`gamma` of a language model: perturb, ask, embed, compare the answer with the mean."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import ModelError, OutputError, PointsError
from anharmonic.llm.cache import Cache
from anharmonic.llm.clients import borrowed, samples
from anharmonic.llm.dispatch import Budget, BudgetSpent, Price, Usage, ask
from anharmonic.llm.embed import minilm
from anharmonic.llm.perturb import Kind
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.records import Record, Trial
from anharmonic.llm.result import LanguageScores, assembled
from anharmonic.llm.settings import LanguageSettings
from anharmonic.llm.statistics import Unit, jackknifed, matched_excess
from anharmonic.llm.types import DEFAULTS, Answer, Client, Embed, Parameters, Request

__all__ = ["Embedding", "gamma", "measure_prompts"]

TOGETHER = 8
"""Prompts whose answers are embedded in one call."""
Progress = Callable[[Usage, int], None]
"""Called with the calls and costs so far, and how many prompts are finished."""


def gamma(
    client: object,
    prompts: Sequence[str],
    *,
    embed: Embed | None = None,
    count: int = 10,
    perturb: Kind = "auto",
    unit: Unit = "sqrt1mcos",
    seed: int = 0,
    gamma0: bool | int = True,
    parameters: Parameters = DEFAULTS,
    resample_temperature: float = 1.0,
    cache: str | os.PathLike[str] | None = None,
    budget: int | None = None,
    budget_money: float | None = None,
    price: tuple[float, float] | None = None,
    progress: Progress | None = None,
) -> LanguageScores:
    """Gamma of each prompt: how far its answer is from the mean answer to nearby prompts.

    Parameters
    ----------
    client
        A function, a client, a pipeline, a .gguf file; see `clients.as_client`.
    prompts
        A list of texts.
    embed
        Texts to vectors (texts, D), MiniLM where none is given. A classifier's probabilities do
        as well.
    count
        N, how many answers the original's is compared with. Gamma grows as N falls, by the noise
        of their mean: `corrected` compares whatever N is.
    perturb
        "resample" asks the same prompt again at `resample_temperature`, "control" is the
        paper's; more in `perturb.names()`. "auto" is the first, or the second for a function
        that takes a prompt and nothing else.
    unit : "sqrt1mcos" or "angle"
        sqrt(1 − cos θ) as the paper's code has it, or θ in degrees.
    seed
        Of perturbations and sampling.
    gamma0 : bool or int
        Also ask the unchanged prompt again, `count` times or this many, and report the excess:
        a sampler's own noise is no lack of trust. Both at equal N.
    parameters
        How the model is to answer.
    resample_temperature
        The temperature of answers that are resampled.
    cache
        An SQLite file that keeps answers: none is paid twice.
    budget, budget_money
        The most calls, and the most money in the currency of `price`. Prompts that they do not
        cover hold NaN.
    price : (prompts, answers)
        Money per million tokens.
    progress
        Called after each prompt with what was used so far and how many prompts are finished.

    Notes
    -----
    Where a server ends the run, the error's `partial` holds what was measured.

    Examples
    --------
    >>> import numpy as np
    >>> length = lambda texts: np.array([[len(text), 1.0] for text in texts])
    >>> scores = gamma(lambda prompt: "42", ["six times seven?"], embed=length)
    >>> scores.values.tolist(), scores.calls
    ([0.0], 21)

    References
    ----------
    Harmonic LLMs are Trustworthy (arXiv 2404.19708).
    """
    vectors = minilm() if embed is None else embed
    texts = _texts(prompts)
    usage = Usage(None if price is None else Price(*price), Budget(budget, budget_money))
    records: list[Record] = []
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
        settings = LanguageSettings.record(
            model=opened.name, fingerprint=_fingerprint(texts), **recipe.plain()
        )
        store = None if cache is None else resources.enter_context(Cache(cache))
        try:
            for record in measure_prompts(opened, texts, recipe, vectors, cache=store, usage=usage):
                records.append(record)
                if progress is not None:
                    progress(usage, len(records))
        except BudgetSpent:
            settings = settings.with_facts(stopped="budget")
        except ModelError as problem:
            problem.partial = assembled(texts, records, settings, usage)
            raise
    return assembled(texts, records, settings, usage)


class _Plan(NamedTuple):
    """A prompt and all requests about it, each with whether it is resampled."""

    prompt: str
    requests: list[tuple[Request, bool]]


def measure_prompts(
    client: Client,
    prompts: Iterable[str],
    recipe: Recipe,
    embed: Embed,
    *,
    cache: Cache | None = None,
    usage: Usage | None = None,
    together: int = TOGETHER,
) -> Iterator[Record]:
    """A record for each prompt, in order, as they are done; any number in flat memory.

    Parameters
    ----------
    client, embed
        Who answers, and what makes answers into vectors.
    prompts
        Any number; may be a generator.
    recipe
        What is asked about each.
    cache, usage
        Where answers are kept, and what counts calls.
    together
        Prompts whose answers are embedded in one call.
    """
    # A queue between two ends: `ask` draws requests from the generator below, a few prompts ahead,
    # which puts each prompt's plan in at the right; answers come back in the order of the
    # requests, so they belong to the plan at the left until it has all of them.
    plans: deque[_Plan] = deque()

    def requests_of_all() -> Iterator[Request]:
        for prompt in prompts:
            plan = _Plan(prompt, recipe.requests(prompt))
            plans.append(plan)
            yield from [request for request, _ in plan.requests]

    vectors = Embedding(embed)
    answers: list[Answer] = []
    unscored: list[Record] = []
    try:
        for answer in ask(client, requests_of_all(), cache=cache, usage=usage):
            answers.append(answer)
            if len(answers) < len(plans[0].requests):
                continue
            unscored.append(_unscored(plans.popleft(), answers, recipe))
            answers = []
            if len(unscored) >= together:
                batch, unscored = unscored, []
                yield from _scored(batch, vectors, recipe.unit)
    except ModelError:
        # What was answered is paid for, whatever came after it.
        yield from _scored(unscored, vectors, recipe.unit)
        raise
    yield from _scored(unscored, vectors, recipe.unit)


class Embedding:
    """An embedder whose vectors are checked: one for each text, finite, always of one size."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self.size: int | None = None

    def __call__(self, texts: Sequence[str]) -> dict[str, Floats]:
        """A vector for each different text."""
        different = list(dict.fromkeys(texts))
        if not different:
            return {}
        vectors = np.asarray(self._embed(different), dtype=float)
        if vectors.ndim != 2 or len(vectors) != len(different):
            raise OutputError(
                f"the embedder made {vectors.shape} from {len(different)} texts: "
                "it must give one vector for each"
            )
        if self.size not in (None, vectors.shape[1]):
            raise OutputError(
                f"the embedder gave vectors of {self.size} numbers, now of {vectors.shape[1]}: "
                "use one embedder, with one size, for a whole run"
            )
        self.size = vectors.shape[1]
        return dict(zip(different, vectors, strict=True))


def _unscored(plan: _Plan, answers: list[Answer], recipe: Recipe) -> Record:
    """A record without gamma: the original's answer, then the perturbed prompts', then repeats."""
    last = 1 + recipe.count
    trials = tuple(
        Trial(request.prompt, answer, resampled)
        for (request, resampled), answer in zip(plan.requests[1:last], answers[1:last], strict=True)
    )
    return Record(plan.prompt, answers[0], trials, tuple(answers[last:]))


def _scored(records: list[Record], vectors: Embedding, unit: Unit) -> Iterator[Record]:
    """The records with gamma and gamma0, all their answers embedded in one call."""
    vector_of = vectors(
        [answer.text for record in records for answer in record.every if answer.usable]
    )
    for record in records:
        if not record.answer.usable:
            yield record
            continue
        centre = vector_of[record.answer.text]
        others = _stacked((trial.answer for trial in record.trials), vector_of)
        repeats = _stacked(record.repeats, vector_of)
        both = len(others) and len(repeats)
        yield replace(
            record,
            gamma=jackknifed(centre, others, unit) if len(others) else None,
            gamma0=jackknifed(centre, repeats, unit) if len(repeats) else None,
            centre=centre,
            matched=matched_excess(centre, others, repeats, unit) if both else None,
        )


def _stacked(answers: Iterable[Answer], vector_of: dict[str, Floats]) -> Floats:
    """The vectors of the answers that have a text, (N, D)."""
    return np.array([vector_of[answer.text] for answer in answers if answer.usable])


def _fingerprint(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()


def _texts(prompts: Sequence[str]) -> list[str]:
    if isinstance(prompts, str):
        raise PointsError("prompts are a list of texts: put a single one in brackets")
    texts = list(prompts)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise PointsError("prompts are a list of texts, at least one")
    return texts
