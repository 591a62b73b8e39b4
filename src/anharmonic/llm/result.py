"""What `gamma` of a language model returns: Scores, and the texts they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from anharmonic._core import tables
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic.llm.dispatch import Usage
from anharmonic.llm.records import Record
from anharmonic.llm.settings import LanguageSettings
from anharmonic.llm.statistics import mean_known
from anharmonic.scores import Scores

__all__ = ["LanguageScores", "assembled", "scores_of"]


@dataclass(frozen=True, repr=False)
class LanguageScores:
    """Gamma of every prompt, gamma0 beside it where it was measured, and all texts.

    Parameters
    ----------
    prompts
        All that were asked for, in order.
    scores, scores0
        `Scores` of gamma and of gamma0 (None without).
    records
        For each finished prompt, the first so many: its answer, the perturbed prompts and
        theirs, the repeats.
    calls, cached
        Calls made, retries included, and answers that came from the cache.
    refused, failed
        Answers that are missing.
    prompt_tokens, answer_tokens, cost
        What the calls took; the cost is 0 without a price.
    """

    prompts: tuple[str, ...]
    scores: Scores
    scores0: Scores | None
    records: tuple[Record, ...]
    calls: int
    cached: int
    refused: int
    failed: int
    prompt_tokens: int
    answer_tokens: int
    cost: float

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def values(self) -> Floats:
        """Gamma of each prompt; NaN where it could not be measured."""
        return self.scores.values

    @property
    def errors(self) -> Floats:
        return self.scores.errors

    @property
    def mean(self) -> Estimate:
        """Mean gamma with the standard error over prompts."""
        return Estimate(self.scores.mean, self.scores.error)

    @property
    def settings(self) -> LanguageSettings:
        """How answers were asked for."""
        return self.scores.settings.as_kind(LanguageSettings)

    @property
    def excesses(self) -> Floats:
        """Gamma less gamma0 of each prompt, both at equal N; NaN where either is missing."""
        excesses = np.full(len(self), np.nan)
        excesses[: len(self.records)] = [record.excess.value for record in self.records]
        return excesses

    @property
    def corrected(self) -> Floats:
        """Gamma of each prompt without what the noise of N answers adds: compares for any N."""
        return cast(Floats, np.sqrt(np.maximum(self.scores.squared, 0.0)))

    @property
    def excess(self) -> Estimate:
        """Mean of gamma less gamma0, with the standard error over prompts."""
        return mean_known(self.excesses)

    @property
    def answers(self) -> list[str]:
        """The original answers; "" where there is none."""
        return [record.answer.text for record in self.records]

    def summary(self) -> dict[str, object]:
        """The headline as plain numbers, ready for JSON."""
        return {
            **self.scores.summary(),
            "gamma0": None if self.scores0 is None else [self.scores0.mean, self.scores0.error],
            "excess": list(self.excess),
            "count": self.settings.count,
            "corrected": list(mean_known(self.corrected)),
            "cached": self.cached,
            "refused": self.refused,
            "failed": self.failed,
            "prompt_tokens": self.prompt_tokens,
            "answer_tokens": self.answer_tokens,
            "cost": self.cost,
        }

    def to_arrow(self) -> Any:
        """One row per prompt as a pyarrow Table: texts and numbers, settings in its metadata."""
        zero = np.full(len(self), np.nan) if self.scores0 is None else self.scores0.values
        rows = [*self.records, *[None] * (len(self) - len(self.records))]
        columns = {
            "prompt": [_clean(prompt) for prompt in self.prompts],
            "answer": [None if row is None else _clean(row.answer.text) for row in rows],
            "gamma": self.values,
            "error": self.errors,
            "corrected": self.corrected,
            "turns": self.scores.turns,
            "gamma0": zero,
            "excess": self.excesses,
            "refused": [0 if row is None else row.refused for row in rows],
            "failed": [0 if row is None else row.failed for row in rows],
        }
        return tables.arrow(columns, {"holds": "answers", "settings": self.settings.plain()})

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per prompt, as a table of the library that is installed.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
            Which library's; the first of them that is installed if not given.
        """
        return tables.frame(self.to_arrow(), backend)

    def __repr__(self) -> str:
        missing = f", {self.refused:,} refused" if self.refused else ""
        missing += f", {self.failed:,} failed" if self.failed else ""
        beside = "" if self.scores0 is None else f", excess {self.excess}"
        count = self.settings.count
        about = f"<gamma {self.mean}" + ("" if count is None else f" at N = {count}")
        return f"{about}{beside} over {len(self):,} prompts, {self.calls:,} calls{missing}>"

    def _repr_html_(self) -> str:
        zero = self.scores0
        return tables.facts(
            {
                "gamma": self.mean,
                "N, answers held against": self.settings.count or "–",
                "corrected for N": mean_known(self.corrected),
                "gamma0, the model's own noise": (
                    "not measured" if zero is None else Estimate(zero.mean, zero.error)
                ),
                "excess": self.excess,
                "prompts": f"{len(self):,}",
                "calls": f"{self.calls:,}",
                "refused, failed": f"{self.refused:,}, {self.failed:,}",
                "perturbation": self.settings.perturb or "–",
                "model": self.settings.model or "–",
            }
        )


def _clean(text: str) -> str:
    """Text that any table can hold: halves of surrogate pairs it cannot."""
    return text.encode("utf-8", "backslashreplace").decode()


def assembled(
    prompts: Sequence[str], records: Sequence[Record], settings: LanguageSettings, usage: Usage
) -> LanguageScores:
    """Records, the first of as many prompts as were paid for, as one result."""
    measured0 = settings.repeats > 0
    return LanguageScores(
        prompts=tuple(prompts),
        scores=scores_of("gamma", len(prompts), records, settings, usage.calls),
        scores0=(
            scores_of("gamma0", len(prompts), records, settings, usage.calls) if measured0 else None
        ),
        records=tuple(records),
        calls=usage.calls,
        cached=usage.cached,
        refused=usage.refused,
        failed=usage.failed,
        prompt_tokens=usage.prompt_tokens,
        answer_tokens=usage.answer_tokens,
        cost=usage.cost,
    )


def scores_of(
    metric: str, count: int, records: Sequence[Record], settings: LanguageSettings, calls: int
) -> Scores:
    """One measure of the records as `Scores`; prompts without it hold NaN."""
    deviations = [record.gamma if metric == "gamma" else record.gamma0 for record in records]
    # Embeddings' size; 0 where records come from a file, which keeps none.
    size = max((len(score.vector) for score in deviations if score is not None), default=0)
    values, errors, squared = (np.full(count, np.nan) for _ in range(3))
    turns = np.zeros(count, dtype=np.int64)
    signed = np.full((count, size) if size else count, np.nan)
    outputs = signed.copy()
    for row, (record, score) in enumerate(zip(records, deviations, strict=True)):
        if score is None:
            continue
        values[row], errors[row], squared[row] = score.value, score.error, score.squared
        turns[row] = score.turns
        if size:
            signed[row], outputs[row] = score.vector, record.centre
        else:
            signed[row] = score.value
    about = LanguageSettings.record(
        kind="value", reduction=settings.unit, points=count, **settings.plain()
    )
    return Scores(metric, values, errors, squared, signed, outputs, turns, calls, about)
