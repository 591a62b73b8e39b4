"""Plain functions, and models that have been adapted already."""

import pickle
from functools import partial

import numpy as np
import pytest
import torch
from scipy.special import softmax

from anharmonic.errors import NotAModel, SettingsError
from anharmonic.models import Predictor, as_model

WEIGHTS = np.array([[1.0, -1.0, 0.5], [0.0, 2.0, -0.5]])
POINTS = np.random.default_rng(0).normal(size=(20, 2))


def linear(points: np.ndarray) -> np.ndarray:
    return points @ WEIGHTS


def sign(points: np.ndarray) -> np.ndarray:
    return (points[:, 0] > 0).astype(int)


def total(outputs: np.ndarray) -> np.ndarray:
    return outputs.sum(axis=1)


def test_raw_outputs_by_default() -> None:
    model = as_model(linear)
    assert (model.name, model.kind, model.classes, model.batch_size) == (
        "linear",
        "value",
        None,
        None,
    )
    np.testing.assert_array_equal(model(POINTS), linear(POINTS))
    assert model.place(POINTS) is POINTS


@pytest.mark.parametrize(
    ("output", "kind", "expected"),
    [
        ("logit", "logit", linear(POINTS)),
        ("probability", "probability", softmax(linear(POINTS), axis=1)),
        ("label", "label", linear(POINTS).argmax(axis=1)),
        ("onehot", "onehot", np.eye(3)[linear(POINTS).argmax(axis=1)]),
        (1, "value", linear(POINTS)[:, 1]),
        (np.int64(2), "value", linear(POINTS)[:, 2]),
        (total, "value", linear(POINTS).sum(axis=1)),
    ],
)
def test_every_output(output: object, kind: str, expected: np.ndarray) -> None:
    model = as_model(linear, output=output)
    assert model.kind == kind
    np.testing.assert_allclose(model(POINTS), expected, rtol=1e-15)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(POINTS), model(POINTS))


def test_a_class_is_a_column() -> None:
    model = as_model(linear, output="b", classes=["a", "b", "c"])
    np.testing.assert_array_equal(model(POINTS), linear(POINTS)[:, 1])
    assert model.classes is None
    assert as_model(linear, output="label", classes=["a", "b", "c"]).classes == ("a", "b", "c")
    truth = as_model(sign, output=True, classes=[False, True])
    np.testing.assert_array_equal(truth(POINTS), sign(POINTS))


def test_labels_of_a_function_that_answers_labels() -> None:
    np.testing.assert_array_equal(as_model(sign, output="label")(POINTS), sign(POINTS))
    onehot = as_model(sign, output="onehot", classes=(0, 1))
    np.testing.assert_array_equal(onehot(POINTS), np.eye(2)[sign(POINTS)])


def test_tensors_stay_tensors() -> None:
    points = torch.as_tensor(POINTS, dtype=torch.float32)
    model = as_model(torch.tanh, output="probability")
    assert isinstance(model(points), torch.Tensor)
    torch.testing.assert_close(model(points), torch.softmax(torch.tanh(points), dim=1))


@pytest.mark.parametrize(
    ("output", "message"),
    [(-1, "count columns from 0"), ("purple", "none of its classes"), (2.5, "none of its classes")],
)
def test_outputs_that_mean_nothing(output: object, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        as_model(linear, output=output, classes="abc")
    with pytest.raises(SettingsError, match="outputs have 3"):
        as_model(linear, output=3)(POINTS)


def test_names() -> None:
    assert as_model(partial(linear)).name == "linear"
    assert as_model(POINTS.__add__).name == "__add__"


def test_an_adapted_model_comes_back_and_can_be_converted() -> None:
    model = as_model(linear)
    assert as_model(model) is model
    np.testing.assert_array_equal(as_model(model, output=0)(POINTS), linear(POINTS)[:, 0])
    chances = as_model(model, output="probability")
    np.testing.assert_array_equal(as_model(chances, output="probability")(POINTS), chances(POINTS))
    np.testing.assert_allclose(as_model(chances, output="logit")(POINTS), np.log(chances(POINTS)))
    labels = as_model(chances, output="label")
    np.testing.assert_array_equal(labels(POINTS), linear(POINTS).argmax(axis=1))
    onehot = as_model(as_model(model, output="onehot"), output="label")
    np.testing.assert_array_equal(onehot(POINTS), labels(POINTS))
    named = as_model(labels, classes=(0, 1, 2))
    assert (named.kind, named.classes) == ("label", (0, 1, 2))
    with pytest.raises(SettingsError, match="contradicts"):
        as_model(named, classes=(1, 2, 3))
    with pytest.raises(SettingsError, match="offers label, onehot"):
        as_model(labels, output="probability")


def test_any_object_shaped_like_a_model_is_one() -> None:
    model = Shaped()
    assert as_model(model) is model
    converted = as_model(model, output="label")
    assert isinstance(converted, Predictor)
    assert converted(np.array([0.2, 0.8])).tolist() == [0, 1]
    assert converted.batch_size == 7


class Shaped:
    name = "shaped"
    kind = "probability"
    classes = (0, 1)
    batch_size = 7

    def place(self, points: np.ndarray) -> np.ndarray:
        return points

    def __call__(self, points: np.ndarray) -> np.ndarray:
        return points


@pytest.mark.parametrize("thing", [None, 3.5, [1, 2], np.zeros(3), {"a": 1}, torch.zeros(2)])
def test_things_that_are_no_models(thing: object) -> None:
    with pytest.raises(NotAModel, match="is no model"):
        as_model(thing)


def test_a_class_is_no_model() -> None:
    with pytest.raises(NotAModel, match="pass a fitted instance"):
        as_model(Shaped)
