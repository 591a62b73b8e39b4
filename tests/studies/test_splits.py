"""The Wine tables over two splits."""

from __future__ import annotations

import pytest

from anharmonic._core.statistics import share_interval
from anharmonic.demos import wine
from studies import splits

# Models are trained for all of it.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page():
    return splits.wine_splits(splits=2, map=map)


def test_the_overfit_models_rank_above_without_labels(page):
    for row in page.sections[1].rows:
        assert row.measured.value == 1
        assert "2 of 2" in row.remark
        low, high = share_interval(2, 2)
        assert f"{low:.2f} to {high:.2f}" in row.remark


def test_paper_and_measured_stand_side_by_side(page):
    found = {row.case: row for row in page.sections[0].rows}
    assert list(found) == list(wine.PAPER)
    for name, row in found.items():
        assert row.paper == str(wine.PAPER[name])
        assert row.measured.value == pytest.approx(wine.PAPER[name].value, rel=0.6)
        # The centre and two turns of six directions at each point of two grids, and a probe.
        assert 0 <= row.queries - 2 * 60 * 60 * 13 < 1000


def test_labels_are_shown_and_time_is_told(page):
    assert len(page.sections[2].rows) == 8
    assert "Training and measuring 8 models took" in page.verdict[-1]
    assert any("test set" in line for line in page.verdict)


@pytest.mark.parametrize(("hits", "count"), [(0, 20), (7, 20), (19, 20), (20, 20)])
def test_clopper_pearson_against_scipy(hits, count):
    from scipy.stats import binomtest

    expected = binomtest(hits, count).proportion_ci(0.95, method="exact")
    assert share_interval(hits, count) == pytest.approx((expected.low, expected.high))
