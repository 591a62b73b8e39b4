"""ONNX graphs against onnxruntime itself and against the models they came from."""

import pickle

import numpy as np
import onnx
import onnxruntime
import polars as pl
import pytest
from onnx import TensorProto, helper
from scipy.special import softmax
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from anharmonic.errors import NotAModel, PointsError, SettingsError
from anharmonic.models import as_model

WEIGHTS = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)


def graph_bytes(nodes, inputs, outputs, constants=()) -> bytes:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    opset = [helper.make_opsetid("", 15)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def linear(batch: object = "rows", datatype: int = TensorProto.FLOAT) -> bytes:
    return graph_bytes(
        [helper.make_node("MatMul", ["points", "weights"], ["scores"])],
        [helper.make_tensor_value_info("points", datatype, [batch, 4])],
        [helper.make_tensor_value_info("scores", datatype, [batch, 3])],
        [helper.make_tensor("weights", datatype, [4, 3], WEIGHTS.ravel().tolist())],
    )


def labels_only() -> bytes:
    scores = onnx.load_from_string(linear())
    nodes = [
        *scores.graph.node,
        helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
    ]
    output = helper.make_tensor_value_info("label", TensorProto.INT64, ["rows"])
    return graph_bytes(nodes, list(scores.graph.input), [output], scores.graph.initializer)


def run(source: bytes, points: np.ndarray, output: int = 0) -> np.ndarray:
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: points})[output]


def first_two(outputs: np.ndarray) -> np.ndarray:
    return outputs[:, :2]


def test_every_output_of_a_graph_of_scores(points) -> None:
    raw = run(linear(), points.astype(np.float32))
    expected = {
        None: ("value", raw),
        "logit": ("logit", raw),
        "probability": ("probability", softmax(raw, axis=1)),
        "label": ("label", raw.argmax(axis=1)),
        "onehot": ("onehot", np.eye(3)[raw.argmax(axis=1)]),
        2: ("value", raw[:, 2]),
        first_two: ("value", raw[:, :2]),
    }
    for output, (kind, outputs) in expected.items():
        model = as_model(linear(), output=output)
        assert model.kind == kind
        np.testing.assert_allclose(model(points), outputs, rtol=1e-6)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(points), model(points))


def test_file_bytes_and_session_are_the_same_model(points, tmp_path) -> None:
    path = tmp_path / "linear.onnx"
    path.write_bytes(linear())
    raw = run(linear(), points.astype(np.float32))
    sessions = [onnxruntime.InferenceSession(source) for source in (linear(), str(path))]
    for source in (path, str(path), linear(), *sessions):
        model = as_model(source)
        np.testing.assert_array_equal(model(points), raw)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(points), raw)
    assert as_model(path).name == "linear"


@pytest.mark.parametrize("batch", [1, 7, 150, 200])
def test_a_fixed_batch_is_filled(batch: int, points) -> None:
    np.testing.assert_allclose(as_model(linear(batch))(points), points @ WEIGHTS, rtol=1e-4)


def test_points_are_cast(points) -> None:
    assert as_model(linear(datatype=TensorProto.DOUBLE))(points).dtype == np.float64
    assert as_model(linear(datatype=TensorProto.FLOAT16))(points).dtype == np.float16
    with pytest.raises(PointsError, match="pass numbers"):
        as_model(linear())(np.array([["a", "b", "c", "d"]]))


def test_images() -> None:
    shape = ["rows", 3, 8, 8]
    pool = graph_bytes(
        [
            helper.make_node("GlobalAveragePool", ["image"], ["mean"]),
            helper.make_node("Flatten", ["mean"], ["scores"]),
        ],
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["rows", 3])],
    )
    images = np.random.default_rng(2).random((5, 3, 8, 8))
    np.testing.assert_allclose(as_model(pool)(images), images.mean(axis=(2, 3)), rtol=1e-5)


