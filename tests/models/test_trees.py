"""Boosters of three libraries, in scikit-learn's clothes and in their own."""

import pickle

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from scipy.special import softmax

from anharmonic.errors import NotAModel, SettingsError
from anharmonic.models import as_model

CAT = {"iterations": 8, "depth": 3, "verbose": False, "allow_writing_files": False}
LIGHT = {"n_estimators": 8, "verbose": -1, "n_jobs": 1}
XGB = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1, "enable_categorical": True}

MARGINS = {
    "XGBClassifier": {"output_margin": True},
    "LGBMClassifier": {"raw_score": True},
    "CatBoostClassifier": {"prediction_type": "RawFormulaVal"},
}


def classifier(library: str) -> object:
    return {
        "xgboost": lambda: xgboost.XGBClassifier(**XGB),
        "lightgbm": lambda: lightgbm.LGBMClassifier(**LIGHT),
        "catboost": lambda: catboost.CatBoostClassifier(**CAT),
    }[library]()


def check(source: object, points: object, expected: dict[object, tuple[str, np.ndarray]]) -> None:
    for output, (kind, outputs) in expected.items():
        model = as_model(source, output=output)
        assert model.kind == kind
        np.testing.assert_array_equal(model(points), outputs)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(points), outputs)


def largest(outputs: np.ndarray) -> np.ndarray:
    return outputs.max(axis=1)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
@pytest.mark.parametrize("count", [2, 3])
def test_classifiers(library: str, count: int, points, target) -> None:
    wanted = np.minimum(target, count - 1)
    fitted = classifier(library).fit(points, wanted)
    margin = fitted.predict(points, **MARGINS[type(fitted).__name__])
    chances, labels = fitted.predict_proba(points), fitted.predict(points).reshape(-1)
    assert margin.shape == ((150,) if count == 2 else (150, 3))
    check(
        fitted,
        points,
        {
            None: ("probability", chances),
            "probability": ("probability", chances),
            "logit": ("logit", margin),
            "label": ("label", labels),
            "onehot": ("onehot", np.eye(count)[labels.astype(int)]),
            1: ("probability", chances[:, 1]),
            largest: ("value", chances.max(axis=1)),
        },
    )
    assert as_model(fitted).classes == tuple(range(count))


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
def test_classes_of_text(library: str, points, names) -> None:
    fitted = classifier(library).fit(points, names)
    position = np.searchsorted(fitted.classes_, fitted.predict(points).reshape(-1))
    expected = {
        "label": ("label", position),
        "onehot": ("onehot", np.eye(3)[position]),
        "virginica": ("probability", fitted.predict_proba(points)[:, 2]),
    }
    check(fitted, points, expected)


@pytest.mark.parametrize(
    "regressor",
    [
        xgboost.XGBRegressor(**XGB),
        lightgbm.LGBMRegressor(**LIGHT),
        catboost.CatBoostRegressor(**CAT),
    ],
)
def test_regressors(regressor, points, target) -> None:
    fitted = regressor.fit(points, target.astype(float))
    check(fitted, points, {None: ("value", fitted.predict(points))})
    for output in ("probability", "label", "onehot", "logit"):
        with pytest.raises(SettingsError, match=r"offers value\."):
            as_model(fitted, output=output)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_tables_keep_their_names(library: str, points, target) -> None:
    frame = pd.DataFrame(points, columns=list("abcd"))
    model = as_model(classifier(library).fit(frame, target))
    expected = model(frame)
    np.testing.assert_array_equal(model(pl.DataFrame(frame)), expected)
    np.testing.assert_array_equal(model(points), expected)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_categorical_columns(library: str, table, bought) -> None:
    wanted = (bought == "yes").astype(int)
    if library == "catboost":
        fitted = classifier(library).fit(table, wanted, cat_features=["colour"])
        assert as_model(fitted)(table).shape == (120, 2)
        return
    typed = table.astype({"colour": "category"})
    fitted = classifier(library).fit(typed, wanted)
    np.testing.assert_array_equal(as_model(fitted)(typed), fitted.predict_proba(typed))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_unfitted(library: str) -> None:
    with pytest.raises(NotAModel, match="fit it first"):
        as_model(classifier(library))


