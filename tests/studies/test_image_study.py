"""Ranks with known answers, and the whole page from a tiny run."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from anharmonic.errors import InputError, SettingsError
from studies.images.choosing import choice
from studies.images.contest import Contest
from studies.images.measurements import NOT_WALKED, Measurements
from studies.images.measuring import REDUCED
from studies.images.outcome import accuracy, brier, flips_found, queries
from studies.images.ranking import auroc, interval, resampled, resamples
from studies.images.reduced import few_photos
from studies.images.scoring import KINDS, Label, known_scores
from studies.images.study import image_stability
from tests.command import run


def test_auroc_is_mann_whitneys_statistic():
    random = np.random.default_rng(0)
    scores, flags = random.integers(0, 6, 60) / 6, random.random(60) < 0.3
    expected = mannwhitneyu(scores[flags], scores[~flags]).statistic
    assert auroc(scores, flags) == pytest.approx(expected / (flags.sum() * (~flags).sum()))
    assert auroc(scores, flags) + auroc(-scores, flags) == pytest.approx(1)
    assert np.isnan(auroc(scores, np.ones(60)))


def test_a_resample_is_the_same_photos_again_and_again():
    random = np.random.default_rng(1)
    scores, flags = random.normal(size=30), random.random(30) < 0.5
    counts = resamples(30, 0, many=20)
    assert (counts.sum(axis=1) == 30).all()
    expected = [
        auroc(np.repeat(scores, row.astype(int)), np.repeat(flags, row.astype(int)))
        for row in counts
    ]
    np.testing.assert_allclose(resampled(scores, flags, counts), expected)


def test_the_interval_covers_the_truth():
    """Scores of two normals a standard deviation apart have an AUROC of Φ(1/√2) = 0.760."""
    covered = 0
    for seed in range(60):
        flags = np.arange(80) < 40
        scores = np.random.default_rng(seed).normal(size=80) + flags
        found = interval(auroc(scores, flags), resampled(scores, flags, resamples(80, seed, 400)))
        covered += found.low <= 0.7602 <= found.high
    assert covered >= 51
    assert str(interval(np.nan, np.full(3, np.nan))) == "–"


def test_the_majority_of_seeds():
    flips = np.array([[3, -1, 9, -1, NOT_WALKED], [4, -1, -1, 2, NOT_WALKED]])
    third = np.array([[NOT_WALKED, NOT_WALKED, 30, 7, NOT_WALKED]])
    found = Measurements({}, {"gamma/flips": np.concatenate([flips, third])})
    label = Label.of(found, "gamma ascent")
    assert label.known.tolist() == [True, True, True, True, False]
    assert label.unstable.tolist() == [True, False, False, True, False]


def made(name, seed=0, photos=120):
    """Photos whose margin falls by a spread of their own: sway knows both, the margin only one."""
    random = np.random.default_rng(seed)
    margin = np.random.default_rng(9).uniform(0.2, 3, photos)
    spread = np.random.default_rng(8).uniform(0.1, 3, photos)
    arrays = {
        "margin": margin,
        "probability": 1 / (1 + np.exp(-margin)),
        "top": np.tile(np.arange(5), (photos, 1)),
    }
    for kind in KINDS:
        sides = 2 if "pairs" in kind else 1
        changes = spread[:, None, None] * random.normal(size=(photos, sides, 40 // sides))
        arrays |= {f"{kind}/changes": changes, f"{kind}/own": changes}
    arrays |= {f"auto {budget}": random.random(photos) for budget in (4, 20)}
    for climb in ("margin", "output", "gamma", "random"):
        ends = margin - spread * np.abs(random.normal(size=(3, photos)) / 5 + 1)
        arrays[f"{climb}/flips"] = np.where(ends < 0, 4, -1)
        arrays[f"{climb}/queries"] = np.full((3, photos), 9000 if climb == "gamma" else 90)
    facts = {
        "network": name,
        "trained on": "ImageNet",
        "effort": [40, 3, 20, 20],
        "device": "a test",
        "precision": "double",
        "photos": [f"{number % 10:03}_x.png" for number in range(photos)],
        "pieces": {"all": {"queries": 1234, "seconds": 1.0}},
    }
    return Measurements(facts, arrays)


def test_the_score_that_made_the_labels_is_found_and_holds():
    contest = Contest([made("one"), made("two", 1)], 0)
    made_choice = choice(contest, rounds=40)
    best = made_choice.best
    assert best.name.split(" (")[0] in ("sway", "spread", "mean size", "z")
    assert made_choice.unseen.value > 0.9
    assert made_choice.gain.low > 0
    told, average = contest.gains(best)
    assert len(told) == 6
    assert average.low > 0
    nothing = [score for score in known_scores(contest.allowed) if score.name == "gamma, auto"]
    assert contest.gains(nothing[0])[1].high < 0


def test_what_walks_and_networks_did():
    found = made("one")
    assert queries(found) == 1234
    assert accuracy(found, 1).value == 0.1
    assert accuracy(found, 5).value == 0.5
    assert accuracy(Measurements(found.facts | {"trained on": "grey"}, found.arrays), 1) is None
    told = flips_found(found, 0)
    assert told["margin"].walks == 240
    assert told["gamma"].queries == 9000
    assert told["margin"].rate.value == pytest.approx(told["margin"].share.value * 1000 / 90)
    chances = brier(found, 20)
    assert chances["walks"].value < chances["average rate"].value


def test_the_page_from_saved_measurements(tmp_path):
    for name, seed in (("Net A", 0), ("Net B", 1)):
        made(name, seed).save(tmp_path)
    page = image_stability(tmp_path)
    assert page.queries == 2 * 1234
    text = page.markdown()
    for words in ("--data DIR", "Net B", "walks, sway", "average", "Measuring again", "net"):
        assert words in text
    assert sum("reached" in line or "not shown" in line for line in page.verdict) == 1
    told = json.loads(
        run(tmp_path, "reproduce", "images", "--data", str(tmp_path), "--json").stdout
    )
    assert told["verdict"] == page.plain()["verdict"]
    assert [line["network"] for line in told["sections"][0]["table"]] == ["Net A", "Net B"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    from PIL import Image

    folder = tmp_path_factory.mktemp("photos")
    random = np.random.default_rng(0)
    for number in range(5):
        pixels = random.integers(0, 255, (16, 16)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


def test_photos_measured_here(photos, tmp_path):
    from studies.images.attention import network, save

    save(network(classes=3, width=64, depth=1), tmp_path / "vit")
    little = REDUCED._replace(directions=2, gamma_seconds=-1.0)
    few_photos(photos, str(tmp_path / "vit"), effort=little).save(tmp_path)
    page = image_stability(tmp_path)
    (line,) = page.sections[0].grid.lines
    assert line[0] == "vit"
    assert line[4] == "0 of 0"
    assert page.queries > 500
    assert "–" in page.markdown()


def test_what_is_missing_is_named(photos, tmp_path, monkeypatch):
    with pytest.raises(InputError):
        image_stability(tmp_path)
    monkeypatch.setitem(sys.modules, "efficientnet_lite_pytorch", None)
    with pytest.raises(SettingsError, match="pip install efficientnet_lite_pytorch"):
        image_stability(photos)
