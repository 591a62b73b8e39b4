"""The pytest fixture `assert_harmonic`: fail a test when a model's gamma is really too large.

    def test_the_model_is_smooth(assert_harmonic):
        assert_harmonic(model, points, below=0.03)

pytest imports this in every session of every project that has anharmonic installed. So it
stands beside the package, whose import brings numpy and scipy, and imports it when asked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack

import pytest

if TYPE_CHECKING:
    from anharmonic.measures.remeasure import MeasureArguments
    from anharmonic.regions import Region
    from anharmonic.scores import Scores

__all__ = ["AssertHarmonic", "assert_harmonic"]

WORST = 5
SHOWN = 6
"""Columns of a point that a message shows."""


class AssertHarmonic:
    """What the fixture gives: called, it measures, judges and returns the scores."""

    def __call__(
        self,
        model: Any,
        points: Any,
        *,
        below: float | None = None,
        baseline: Scores | str | os.PathLike[str] | None = None,
        margin: float = 0.0,
        level: float = 0.95,
        **arguments: Unpack[MeasureArguments],
    ) -> Scores:
        """Fail when the mean is really above `below`, or more than `margin` above a baseline's."""
        __tracebackhide__ = True
        import anharmonic as ah
        from anharmonic.regions import as_region

        if below is None and baseline is None:
            raise ah.errors.SettingsError("give below= a limit, baseline= scores, or both")
        before = ah.Scores.load(baseline) if isinstance(baseline, str | os.PathLike) else baseline
        if before is None:
            scores: Scores = ah.gamma(model, points, **arguments)
        else:
            scores = ah.measured_like(before, model, points, **arguments)
        verdicts = [] if below is None else [ah.gate.below(scores, below, level)]
        if before is not None:
            verdicts.append(ah.gate.no_worse(scores, before, level, margin))
        failed = [verdict.sentence for verdict in verdicts if not verdict.passed]
        if failed:
            rows = _worst(scores, as_region(points))
            pytest.fail("\n".join([*failed, f"{scores!r}", "largest:", *rows]), pytrace=False)
        return scores


@pytest.fixture(scope="session")
def assert_harmonic() -> AssertHarmonic:
    """Measure gamma and fail when its mean is really above `below`, or above a baseline's.

    `baseline` are Scores or the path of saved ones, which lend their settings; the other
    arguments are those of `anharmonic.gamma`. Gives the scores back.
    """
    return AssertHarmonic()


def _worst(scores: Scores, region: Region) -> list[str]:
    """The points that score highest, with their coordinates."""
    from anharmonic._core.estimate import Estimate

    more = ["…"] if region.dimension > SHOWN else []
    lines = []
    for row in scores.worst(WORST).tolist():
        point = zip(region.columns[:SHOWN], region.values[row][:SHOWN], strict=True)
        told = ", ".join([*(f"{name}={float(value):.4g}" for name, value in point), *more])
        lines.append(f"  row {row}: {Estimate(scores.values[row], scores.errors[row])} at {told}")
    return lines
