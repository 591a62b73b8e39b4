"""Answers on a coarse grid: those of a model that was exported to half precision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.auditing.context import Context
from anharmonic.auditing.finding import CheckResult, Finding, Measured
from anharmonic.auditing.wording import count_of

__all__ = ["Grid", "check_rounding", "half_precision"]

NAME, TITLE = "rounding", "Rounded answers"
FORMATS = {"bfloat16": 8, "float16": 11}
"""Significant bits of half-precision numbers, the coarser first."""
SURE = 1e-9
FEWEST = 20
"""Different answers below which nothing can be said of a grid."""


class Grid(NamedTuple):
    """A number format in which all answers fit, and the chance of that on any even grid."""

    name: str
    bits: int
    chance: float


def half_precision(answers: Floats) -> Grid | None:
    """The coarsest half-precision format that all answers fit; None where there is none.

    Numbers of such a format lie on a grid that is twice as wide in every further power of two.
    Answers on an even grid, such as counts or votes of 128 trees, may fit as well: on the finest
    spacing that the answers need, a number in a wider part fits with the chance of the spacings'
    ratio.

    >>> half_precision(np.float16(np.linspace(0.001, 0.9, 200)).astype(float)).name
    'float16'
    >>> half_precision(np.arange(1000.0) / 1000) is None
    True
    >>> half_precision(np.arange(128.0) / 128) is None
    True
    """
    values = np.unique(np.abs(answers[np.isfinite(answers) & (answers != 0)]))
    if len(values) < FEWEST:
        return None
    for name, bits in FORMATS.items():
        exponents = np.frexp(values)[1] - bits
        multiples = np.ldexp(values, -exponents)
        if not (multiples == np.round(multiples)).all():
            continue
        # The finest grid that the answers need: the lowest bit that any of them has set.
        lowest = min(
            int(exponent) + _trailing_zeros(int(multiple))
            for exponent, multiple in zip(exponents, multiples, strict=True)
        )
        surplus = int(np.maximum(exponents - lowest, 0).sum())
        chance = 2.0 ** -min(surplus, 1000)
        if chance < SURE:
            return Grid(name, bits, chance)
    return None


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1


def check_rounding(context: Context) -> CheckResult:
    """Whether the answers have been through half precision on their way out."""
    answers = context.raw
    different = len(np.unique(answers))
    summary = f"{count_of(len(answers), 'row')} got {different:,} different numbers as answers."
    grid = half_precision(answers.reshape(-1))
    if grid is None:
        return CheckResult(NAME, TITLE, summary)
    step = 2.0**-grid.bits
    finding = Finding(
        check=NAME,
        name="Half-precision answers",
        severity="medium",
        subject="the model",
        what=(
            f"All {different:,} different answers of the model are {grid.name} numbers, rounded by "
            f"up to {Measured(step, step / 2, step)} of their size."
        ),
        comparison=(
            "In double precision an answer is rounded by 1.1e-16 of its size, and one in thousands "
            f"would happen to be a {grid.name} number."
        ),
        next_step=(
            f"Compare this model with the one before its export to {grid.name} at the same rows; "
            "if decisions differ, export in float32."
        ),
        measured=Measured(step, step / 2, step),
        chance=grid.chance,
        facts={"format": grid.name, "different": different},
    )
    return CheckResult(NAME, TITLE, summary, (finding,))
