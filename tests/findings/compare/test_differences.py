"""Only real differences are called real: noise, chance and a single point prove nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

import anharmonic as ah
from anharmonic._core.settings import Settings
from anharmonic.cli.compare import show_comparison
from anharmonic.errors import SettingsError
from anharmonic.measures.compare import Comparison
from anharmonic.measures.compare.differences import (
    CHANCE,
    NOISE,
    NOTHING,
    ONE_POINT,
    ONE_TURN,
    bracket,
)
from anharmonic.scores import Scores
from benchmarks.differences import (
    A_TENTH,
    EQUAL,
    NEAR,
    lifted,
    plain_verdicts,
    real_models,
    saddle,
    sine,
    slope,
    tally,
)

POINTS = np.random.default_rng(0).normal(size=(300, 20))
RAW = {"radius": 0.5, "scale": None}


def scored(turns, **settings):
    """Scores from single turns (points, turns) of a plain output."""
    mean, count = turns.mean(axis=1), turns.shape[1]
    noise = turns.var(axis=1, ddof=1) / count
    about = Settings.record(
        **{"kind": "value", "reduction": "norm", "rotations": count, **settings}
    )
    many = np.full(len(turns), count)
    return Scores(
        "gamma", abs(mean), noise**0.5, mean**2 - noise, mean, mean, many, turns.size, about
    )


@pytest.mark.finding("numbers A3")
@pytest.mark.parametrize("name", EQUAL)
def test_models_of_equal_gamma_are_not_told_apart_by_their_noise(name):
    """60 of 60 before."""
    assert tally(EQUAL[name], 15).real <= 2 / 15, "binomial(15, 0.05) exceeds 2 in 4 of 100"


@pytest.mark.finding("numbers A3")
def test_noise_is_named_as_what_hides_a_difference():
    found = ah.compare({"plain": sine, "plus harmonic": lifted}, POINTS, **RAW).differences[0]
    assert not found.real
    assert not found.same
    assert found.why == NOISE
    assert "not told apart (noise hides it: more rotations would help)" in str(found)
    harmonic = ah.compare({"saddle": saddle, "line": slope}, POINTS, **RAW).differences[0]
    assert not harmonic.real
    assert harmonic.strength == 0


@pytest.mark.finding("numbers A3")
def test_turns_help_where_noise_hides():
    models = {"plain": sine, "more": lambda x: 1.4 * lifted(x)}
    few, many = (
        ah.compare(models, POINTS, rotations=turns, **RAW).differences[0] for turns in (4, 128)
    )
    assert few.why == NOISE
    assert many.real
    assert many.larger == "more"


@pytest.mark.slow
@pytest.mark.finding("numbers A3")
def test_no_pair_of_trained_models_is_lost():
    for name, found in real_models():
        plain = plain_verdicts(found)
        now = {frozenset((each.larger, each.smaller)): each.real for each in found.differences}
        assert {key for key, real in plain.items() if real} <= {
            key for key, real in now.items() if real
        }, name
        assert sum(now.values()) >= (1 if len(now) == 1 else 13)


@pytest.mark.finding("numbers A3")
@pytest.mark.parametrize("law", ["normal", "skewed", "steps"])
@pytest.mark.parametrize("turns", [2, 3, 4, 9])
@pytest.mark.parametrize("truth", [0.0, 0.7, 2.0, 6.0])
def test_the_bracket_holds_the_truth(law, turns, truth):
    """|truth| between the columns' means, in units of a turn's standard error of the mean."""
    random = np.random.default_rng(turns)
    size = (40_000, turns)
    noise = {
        "normal": lambda: random.normal(size=size),
        "skewed": lambda: random.exponential(size=size) - 1,
        "steps": lambda: 3 * (random.random(size) < 0.1) - 0.3,
    }[law]()
    found = bracket(scored(truth + noise * turns**0.5))
    error = 4 / 200
    assert found.low.mean() <= truth + error
    assert found.high.mean() >= truth - error
    if truth == 6 and law == "normal":
        assert found.high.mean() - found.low.mean() < 0.05 or turns == 2


@pytest.mark.finding("numbers A3")
def test_what_chooses_among_two_places_is_seldom_wrong():
    """One model is small at the reference, so that the other has two tries to be above it."""
    wrong = 0
    for seed in range(300):
        random = np.random.default_rng(seed)
        quiet = scored(np.full((80, 2), 1.0) + 0.1 * random.normal(size=(80, 1)))
        low = scored(np.full((80, 2), 0.1) + 0.01 * random.normal(size=(80, 1)))
        places = [scored(np.full((80, 2), 1.0) + 0.1 * random.normal(size=(80, 1))) for _ in "ab"]
        found = Comparison(
            {"a": places[0], "b": quiet}, at_reference={"a": places[1], "b": low}
        ).differences[0]
        wrong += found.real
    assert wrong <= 24, "binomial(300, 0.05) exceeds 24 once in a hundred"


@pytest.mark.finding("numbers A4")
def test_one_point_tells_nothing():
    f = lambda x: np.sin(x[:, 0])  # noqa: E731
    for other in (f, lambda x: 3 * f(x)):
        found = ah.compare({"a": f, "b": other}, np.ones((1, 3)), **RAW).differences[0]
        assert not found.real
        assert not found.same
        assert found.why == ONE_POINT
        assert "one point cannot tell" in str(found)
    twice = ah.compare({"a": f, "b": other}, np.ones((1, 3)), reference=np.zeros((1, 3)), **RAW)
    assert not twice.differences[0].real


def test_one_turn_does_not_show_its_noise_and_a_fixed_ball_has_none():
    models = {"sine": sine, "more": lambda x: 2 * sine(x)}
    one = ah.compare(models, POINTS, rotations=1, **RAW).differences[0]
    assert (one.real, one.why) == (False, ONE_TURN)
    assert ah.compare(models, POINTS, rotations=0, ball="cross", **RAW).differences[0].real
    drawn = ah.compare(models, POINTS, rotations=0, ball="random", directions=8, **RAW)
    assert drawn.differences[0].why == ONE_TURN


@pytest.mark.finding("numbers A3")
@pytest.mark.parametrize("name", A_TENTH)
def test_models_a_tenth_apart_are_not_called_the_same(name):
    assert tally(A_TENTH[name], 15).same <= 2 / 15


@pytest.mark.finding("numbers A3")
@pytest.mark.parametrize("name", NEAR)
def test_models_less_than_a_tenth_apart_are(name):
    assert tally(NEAR[name], 8).same == 1


def test_the_same_model_is_the_same_and_nothing_is_no_evidence():
    same = ah.compare({"a": sine, "b": sine}, POINTS, **RAW).differences[0]
    assert (same.real, same.same, same.verdict) == (False, True, "the same within 10%")
    flat = ah.compare({"a": lambda x: 0 * x[:, 0], "b": lambda x: 0 * x[:, 1]}, POINTS, **RAW)
    assert (flat.differences[0].same, flat.differences[0].why) == (False, NOTHING)


def test_a_real_difference_may_be_small():
    found = ah.compare({"a": sine, "b": lambda x: 1.02 * sine(x)}, POINTS[:, :5], **RAW)
    assert found.differences[0].verdict == "real, but the same within 10%"
    closer = Comparison(found.scores, equivalence=0.01).differences[0]
    assert closer.verdict == "real"


def test_verdicts_are_in_the_json_and_on_the_screen(capsys):
    models = {"a": sine, "b": sine, "c": lifted}
    found = ah.compare(models, POINTS, **RAW)
    show_comparison(found, as_json=True)
    told = json.loads(capsys.readouterr().out)["differences"]
    assert {each["verdict"] for each in told} == {"the same within 10%", "not told apart"}
    assert {each["why"] for each in told} == {"", NOISE}
    show_comparison(found, as_json=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert "the same within 10%" in shown
    assert "noise hides it" in shown


@pytest.mark.finding("numbers A3")
def test_a_sweep_recommends_no_radius_by_noise():
    found = ah.sweep({"saddle": saddle, "line": slope}, POINTS, [0.1, 0.5], scale=None)
    radius, why = found.recommended
    assert radius == 0.5
    assert "no radius tells saddle and line apart" in why
    assert found.steady


@pytest.mark.finding("newcomer B16")
def test_models_without_names_and_seeds_that_are_none():
    with pytest.raises(SettingsError, match="came as list: give a dictionary of names"):
        ah.compare([sine], POINTS)
    for seed in ("a", 1.5, -3, None, True):
        with pytest.raises(SettingsError, match="give a whole number from 0 on"):
            ah.compare({"a": sine}, POINTS, seed=seed)
        with pytest.raises(SettingsError, match="give a whole number from 0 on"):
            ah.gamma(sine, POINTS, radius=0.3, seed=seed)
    for wrong in ({"level": 95}, {"equivalence": 0}):
        with pytest.raises(SettingsError):
            ah.compare({"a": sine}, POINTS, **wrong)


def test_a_comparison_as_a_frame():
    found = ah.compare({"a": sine, "b": lifted}, POINTS[:150], reference=POINTS[150:], **RAW)
    frame = found.to_frame("pandas")
    assert frame["model"].tolist() == found.ranking
    np.testing.assert_allclose(frame["mean"], frame[["at_points", "at_reference"]].max(axis=1))
    assert (frame["low"] < frame["mean"]).all()
    assert frame["queries"].sum() == found.queries
    assert "each by the larger of its means at the points and at the reference" in repr(found)


def test_chance_is_named_where_noise_is_not_to_blame():
    random = np.random.default_rng(0)
    one, two = (scored(1 + random.normal(size=(30, 1)) + np.zeros((30, 4))) for _ in "ab")
    found = Comparison({"one": one, "two": two}).differences[0]
    assert (found.real, found.same, found.why) == (False, False, CHANCE)
