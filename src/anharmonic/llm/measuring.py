"""`gamma` of a language model: perturb, ask, embed, hold the answer against the mean."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import ModelError, OutputError, PointsError
from anharmonic.llm.cache import Cache
from anharmonic.llm.clients import borrowed, samples
from anharmonic.llm.dispatch import Budget, BudgetSpent, Price, Usage, ask
from anharmonic.llm.embed import minilm
from anharmonic.llm.perturb import Kind, settled
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.records import Record, Trial
from anharmonic.llm.result import LanguageScores, assembled
from anharmonic.llm.settings import LanguageSettings
from anharmonic.llm.statistics import Unit, jackknifed, matched_excess
from anharmonic.llm.types import DEFAULTS, Answer, Client, Embed, Parameters, Request

__all__ = ["Embedding", "gamma", "measured"]

TOGETHER = 8
"""Prompts whose answers are embedded in one call."""
Progress = Callable[[Usage, int], None]


def gamma(
    client: Any,
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

    - `client`: a function, a client, a pipeline, a .gguf file; see `clients.as_client`.
    - `embed`: texts to vectors (texts, D), MiniLM where none is given. A classifier's
      probabilities do as well.
    - `perturb`: "resample" asks the same prompt again at `resample_temperature`, "control" is
      the paper's; more in `perturb.names()`. "auto" is the first, or the second for a function
      that takes a prompt and nothing else.
    - `count`: N, how many answers there are to hold the original's against. Gamma grows as N
      falls, by the noise of their mean: `corrected` compares whatever N is.
    - `gamma0`: also ask the unchanged prompt again, `count` times or as often as told, and
      report the excess: a sampler's own noise is no lack of trust. Both at equal N.
    - `budget` in calls and `budget_money` in the currency of `price`, which is for a million
      tokens of prompts and of answers. Prompts that they do not cover hold NaN.

    Where a server ends the run, the error's `partial` holds what was measured.

    >>> import numpy as np
    >>> length = lambda texts: np.array([[len(text), 1.0] for text in texts])
    >>> found = gamma(lambda prompt: "42", ["six times seven?"], embed=length)
    >>> found.values.tolist(), found.calls
    ([0.0], 21)
    """
    vectors = minilm() if embed is None else embed
    texts = _texts(prompts)
    usage = Usage(None if price is None else Price(*price), Budget(budget, budget_money))
    records: list[Record] = []
    with ExitStack() as open_things:
        asked = open_things.enter_context(borrowed(client))
        recipe = Recipe(
            perturb=settled(perturb, samples(asked)),
            count=count,
            repeats=count if gamma0 is True else int(gamma0),
            unit=unit,
            seed=seed,
            parameters=parameters,
            resample_temperature=resample_temperature,
        )
        settings = LanguageSettings.record(
            model=asked.name, fingerprint=_fingerprint(texts), **recipe.plain()
        )
        kept = None if cache is None else open_things.enter_context(Cache(cache))
        try:
            for record in measured(asked, texts, recipe, vectors, cache=kept, usage=usage):
                records.append(record)
                if progress is not None:
                    progress(usage, len(records))
        except BudgetSpent:
            settings = settings.with_facts(stopped="budget")
        except ModelError as problem:
            problem.partial = assembled(texts, records, settings, usage)
            raise
    return assembled(texts, records, settings, usage)


def measured(
    client: Client,
    prompts: Iterable[str],
    recipe: Recipe,
    embed: Embed,
    *,
    cache: Cache | None = None,
    usage: Usage | None = None,
    together: int = TOGETHER,
) -> Iterator[Record]:
    """A record for each prompt, in order, as they are done; any number in flat memory."""
    plans: deque[tuple[str, list[tuple[Request, bool]]]] = deque()

    def questions() -> Iterator[Request]:
        for prompt in prompts:
            plans.append((prompt, recipe.requests(prompt)))
            yield from [request for request, _ in plans[-1][1]]

    vectors = Embedding(embed)
    answers: list[Answer] = []
    done: list[Record] = []
    try:
        for answer in ask(client, questions(), cache=cache, usage=usage):
            answers.append(answer)
            prompt, plan = plans[0]
            if len(answers) < len(plan):
                continue
            done.append(_unscored(prompt, plan, answers, recipe))
            plans.popleft()
            answers = []
            if len(done) >= together:
                ready, done = done, []
                yield from _scored(ready, vectors, recipe.unit)
    except ModelError:
        # What was answered is paid for, whatever came after it.
        yield from _scored(done, vectors, recipe.unit)
        raise
    yield from _scored(done, vectors, recipe.unit)


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


def _unscored(
    prompt: str, plan: list[tuple[Request, bool]], answers: list[Answer], recipe: Recipe
) -> Record:
    last = 1 + recipe.count
    trials = tuple(
        Trial(request.prompt, answer, resampled)
        for (request, resampled), answer in zip(plan[1:last], answers[1:last], strict=True)
    )
    return Record(prompt, answers[0], trials, tuple(answers[last:]))


def _scored(records: list[Record], vectors: Embedding, unit: Unit) -> Iterator[Record]:
    found = vectors([each.text for record in records for each in record.every if each.usable])
    for record in records:
        if not record.answer.usable:
            yield record
            continue
        centre = found[record.answer.text]
        others = _vectors((trial.answer for trial in record.trials), found)
        repeats = _vectors(record.repeats, found)
        both = len(others) and len(repeats)
        yield replace(
            record,
            gamma=jackknifed(centre, others, unit) if len(others) else None,
            gamma0=jackknifed(centre, repeats, unit) if len(repeats) else None,
            centre=centre,
            matched=matched_excess(centre, others, repeats, unit) if both else None,
        )


def _vectors(answers: Iterable[Answer], found: dict[str, Floats]) -> Floats:
    return np.array([found[each.text] for each in answers if each.usable])


def _fingerprint(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()


def _texts(prompts: Sequence[str]) -> list[str]:
    if isinstance(prompts, str):
        raise PointsError("prompts are a list of texts: put a single one in brackets")
    texts = list(prompts)
    if not texts or not all(isinstance(each, str) for each in texts):
        raise PointsError("prompts are a list of texts, at least one")
    return texts