def test_labels_only(points) -> None:
    labels = run(labels_only(), points.astype(np.float32))
    np.testing.assert_array_equal(as_model(labels_only(), output="label")(points), labels)
    model = as_model(labels_only(), classes=range(3))
    assert model.kind == "onehot"
    np.testing.assert_array_equal(model(points), np.eye(3)[labels])
    with pytest.raises(SettingsError, match="classes="):
        as_model(labels_only())
    with pytest.raises(SettingsError, match="offers label, onehot"):
        as_model(labels_only(), output="probability")


@pytest.mark.parametrize("zipmap", [True, False])
def test_a_classifier_from_scikit_learn(zipmap: bool, points, names) -> None:
    fitted = LogisticRegression(max_iter=500).fit(points, names)
    options = None if zipmap else {"zipmap": False}
    graph = to_onnx(fitted, points[:1].astype(np.float32), options=options).SerializeToString()
    model = as_model(graph)
    assert model.kind == "probability"
    chances = fitted.predict_proba(points)
    np.testing.assert_allclose(model(points), chances, atol=1e-5)
    np.testing.assert_array_equal(as_model(graph, output="probability")(points), model(points))
    classes = None if zipmap else fitted.classes_
    assert model.classes == (tuple(fitted.classes_) if zipmap else None)
    position = np.searchsorted(fitted.classes_, fitted.predict(points))
    labels = as_model(graph, output="label", classes=classes)
    np.testing.assert_array_equal(labels(points), position)
    onehot = as_model(graph, output="onehot", classes=classes)
    np.testing.assert_array_equal(onehot(points), np.eye(3)[position])
    column = as_model(graph, output="virginica", classes=classes)
    np.testing.assert_array_equal(column(points), model(points)[:, 2])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(points), model(points))


def test_margins_are_not_taken_for_probabilities(points, target) -> None:
    machine = LinearSVC().fit(points, target)
    graph = to_onnx(machine, points[:1].astype(np.float32)).SerializeToString()
    model = as_model(graph)
    assert model.kind == "value"
    np.testing.assert_allclose(model(points), machine.decision_function(points), atol=1e-4)
    labels = as_model(graph, output="label")
    np.testing.assert_array_equal(labels(points), machine.predict(points))


def test_a_regressor_from_scikit_learn(points, target) -> None:
    fitted = Ridge().fit(points, target)
    model = as_model(to_onnx(fitted, points[:1].astype(np.float32)).SerializeToString())
    assert model.kind == "value"
    np.testing.assert_allclose(model(points)[:, 0], fitted.predict(points), atol=1e-5)


def test_a_table_feeds_one_input_a_column(table, bought) -> None:
    small = table.astype({"length": np.float32, "count": np.float32})
    columns = make_column_transformer(
        (StandardScaler(), ["length", "count"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["colour"]),
    )
    fitted = make_pipeline(columns, LogisticRegression()).fit(small, bought)
    example = small[:1].astype({"colour": object})
    graph = to_onnx(fitted, example, options={"zipmap": False}).SerializeToString()
    model = as_model(graph)
    assert model.kind == "probability"
    np.testing.assert_allclose(model(table), fitted.predict_proba(small), atol=1e-5)
    np.testing.assert_array_equal(model(pl.DataFrame(table)), model(table))
    with pytest.raises(PointsError, match="reads colour, and the points have no such column"):
        model(table.drop(columns="colour"))
    with pytest.raises(PointsError, match="pass points as a DataFrame"):
        model(np.zeros((2, 3)))


def test_a_table_into_one_input(points) -> None:
    frame = pl.DataFrame(points, schema=list("abcd"))
    np.testing.assert_array_equal(as_model(linear())(frame), as_model(linear())(points))


def test_garbage(tmp_path) -> None:
    path = tmp_path / "garbage.onnx"
    path.write_bytes(b"this is no graph")
    with pytest.raises(NotAModel, match=r"garbage\.onnx cannot be read.*again"):
        as_model(path)
    with pytest.raises(NotAModel, match="cannot be read"):
        as_model(b"this is no graph")
