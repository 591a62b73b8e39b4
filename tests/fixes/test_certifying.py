"""Certificates under Gaussian noise, where the truth is known."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

import anharmonic as ah
from anharmonic.errors import InputError
from anharmonic.fixes.certifying import certify_votes, lower_share

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(200, 4))
SLOPE = np.array([2.0, -1.0, 0.5, 0.0])


def halves(points):
    """Two classes on either side of a plane."""
    side = points @ SLOPE
    return np.stack([-side, side], axis=1)


def distances(points):
    return np.abs(points @ SLOPE) / np.linalg.norm(SLOPE)


def test_behind_a_plane_the_radius_is_the_distance_to_it_and_never_more():
    # Under noise σ the share of votes is Φ(distance/σ), so that σ·Φ⁻¹(share) is the distance.
    model = ah.smoothed(halves, reference=POINTS, sigma=1.0, scale=None, output="logit")
    certified = model.certify(POINTS, samples=20_000, error_rate=0.001)
    assert (certified.radii <= distances(POINTS)).mean() > 0.99
    sure = distances(POINTS) < 2
    shortfall = distances(POINTS)[sure] - certified.radii[sure]
    assert np.median(shortfall) < 0.08


def test_certificates_err_no_more_often_than_they_say():
    # Each row has noise of its own: wrong ones among many rows at the same distance are counted.
    points = np.concatenate([np.full((4000, 1), 0.5), RANDOM.normal(size=(4000, 3))], axis=1)
    model = ah.smoothed(
        lambda x: np.stack([-x[:, 0], x[:, 0]], axis=1),
        reference=points[:300] + RANDOM.normal(size=(300, 4)),
        sigma=1.0,
        scale=None,
        output="logit",
    )
    certified = model.certify(points, samples=200, guess=50, error_rate=0.05)
    wrong = int((certified.radii > 0.5).sum())
    assert wrong <= binom.ppf(0.999, 4000, 0.05)
    # And the bound is no looser than it must be: the exact tail is just below the rate.
    assert wrong >= binom.ppf(0.001, 4000, 0.02)


def test_on_the_boundary_it_abstains():
    model = ah.smoothed(halves, reference=POINTS, sigma=1.0, scale=None, output="logit")
    on_plane = POINTS - np.outer(POINTS @ SLOPE, SLOPE) / (SLOPE @ SLOPE)
    certified = model.certify(on_plane, samples=500, error_rate=0.01)
    assert certified.abstained.mean() > 0.95
    assert (certified.radii[certified.abstained] == 0).all()


def test_units_divide_the_columns():
    units = np.array([1.0, 5.0, 1.0, 1.0])
    wide = POINTS * units
    plain = ah.smoothed(halves, reference=POINTS, sigma=0.7, scale=None, output="logit")
    scaled = ah.smoothed(
        lambda x: halves(x / units), reference=wide, sigma=0.7, scale=units, output="logit"
    )
    # Rows hash differently, so that noise differs: both estimate the same distances.
    one, other = (
        each.certify(rows, samples=4000) for each, rows in ((plain, POINTS), (scaled, wide))
    )
    assert np.median(np.abs(one.radii - other.radii)) < 0.05


def test_lower_bounds_are_exact():
    hits, count = np.arange(1.0, 51.0), np.full(50, 50.0)
    bounds = lower_share(hits, count, 0.01)
    # P(at least k of n hits) is the error rate exactly where the share is the bound.
    assert binom.sf(hits - 1, 50, bounds) == pytest.approx(np.full(50, 0.01), rel=1e-9)
    assert lower_share(np.array([0.0]), np.array([50.0]), 0.01)[0] == 0.0


def test_the_formula():
    votes = np.array([[990.0, 10.0], [400.0, 600.0], [505.0, 495.0]])
    certified = certify_votes(
        votes / 10, votes, 0.5, 0.001, lambda place: np.array(["a", "b"])[place]
    )
    share = lower_share(np.array([990.0]), np.array([1000.0]), 0.001)[0]
    assert certified.radii[0] == pytest.approx(0.5 * norm.ppf(share))
    assert certified.labels.tolist() == ["a", "b", "a"]
    assert certified.abstained.tolist() == [False, False, True]
    assert certified.accuracy(["a", "b", "a"]).value == pytest.approx(2 / 3)
    assert certified.accuracy(["a", "b", "a"], radius=0.5).value == pytest.approx(1 / 3)
    assert "33.3% abstained" in repr(certified)
    with pytest.raises(InputError, match="one per row"):
        certified.accuracy(["a"])


def test_equal_rows_are_certified_alike_in_any_batch():
    model = ah.smoothed(halves, reference=POINTS, sigma=1.0, output="logit", batch_size=33)
    whole = model.certify(POINTS, samples=100, guess=20)
    alone = model.certify(POINTS[[7, 3]], samples=100, guess=20)
    assert alone.radii.tolist() == whole.radii[[7, 3]].tolist()
    assert whole.queries == 200 * 120


def test_a_certificate_names_its_units_and_what_it_does_not_cover():
    frame = pd.DataFrame(POINTS, columns=list("abcd")).assign(same=5.0, town="Ulm")
    model = ah.smoothed(
        lambda rows: halves(rows[list("abcd")].to_numpy()),
        reference=frame,
        sigma=0.5,
        output="logit",
        moving=["a", "b", "same"],
    )
    certified = model.certify(frame.head(3), samples=50, guess=10)
    assert certified.units == pytest.approx({name: frame[name].std(ddof=0) for name in "ab"})
    assert set(certified.still) == {"c", "d", "same", "town"}
    assert f"units: a {certified.units['a']:.3g}, b" in repr(certified)
    assert "not covered: " in repr(certified)
    facts = json.loads(certified.to_frame("pyarrow").schema.metadata[b"anharmonic"])
    assert facts["units"] == certified.units
    assert facts["still"] == list(certified.still)
    raw = ah.smoothed(halves, reference=POINTS, sigma=1.0, scale=None, output="logit")
    whole = raw.certify(POINTS[:3], samples=50, guess=10)
    assert "units: 1 of all 4 columns" in repr(whole)
    assert "not covered" not in repr(whole)
