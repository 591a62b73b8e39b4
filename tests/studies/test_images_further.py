"""Nested choices that cannot see what they are read on, groups, detectors, and the kept page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from anharmonic.errors import InputError
from studies.images import nested as nesting
from studies.images.contest import Contest
from studies.images.further.detecting import DETECTORS, detected
from studies.images.further.groups import GROUPS, classes_of, groups_of
from studies.images.further.measuring import Effort, FurtherMeasuring, measured_further, resized
from studies.images.further.published import TABLE, correlations
from studies.images.further.study import further_images
from studies.images.measurements import Measurements, read_measurements
from studies.images.nested import family, nested
from studies.images.ranking import auroc
from studies.images.scoring import formed
from studies.page import prose

PAGES = Path(__file__).parents[2] / "docs" / "reproduce"
KEPT = PAGES / "results"


def test_every_animal_has_one_group():
    numbers = [
        n for runs in GROUPS.values() for first, last in runs for n in range(first, last + 1)
    ]
    assert sorted(numbers) == list(range(398))
    assert groups_of(classes_of(["281_tabby.png", "007_cock.png"])) == [
        "wolves, cats, bears",
        "birds",
    ]
    with pytest.raises(InputError, match="281_tabby"):
        classes_of(["tabby.png"])
    with pytest.raises(InputError, match="class 400"):
        groups_of(np.array([400]))


def test_the_published_table_says_the_same_of_itself():
    """P_C is eq. 4 on the mean logits but for two rows, the metric follows, and correlates 0.40."""
    apart = []
    for row in TABLE:
        softmax = 1 / (1 + 999 * np.exp(row.mean_logit - row.logit))
        if abs(softmax - row.probability) > 2e-3:
            apart.append((row.name, row.network))
        assert row.probability * np.exp(-25 * row.gamma) == pytest.approx(row.metric, abs=6e-3)
    assert apart == [("Butterfly", "ResNet"), ("Elephant", "ViT")]
    assert correlations()["metric"] == pytest.approx(0.40, abs=0.005)
    stable = [row.stability for row in TABLE]
    assert kendalltau([row.metric for row in TABLE], stable).statistic < 0.40


def test_the_family_holds_the_margin_over_the_spread_and_z():
    found = read_measurements(KEPT / "images")[0]
    members = {score.name: score for score in family()}
    z = formed("z", "walks 25 onehot", 20)(found)
    np.testing.assert_allclose(members["(m + 1·mean Δ)/(sd Δ)^1"].of(found), z)
    end = formed("end margin", "walks 25 onehot", 20)(found)
    np.testing.assert_allclose(members["(m + 1·mean Δ)/(sd Δ)^0"].of(found), end)


def test_pooled_pairs_are_the_auroc_of_a_single_candidate():
    """With one fold for all photos, and one candidate, the pooled figure is the plain AUROC."""
    contest = Contest(read_measurements(KEPT / "images")[:1], 0)
    scores = family()[:1]
    pairs = nesting._Pairs(contest, scores)
    areas = pairs.areas(np.ones(199, dtype=np.float32))[0]
    expected = [auroc(scores[0].of(each)[known], bad) for each, _, known, bad in contest.cells()]
    np.testing.assert_allclose(areas, expected, atol=1e-6)


def test_a_nested_choice_among_noise_is_worth_a_coin(monkeypatch):
    """Candidates that know nothing: the best of 40 looks good on its own photos, not on others."""
    found = read_measurements(KEPT / "images")[:1]
    random = np.random.default_rng(0)
    noise = [random.normal(size=199) for _ in range(40)]
    made = [nesting.Score(f"noise {n}", 20, lambda _, n=n: noise[n]) for n in range(40)]
    monkeypatch.setattr(nesting, "family", lambda: made)
    contest = Contest(found, 0)
    monkeypatch.setattr(Contest, "ordered", [])
    result = nested(contest, repeats=6, draws=2)
    labels = [bad for _, _, _, bad in contest.cells()]
    seen = max(min(auroc(each, bad) for bad in labels) for each in noise)
    assert seen > 0.51
    assert 0.3 < result.worst.value < seen - 0.03


def shifted(seed=0):
    """Measurements in which adversarial inputs bend more, and are surer, than photos."""
    random = np.random.default_rng(seed)
    found = Measurements({"network": "made", "pieces": {}}, {})
    for attack, bend, sure in (("attacked 0", 0.0, 1.0), ("attacked 8", 2.0, 3.0)):
        arrays = {"rows": np.arange(60), "label": np.full(60, int(attack[-1] != "0"))}
        for kind in ("walks", "dense"):
            arrays[f"{kind}/margin"] = sure + random.normal(size=60)
            arrays[f"{kind}/changes"] = random.normal(size=(60, 2, 10)) - bend
            arrays[f"{kind}/own"] = 0.1 * random.normal(size=(60, 2, 10)) - bend
        arrays["dense/margin"] = arrays["walks/margin"]
        found.arrays |= {f"{attack}/{name}": array for name, array in arrays.items()}
    return found


def test_detectors_see_what_was_put_there():
    told = detected(shifted(), "attacked 8")
    assert (told.changed, told.attacked) == (60, 60)
    assert told.best == "gamma, dense pairs"
    assert told.second["gamma, dense pairs"].value == 1
    assert told.second["margin, large"].value > 0.8
    both = told.second["margin, large"].value + told.second["margin, small"].value
    assert both == pytest.approx(1)
    assert set(told.second) == set(DETECTORS)


def test_every_piece_is_measured_once(tmp_path):
    """A linear network on tiny photos: attacks change classes, and a second run asks nothing."""
    import torch

    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 5))
    photos = np.random.default_rng(0).integers(0, 256, (4, 8, 8)).astype(np.float32)
    found = Measurements({"network": "tiny", "seed": 0, "pieces": {}})
    effort = Effort(ascents=2, long_walks=1, sized=0, attacked=4, attack_steps=3, colours=0)
    work = FurtherMeasuring(network, network, photos, effort, found, 0)
    measured_further(work, lambda found: found.save(tmp_path))
    attacked = found.arrays["attacked 8/label"] != found.arrays["attacked 0/label"]
    barely = found.arrays["attacked 8, barely/label"] != found.arrays["attacked 0/label"]
    assert attacked.any()
    np.testing.assert_array_equal(attacked, barely)
    sure = (
        found.arrays["attacked 8/walks/margin"] >= found.arrays["attacked 8, barely/walks/margin"]
    )
    assert sure[attacked].mean() > 0.5
    again = Measurements.load(tmp_path / "tiny.npz")
    spent = dict(again.facts["pieces"])
    assert {"photos", "attacked 2", "long gamma", "ascent"} <= spent.keys()

    def refuse(*_):
        raise AssertionError("nothing is to be asked again")

    measured_further(FurtherMeasuring(refuse, refuse, photos, effort, again, 0))
    assert again.facts["pieces"] == spent


def test_a_photo_is_resized_in_whole_levels():
    photos = np.arange(2 * 16.0).reshape(2, 4, 4)
    small = resized(photos, 2)
    assert small.shape == (2, 2, 2)
    assert (small == small.round()).all()
    assert resized(photos, 4) is photos


def test_every_number_of_the_page_follows_from_what_is_kept():
    text = (PAGES / "images-further.md").read_text(encoding="utf-8")
    page = further_images(KEPT)
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for part in page.sections
        if part.tabular
        for cells in part.table()[1]
    ]
    assert len(lines) > 40
    assert [line for line in lines if line not in text] == []
    told = [prose(line) for line in page.verdict]
    assert [line for line in told if line not in prose(text)] == []
