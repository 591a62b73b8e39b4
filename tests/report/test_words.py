"""What a report says, and that it says it right."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic._core.estimate import Estimate
from anharmonic.errors import MissingExtra
from anharmonic.measures.compare import Comparison
from anharmonic.report.recipe import recipe
from anharmonic.report.words import headline, unlike
from tests.report.conftest import many_scores

POINTS = np.random.default_rng(0).normal(size=(80, 30))


def wave(x):
    return np.sin(2 * x).sum(axis=1)


def shifted(scores, by):
    """Other values with the same noise."""
    values = scores.values + by
    return replace(scores, values=values, squared=scores.squared + values**2 - scores.values**2)


def test_one_clear_winner():
    base = many_scores(500, 0)
    found = Comparison({"far": shifted(base, 0.3), "near": base, "mid": shifted(base, 0.1)})
    lead, rest = headline(found.scores, found)
    assert lead.startswith("near is the most harmonic of 3 models")
    assert rest[0].startswith("far has the largest")
    assert rest[1].startswith("All 3 differences are real")


def test_two_that_are_not_told_apart():
    base, noise = many_scores(500, 0), np.random.default_rng(1).normal(size=500)
    found = Comparison({"a": base, "b": shifted(base, noise), "c": shifted(base, 0.9)})
    lead, rest = headline(found.scores, found)
    assert re.match(r"(a and b|b and a) are the most harmonic of 3 models", lead)
    assert "2 of 3 differences are real" in rest[-1]
    assert "Not told apart: " in rest[-1]


def test_nobody_wins():
    base, noise = many_scores(500, 0), np.random.default_rng(1).normal(size=500)
    found = Comparison({"a": base, "b": shifted(base, noise)})
    lead, rest = headline(found.scores, found)
    assert "told apart" in lead
    assert rest == ["No difference is real: all 95% intervals include 0."]


def test_one_model_alone_and_one_lost_in_noise():
    lead, rest = headline({"it": many_scores(500, 0)}, None)
    assert lead.startswith("it has a mean gamma of 0.00")
    assert "this is the model" in rest[0]
    loud = replace(many_scores(500, 0), squared=np.zeros(500))
    assert "may be noise" in headline({"it": loud}, None)[1][0]


def test_a_line_is_harmonic_and_has_no_worst_points(tmp_path):
    scores = ah.gamma(lambda x: x[:, 0] * 0, POINTS)
    page = ah.report.write(tmp_path / "page.html", scores, points=POINTS).read_text()
    assert "harmonic at every point" in page
    assert "interval lies above 0" in page


def test_points_that_noise_put_there_are_not_called_proven(tmp_path):
    """A straight line seen through random single directions: gamma is noise and nothing else."""
    points = np.random.default_rng(0).normal(size=(2000, 6))
    scores = ah.gamma(lambda x: x.sum(axis=1), points, radius=0.3, ball="random", directions=12)
    lower = scores.intervals()[0]
    assert 0.01 < (lower > 0).mean() < 0.05
    page = ah.report.write(tmp_path / "page.html", scores).read_text()
    assert "some stand here by chance" in page
    assert "may be noise" in page


def test_models_that_were_not_measured_alike_are_not_judged(tmp_path):
    one = ah.gamma(wave, POINTS, radius=0.1)
    other = ah.gamma(wave, POINTS[:50], radius=0.2)
    assert unlike({"one": one, "other": other}) == ["points", "radius", "scale"]
    page = ah.report.write(tmp_path / "page.html", {"one": one, "other": other}).read_text()
    assert "not measured alike" in page
    assert "points, radius and scale differ" in page
    assert "Which differences are real" not in page


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"ball": "simplex", "rotations": 2, "seed": 5},
        {"ball": "onehot", "directions": 10},
        {"ball": "cross", "rotations": 0, "bounds": (-5, 5)},
        {"ball": "random pairs", "reduction": 1, "budget": 6000},
        {"output": 0, "scale": None, "radius": 0.7},
    ],
)
def test_the_recipe_gives_the_same_numbers(arguments):
    def model(x):
        return np.stack([np.sin(2 * x).sum(axis=1), x[:, 0] ** 2], axis=1)

    scores = ah.gamma(model, POINTS, **arguments)
    names = {"model": model, "points": POINTS}
    exec(recipe({"it": scores}, alike=True), names)
    np.testing.assert_array_equal(names["scores"].values, scores.values)


def test_the_recipe_of_a_comparison():
    models = {"a": wave, "b'": np.cos}
    models["b'"] = lambda x: np.cos(x).sum(axis=1)
    found = ah.compare(models, POINTS)
    text = recipe(found.scores, alike=True)
    assert "models = {'a': …, \"b'\": …}" in text
    names = {"models": models, "points": POINTS}
    exec("\n".join(line for line in text.splitlines() if "…" not in line), names)
    np.testing.assert_array_equal(names["found"].scores["a"].values, found.scores["a"].values)


def test_a_million_points_stay_small(tmp_path):
    models = {"one": many_scores(1_000_000, 0), "two": many_scores(1_000_000, 1)}
    points = np.random.default_rng(0).normal(size=(1_000_000, 2)).astype(np.float32)
    path = ah.report.write(tmp_path / "large.html", models, points=points)
    assert path.stat().st_size < 5_000_000
    text = path.read_text()
    assert "800 of 1,000,000 points" in text


def test_every_model_with_error_and_price(measured, tmp_path):
    path = ah.report.write(tmp_path / "page.html", measured.found)
    text = path.read_text()
    for name in measured.found.scores:
        assert name in text
        for scores in measured.found.places(name).values():
            assert str(Estimate(scores.mean, scores.error)) in text
    assert f"{measured.found.queries:,}" in text
    assert text.count("±") > 6
    assert path.stat().st_size < 5_000_000


def test_unfinished_scores_are_reported_as_such(tmp_path):
    scores = many_scores(10, 0)
    gaps = replace(scores, values=np.where(np.arange(10) < 4, np.nan, scores.values))
    assert "6 of 10" in ah.report.write(tmp_path / "page.html", gaps).read_text()


@pytest.mark.parametrize("shape", [(1, 3), (2, 5), (30, 1), (20, 2), (6, 1, 4, 4)])
def test_small_and_odd_data_make_a_report_too(shape, tmp_path):
    points = np.random.default_rng(0).normal(size=shape)
    scores = ah.gamma(lambda x: x.reshape(len(x), -1)[:, 0] ** 2, points, radius=0.1, scale=None)
    assert (
        "The worst points"
        in ah.report.write(tmp_path / "p.html", scores, points=points).read_text()
    )


def test_others_may_read_it(tmp_path):
    before = os.umask(0o022)
    try:
        path = ah.report.write(tmp_path / "page.html", many_scores(10, 0))
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_failed_report_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"anharmonic\[report\]"):
        ah.report.write(tmp_path / "page.html", many_scores(10, 0))
    assert not list(tmp_path.iterdir())


def test_a_map_is_drawn_only_where_it_shows_half_of_the_spread(tmp_path):
    random = np.random.default_rng(0)
    round_cloud = random.normal(size=(200, 8))
    flat_cloud = random.normal(size=(200, 2)) @ random.normal(size=(2, 8))

    def page_of(points):
        scores = ah.gamma(lambda x: np.sin(x[:, 0]), points, radius=0.3)
        return ah.report.write(tmp_path / "page.html", scores, points=points).read_text()

    round_page, flat_page = page_of(round_cloud), page_of(flat_cloud)
    assert "No map: its two main axes would show" in round_page
    assert 'id="map-0"' not in round_page
    assert 'id="map-0"' in flat_page
    assert "No map" not in flat_page


def test_rows_go_by_the_readers_names(tmp_path):
    frame = pd.DataFrame(POINTS, columns=[f"f{column}" for column in range(POINTS.shape[1])])
    frame.index = [f"case {row}" for row in range(len(frame))]

    def wave(table):
        return np.sin(3 * np.asarray(table)).sum(axis=1)

    scores = ah.gamma(wave, frame, radius=0.3)
    worst = int(scores.worst(1)[0])
    for page in (
        ah.report.write(tmp_path / "page.html", scores, points=frame).read_text(),
        ah.report.write(tmp_path / "page.html", scores).read_text(),
    ):
        assert f'class="name strong">case {worst}</td>' in page
    ids = frame.reset_index(names="sample_id")
    by_id = ah.gamma(lambda x: wave(x[list(frame)]), ids, radius=0.3, moving=list(frame))
    page = ah.report.write(tmp_path / "page.html", by_id, points=ids).read_text()
    assert f"case {int(by_id.worst(1)[0])}</td>" in page


def test_a_report_with_labels_and_a_search_has_the_chart_and_the_rows(tmp_path):
    def classes(x):
        return np.stack([x[:, 0], -x[:, 0], 0 * x[:, 0]], axis=1)

    labels = np.where(POINTS[:, 0] > 0, 0, 1)
    found = ah.compare({"right": classes, "wrong": lambda x: -classes(x)}, POINTS, labels=labels)
    search = {"right": ah.adversarial_search(classes, POINTS)}
    page = ah.report.write(tmp_path / "page.html", found, search=search).read_text()
    for words in (
        "Accuracy against gamma",
        "On the frontier of accuracy and gamma",
        "Which differences of accuracy are real",
        "How far decisions are from changing",
        "Rows that flip first",
        "Choose by both",
    ):
        assert words in page, words
    assert page.index("Accuracy against gamma") < page.index("Which differences are real")
    plain = ah.report.write(tmp_path / "page.html", found.scores).read_text()
    assert "Accuracy against gamma" not in plain
