"""Answers that are no numbers, models that raise, and noise in a corner of the space."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah

POINTS = np.random.default_rng(0).normal(size=(300, 4))
BAD = np.sort(np.random.default_rng(1).choice(300, 22, replace=False))


def broken_at(rows, at=POINTS):
    """A model without an answer within 0.1 of some points."""

    def model(x):
        values = np.sin(x).sum(axis=1)
        near = np.linalg.norm(x[:, None] - at[rows], axis=2).min(axis=1) < 0.1
        return np.where(near, np.nan, values)

    return model


@pytest.mark.finding("numbers A15: NaN at some rows", "newcomer B19")
@pytest.mark.parametrize("arguments", [{}, {"batch_size": 70}, {"ball": "auto pairs"}])
def test_all_rows_without_an_answer_are_named_at_once(arguments):
    with pytest.raises(ah.errors.OutputError, match=r"22 in all") as caught:
        ah.gamma(broken_at(BAD), POINTS, radius=0.3, scale=None, **arguments)
    assert caught.value.rows == BAD.tolist()
    for row in BAD[:10]:
        assert str(row) in str(caught.value)


@pytest.mark.finding("numbers A15: NaN at some rows", "newcomer B19")
def test_obeying_once_is_enough_and_the_others_are_measured_already():
    model, arguments = broken_at(BAD), {"radius": 0.3, "scale": None, "ball": "auto pairs"}
    with pytest.raises(ah.errors.OutputError) as caught:
        ah.gamma(model, POINTS, **arguments)
    partial = caught.value.partial
    good = np.setdiff1d(np.arange(300), caught.value.rows)
    assert np.isfinite(partial.values[good]).all()
    assert np.isnan(partial.values[BAD]).all()
    whole = ah.gamma(lambda x: np.sin(x).sum(axis=1), POINTS, **arguments)
    np.testing.assert_array_equal(partial.values[good], whole.values[good])
    assert ah.gamma(model, POINTS[good], **arguments).complete


@pytest.mark.finding("newcomer B19")
def test_neighbours_without_an_answer_count_as_well():
    def model(x):
        return np.sqrt(x[:, 0])

    points = np.linspace(0.01, 2, 100)[:, None] * np.ones((1, 3))
    with np.errstate(invalid="ignore"), pytest.raises(ah.errors.OutputError) as caught:
        ah.gamma(model, points, radius=0.5, scale=None, ball="cross", rotations=0)
    assert caught.value.rows == np.flatnonzero(points[:, 0] < 0.5).tolist()


@pytest.mark.finding("newcomer B19")
def test_a_model_that_never_answers_is_not_asked_for_long():
    asked = []

    def model(x):
        asked.append(len(x))
        return np.full(len(x), np.inf)

    points = np.random.default_rng(0).normal(size=(5000, 4))
    with pytest.raises(ah.errors.OutputError, match="NaN or infinity"):
        ah.gamma(model, points, radius=0.3, scale=None)
    assert sum(asked) < 0.5 * 49 * len(points)


@pytest.mark.finding("newcomer B19")
def test_a_model_that_raises_names_the_rows_of_the_call():
    def model(x):
        if (np.abs(x - POINTS[123]).max(axis=1) < 1e-9).any():
            raise KeyError("unknown level")
        return x.sum(axis=1)

    with pytest.raises(ah.errors.MeasurementStopped, match=r"KeyError.*about rows 12\d") as caught:
        ah.gamma(model, POINTS, radius=0.3, scale=None, batch_size=50, noise="ignore",
                 ball="auto pairs")  # fmt: skip
    assert caught.value.partial.started


@pytest.mark.finding("numbers A15: model noise in 11% of the space")
def test_noise_in_a_ninth_of_the_space_is_noticed():
    random = np.random.default_rng(0)
    points = random.uniform(size=(1000, 3))

    def model(x):
        noise = random.normal(size=len(x)) * (x[:, 0] < 0.11)
        return x.sum(axis=1) + 0.1 * noise

    noticed = [
        ah.gamma(model, points, radius=0.1, seed=seed).settings.noise > 0 for seed in range(20)
    ]
    assert all(noticed)
