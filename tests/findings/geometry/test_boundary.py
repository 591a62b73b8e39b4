"""The area of a decision boundary, right for every way of counting labels or refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import anharmonic as ah

GRID = ah.regions.grid([(-2, 2)] * 2, 60)


def disc(inside, outside):
    return lambda x: np.where((x**2).sum(axis=1) < 1, inside, outside)


def circle(inside, outside, output="label", **arguments):
    labels = sorted([inside, outside])
    model = ah.as_model(disc(inside, outside), output=output, classes=labels)
    return ah.gamma(model, GRID, radius=0.15, **arguments)


@pytest.mark.finding("numbers A7")
@pytest.mark.parametrize(
    "scores",
    [
        circle(1, -1),
        circle(0, 5),
        circle(True, False),
        circle("in", "out"),
        circle("0", "5"),
        circle(0, 1, "onehot"),
        circle(0, 1, "onehot", reduction="norm"),
        circle(0, 1, "onehot", reduction=1),
        circle(0, 5, ball="random"),
    ],
    ids=lambda scores: f"{scores.settings.classes} {scores.settings.reduction}",
)
def test_the_circles_length_is_found_however_labels_are_counted(scores):
    assert scores.boundary_area.value == pytest.approx(2 * np.pi, rel=0.05)


@pytest.mark.finding("numbers A7")
def test_a_file_without_codes_is_read_by_its_classes(tmp_path):
    scores = circle(0, 5)
    scores = replace(scores, settings=scores.settings.without("codes"))
    loaded = ah.Scores.load(scores.save(tmp_path / "old.parquet"))
    assert loaded.boundary_area.value == pytest.approx(2 * np.pi, rel=0.05)


@pytest.mark.finding("numbers A7")
def test_three_sectors_count_alike_by_length_and_by_share():
    def sector(x):
        turn = (np.arctan2(x[:, 1], x[:, 0]) + np.pi) / (2 * np.pi)
        return np.minimum(3 * turn, 2).astype(int)

    model = ah.as_model(sector, output="onehot", classes=[0, 1, 2])
    areas = [
        ah.gamma(model, GRID, radius=0.2, reduction=reduction).boundary_area.value
        for reduction in ("predicted", "norm")
    ]
    # Three rays from the middle of a square of side 4: 2 along an axis, and two of 2/sin 60°.
    assert areas == pytest.approx([2 + 4 / np.sin(np.pi / 3)] * 2, rel=0.06)


@pytest.mark.finding("numbers A7")
@pytest.mark.parametrize(
    "arguments",
    [
        {"reduction": "angle"},
        {"reduction": lambda deviations: deviations.sum(axis=1)},
        {"ball": "dense"},
        {"ball": "cross", "rotations": 0},
        {"bounds": (-2, 2)},
    ],
    ids=["angle", "function", "dense", "unrotated", "bounds"],
)
def test_what_is_no_share_of_a_sphere_is_refused(arguments):
    with pytest.raises(ah.errors.SettingsError, match="measure with"):
        _ = circle(0, 1, "onehot", **arguments).boundary_area
