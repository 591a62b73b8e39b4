"""Half precision is told from counts, votes, decimals and doubles."""

from __future__ import annotations

import numpy as np
import pytest

from anharmonic.auditing.checks.rounding import check_rounding, half_precision
from tests.audit.cases import context_of, numbers, smooth

VALUES = np.random.default_rng(0).beta(1, 3, 400)


@pytest.mark.parametrize("scale", [1.0, 20.0, 3000.0, -3000.0])
def test_numbers_of_half_precision_are_seen_at_any_size(scale):
    halves = (scale * VALUES).astype(np.float16).astype(np.float64)
    assert half_precision(halves).name == "float16"


def test_bfloat16_is_told_from_float16():
    bits = VALUES.astype(np.float32).view(np.uint32)
    assert (
        half_precision((bits & 0xFFFF0000).view(np.float32).astype(np.float64)).name == "bfloat16"
    )


@pytest.mark.parametrize(
    "answers",
    [
        VALUES,
        VALUES.astype(np.float32).astype(np.float64),
        np.round(VALUES, 2),
        np.round(VALUES, 3),
        np.arange(2000.0),
        np.round(100 * VALUES) / 100,
        np.round(128 * VALUES) / 128,
        np.round(1024 * VALUES) / 1024,
        np.array([0.0, 1.0] * 50),
        np.array([0.25, 0.5, 0.75, 1.0]),
    ],
    ids=["doubles", "singles", "cents", "mills", "counts", *"abc", "labels", "few"],
)
def test_other_grids_are_no_half_precision(answers):
    assert half_precision(answers) is None


def test_a_model_in_half_precision_is_found_and_a_plain_one_is_not():
    rows = numbers(300)

    def halved(points):
        return smooth(points).astype(np.float16).astype(np.float64)

    found = check_rounding(context_of(halved, rows)).candidates
    assert [finding.facts["format"] for finding in found] == ["float16"]
    assert found[0].chance < 1e-9
    assert check_rounding(context_of(smooth, rows)).candidates == ()
