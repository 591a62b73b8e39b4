"""scikit-learn estimators and pipelines against calling them directly."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from anharmonic.errors import NotAModel, SettingsError
from anharmonic.models import as_model


@pytest.fixture(scope="module")
def logistic(points, names) -> LogisticRegression:
    return LogisticRegression(max_iter=500).fit(points, names)


def spread(outputs: np.ndarray) -> np.ndarray:
    return outputs.max(axis=1) - outputs.min(axis=1)


def test_every_output_of_a_classifier(points, names, logistic) -> None:
    chances, classes = logistic.predict_proba(points), logistic.classes_
    position = np.searchsorted(classes, logistic.predict(points))
    expected = {
        None: ("probability", chances),
        "probability": ("probability", chances),
        "logit": ("logit", logistic.decision_function(points)),
        "label": ("label", position),
        "onehot": ("onehot", np.eye(3)[position]),
        1: ("probability", chances[:, 1]),
        "virginica": ("probability", chances[:, 2]),
        spread: ("value", spread(chances)),
    }
    for output, (kind, outputs) in expected.items():
        model = as_model(logistic, output=output)
        assert (model.kind, model.name) == (kind, "LogisticRegression")
        np.testing.assert_array_equal(model(points), outputs)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(points), outputs)
    assert as_model(logistic).classes == ("setosa", "versicolor", "virginica")


def test_numeric_labels_are_themselves(points, target) -> None:
    tree = DecisionTreeClassifier(max_depth=2).fit(points, target * 10)
    np.testing.assert_array_equal(as_model(tree, output="label")(points), tree.predict(points))
    onehot = as_model(tree, output="onehot")
    np.testing.assert_array_equal(onehot(points).argmax(axis=1) * 10, tree.predict(points))
    logit = as_model(tree, output="logit")(points)
    clipped = np.clip(tree.predict_proba(points), np.finfo(float).eps, None)
    np.testing.assert_array_equal(logit, np.log(clipped))


def test_margins_where_there_are_no_probabilities(points, target) -> None:
    machine = LinearSVC().fit(points, target == 2)
    model = as_model(machine)
    assert (model.kind, model.classes) == ("logit", (False, True))
    margin = machine.decision_function(points)
    np.testing.assert_array_equal(model(points), margin)
    np.testing.assert_array_equal(as_model(machine, output=True)(points), margin)
    np.testing.assert_array_equal(as_model(machine, output=False)(points), -margin)
    labels = as_model(machine, output="label")
    np.testing.assert_array_equal(labels(points), machine.predict(points))
    with pytest.raises(SettingsError, match="offers logit, label, onehot"):
        as_model(machine, output="probability")


def test_labels_only_become_one_hot_rows(points, names) -> None:
    tree = DecisionTreeClassifier(max_depth=2)
    vote = VotingClassifier([("tree", tree)], voting="hard").fit(points, names)
    model = as_model(vote)
    assert model.kind == "onehot"
    position = np.searchsorted(vote.classes_, vote.predict(points))
    np.testing.assert_array_equal(model(points), np.eye(3)[position])
    np.testing.assert_array_equal(as_model(vote, output="virginica")(points), position == 2)


def test_regressors_give_values_only(points, target) -> None:
    line = LinearRegression().fit(points, np.column_stack([target, -target]).astype(float))
    model = as_model(line)
    assert (model.kind, model.classes) == ("value", None)
    np.testing.assert_array_equal(model(points), line.predict(points))
    np.testing.assert_array_equal(as_model(line, output=1)(points), line.predict(points)[:, 1])
    for output in ("probability", "label", "onehot", "logit"):
        with pytest.raises(SettingsError, match=r"offers value\."):
            as_model(line, output=output)


def test_outliers_and_clusters(points) -> None:
    forest = IsolationForest(n_estimators=5, random_state=0).fit(points)
    np.testing.assert_array_equal(as_model(forest)(points), forest.decision_function(points))
    labels = as_model(forest, output="label")
    np.testing.assert_array_equal(labels(points), forest.predict(points))
    means = KMeans(3, n_init=1, random_state=0).fit(points)
    with pytest.raises(SettingsError, match="classes="):
        as_model(means)
    onehot = as_model(means, classes=range(3))
    np.testing.assert_array_equal(onehot(points), np.eye(3)[means.predict(points)])


def test_pipelines_on_tables(table, bought) -> None:
    columns = make_column_transformer(
        (StandardScaler(), ["length", "count"]),
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]),
    )
    pipeline = make_pipeline(columns, LogisticRegression()).fit(table, bought)
    model = as_model(pipeline)
    expected = pipeline.predict_proba(table)
    np.testing.assert_array_equal(model(table), expected)
    np.testing.assert_array_equal(model(pl.DataFrame(table)), expected)
    np.testing.assert_array_equal(model(table.to_numpy()), expected)
    on_polars = as_model(
        make_pipeline(columns, LogisticRegression()).fit(pl.DataFrame(table), bought)
    )
    np.testing.assert_allclose(on_polars(pl.DataFrame(table)), expected, rtol=1e-12)


def test_names_are_given_back_to_bare_arrays(points, target) -> None:
    frame = pd.DataFrame(points, columns=list("abcd"))
    fitted = LogisticRegression(max_iter=500).fit(frame, target)
    np.testing.assert_array_equal(as_model(fitted)(points), fitted.predict_proba(frame))


def test_tensors_are_brought_to_the_host(points, logistic) -> None:
    tensor = torch.as_tensor(points)
    model = as_model(logistic)
    assert isinstance(model.place(tensor), np.ndarray)
    np.testing.assert_array_equal(model(tensor), logistic.predict_proba(points))


def test_several_targets(points, target) -> None:
    both = np.column_stack([target == 0, target == 1]).astype(int)
    forest = RandomForestClassifier(5, random_state=0).fit(points, both)
    with pytest.raises(SettingsError, match="output="):
        as_model(forest)(points)
    with pytest.raises(SettingsError, match="2 labels per row"):
        as_model(forest, output="label")(points)
    joined = as_model(forest, output=np.hstack)
    np.testing.assert_array_equal(joined(points), np.hstack(forest.predict_proba(points)))


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [1.0]}),
    ],
)
def test_unfitted_estimators(estimator: BaseEstimator) -> None:
    with pytest.raises(NotAModel, match="fit it first"):
        as_model(estimator)


def test_transformers_are_no_models(points) -> None:
    with pytest.raises(NotAModel, match="no model"):
        as_model(PCA().fit(points))


class Custom(ClassifierMixin, BaseEstimator):
    """Keeps nothing that scikit-learn would take for a sign of fitting."""

    def predict(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(points)[:, 0] > 1


def test_estimators_of_others(points) -> None:
    model = as_model(Custom(), output="label")
    np.testing.assert_array_equal(model(points), points[:, 0] > 1)


class Regressor(BaseEstimator):
    """Has an empty list of classes, as CatBoost's regressors have."""

    classes_ = np.array([])

    def fit(self, points: np.ndarray, labels: np.ndarray) -> "Regressor":
        self.fitted_ = True
        return self

    def predict(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(points).sum(axis=1)


def test_an_empty_list_of_classes_makes_no_classifier(points) -> None:
    model = as_model(make_pipeline(StandardScaler(), Regressor()).fit(points, points[:, 0]))
    assert (model.kind, model.classes) == ("value", None)


class Duck:
    def predict(self, points: np.ndarray) -> np.ndarray:
        return points.sum(axis=1)


def test_anything_with_predict(points) -> None:
    model = as_model(Duck())
    assert (model.name, model.kind) == ("Duck", "value")
    np.testing.assert_array_equal(model(points), points.sum(axis=1))
