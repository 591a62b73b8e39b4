"""Search near a prompt for one with a large gamma: the paper's ascent, and what it must beat."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic.errors import SettingsError
from anharmonic.llm.cache import Cache
from anharmonic.llm.clients import borrowed
from anharmonic.llm.dispatch import Budget, BudgetSpent, Usage
from anharmonic.llm.embed import minilm
from anharmonic.llm.measuring import measure_prompts
from anharmonic.llm.perturb import Kind, perturbed
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.records import NOTHING, Record
from anharmonic.llm.settings import LanguageSettings
from anharmonic.llm.statistics import Unit
from anharmonic.llm.types import DEFAULTS, Client, Embed, Parameters

__all__ = ["WAYS", "PromptSearch", "SearchStep", "Way", "search"]

Way = Literal["greedy", "random", "best"]
WAYS: dict[Way, str] = {
    "greedy": "The paper's ascent: measure every perturbed prompt, go to the largest gamma.",
    "random": "As many random walks as there are candidates per step: nobody chooses a direction.",
    "best": "Perturbed once from the original, as many as the ascent measures; the largest stays.",
}
FRESH = 10_007
"""Added to the seed where a gamma is measured again, so that its perturbations are others."""


@dataclass(frozen=True)
class SearchStep:
    """Where a search stands after a step.

    Parameters
    ----------
    prompt, answer
        Where it came to, and what was answered there.
    gamma
        What it was chosen by.
    fresh
        Gamma with other perturbations, which had no part in the choice.
    """

    prompt: str
    answer: str
    gamma: Estimate
    fresh: Estimate


@dataclass(frozen=True)
class PromptSearch:
    """A path from a prompt to one with a larger gamma.

    Parameters
    ----------
    way
        How it was searched for.
    steps
        The prompt itself, then where each step came to.
    candidates
        How many prompts were measured to choose from.
    calls
        How many calls that took.
    settings
        How gamma was measured.
    """

    way: Way
    steps: tuple[SearchStep, ...]
    candidates: int
    calls: int
    settings: LanguageSettings

    @property
    def gain(self) -> Estimate:
        """How much larger the end's gamma is than the start's, both measured afresh."""
        first, last = self.steps[0].fresh, self.steps[-1].fresh
        error = float(np.hypot(first.error, last.error)) if len(self.steps) > 1 else 0.0
        return Estimate(last.value - first.value, error)

    def __repr__(self) -> str:
        return (
            f"<{self.way} search, {len(self.steps) - 1} steps, gamma {self.steps[0].fresh} → "
            f"{self.steps[-1].fresh}, {self.calls:,} calls>"
        )


def search(
    client: object,
    prompt: str,
    *,
    embed: Embed | None = None,
    way: Way = "greedy",
    steps: int = 5,
    count: int = 10,
    perturb: Kind = "unicode",
    unit: Unit = "sqrt1mcos",
    seed: int = 0,
    parameters: Parameters = DEFAULTS,
    cache: str | os.PathLike[str] | None = None,
    budget: int | None = None,
) -> PromptSearch:
    """Walk from a prompt to where gamma is large; `count` candidates per step in every way.

    A step takes at most count·(count + 1) calls to choose and `count` more to measure where it
    came to with perturbations that had no part in the choice.

    Parameters
    ----------
    client
        A function, a client, a pipeline, a .gguf file; see `clients.as_client`.
    prompt
        Where to begin.
    embed
        Texts to vectors (texts, D), MiniLM where none is given.
    way : "greedy", "random" or "best"
        The paper's ascent, or one of the two controls that it must beat; see `WAYS`.
    steps
        The most steps.
    count
        Candidates per step, and answers that each is compared with.
    perturb
        What makes candidates of a prompt; see `perturb`.
    unit : "sqrt1mcos" or "angle"
        Of gamma.
    seed
        Of perturbations.
    parameters
        How the model is to answer.
    cache
        An SQLite file that keeps answers; in memory if not given.
    budget
        The most calls: the walk ends early where they are spent.

    Examples
    --------
    >>> length = lambda texts: np.array([[len(text), 1.0] for text in texts])
    >>> path = search(lambda prompt: prompt, "why?", embed=length, steps=2, count=3)
    >>> len(path.steps), path.candidates
    (3, 6)

    References
    ----------
    Harmonic LLMs are Trustworthy (arXiv 2404.19708).
    """
    if way not in WAYS:
        raise SettingsError(f"no way {way!r}: choose {', '.join(WAYS)}")
    recipe = Recipe(perturb, count, 0, unit, seed, parameters)
    usage = Usage(budget=Budget(budget))
    with ExitStack() as resources:
        # A candidate is a point of its parent's ball, so that its answer is in the cache already.
        store = resources.enter_context(Cache(":memory:" if cache is None else cache))
        opened = resources.enter_context(borrowed(client))
        walk = _Walk(opened, recipe, embed or minilm(), store, usage)
        path, tried = [walk.begin(prompt)], 0
        try:
            for number, step in enumerate(_steps(walk, way, prompt, steps), 1):
                tried = number * count
                path.append(step)
        except BudgetSpent:
            pass
    settings = LanguageSettings.record(model=walk.client.name, steps=steps, **recipe.plain())
    return PromptSearch(way, tuple(path), tried, usage.calls, settings)


@dataclass(frozen=True)
class _Walk:
    """What every step needs: who answers, and how gamma is measured."""

    client: Client
    recipe: Recipe
    embed: Embed
    cache: Cache
    usage: Usage

    def records(self, prompts: Iterable[str], fresh: bool = False) -> list[Record]:
        recipe = replace(self.recipe, seed=self.recipe.seed + FRESH) if fresh else self.recipe
        return list(
            measure_prompts(
                *(self.client, prompts, recipe, self.embed), cache=self.cache, usage=self.usage
            )
        )

    def step(self, record: Record) -> SearchStep:
        """A record with its gamma measured again."""
        again = self.records([record.prompt], fresh=True)[0]
        return SearchStep(record.prompt, record.answer.text, _estimate(record), _estimate(again))

    def begin(self, prompt: str) -> SearchStep:
        return self.step(self.records([prompt])[0])

    def around(self, prompt: str, first: int = 0) -> list[str]:
        """`count` perturbed prompts, those of the turns from `first` on."""
        recipe = self.recipe
        turns = range(first, first + recipe.count)
        return [perturbed(prompt, recipe.changes, recipe.seed, turn).prompt for turn in turns]


def _steps(walk: _Walk, way: Way, prompt: str, steps: int) -> Iterable[SearchStep]:
    """Where each step comes to."""
    count = walk.recipe.count
    if way == "greedy":
        for _ in range(steps):
            best = _largest(walk.records(walk.around(prompt)))
            prompt = best.prompt
            yield walk.step(best)
    elif way == "best":
        best = None
        for step in range(steps):
            records = walk.records(walk.around(prompt, step * count))
            best = _largest([*records, *([] if best is None else [best])])
            yield walk.step(best)
    else:
        walkers = [prompt] * count
        for step in range(steps):
            # Each walker takes the first perturbation of turns that no other has.
            walkers = [
                walk.around(walker, (step * count + index) * count)[0]
                for index, walker in enumerate(walkers)
            ]
            yield walk.step(_largest(walk.records(walkers)))


def _largest(records: list[Record]) -> Record:
    """The record with the largest gamma; those without one come last."""
    return max(records, key=lambda record: -1.0 if record.gamma is None else record.gamma.value)


def _estimate(record: Record) -> Estimate:
    """Gamma with its noise alone: every step has the same N, and what N adds."""
    return NOTHING if record.gamma is None else Estimate(record.gamma.value, record.gamma.noise)
