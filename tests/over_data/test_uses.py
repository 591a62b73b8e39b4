"""Suspects, support, comparisons and gates over the data, with real models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import anharmonic as ah
from anharmonic.errors import InputError, SettingsError
from anharmonic.measures.over_data import Boosted, Neighbours


@pytest.fixture(scope="module")
def labelled():
    """A table with a category and missing cells, its labels, and which of them are flipped."""
    random = np.random.default_rng(0)
    count = 400
    frame = pd.DataFrame(
        {
            "size": random.normal(size=count),
            "weight": random.normal(size=count),
            "kind": random.choice(["a", "b", "c"], count),
        },
        index=[f"row {number}" for number in range(count)],
    )
    truth = (frame["size"] + (frame["kind"] == "a") > 0.3).to_numpy()
    frame.loc[random.random(count) < 0.1, "weight"] = np.nan
    flipped = random.random(count) < 0.1
    return frame, np.where(truth ^ flipped, "good", "bad"), flipped


def fitted(frame, labels, model):
    prepared = make_column_transformer(
        (OneHotEncoder(), ["kind"]), (SimpleImputer(), ["size", "weight"])
    )
    return make_pipeline(prepared, model).fit(frame, labels)


@pytest.fixture(scope="module")
def memorised(labelled):
    frame, labels, _ = labelled
    return fitted(frame, labels, DecisionTreeClassifier(random_state=0))


def test_suspects_find_flipped_labels_without_labels_and_with_them(labelled, memorised):
    frame, labels, flipped = labelled
    without = ah.suspects(memorised, frame)
    given = ah.suspects(memorised, frame, labels)
    assert roc_auc_score(flipped, without.values) > 0.85
    assert roc_auc_score(flipped, given.values) > 0.85
    table = given.to_frame("pandas")
    assert list(table.index) == list(frame.index)
    assert set(table["answer"]) == set(table["others"]) == {"good", "bad"}
    assert list(table["label"]) == list(labels)
    assert flipped[given.worst(20)].mean() > 0.6
    assert without.queries == 400


def test_suspects_with_labels_need_no_model_that_learnt_them(labelled):
    frame, labels, flipped = labelled
    stiff = fitted(frame, labels, DecisionTreeClassifier(max_depth=3, random_state=0))
    assert roc_auc_score(flipped, ah.suspects(stiff, frame, labels).values) > 0.9


def test_suspects_of_a_regression(labelled):
    frame, _, _ = labelled
    target = 3 * frame["size"].to_numpy()
    target[17] += 20
    model = fitted(frame, target, DecisionTreeRegressor(random_state=0))
    assert 17 in ah.suspects(model, frame).worst(3)
    assert 17 in ah.suspects(model, frame, target).worst(3)


def test_labels_that_no_class_has_are_refused(labelled, memorised):
    frame, _, _ = labelled
    with pytest.raises(InputError, match="ugly"):
        ah.suspects(memorised, frame, ["ugly"] * len(frame))
    with pytest.raises(InputError, match="one per row"):
        ah.suspects(memorised, frame, ["good"])


def test_support_names_rows_for_and_against(labelled, memorised):
    frame, _, flipped = labelled
    island = int(np.flatnonzero(flipped)[0])
    explained = ah.support(memorised, frame, island)
    weights = [other.weight for other in explained.supporters]
    assert np.isclose(sum(weights), 1)
    assert weights == sorted(weights, reverse=True)
    assert island not in [other.row for other in explained.supporters]
    assert len(explained.walk) == 3
    agreed = sum(other.weight for other in explained.agreeing)
    assert np.isclose(agreed, explained.walk[0])
    # The mean that gamma compares with has just these weights.
    scores = ah.gamma(memorised, frame, ball="data")
    assert np.isclose(explained.gamma, scores.values[island])
    assert explained.to_frame("pandas")["weight"].tolist() == weights
    assert "against it" in repr(explained)
    near = ah.support(memorised, frame, island, weights=Neighbours(5))
    assert np.isclose(near.gamma, ah.gamma(memorised, frame, ball=Neighbours(5)).values[island])
    with pytest.raises(SettingsError, match="forest or neighbours"):
        ah.support(memorised, frame, island, weights=Boosted())


def test_compare_ranks_the_memorising_model_last_and_gates_agree(labelled, memorised):
    frame, labels, _ = labelled
    stiff = fitted(frame, labels, RandomForestClassifier(min_samples_leaf=20, random_state=0))
    comparison = ah.compare(
        {"memorised": memorised, "stiff": stiff}, frame[:200], ball="data", reference=frame[200:]
    )
    assert comparison.ranking == ["stiff", "memorised"]
    assert comparison.differences[0].real
    assert comparison.queries == 800
    old, new = comparison.scores["stiff"], comparison.scores["memorised"]
    assert not ah.gate.no_worse(new, old).passed
    assert ah.gate.no_worse(old, new).passed
    other = ah.gamma(memorised, frame[:200], ball=Neighbours(5))
    with pytest.raises(SettingsError, match="weights"):
        ah.gate.no_worse(other, old)


def test_compare_refuses_another_measure_over_rows(memorised, labelled):
    with pytest.raises(SettingsError, match="measure"):
        ah.compare({"one": memorised}, labelled[0], ball="data", measure=ah.clever)


def test_scores_open_again_as_they_were(tmp_path, labelled, memorised):
    scores = ah.gamma(memorised, labelled[0], ball="data")
    again = ah.load(scores.save(tmp_path / "scores.parquet"))
    assert again.mean == scores.mean
    assert again.interval() == scores.interval()
    np.testing.assert_array_equal(again.intervals(), scores.intervals())
    assert again.settings.weights == "forest"


def test_a_network_on_torch_is_asked_once_per_row():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    rows = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    scores = ah.gamma(module, rows, ball="data neighbours")
    assert scores.queries == 60
    images = np.random.default_rng(0).normal(size=(60, 2, 2)).astype(np.float32)
    flat = torch.nn.Sequential(torch.nn.Flatten(), module)
    assert ah.gamma(flat, images, ball="data neighbours").complete


def test_the_way_to_the_boundary_is_exact_on_a_line():
    line = np.arange(20.0)[:, None]

    def halves(x):
        return np.stack([x[:, 0] < 9, x[:, 0] >= 9], axis=1).astype(float)

    explained = ah.support(halves, line, 3, weights=Neighbours(2))
    assert [other.row for other in explained.boundary] == [4, 5, 6, 7, 8, 9]
    assert [other.agrees for other in explained.boundary] == [True] * 5 + [False]
    assert all(other.weight == 0.5 for other in explained.boundary)
    assert "The boundary is 6 steps away" in repr(explained)
    assert (
        ah.support(lambda x: 0 * halves(x) + [1, 0], line, 3, weights=Neighbours(2)).boundary == ()
    )


def test_a_row_that_is_not_in_the_reference_is_supported_by_its_rows():
    line = np.arange(20.0)[:, None]

    def halves(x):
        return np.stack([x[:, 0] < 9, x[:, 0] >= 9], axis=1).astype(float)

    new = np.array([[99.0], [8.6]])
    explained = ah.support(halves, new, 1, reference=line, weights=Neighbours(2))
    assert {other.row: other.agrees for other in explained.supporters} == {8: True, 9: False}
    assert explained.walk[0] == 0.5
    # From 8 half of the way leads on to 7 and half to 9, from 9 to 8 and to 10.
    assert explained.walk[1] == 0.5
    assert [other.row for other in explained.boundary] == [9]
    assert explained.queries == 21
    # A copy of it among the reference does not speak for it.
    itself = ah.support(halves, line[[4]], 0, reference=line, weights=Neighbours(2))
    assert sorted(other.row for other in itself.supporters) == [3, 5]


def test_supporters_go_by_the_names_of_the_reference(labelled, memorised):
    frame, _, _ = labelled
    named = frame.set_axis([f"case {row}" for row in range(len(frame))], axis=0)
    explained = ah.support(memorised, named[:5], 2, reference=named)
    assert explained.name == "case 2"
    assert all(other.name == f"case {other.row}" for other in explained.supporters)
    assert 2 not in [other.row for other in explained.supporters]
    by_number = ah.support(memorised, frame[:5], 2, reference=frame)
    assert [other.row for other in by_number.supporters] == [
        other.row for other in explained.supporters
    ]
