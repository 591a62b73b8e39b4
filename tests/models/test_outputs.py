"""Conversions of outputs, in numpy and in torch."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import expit
from scipy.special import softmax as scipy_softmax

from anharmonic.errors import OutputError, SettingsError
from anharmonic.models.labels import to_labels, to_onehot
from anharmonic.models.outputs import log, numbers, of_class, of_column, softmax, two_columns

SCORES = np.array([[2.0, -1.0, 0.5], [800.0, -800.0, 0.0], [0.0, 0.1, 0.2]])


def test_softmax_of_columns() -> None:
    np.testing.assert_allclose(softmax(SCORES), scipy_softmax(SCORES, axis=1), rtol=1e-14)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_softmax_of_one_column_is_the_sigmoid_and_its_rest(shape: tuple[int, ...]) -> None:
    odds = np.array([-800.0, -1.0, 0.0, 3.0, 800.0])
    expected = np.column_stack([expit(-odds), expit(odds)])
    np.testing.assert_allclose(softmax(odds.reshape(shape)), expected, rtol=1e-14, atol=1e-300)


def test_tensors_stay_tensors_in_their_precision() -> None:
    scores = torch.tensor(SCORES, dtype=torch.float32)
    for converted in (softmax(scores), log(softmax(scores)), two_columns(scores[:, 0])):
        assert isinstance(converted, torch.Tensor)
        assert converted.dtype == torch.float32
    np.testing.assert_allclose(softmax(scores), scipy_softmax(SCORES, axis=1), atol=1e-6)
    assert softmax(torch.tensor([[1, 2]])).dtype == torch.float64


def test_log_is_clipped_and_gives_both_classes() -> None:
    eps = np.finfo(float).eps
    np.testing.assert_array_equal(log(np.array([[1.0, 0.0]])), [[0.0, np.log(eps)]])
    np.testing.assert_array_equal(log(np.array([0.25])), np.log([[0.75, 0.25]]))


@pytest.mark.parametrize("make", [np.asarray, torch.asarray])
def test_labels_from_scores(make) -> None:
    scores = make(SCORES)
    assert to_labels(scores, None, 0.0, False).tolist() == [0, 0, 2]
    assert to_labels(scores, (4, 5, 6), 0.0, False).tolist() == [4, 4, 6]
    assert to_labels(scores, ("a", "b", "c"), 0.0, False).tolist() == [0, 0, 2]
    assert to_onehot(scores, None, 0.0, False).tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    one = make(np.array([0.2, 0.7]))
    assert to_labels(one, None, 0.0, False).tolist() == [1, 1]
    assert to_labels(one, None, 0.5, False).tolist() == [0, 1]
    assert to_onehot(one, None, 0.5, False).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("make", [np.asarray, torch.asarray])
def test_labels_from_labels(make) -> None:
    labels = make(np.array([7, 3, 7]))
    assert to_labels(labels, None, 0.0, False).tolist() == [7, 3, 7]
    assert to_onehot(labels, (3, 7), 0.0, False).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert to_onehot(labels[:, None], (3, 7), 0.0, False).shape == (3, 2)
    with pytest.raises(SettingsError, match="classes="):
        to_onehot(labels, None, 0.0, False)
    with pytest.raises(OutputError, match="7, which is not among"):
        to_onehot(labels, (3, 4), 0.0, False)


def test_labels_of_text_and_of_floats() -> None:
    text = np.array(["b", "a", "c"], dtype=object)
    assert to_labels(text, ("a", "b", "c"), 0.0, True).tolist() == [1, 0, 2]
    assert to_onehot(np.array([1.5, 2.5]), (1.5, 2.5), 0.0, True).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(SettingsError, match="classes="):
        to_labels(text, None, 0.0, True)
    with pytest.raises(SettingsError, match="2 labels per row"):
        to_labels(np.zeros((5, 2), dtype=int), None, 0.0, True)


def test_columns_and_classes() -> None:
    assert of_column(SCORES, 2).tolist() == SCORES[:, 2].tolist()
    assert of_class(SCORES, 1, "logit").tolist() == SCORES[:, 1].tolist()
    odds, chance = np.array([2.0, -1.0]), np.array([0.25, 0.5])
    assert of_class(odds, 1, "logit").tolist() == [2.0, -1.0]
    assert of_class(odds, 0, "logit").tolist() == [-2.0, 1.0]
    assert of_class(chance, 0, "probability").tolist() == [0.75, 0.5]
    with pytest.raises(SettingsError, match="have 3"):
        of_column(SCORES, 3)


def test_numbers_from_any_container() -> None:
    assert numbers([1, 2]).tolist() == [1, 2]
    frame = pd.DataFrame({"a": [1.5], "b": [True]}).astype(object)
    assert numbers(frame).dtype == np.float64
    with pytest.raises(OutputError, match="output='label'"):
        numbers(np.array(["yes"]))
    with pytest.raises(SettingsError, match="2 arrays at once"):
        numbers([np.zeros((3, 2)), np.zeros((3, 2))])
    with pytest.raises(OutputError, match=r"\(2, 2, 2\)"):
        softmax(np.zeros((2, 2, 2)))
