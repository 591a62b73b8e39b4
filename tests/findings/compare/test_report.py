"""What a report ranks by is what it prints bold and draws, and its Python does it again."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic import plots
from anharmonic._core.estimate import Estimate
from anharmonic.errors import SettingsError
from anharmonic.measures.compare import Comparison
from anharmonic.report.tables import models_table
from anharmonic.report.words import headline

RANDOM = np.random.default_rng(0)
TRAINED, POINTS = RANDOM.normal(size=(2, 120, 4))


def waves(frequency):
    return lambda x: np.sin(frequency * np.asarray(x)).sum(axis=1)


def bumps(x):
    """Flat but for what it remembers of the first points."""
    away = ((np.asarray(x)[:, None, :] - TRAINED) ** 2).sum(axis=-1)
    return 3 * np.exp(-away / 0.02).sum(axis=1)


@pytest.fixture(scope="module")
def found():
    return ah.compare({"waves": waves(1), "bumps": bumps}, POINTS, reference=TRAINED, radius=0.4)


@pytest.fixture(scope="module")
def page(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    return ah.report.write(path, found, points=POINTS).read_text()


@pytest.mark.finding("newcomer jobs: headline and bold")
def test_what_ranks_is_bold_and_drawn_with_its_own_interval(found, page):
    assert found.where("bumps") == "reference"
    rows = {row.name: row for row in models_table(found, found.ranking)}
    for name, row in rows.items():
        scores = found.counted(name)
        assert row.mean == str(found.overall(name)) == str(Estimate(scores.mean, scores.error))
        low, high = scores.interval()
        assert row.interval == f"{low:.3g} … {high:.3g}"
        assert f'class="number strong">{html.escape(row.mean)}<' in page
    shares = [rows[name].share for name in found.ranking]
    assert shares == sorted(shares)
    assert shares[-1] == 100
    small, large = (found.overall(name).value for name in found.ranking)
    assert shares[0] == pytest.approx(100 * small / large)
    lead = headline(found.scores, found).lead
    assert str(found.overall(found.ranking[0])) in lead
    assert page.count('class="number strong">') >= 2
    assert "A model counts with the larger of two means" in page
    curve = next(each for each in plots.distribution(found).data if each.name == "bumps")
    assert max(curve.x) == found.at_reference["bumps"].values.max()
    assert "bumps at the reference." in page


@pytest.mark.finding("newcomer jobs: two numbers for one forest")
def test_two_means_are_explained_where_they_are_printed(found):
    assert "each by the larger of its means at the points and at the reference" in repr(found)
    assert "each by the larger" in found._repr_html_()


@pytest.mark.finding("newcomer jobs: scaled units")
def test_the_axis_names_the_units_it_has():
    raw, scaled = (
        ah.sweep(waves(1), POINTS * 3, [0.2, 0.4], scale=scale) for scale in (None, "auto")
    )
    assert plots.radius_curve(raw).layout.xaxis.title.text == "radius, in the features' own units"
    assert plots.radius_curve(scaled).layout.xaxis.title.text == "radius, in scaled units"
    assert "own units" in raw._repr_html_()


@pytest.mark.finding("newcomer B12")
@pytest.mark.parametrize("kind", ["array", "table"])
def test_the_printed_python_runs_where_columns_are_held(kind, tmp_path):
    table = pd.DataFrame(POINTS, columns=list("abcd"))
    data, moving = (table, ["b", "d"]) if kind == "table" else (POINTS, [1, 3])
    given = ah.regions.points(data, moving=moving)
    scores = ah.gamma(waves(2), given)
    names = {"model": waves(2), "points": data}
    exec(_recipe(ah.report.write(tmp_path / "one.html", scores)), names)
    np.testing.assert_array_equal(names["scores"].values, scores.values)


@pytest.mark.finding("newcomer B12")
def test_the_printed_python_of_a_comparison_runs_where_columns_are_held(tmp_path):
    models = {"a": waves(1), "b": waves(2)}
    given = ah.regions.points(POINTS, moving=[1, 3])
    found = ah.compare(models, given, reference=TRAINED, level=0.9)
    text = _recipe(ah.report.write(tmp_path / "two.html", found, points=given))
    names = {"models": models, "points": POINTS, "reference": TRAINED}
    exec("\n".join(line for line in text.splitlines() if "…" not in line), names)
    again = names["found"]
    for name in models:
        for place, scores in found.places(name).items():
            np.testing.assert_array_equal(again.places(name)[place].values, scores.values)
    assert again.differences == found.differences


@pytest.mark.finding("newcomer B12")
def test_a_scale_of_the_wrong_length_is_explained():
    with pytest.raises(SettingsError, match=r"shape \(2,\) and 4 columns move \(0, 1, 2"):
        ah.gamma(waves(1), POINTS, scale=[1.0, 2.0])
    assert ah.gamma(waves(1), POINTS, scale=[2.0], radius=0.1).settings.scale == (2.0,) * 4


@pytest.mark.finding("numbers A3")
def test_the_report_says_what_is_the_same_and_what_noise_hides(tmp_path):
    points = np.random.default_rng(0).normal(size=(200, 20))
    sine = lambda x: np.sin(x[:, 0])  # noqa: E731
    noisy = lambda x: sine(x) + 2 * x[:, 1] * x[:, 2]  # noqa: E731
    models = {"one": sine, "again": sine, "noisy": noisy, "far": lambda x: 9 * sine(x)}
    found = ah.compare(models, points, radius=0.5, scale=None)
    text = headline(found.scores, found).rest
    verdict = next(each for each in text if "differences are real" in each)
    assert verdict.startswith("3 of 6 differences are real")
    assert "The same within 10%: again and one." in verdict
    assert "Not told apart: " in verdict
    page = ah.report.write(tmp_path / "page.html", found).read_text()
    assert ">the same within 10%</span>" in page
    assert "noise hides it: more rotations would help" in page
    alike = Comparison({name: found.scores[name] for name in ("one", "again")})
    assert headline(alike.scores, alike).lead == (
        "The mean gamma of all 2 models is the same within 10%."
    )


def _recipe(path):
    """The Python a report prints."""
    (text,) = re.findall(r'<pre class="tall"[^>]*>(.*?)</pre>', path.read_text(), flags=re.DOTALL)
    return html.unescape(text)
