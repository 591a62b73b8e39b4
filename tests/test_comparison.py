"""Models side by side: same points, same directions, and only real differences called real."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError

POINTS = np.random.default_rng(0).normal(size=(150, 4))


def waves(frequency):
    return lambda x: np.sin(frequency * x).sum(axis=1)


def test_every_model_gets_the_same_points_and_directions():
    seen = {"one": [], "two": []}

    def remembering(name):
        def model(x):
            seen[name].append(x.copy())
            return np.tanh(x).sum(axis=1)

        return model

    found = ah.compare({name: remembering(name) for name in seen}, POINTS)
    one, two = (np.concatenate(each) for each in seen.values())
    np.testing.assert_array_equal(one, two)
    assert found.differences[0].estimate == (0.0, 0.0)
    assert not found.differences[0].real


def test_it_costs_what_single_runs_cost():
    models = {str(each): waves(each) for each in (1, 2, 3)}
    found = ah.compare(models, POINTS, radius=0.3)
    single = [ah.gamma(model, POINTS, radius=0.3, ball="auto pairs") for model in models.values()]
    assert found.queries == sum(scores.queries for scores in single)
    for scores, name in zip(single, models, strict=True):
        np.testing.assert_array_equal(found.scores[name].values, scores.values)


def test_the_ranking_and_what_is_real():
    models = {"fast": waves(3), "slow": waves(1), "line": lambda x: x.sum(axis=1)}
    found = ah.compare(models, POINTS, radius=0.3)
    assert found.ranking == ["line", "slow", "fast"]
    assert len(found.differences) == 3
    assert all(each.real for each in found.differences)
    assert found.differences[0][:2] == ("fast", "slow")
    assert "fast" in repr(found)
    assert "<table>" in found._repr_html_()


def test_pairing_makes_small_differences_visible():
    found = ah.compare({"one": waves(1.0), "other": waves(1.02)}, POINTS, radius=0.3)
    gap = found.differences[0]
    apart = np.hypot(*(scores.error for scores in found.scores.values()))
    assert gap.real
    assert gap.estimate.error < 0.2 * apart


def test_models_that_do_not_differ_are_seldom_called_different():
    """Sixty families of five equally wavy models, ten pairs each, family-wise level 5%."""
    wrong = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        points = random.normal(size=(60, 6))
        models = {}
        for name in "abcde":
            mixing, _ = np.linalg.qr(random.normal(size=(6, 6)))
            models[name] = lambda x, mixing=mixing: np.sin(2 * x @ mixing[:, :1])[:, 0]
        found = ah.compare(models, points, radius=0.5, scale=None, seed=seed)
        wrong += any(each.real for each in found.differences)
    assert wrong <= 8, "binomial(60, 0.05) exceeds 8 once in a thousand"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"models": {}}, "nothing to compare"), ({"ball": "auto"}, "another ball")],
)
def test_what_cannot_be_compared(arguments, words):
    arguments = {"models": {"a": waves(1)}, "points": POINTS} | arguments
    with pytest.raises(SettingsError, match=words):
        ah.compare(**arguments)


def test_a_sweep_of_one_model_recommends_what_auto_takes():
    found = ah.sweep(waves(1), POINTS)
    means, errors = found.means("model")
    assert (np.diff(means) > 0).all()
    assert (errors > 0).all()
    assert found.recommended.radius == found.automatic
    assert found.recommended.radius == ah.gamma(waves(1), POINTS).settings.radius
    # There, the number is the one that gamma gives.
    at = found.radii.index(found.recommended.radius)
    assert means[at] == ah.gamma(waves(1), POINTS, ball="auto pairs").mean
    assert "most local view" in repr(found)


def test_a_sweep_of_one_model_leaves_autos_radius_only_where_noise_covers_it():
    def saddle(x):
        return x[:, 0] * x[:, 1]

    found = ah.sweep(waves(1), POINTS, [0.5, 0.1, 0.01])
    assert found.radii == (0.01, 0.1, 0.5)
    radius, why = found.recommended
    assert radius == 0.5
    assert f"nearest to {found.automatic:.4g}" in why
    covered = ah.sweep(saddle, POINTS, ball="random pairs", directions=4)
    assert covered.recommended.radius == covered.automatic
    assert "noise covers the mean" in covered.recommended.why


def test_a_sweep_of_several_recommends_what_auto_takes_where_it_tells_them_apart():
    found = ah.sweep({"slow": waves(1), "fast": waves(2)}, POINTS)
    assert len(found.radii) == 6
    assert found.steady
    radius, why = found.recommended
    assert radius == found.automatic
    assert "tells all models apart" in why
    assert "recommended" in repr(found)
    assert found.summary()["automatic"] == found.automatic


def test_a_sweep_takes_a_near_radius_where_that_alone_tells_models_apart():
    # A period that auto's radius steps over: the two bend apart at half of it alone.
    found = ah.sweep({"slow": waves(1), "fast": waves(2)}, POINTS)
    auto, half = found.automatic, found.automatic / 2
    told, untold = found.comparisons[3], ah.compare({"slow": waves(1), "fast": waves(1)}, POINTS)
    swapped = ah.measures.compare.Sweep((half, auto), (told, untold), auto)
    radius, why = swapped.recommended
    assert radius == half
    assert f"which {auto:.4g}" in why
    alone = ah.measures.compare.Sweep((half / 2, auto), (told, untold), auto)
    assert alone.recommended.radius == auto


def test_without_data_a_sweep_recommends_what_can_be_seen():
    grid = ah.regions.grid([(0, 1)] * 4, 3)
    found = ah.sweep({"slow": waves(1), "fast": waves(2)}, grid, [0.1, 0.2])
    assert found.automatic is None
    assert "standard errors apart" in found.recommended.why
    one = ah.sweep(waves(1), grid, [0.1, 0.2])
    assert one.recommended == (
        0.1,
        "the smallest at which the mean is 3 times what noise would read",
    )


def test_a_sweep_needs_radii():
    with pytest.raises(SettingsError, match="no radii"):
        ah.sweep(waves(1), POINTS, [])
    with pytest.raises(SettingsError, match="grid"):
        ah.sweep(waves(1), ah.regions.grid([(0, 1)] * 4, 3))


def bumps(centres, height):
    """A model that is flat but for a bump on each of the points it remembers."""

    def model(x):
        away = ((x[:, None, :] - centres) ** 2).sum(axis=-1)
        return height * np.exp(-away / 0.02).sum(axis=1)

    return model


def test_memorising_shows_at_the_reference_points():
    random = np.random.default_rng(1)
    trained = random.normal(size=(120, 4))
    models = {"remembers": bumps(trained, 1.0), "waves": waves(1)}
    alone = ah.compare(models, POINTS, reference=trained, region="points", radius=0.4)
    assert not alone.at_reference
    assert alone.ranking == ["remembers", "waves"]
    found = ah.compare(models, POINTS, reference=trained, radius=0.4)
    assert found.ranking == ["waves", "remembers"]
    assert found.where("remembers") == "reference"
    assert found.differences[0].real
    assert found.overall("remembers").value == found.at_reference["remembers"].mean
    assert found.queries == sum(each.queries for each in [*found.scores.values()]) + sum(
        each.queries for each in found.at_reference.values()
    )
    assert "at the reference (" in repr(found)


def test_as_many_reference_points_as_points_and_none_twice():
    reference = np.random.default_rng(2).normal(size=(1000, 4))
    found = ah.compare({"one": waves(1)}, POINTS, reference=reference)
    assert len(found.at_reference["one"]) == len(POINTS)
    again = ah.compare({"one": waves(1)}, POINTS, reference=reference)
    np.testing.assert_array_equal(
        found.at_reference["one"].values, again.at_reference["one"].values
    )
    assert not ah.compare({"one": waves(1)}, POINTS, reference=POINTS).at_reference


def test_a_reference_of_numbers_alone_sets_scale_and_radius_only():
    frame = pd.DataFrame(POINTS, columns=list("abcd")).assign(kind="x")
    model = lambda x: np.sin(x[["a", "b", "c", "d"]].to_numpy()).sum(axis=1)  # noqa: E731
    found = ah.compare({"one": model}, frame, reference=frame[["a", "b", "c", "d"]].iloc[:90])
    assert not found.at_reference
    both = ah.compare({"one": model}, frame, reference=frame.iloc[:90])
    assert len(both.at_reference["one"]) == 90


def test_the_larger_of_two_means_is_seldom_called_larger_by_chance():
    """Equal models, two places each: the interval must hold 0 in nearly every family."""
    wrong = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        points, reference = random.normal(size=(2, 60, 6))
        models = {}
        for name in "abc":
            mixing, _ = np.linalg.qr(random.normal(size=(6, 6)))
            models[name] = lambda x, mixing=mixing: np.sin(2 * x @ mixing[:, :1])[:, 0]
        found = ah.compare(models, points, reference=reference, radius=0.5, scale=None, seed=seed)
        wrong += any(each.real for each in found.differences)
    assert wrong <= 12, "binomial(100, 0.05) exceeds 12 once in a thousand"


def test_every_verb_says_which_mean_it_gives():
    new, train = POINTS[:80], POINTS[80:]
    scores = ah.gamma(waves(2), new, reference=train)
    compared = ah.compare({"m": waves(2)}, new, reference=train)
    swept = ah.sweep(waves(2), new, reference=train)
    assert "compare with a reference measures there too" in scores.summary()["reading"]
    assert "which is what gamma, check and sweep give" in repr(compared)
    assert compared.summary()["reading"] == compared.reading
    assert "compare with a reference measures there too" in repr(swept)
    # What they say is so: the points' mean is one number in all of them.
    at_points = compared.scores["m"].mean
    assert at_points == swept.means("model")[0][4]
    assert at_points == ah.gamma(waves(2), new, reference=train, ball="auto pairs").mean
    assert "as gamma, check and sweep give them" in ah.compare({"m": waves(2)}, new).reading
