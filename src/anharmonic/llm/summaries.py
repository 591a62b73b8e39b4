"""A finished or unfinished run, read back: the numbers without the texts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import InputError
from anharmonic.llm.bands import PAPER, Bands
from anharmonic.llm.records import Record, RunHeader
from anharmonic.llm.settings import LanguageSettings
from anharmonic.llm.statistics import mean_known
from anharmonic.scores import Scores

__all__ = ["RunSummary", "lines", "read_run"]

PAPER_COUNT = 10
"""How many perturbed prompts the paper takes."""


@dataclass(frozen=True)
class RunSummary:
    """One row per question, arrays side by side; the last line of a question counts.

    Parameters
    ----------
    path, header
        The file, and what it says was measured how.
    ids, prompts, domains
        Of each question.
    values, errors, squared, turns
        Of gamma, as in `Scores`; NaN where there is none.
    values0, excesses
        gamma0, and gamma less gamma0 at equal numbers of answers.
    refused, failed
        How many of each question's answers are missing.
    tokens
        All answers' together.
    """

    path: Path
    header: RunHeader
    ids: tuple[str, ...]
    prompts: tuple[str, ...]
    domains: tuple[str, ...]
    values: Floats
    errors: Floats
    squared: Floats
    turns: Integers
    values0: Floats
    excesses: Floats
    refused: Integers
    failed: Integers
    tokens: int

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def model(self) -> str:
        return str(self.header["model"])

    @property
    def data(self) -> str:
        return str(self.header.get("data", ""))

    @property
    def answers(self) -> int:
        """How many answers the finished questions took."""
        recipe = self.header["recipe"]
        return len(self) * (1 + int(recipe["count"]) + int(recipe["repeats"]))

    @property
    def missing(self) -> int:
        """Answers that were refused or failed."""
        return int(self.refused.sum() + self.failed.sum())

    @property
    def mean(self) -> Estimate:
        return mean_known(self.values)

    @property
    def mean0(self) -> Estimate:
        return mean_known(self.values0)

    @property
    def excess(self) -> Estimate:
        """Gamma less gamma0, both at equal numbers of answers."""
        return mean_known(self.excesses)

    @property
    def corrected(self) -> Estimate:
        """Mean gamma without what the noise of N answers adds: compares for any N."""
        return mean_known(np.sqrt(np.maximum(self.squared, 0.0)))

    @property
    def measured(self) -> Integers:
        """The rows that have a gamma."""
        return np.flatnonzero(np.isfinite(self.values)).astype(np.int64)

    def scores(self, rows: Integers | None = None) -> Scores:
        """Gamma as `Scores`, for gates and reports.

        Directions of deviations are not kept in a run, so `signed` holds sizes only.

        Parameters
        ----------
        rows : array of row numbers
            Which questions; all if not given.
        """
        recipe = self.header["recipe"]
        chosen = np.arange(len(self)) if rows is None else rows
        about = LanguageSettings.record(
            kind="value",
            model=self.model,
            reduction=recipe["unit"],
            **recipe,
            points=len(chosen),
        )
        return Scores(
            metric="gamma",
            values=self.values[chosen],
            errors=self.errors[chosen],
            squared=self.squared[chosen],
            signed=self.values[chosen],
            outputs=np.full(len(chosen), np.nan),
            turns=self.turns[chosen],
            queries=self.answers,
            settings=about,
        )

    @property
    def paper_bands(self) -> Bands | None:
        """The paper's bands, where the run was made its way: gamma depends on N."""
        recipe = self.header["recipe"]
        alike = str(recipe["perturb"]).startswith("control") and recipe["count"] == PAPER_COUNT
        return PAPER if alike else None

    def plain(self, bands: Bands | None = None) -> dict[str, object]:
        """The headline as plain values, ready for JSON.

        Parameters
        ----------
        bands
            Also count the gammas in these.
        """
        unit = self.header["recipe"]["unit"]
        shares = {} if bands is None else bands.counts(self.values, unit)
        return {
            "model": self.model,
            "data": self.data,
            "questions": len(self),
            "measured": len(self.measured),
            "gamma": list(self.mean),
            "count": self.header["recipe"]["count"],
            "corrected": list(self.corrected),
            "gamma0": list(self.mean0),
            "excess": list(self.excess),
            "unit": unit,
            "answers": self.answers,
            "refused": int(self.refused.sum()),
            "failed": int(self.failed.sum()),
            "tokens": self.tokens,
            "bands": {
                word: {"share": rate.value, "interval95": [rate.low, rate.high]}
                for word, rate in shares.items()
            },
            "band_limits": None if bands is None else list(bands.limits(unit)),
            "bands_from": None if bands is None else bands.caveat,
            "recipe": self.header["recipe"],
        }


def lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """A run's lines, the header first; a last one that was torn is left out."""
    try:
        with open(path, "rb") as file:
            for raw in file:
                if raw.endswith(b"\n"):
                    yield json.loads(raw)
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} holds no run: give a file written by llm score") from problem


def read_run(path: str | os.PathLike[str]) -> RunSummary:
    """Read a run's numbers.

    Parameters
    ----------
    path
        A file written by `anharmonic llm score`, finished or not.
    """
    source = lines(path)
    header = next(source, None)
    if not isinstance(header, dict) or header.get("anharmonic") != "llm run":
        raise InputError(f"{path} holds no run: give a file written by anharmonic llm score")
    # A question that was asked again has several lines: the last one stays.
    by_id = {line["id"]: _row(line) for line in source}
    rows = list(by_id.values())

    def column(name: str) -> Floats:
        numbers = [row.numbers[name] for row in rows]
        return np.array([np.nan if value is None else value for value in numbers], dtype=float)

    return RunSummary(
        Path(path),
        cast(RunHeader, header),
        tuple(by_id),
        tuple(row.prompt for row in rows),
        tuple(row.domain for row in rows),
        column("gamma"),
        column("gamma_error"),
        column("gamma_squared"),
        np.nan_to_num(column("gamma_turns")).astype(np.int64),
        column("gamma0"),
        column("excess"),
        column("refused").astype(np.int64),
        column("failed").astype(np.int64),
        int(column("tokens").sum()),
    )


COUNTS = ("refused", "failed", "tokens")
NUMBERS = ("gamma", "gamma_error", "gamma_squared", "gamma_turns", "gamma0")
"""Those that a line may lack, where nothing could be measured."""


class _Row(NamedTuple):
    prompt: str
    domain: str
    numbers: dict[str, float | None]


def _row(line: dict[str, Any]) -> _Row:
    numbers = {name: line[name] for name in COUNTS} | {name: line.get(name) for name in NUMBERS}
    excess = Record.read(line).excess.value
    return _Row(line["prompt"], line["domain"], numbers | {"excess": excess})
