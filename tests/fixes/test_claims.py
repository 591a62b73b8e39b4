"""What `fix` says: nothing of what it has not measured, and what that cost."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LassoCV, LogisticRegressionCV, RidgeCV
from sklearn.tree import DecisionTreeClassifier

import anharmonic as ah
from anharmonic.errors import ModelError
from anharmonic.fixes.capacity import grid_for
from anharmonic.fixes.gains import Contrast, Gain
from anharmonic.fixes.result import Fixes, Proposal
from anharmonic.fixes.steadying import FACTORS
from anharmonic.performance.result import Interval

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(300, 3))
LABELS = ((POINTS[:, 0] > 0) ^ (RANDOM.random(300) < 0.2)) * 1


class Known:
    """A model that is as good as can be: it knows the law of the labels."""

    classes_ = np.array([0, 1])

    def predict_proba(self, rows):
        # Rows near 0 are harder: the noise that no model can learn is not the same everywhere.
        share = 0.55 + 0.4 * (np.abs(rows[:, 0]) > 0.7)
        return np.stack([1 - share, share], axis=1)

    def predict(self, rows):
        return np.ones(len(rows), dtype=int)


def test_labels_that_nobody_could_know_are_no_help():
    random = np.random.default_rng(1)
    rows = random.normal(size=(2100, 3))
    labels = (random.random(2100) < Known().predict_proba(rows)[:, 1]) * 1
    fixes = ah.fix(
        Known(),
        rows[:400],
        labels[:400],
        held_out=(rows[400:2000], labels[400:2000]),
        pool=rows[2000:],
        count=20,
        kinds=["label", "look", "region"],
    )
    assert fixes["look"].rows.size
    # It is more often wrong where it is unsure, which does not say that labels there help.
    assert fixes["label"].evidence["loss at such rows"].shown
    for proposal in fixes.tried:
        assert not proposal.helps
        assert proposal.gain is None
        assert "was not measured" in proposal.sentence
    assert not fixes.proposals
    assert "not measured: Look at" in repr(fixes)
    assert "not measured" in fixes._repr_html_()
    assert np.isnan(fixes.to_frame()["gain"]).all()


def test_what_is_not_known_is_null_in_json_and_said_in_words(tmp_path):
    certain = np.ones(150, dtype=int)
    fixes = ah.fix(
        Known(),
        POINTS[:150],
        certain,
        held_out=(POINTS[150:180], certain[:30]),
        pool=POINTS[200:],
        kinds=["label", "look"],
    )
    fixes.save(tmp_path)
    written = json.loads((tmp_path / "fixes.json").read_text(), parse_constant=_no_number)
    label, look = written["tried"]
    assert look["rows"] == []
    assert look["gain"] is look["before"] is look["held_out_rows"] is None
    # 15 of 30 rows are too few to be compared with the others.
    assert label["evidence"]["loss at such rows"]["low"] is None
    assert "20 distinct ones" in label["sentence"]
    assert "nan" not in json.dumps(written).lower()


def _no_number(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")


def test_all_that_json_cannot_say_is_null():
    nothing = Interval(math.nan, -math.inf, math.inf)
    proposal = Proposal(
        "region",
        False,
        "",
        Gain(math.nan, 0.5, nothing, 3),
        "accuracy",
        evidence={
            "excess": Contrast(math.nan, 0.0, nothing, 0, 3),
            "frontier": [{"leaf": np.int64(3), "gamma": math.nan}],
        },
    )
    plain = json.loads(json.dumps(proposal.plain(), allow_nan=False))
    assert plain["before"] is None
    assert plain["after"] == 0.5
    assert plain["gain"] == {"value": None, "low": None, "high": None}
    assert plain["evidence"]["excess"]["inside"] is None
    assert plain["evidence"]["excess"]["rows_outside"] == 3
    assert plain["evidence"]["frontier"] == [{"leaf": 3, "gamma": None}]
    assert Fixes([proposal], {}, 0.05, "m", "accuracy").summary()["queries"] == 0


class Counting(DecisionTreeClassifier):
    """A tree that counts the rows it is asked for and its fits, all copies of it together."""

    asked = 0
    fits = 0

    def fit(self, rows, labels):
        Counting.fits += 1
        return super().fit(rows, labels)

    def predict_proba(self, rows):
        Counting.asked += len(rows)
        return super().predict_proba(rows)

    def predict(self, rows):
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]


@pytest.mark.parametrize("kind", ah.fixes.KINDS)
def test_every_query_and_every_fit_is_counted(kind):
    Counting.asked = Counting.fits = 0
    fixes = ah.fix(
        Counting(random_state=0),
        POINTS[:200],
        LABELS[:200],
        pool=POINTS[200:],
        count=20,
        kinds=[kind],
        folds=2,
        grid={"max_depth": [2, 3]},
    )
    assert fixes.left_out == {}
    assert fixes.queries == Counting.asked
    assert fixes.refits == Counting.fits


@pytest.mark.parametrize("kind", ["label", "look", "region", "smooth"])
def test_queries_of_a_model_that_is_only_asked_are_counted(kind):
    asked = []
    tree = DecisionTreeClassifier(random_state=0).fit(POINTS[:100], LABELS[:100])

    def model(rows):
        asked.append(len(rows))
        return tree.predict_proba(rows)

    fixes = ah.fix(
        model,
        POINTS[:100],
        LABELS[:100],
        held_out=(POINTS[100:250], LABELS[100:250]),
        pool=POINTS[250:],
        kinds=[kind],
    )
    assert fixes.left_out == {}
    assert fixes.queries == sum(asked)
    assert fixes.refits == 0


def test_the_radius_that_is_handed_out_is_one_that_was_tried():
    tree = DecisionTreeClassifier(random_state=0)
    proposal = ah.fix(tree, POINTS, LABELS, kinds=["smooth"], folds=4)["smooth"]
    fitted = tree.fit(POINTS, LABELS)
    unit = ah.smoothed(fitted, reference=POINTS).radius
    assert proposal.settings["radius"] / unit in FACTORS
    assert set(proposal.evidence["factors of folds"]) <= set(FACTORS)


@pytest.mark.parametrize(
    ("model", "labels"),
    [(RidgeCV(), POINTS[:, 0]), (LassoCV(), POINTS[:, 0]), (LogisticRegressionCV(), LABELS)],
)
def test_estimators_that_search_for_their_penalty_have_no_grid(model, labels):
    assert grid_for(model) is None
    fixes = ah.fix(model, POINTS, labels, kinds=["look", "capacity"], folds=2)
    assert "give grid=" in fixes.left_out["capacity"]
    assert fixes["look"].gain is not None


def test_a_grid_matters_where_it_is_tried_alone():
    tree = DecisionTreeClassifier(random_state=0)
    fixes = ah.fix(tree, POINTS, LABELS, kinds=["look"], folds=2, grid={"leaves": [1]})
    assert len(fixes.tried) == 1


def test_too_few_labels_to_hide_some_are_told():
    fixes = ah.fix(
        DecisionTreeClassifier(random_state=0),
        POINTS[:5],
        LABELS[:5],
        held_out=(POINTS[5:200], LABELS[5:200]),
        pool=POINTS[200:],
        kinds=["label"],
    )
    assert "give 6 at least" in fixes.left_out["label"]


class Stubborn:
    """Something with an estimator's methods that scikit-learn cannot clone."""

    def fit(self, rows, labels):
        return self

    def get_params(self, deep=True):
        return {"depth": 1}

    def set_params(self, **parameters):
        return self


def test_what_cannot_be_cloned_is_told():
    with pytest.raises(ModelError, match="could not be fitted anew"):
        ah.fix(Stubborn(), POINTS, LABELS)


def test_a_region_with_few_held_out_rows_is_not_measured():
    # A region has 20 of the 42 rows that it is found on; of the other 42 hardly 20 and 20 are on
    # either side of it.
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"dose": random.uniform(size=184), "age": random.uniform(size=184)})
    labels = (frame["dose"] > 0.5).to_numpy() * 1

    def model(rows):
        return np.tile([0.8, 0.2], (len(rows), 1))

    fixes = ah.fix(
        model, frame[:100], labels[:100], held_out=(frame[100:], labels[100:]), kinds=["region"]
    )
    proposal = fixes["region"]
    assert not proposal.evidence["excess loss"].known
    assert "20 distinct ones" in proposal.sentence
    assert not proposal.helps
