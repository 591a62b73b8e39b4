"""What is known of one prompt: its answers, those of its neighbours, and gamma."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NotRequired, TypedDict

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic.llm.recipe import RecipeFacts
from anharmonic.llm.statistics import Deviation, at_fewer, excess
from anharmonic.llm.types import Answer

__all__ = ["NOTHING", "Header", "Record", "RunHeader", "Trial"]

NOTHING = Estimate(float("nan"), float("nan"))


class Header(TypedDict):
    """What a run was measured on and how."""

    model: str
    client: str
    data: str
    embed: str
    recipe: RecipeFacts


class RunHeader(Header):
    """The first line of a run file."""

    anharmonic: NotRequired[str]
    format: NotRequired[int]


@dataclass(frozen=True)
class Trial:
    """A perturbed prompt and what came of it."""

    prompt: str
    answer: Answer
    resampled: bool = False


@dataclass(frozen=True)
class Record:
    """A prompt, its answer, the perturbed prompts with theirs, and the repeated answers.

    `gamma` is None where there is no original answer or no other to compare it with. `centre` is
    the original answer's embedding. `matched` is the excess at equal numbers of answers, which
    takes the embeddings.
    """

    prompt: str
    answer: Answer
    trials: tuple[Trial, ...] = ()
    repeats: tuple[Answer, ...] = ()
    gamma: Deviation | None = None
    gamma0: Deviation | None = None
    centre: Floats | None = None
    matched: Estimate | None = None

    @property
    def every(self) -> list[Answer]:
        """All answers, the original's first."""
        return [self.answer, *(trial.answer for trial in self.trials), *self.repeats]

    @property
    def refused(self) -> int:
        return sum(answer.refused for answer in self.every)

    @property
    def failed(self) -> int:
        return sum(not answer.usable and not answer.refused for answer in self.every)

    @property
    def excess(self) -> Estimate:
        """Gamma less gamma0 at equal numbers of answers, with its error; NaN where one is missing.

        A file of 0.1.0 holds no embeddings: there, what fewer answers would give is worked out.
        """
        if self.gamma is None or self.gamma0 is None:
            return NOTHING
        if self.matched is not None:
            return self.matched
        fewest = min(self.gamma.turns, self.gamma0.turns)
        first, second = (
            Estimate(
                float(at_fewer(score.value, score.squared, score.turns, fewest)),
                score.error if np.isnan(score.noise) else score.noise,
            )
            for score in (self.gamma, self.gamma0)
        )
        return excess(first, second)

    def plain(self) -> dict[str, object]:
        """Everything but the embeddings, as plain values for one line of JSON."""
        return {
            "prompt": self.prompt,
            "answer": self.answer.text,
            **_numbers("gamma", self.gamma),
            **_numbers("gamma0", self.gamma0),
            "excess": _finite(self.excess.value),
            "excess_error": _finite(self.excess.error),
            "excess_matched": self.matched is not None,
            "refused": self.refused,
            "failed": self.failed,
            "problems": sorted({answer.error for answer in self.every if answer.error is not None}),
            "tokens": sum(answer.tokens for answer in self.every),
            "original": _compact(self.answer),
            "trials": [
                {"prompt": trial.prompt, "resampled": trial.resampled, **_compact(trial.answer)}
                for trial in self.trials
            ],
            "repeats": [_compact(answer) for answer in self.repeats],
        }

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> Record:
        """The record that `plain` wrote."""
        return cls(
            line["prompt"],
            _answer(line["original"]),
            tuple(
                Trial(trial["prompt"], _answer(trial), trial["resampled"])
                for trial in line["trials"]
            ),
            tuple(_answer(answer) for answer in line["repeats"]),
            _deviation("gamma", line),
            _deviation("gamma0", line),
            matched=(
                Estimate(_number(line["excess"]), _number(line["excess_error"]))
                if line.get("excess_matched")
                else None
            ),
        )


def _numbers(name: str, score: Deviation | None) -> dict[str, float | None]:
    if score is None:
        return {name: None}
    return {
        name: _finite(score.value),
        f"{name}_error": _finite(score.error),
        f"{name}_noise": _finite(score.noise),
        f"{name}_squared": _finite(score.squared),
        f"{name}_turns": score.turns,
    }


def _deviation(name: str, line: Mapping[str, Any]) -> Deviation | None:
    if line.get(name) is None:
        return None
    parts = ("error", "squared", "noise")
    error, squared, noise = (_number(line.get(f"{name}_{part}")) for part in parts)
    return Deviation(line[name], error, squared, line[f"{name}_turns"], np.zeros(0), noise)


def _compact(answer: Answer) -> dict[str, object]:
    """An answer without the fields that hold their defaults."""
    usual = asdict(Answer())
    fields = {name: value for name, value in asdict(answer).items() if value != usual[name]}
    return {"text": "", **{name: value for name, value in fields.items() if name != "cached"}}


def _answer(line: Mapping[str, Any]) -> Answer:
    names: Iterable[str] = asdict(Answer())
    return Answer(**{name: line[name] for name in names if name in line})


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
