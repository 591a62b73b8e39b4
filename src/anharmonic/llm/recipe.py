"""How a prompt is measured: what is asked about it, in which order, with which seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypedDict

from anharmonic._core.randomness import generator
from anharmonic._core.streams import LanguageStream
from anharmonic.errors import SettingsError
from anharmonic.llm.dispatch import Price
from anharmonic.llm.perturb import PAPER, Change, Kind, named, perturbed, settled
from anharmonic.llm.statistics import Unit
from anharmonic.llm.types import DEFAULTS, Parameters, Request

__all__ = ["Recipe", "RecipeFacts"]

LONGER = " " * 4
"""About what a perturbation adds to a prompt."""


class RecipeFacts(TypedDict):
    """A recipe as run files and settings keep it."""

    perturb: str
    count: int
    repeats: int
    unit: Unit
    seed: int
    parameters: dict[str, object]
    resample_temperature: float


@dataclass(frozen=True)
class Recipe:
    """How a prompt is measured: the same recipe and prompt give the same requests anywhere.

    Parameters
    ----------
    perturb
        The perturbation, by name or as a function; see `perturb`.
    count
        N, how many answers the original's is compared with.
    repeats
        How often the unchanged prompt is asked again, for gamma0.
    unit : "sqrt1mcos" or "angle"
        Of gamma.
    seed
        Of perturbations and sampling.
    parameters
        How the model is to answer.
    resample_temperature
        The temperature of answers that are resampled.
    """

    perturb: Kind = PAPER
    count: int = 10
    repeats: int = 10
    unit: Unit = "sqrt1mcos"
    seed: int = 0
    parameters: Parameters = DEFAULTS
    resample_temperature: float = 1.0
    changes: tuple[Change, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.count < 1 or self.repeats < 0:
            raise SettingsError("count is from 1 on and repeats from 0 on")
        if self.unit not in ("sqrt1mcos", "angle"):
            raise SettingsError(f"no unit {self.unit!r}: 'sqrt1mcos' (the paper's) or 'angle'")
        if not self.resample_temperature > 0:
            raise SettingsError("resampling needs a temperature above 0")
        object.__setattr__(self, "changes", tuple(named(self.perturb)))

    @classmethod
    def settle(
        cls,
        samples: bool,
        *,
        perturb: Kind,
        count: int,
        gamma0: bool | int,
        unit: Unit,
        seed: int,
        parameters: Parameters,
        resample_temperature: float,
    ) -> Recipe:
        """The recipe for a client that `samples` or does not; the rest is as in `gamma`."""
        return cls(
            perturb=settled(perturb, samples),
            count=count,
            repeats=count if gamma0 is True else int(gamma0),
            unit=unit,
            seed=seed,
            parameters=parameters,
            resample_temperature=resample_temperature,
        )

    @property
    def name(self) -> str:
        """The perturbation in a word."""
        return "+".join(
            getattr(change, "__name__", type(change).__name__) for change in self.changes
        )

    @property
    def calls(self) -> int:
        """How many answers a prompt takes."""
        return 1 + self.count + self.repeats

    def estimate(self, prompts: Iterable[str], price: Price | None = None) -> tuple[int, float]:
        """How many answers some prompts take, and at most about what they cost.

        Parameters
        ----------
        prompts
            The prompts to be measured.
        price
            Per million tokens; without one the cost is 0.

        Examples
        --------
        >>> Recipe(count=10, repeats=0).estimate(["why?"] * 3, Price(2.5, 10.0))[0]
        33
        """
        answers, most = 0, 0.0
        for prompt in prompts:
            answers += self.calls
            if price is not None:
                longest = Request(prompt + LONGER, self.parameters)
                most += self.calls * price.most(longest)
        return answers, most

    def plain(self) -> RecipeFacts:
        """The recipe as it is kept beside results."""
        return {
            "perturb": self.name,
            "count": self.count,
            "repeats": self.repeats,
            "unit": self.unit,
            "seed": self.seed,
            "parameters": self.parameters.plain(),
            "resample_temperature": self.resample_temperature,
        }

    def requests(self, prompt: str) -> list[tuple[Request, bool]]:
        """All requests about a prompt, the original first, and which are resampled."""
        prompts = [
            (prompt, False),
            *(perturbed(prompt, self.changes, self.seed, turn) for turn in range(self.count)),
            *[(prompt, False)] * self.repeats,
        ]
        # How often each text has come before: a cache tells equal requests apart by that.
        repeats: dict[tuple[str, bool], int] = {}
        requests = []
        for turn, (text, resampled) in enumerate(prompts):
            repeat = repeats.get((text, resampled), 0)
            repeats[text, resampled] = repeat + 1
            requests.append((self._request(text, resampled, repeat, turn), resampled))
        return requests

    def _request(self, text: str, resampled: bool, repeat: int, turn: int) -> Request:
        parameters = self.parameters
        if resampled:
            parameters = replace(parameters, temperature=self.resample_temperature)
        # Each turn its own seed: answers sampled alike would agree more than the model does.
        sampled = parameters.temperature > 0
        seed = (
            int(generator(self.seed, LanguageStream.SAMPLING_SEED, turn).integers(2**31))
            if sampled
            else None
        )
        return Request(text, parameters, repeat, seed)
