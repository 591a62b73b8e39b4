"""The gate: exact cases, kind refusals, and how often it errs, by seeded repetition."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import anharmonic as ah
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.gate import below, no_worse, same_points
from anharmonic.measures.remeasure import arguments_of, measured_like

POINTS = np.random.default_rng(0).normal(size=(200, 4))
REPETITIONS = 400


def wave(x):
    return np.sin(2 * x[:, 0]) + np.cos(x[:, 1])


def faster(x):
    return np.sin(2.2 * x[:, 0]) + np.cos(x[:, 1])


def measured(model=wave, points=POINTS, **arguments):
    return ah.gamma(model, points, **({"radius": 0.3, "ball": "auto pairs"} | arguments))


def drawn(truth, noise, turns, random, columns=1, tails=None):
    """Scores with a known truth (points,) and independent noise in every turn."""
    shape = (len(truth), turns, columns)
    raw = random.normal(size=shape)
    if tails == "heavy":
        raw *= 4 * (random.random((len(truth), turns, 1)) < 1 / 16)
    draws = raw * noise * np.sqrt(turns)
    draws[:, :, 0] += truth[:, None]
    mean = draws.mean(axis=1)
    values = np.linalg.norm(mean, axis=1)
    spread = ((draws - mean[:, None]) ** 2).sum(axis=(1, 2)) / (turns * (turns - 1))
    many = np.full(len(truth), turns)
    known = Settings.record(kind="value", reduction="norm", radius=0.1, scale=[1.0], columns=["0"])
    signed = mean[:, 0] if columns == 1 else mean
    return ah.Scores(
        "gamma", values, np.sqrt(spread), values**2 - spread, signed, signed, many, 1, known
    )


def at_the_same_points(*several):
    return [
        dataclasses.replace(scores, settings=scores.settings.with_facts(fingerprint="same"))
        for scores in several
    ]


def at_most_nominal(alarms, level=0.95):
    return alarms <= binom.ppf(0.999, REPETITIONS, 1 - level)


# --- exact cases -----------------------------------------------------------------------------


def test_gamma_of_a_square_is_known_exactly():
    scores = ah.gamma(lambda x: (x**2).sum(axis=1), POINTS, radius=0.1, scale=None)
    assert below(scores, 0.0101).outcome == "below"
    failed = below(scores, 0.0099)
    assert (failed.passed, failed.outcome) == (False, "above")
    assert failed.estimate.value == pytest.approx(0.01)
    assert failed.interval == pytest.approx((0.01, 0.01))
    assert str(failed).startswith("mean gamma 0.01 ±")
    assert "surely above 0.0099" in str(failed)


def test_a_verdict_says_what_it_found():
    scores = measured()
    unsettled = below(scores, scores.mean - 0.5 * scores.error)
    assert unsettled.passed
    assert unsettled.outcome == "unsettled"
    assert "not surely above" in str(unsettled)
    assert "more points would settle it" in str(unsettled)
    assert unsettled.summary()["interval"] == list(unsettled.interval)
    assert unsettled.queries == scores.queries


def test_the_advised_number_of_points_settles_it():
    random = np.random.default_rng(5)
    few = drawn(random.gamma(2, 1, 100), 0.01, 4, random)
    limit = few.mean - 0.5 * few.error
    advice = str(below(few, limit)).split("about ")[1].split(" more")[0]
    more = 100 + int(advice.replace(",", ""))
    assert more == pytest.approx(100 * (1.66 / 0.5) ** 2, rel=0.02)
    many = np.resize(few.values, more)
    assert below(drawn(many, 1e-9, 4, random), 0.97 * limit).outcome == "above"


def test_noise_that_hides_the_answer_asks_for_rotations():
    random = np.random.default_rng(0)
    verdict = below(drawn(np.zeros(5000), 1.0, 4, random), 0.5)
    assert verdict.passed
    assert "more rotations" in str(verdict)


def test_the_same_model_again_is_no_worse():
    verdict = no_worse(measured(), measured())
    assert verdict.passed
    assert verdict.estimate == (0.0, 0.0)
    assert "agree at every point" in str(verdict)


def test_pairing_is_sharper_and_both_say_which_they_were():
    old, new = measured(wave), measured(faster)
    stranger = dataclasses.replace(new, settings=new.settings.with_facts(fingerprint="another"))
    paired, apart = no_worse(new, old), no_worse(stranger, old)
    assert not paired.passed
    assert "paired point by point" in str(paired)
    assert "unpaired" in str(apart)
    assert apart.estimate.value == pytest.approx(paired.estimate.value)
    assert apart.estimate.error > 2 * paired.estimate.error
    assert apart.estimate.error == pytest.approx(np.hypot(old.error, new.error))


def test_a_margin_forgives():
    old, new = measured(wave), measured(faster)
    gap = no_worse(new, old).estimate.value
    assert no_worse(new, old, margin=2 * gap).outcome == "below"


def test_shares_of_changed_labels_need_no_correction():
    model = ah.as_model(lambda x: (x[:, 0] > 0).astype(int), output="onehot", classes=[0, 1])
    scores = measured(model)
    np.testing.assert_array_equal(scores.lowered, scores.values)
    two = measured(ah.as_model(model, output="label", classes=[0, 1]))
    assert two.settings.kind == "label"
    np.testing.assert_array_equal(two.lowered, two.values)


def test_labels_of_a_model_with_noise_of_its_own_need_it():
    random = np.random.default_rng(0)

    def tossed(x):
        return (x[:, 0] + random.normal(size=len(x)) > 0).astype(int)

    scores = measured(ah.as_model(tossed, output="onehot", classes=[0, 1]))
    assert scores.lowered.mean() < 0.5 * scores.mean


# --- kind refusals ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"radius": 0.2}, "radius"),
        ({"scale": None}, "scale"),
        ({"reduction": 0}, "reduction"),
        ({"bounds": (-9, 9)}, "bounds"),
        ({"output": 0}, "output"),
        ({"output": "probability"}, "kind"),
    ],
)
def test_what_was_measured_differently_is_not_compared(changes, word):
    def pair(x):
        return np.stack((np.sin(x[:, 0]), np.cos(x[:, 1])), axis=1)

    with pytest.raises(SettingsError, match=rf"another {word} \(.*measure again"):
        no_worse(measured(pair, **changes), measured(pair))


def test_another_metric_is_not_compared():
    scores = measured()
    with pytest.raises(SettingsError, match="another metric"):
        no_worse(dataclasses.replace(scores, metric="spade"), scores)


def test_asking_for_what_is_answered_anyway_is_no_difference():
    model = ah.as_model(wave, output="logit")
    assert no_worse(measured(model), measured(wave, output="logit")).passed


def test_what_cannot_be_judged_is_refused():
    scores = measured()
    values = scores.values.copy()
    values[3] = np.nan
    with pytest.raises(SettingsError, match="unfinished"):
        below(dataclasses.replace(scores, values=values), 0.1)
    with pytest.raises(SettingsError, match="rotations=4"):
        below(measured(rotations=1), 0.1)
    with pytest.raises(SettingsError, match="one point"):
        below(measured(points=POINTS[:1], scale=None), 0.1)
    for level in (0.5, 1.0):
        with pytest.raises(SettingsError, match="confidence"):
            below(scores, 0.1, level=level)
    for limit in (-1.0, float("nan")):
        with pytest.raises(SettingsError, match="finite"):
            below(scores, limit)


# --- which points ----------------------------------------------------------------------------


def test_the_fingerprint_knows_points_columns_and_scale():
    one = measured()
    assert same_points(one, measured(faster, rotations=2, seed=7, radius=0.1))
    moved = POINTS.copy()
    moved[7, 2] += 1e-9
    given = {"scale": one.settings.scale}
    assert same_points(measured(points=POINTS, **given), one)
    assert not same_points(measured(points=moved, **given), one)
    assert not same_points(measured(points=POINTS[::-1], **given), one)
    assert not same_points(measured(scale=None), one)
    held = ah.regions.points(POINTS, moving=[0, 1])
    assert not same_points(measured(points=held), one)
    old_file = dataclasses.replace(one, settings=Settings.record(radius=0.3))
    assert not same_points(old_file, old_file)


def test_columns_that_stay_are_part_of_a_point():
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a": random.normal(size=30), "b": random.choice(["x", "y"], 30)})

    def model(frame):
        return np.sin(frame["a"].to_numpy())

    other = table.assign(b=table["b"].to_numpy()[::-1])
    arrow = ah.gamma(lambda t: np.sin(np.asarray(t["a"])), ah.regions.points(_polars(table)))
    assert same_points(ah.gamma(model, table), arrow)
    assert not same_points(ah.gamma(model, table), ah.gamma(model, other))


def _polars(table):
    import polars

    return polars.from_pandas(table)


def test_a_resumed_run_must_be_at_the_same_points():
    before = measured()
    assert len(measured(resume=before)) == len(before)
    with pytest.raises(SettingsError, match="another set of points"):
        measured(points=POINTS[::-1].copy(), resume=before, scale=before.settings.scale)


@pytest.mark.parametrize("dimension", [4, 60])
@pytest.mark.parametrize(
    "ball", ["auto", "auto singles", *ah.balls.NAMES, *(f"{name} pairs" for name in ah.balls.NAMES)]
)
@pytest.mark.parametrize("directions", [None, 6])
def test_measuring_like_a_baseline_gives_its_numbers(ball, dimension, directions, tmp_path):
    points = np.random.default_rng(1).normal(size=(8, dimension))
    points[:, 1] = 5.0  # a column that stays because it is constant
    arguments = {"ball": ball, "directions": directions, "seed": 3, "rotations": 3}
    before = ah.gamma(wave, points, **arguments)
    before = ah.Scores.load(before.save(tmp_path / "old.parquet"))
    again = measured_like(before, wave, points)
    np.testing.assert_array_equal(again.values, before.values)
    assert same_points(again, before)
    assert measured_like(before, wave, points, rotations=2).turns[0] == 2
    assert arguments_of(before)["radius"] == before.settings.radius


# --- how often it errs -----------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("tails", [None, "heavy"])
@pytest.mark.parametrize("turns", [2, 4])
def test_lowered_scores_are_lowered_by_noise(columns, tails, turns):
    random = np.random.default_rng(2)
    for truth in (0.0, 0.5, 1.0, 3.0):
        scores = drawn(np.full(40_000, truth), 1.0, turns, random, columns, tails)
        low = scores.lowered
        assert low.mean() < truth + 3 * low.std() / 200
        assert scores.mean > truth - 3 * scores.error


def test_false_alarms_at_the_limit():
    """Truth exactly at the limit, points drawn anew each time: at most the nominal rate."""
    random = np.random.default_rng(3)
    for noise in (0.01, 0.5, 3.0):
        alarms = 0
        for _ in range(REPETITIONS):
            truth = random.gamma(2, 0.5, 100)  # mean 1
            alarms += not below(drawn(truth, noise, 4, random), 1.0).passed
        assert at_most_nominal(alarms), (noise, alarms)


def test_noise_alone_never_fails_a_harmonic_model():
    """A plain interval of the mean would fail every time here: the limit is below the floor."""
    random = np.random.default_rng(4)
    alarms = naive = 0
    for _ in range(REPETITIONS):
        scores = drawn(np.zeros(100), 1.0, 4, random)
        alarms += not below(scores, 0.1).passed
        naive += scores.interval()[0] > 0.1
    assert naive == REPETITIONS
    assert at_most_nominal(alarms), alarms


@pytest.mark.parametrize(("old_noise", "new_noise"), [(0.05, 0.05), (0.05, 1.0), (1.0, 0.05)])
@pytest.mark.parametrize("paired", [True, False])
def test_false_alarms_against_a_baseline(old_noise, new_noise, paired):
    """The same truth, whichever of the two is the noisier."""
    random = np.random.default_rng(6)
    alarms = 0
    for _ in range(REPETITIONS):
        truth = random.gamma(2, 0.5, 100)
        other = truth if paired else random.gamma(2, 0.5, 80)
        old, new = drawn(truth, old_noise, 4, random), drawn(other, new_noise, 4, random)
        if paired:
            old, new = at_the_same_points(old, new)
        verdict = no_worse(new, old)
        assert ("unpaired" in verdict.statistic) is not paired
        alarms += not verdict.passed
    assert at_most_nominal(alarms), alarms


@pytest.mark.parametrize(
    ("noise", "increase", "limit", "unpaired", "paired"),
    [
        (0.05, 1.02, 6, 7, 63),
        (0.05, 1.05, 13, 11, 100),
        (0.05, 1.10, 31, 24, 100),
        (0.05, 1.20, 76, 59, 100),
        (0.2, 1.02, 1, 1, 0),
        (0.2, 1.05, 3, 3, 0.5),
        (0.2, 1.10, 11, 7, 18),
        (0.2, 1.20, 43, 31, 98),
    ],
)
def test_power_for_a_real_difference(noise, increase, limit, unpaired, paired):
    """The percentages in docs/gate.md: how often an increase of the mean is found."""
    random = np.random.default_rng(9)
    found = np.zeros(3)
    for _ in range(REPETITIONS):
        truth = random.gamma(2, 0.5, 100)  # mean 1, standard error 0.07
        old, new = (drawn(each, noise, 4, random) for each in (truth, increase * truth))
        apart = drawn(random.gamma(2, 0.5, 100), noise, 4, random)
        failed = [not below(new, 1.0).passed, not no_worse(new, apart).passed]
        old, new = at_the_same_points(old, new)
        found += [*failed, not no_worse(new, old).passed]
    assert 100 * found / REPETITIONS == pytest.approx([limit, unpaired, paired], abs=0.6)


@pytest.mark.parametrize("kind", ["smooth", "labels"])
def test_false_alarms_with_a_real_measure(kind):
    """Truth from many points, then small samples of the region against it."""
    model = wave
    if kind == "labels":
        model = ah.as_model(lambda x: (x[:, 0] > 0.3).astype(int), output="onehot", classes=[0, 1])
    random = np.random.default_rng(8)
    truth = measured(model, random.normal(size=(200_000, 2)), scale=None).mean
    alarms = 0
    for seed in range(REPETITIONS):
        sample = random.normal(size=(60, 2))
        alarms += not below(measured(model, sample, scale=None, seed=seed), truth).passed
    assert at_most_nominal(alarms), alarms