def test_things_of_theirs_that_are_no_models(points) -> None:
    for thing in (xgboost.DMatrix(points), lightgbm.Dataset(points), catboost.Pool(points)):
        with pytest.raises(NotAModel, match="is no model"):
            as_model(thing)


def xgb_booster(points: object, target: np.ndarray, objective: str) -> xgboost.Booster:
    settings = {"objective": objective, "max_depth": 3, "nthread": 1}
    if objective.startswith("multi:"):
        settings["num_class"] = 3
    matrix = xgboost.DMatrix(points, target, enable_categorical=True)
    return xgboost.train(settings, matrix, 5)


def test_native_xgboost_with_two_classes(points, target) -> None:
    booster = xgb_booster(points, target > 0, "binary:logistic")
    matrix = xgboost.DMatrix(points)
    chance, margin = booster.predict(matrix), booster.predict(matrix, output_margin=True)
    expected = {
        None: ("probability", np.column_stack([1 - chance, chance])),
        "logit": ("logit", margin),
        "label": ("label", (chance > 0.5).astype(float)),
        "onehot": ("onehot", np.eye(2)[(chance > 0.5).astype(int)]),
        1: ("probability", chance),
    }
    check(booster, points, expected)


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_native_xgboost_with_three_classes(objective: str, points, target) -> None:
    booster = xgb_booster(points, target, objective)
    margin = booster.predict(xgboost.DMatrix(points), output_margin=True)
    np.testing.assert_allclose(as_model(booster)(points), softmax(margin, axis=1), rtol=1e-5)
    check(booster, points, {"label": ("label", margin.argmax(axis=1))})
    assert as_model(booster).classes == (0, 1, 2)


def test_native_xgboost_otherwise(points, target) -> None:
    booster = xgb_booster(points, target, "reg:squarederror")
    check(booster, points, {None: ("value", booster.predict(xgboost.DMatrix(points)))})
    hinge = xgb_booster(points, target > 0, "binary:hinge")
    labels = hinge.predict(xgboost.DMatrix(points))
    check(hinge, points, {"label": ("label", labels)})
    with pytest.raises(SettingsError, match="offers logit, label, onehot"):
        as_model(hinge, output="probability")


def test_native_xgboost_keeps_names(table, bought) -> None:
    typed = table.astype({"colour": "category"})
    booster = xgb_booster(typed, bought == "yes", "binary:logistic")
    direct = booster.predict(xgboost.DMatrix(typed, enable_categorical=True))
    np.testing.assert_array_equal(as_model(booster, output=1)(typed), direct)
    numeric = xgb_booster(table[["length", "count"]], bought == "yes", "binary:logistic")
    bare = table[["length", "count"]].to_numpy()
    model = as_model(numeric)
    np.testing.assert_array_equal(model(bare), model(table[["length", "count"]]))


def test_native_lightgbm(points, target) -> None:
    settings = {"objective": "binary", "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(points, target > 0), 5)
    chance = booster.predict(points)
    expected = {
        None: ("probability", np.column_stack([1 - chance, chance])),
        "logit": ("logit", booster.predict(points, raw_score=True)),
        "label": ("label", (chance > 0.5).astype(float)),
    }
    check(booster, points, expected)
    several = {**settings, "objective": "multiclass", "num_class": 3}
    booster = lightgbm.train(several, lightgbm.Dataset(points, target), 5)
    chances = booster.predict(points)
    expected = {None: ("probability", chances), "label": ("label", chances.argmax(axis=1))}
    check(booster, points, expected)
    line = lightgbm.train({**settings, "objective": "l2"}, lightgbm.Dataset(points, target), 5)
    check(line, points, {None: ("value", line.predict(points))})


def test_catboost_without_a_role(points, names) -> None:
    booster = catboost.CatBoost({**CAT, "loss_function": "MultiClass"}).fit(points, names)
    chances = booster.predict(points, prediction_type="Probability")
    expected = {
        None: ("probability", chances),
        "logit": ("logit", booster.predict(points, prediction_type="RawFormulaVal")),
        "label": ("label", chances.argmax(axis=1)),
    }
    check(booster, points, expected)
    truth = catboost.CatBoostClassifier(**CAT).fit(points, names == "virginica")
    model = as_model(truth, output="label")
    np.testing.assert_array_equal(model(points), truth.predict_proba(points)[:, 1] > 0.5)
