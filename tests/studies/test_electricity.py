"""The study of a real stream, on a small one made up here."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from studies import electricity as study


@pytest.fixture
def page(tmp_path, monkeypatch):
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    random = np.random.default_rng(0)
    points = random.normal(size=(2400, 3))
    points[1600:] += 3.0
    labels = (np.sin(2 * points[:, 0]) + points[:, 1] > 0).astype(int)
    labels[1600:] = random.integers(0, 2, 800)
    table = pd.DataFrame(points, columns=["a", "b", "c"])
    table["class"] = labels
    table.to_csv(tmp_path / "stream.csv", index=False)
    for name, value in (("TRAINED", 600), ("REFERENCE", 600), ("WEEK", 48)):
        monkeypatch.setattr(study, name, value)
    models = {"tree": DecisionTreeClassifier(max_depth=5), "linear": LogisticRegression()}
    monkeypatch.setattr(study, "_models", lambda seed: models)
    return study.electricity(tmp_path / "stream.csv")


def test_everything_is_on_the_page(page):
    rows = page.rows()
    logits = rows["A linear model: gamma of its logits, mean over the stream"]
    assert logits.exact
    assert logits.remark == "no alarm"  # gamma alone is watched: the inputs do drift
    assert "A linear model: gamma of its probabilities, mean over the stream" in rows
    alarm = rows["Who raises when: tree: the true errors (needs labels)"]
    assert 400 <= alarm.measured.value < 1200
    assert alarm.remark.startswith("up")
    assert rows["What happened to the errors: tree, stream"].measured.value > 0.2
    inputs = rows["Who raises when: tree: KS test of the inputs"]
    assert 400 <= inputs.measured.value < 500
    assert page.queries > 0
    assert "errors went from" in page.markdown()


@pytest.mark.parametrize(
    ("raised", "words"),
    [(False, "neither is raised"), (True, "confidence against its first for 1")],
)
def test_the_reference_is_called_unsteady_only_where_it_is(raised, words):
    watched = SimpleNamespace(restless={"confidence": raised, "gamma": False})
    assert words in study._home([watched])


def test_a_ks_test_of_weeks_flags_what_moved():
    random = np.random.default_rng(1)
    usual = random.normal(size=(1680, 2))
    share, first, home = study._weeks(usual, random.normal(size=(672, 2)) + np.array([0, 2]))
    assert (share, first) == (1.0, 335)
    assert home < 0.3
