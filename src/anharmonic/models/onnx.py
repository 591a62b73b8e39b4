"""ONNX graphs: a file, its bytes or an open session."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy
from anharmonic._core.extras import needs
from anharmonic._core.frames import as_table
from anharmonic._core.protocols import Array, Kind
from anharmonic.errors import NotAModel, PointsError
from anharmonic.models.inputs import Inputs
from anharmonic.models.outputs import log
from anharmonic.models.outputs_offered import ModelOutputs, OutputFunction, raw_outputs
from anharmonic.models.predictor import Chain

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, NodeArg

__all__ = ["Graph", "onnx_outputs"]

TYPES: Final[dict[str, type]] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(uint8)": np.uint8,
    "tensor(string)": np.str_,
}
FLOATS: Final = ("tensor(float)", "tensor(double)", "tensor(float16)")

Values = NDArray[Any]
"""Numbers or text, in whatever type a graph takes or gives."""


def onnx_outputs(source: Graph | InferenceSession | bytes) -> ModelOutputs:
    """A graph's float output; the label and probabilities of a classifier's where it has both."""
    graph = source if isinstance(source, Graph) else Graph(source)
    scores, labels = graph.outputs
    inputs, place = graph.inputs, partial(_in_precision_of, graph=graph)
    if scores is None:
        functions: dict[Kind, OutputFunction] = {"label": GraphCall(graph, labels or 0)}
        return ModelOutputs(graph.name, functions, place=place, inputs=inputs)
    call = GraphCall(graph, scores)
    if labels is None:
        return ModelOutputs(graph.name, raw_outputs(call), place=place, inputs=inputs)
    classes, sums_to_one = _try_one_row(graph, scores)
    functions = raw_outputs(call)
    if sums_to_one:
        functions = {"probability": call, "logit": Chain((call, log))}
    functions["label"] = GraphCall(graph, labels)
    return ModelOutputs(graph.name, functions, classes, place, inputs=inputs)


def _in_precision_of(points: Array, graph: Graph) -> Array:
    """Points in the precision of the graph's one input, so that none are converted in calls."""
    inputs = graph.session.get_inputs()
    single = len(inputs) == 1 and inputs[0].type in ("tensor(float)", "tensor(double)")
    array = to_numpy(points)
    return array.astype(TYPES[inputs[0].type], copy=False) if single else array


@dataclass(frozen=True, eq=False)
class Graph:
    """An ONNX graph; the session, which no pickle can hold, is opened again where it is needed."""

    source: Path | bytes | InferenceSession

    @cached_property
    def session(self) -> InferenceSession:
        onnxruntime = needs("onnxruntime", "onnx")
        if isinstance(self.source, onnxruntime.InferenceSession):
            return self.source
        wanted = ("CUDAExecutionProvider", "CPUExecutionProvider")
        usable = [name for name in wanted if name in onnxruntime.get_available_providers()]
        source = str(self.source) if isinstance(self.source, Path) else self.source
        try:
            return onnxruntime.InferenceSession(source, providers=usable)
        except Exception as error:  # onnxruntime raises a dozen unrelated classes
            raise NotAModel(
                f"{self.name} cannot be read as an ONNX graph ({str(error).splitlines()[0]}): "
                "export the model to ONNX again."
            ) from error

    @property
    def name(self) -> str:
        return self.source.name if isinstance(self.source, Path) else "onnx"

    @cached_property
    def outputs(self) -> tuple[int | None, int | None]:
        """Which output holds scores and which labels."""
        kinds = [output.type for output in self.session.get_outputs()]
        maps = [index for index, kind in enumerate(kinds) if kind.startswith("seq(map")]
        scores = [*maps, *(index for index, kind in enumerate(kinds) if kind in FLOATS)]
        labels = [index for index in range(len(kinds)) if index not in scores]
        return next(iter(scores), None), next(iter(labels), None)

    @property
    def inputs(self) -> Inputs | None:
        """One column for each of several inputs, or as many as the only one is wide."""
        inputs = self.session.get_inputs()
        shape = inputs[0].shape if len(inputs) == 1 else []
        if len(inputs) > 1 or shape[1:] == [1]:
            return Inputs(tuple(node.name for node in inputs))
        wide = len(shape) == 2 and isinstance(shape[1], int)
        return Inputs(width=shape[1]) if wide else None

    def __getstate__(self) -> dict[str, Path | bytes]:
        source = self.source
        if not isinstance(source, Path | bytes):
            # The session has no public way back to the graph it was made from.
            source = source._model_bytes or Path(source._model_path)
        return {"source": source}


@dataclass(frozen=True, eq=False)
class GraphCall:
    """One output of a graph: (rows, columns), or (rows,) as the graph has it."""

    graph: Graph
    output: int

    def __call__(self, points: Array) -> Array:
        session = self.graph.session
        feed = _feed(session.get_inputs(), to_numpy(points))
        rows = len(next(iter(feed.values())))
        leading = session.get_inputs()[0].shape[:1]
        size = leading[0] if leading and isinstance(leading[0], int) else rows
        wanted = [session.get_outputs()[self.output].name]
        parts = []
        for start in range(0, rows, max(size, 1)):
            # A graph exported for a fixed batch gets the last row again to fill it.
            take = np.minimum(np.arange(start, start + size), rows - 1)
            batch = feed if size == rows else {name: data[take] for name, data in feed.items()}
            parts.append(_matrix(session.run(wanted, batch)[0]))
        return np.concatenate(parts)[:rows]


def _feed(inputs: list[NodeArg], points: Array) -> dict[str, Values]:
    """Points as the graph's inputs: one array, or by name one (rows, 1) per column."""
    if len(inputs) == 1 and (isinstance(points, np.ndarray) or inputs[0].shape[-1:] != [1]):
        return {inputs[0].name: _cast(np.asarray(points), inputs[0])}
    frame = as_table(points)
    if frame is None:
        raise PointsError(
            f"The ONNX graph takes {len(inputs)} inputs ({', '.join(i.name for i in inputs)}): "
            "pass points as a DataFrame with a column for each."
        )
    missing = [wanted.name for wanted in inputs if wanted.name not in frame.columns]
    if missing:
        raise PointsError(
            f"The ONNX graph takes a column {missing[0]!r} that the points do not have: "
            f"rename the columns to {', '.join(i.name for i in inputs)}."
        )
    return {i.name: _cast(frame[i.name].to_numpy().reshape(-1, 1), i) for i in inputs}


def _cast(values: Values, wanted: NodeArg) -> Values:
    try:
        cast: Values = values.astype(TYPES.get(wanted.type, np.float32), copy=False)
    except ValueError as error:
        raise PointsError(
            f"The ONNX graph's input {wanted.name!r} is {wanted.type} and the points do not "
            f"convert to that ({error}): pass numbers."
        ) from error
    return np.ascontiguousarray(cast)


def _matrix(answer: Values | list[dict[object, float]]) -> Values:
    """A list of dictionaries, as ZipMap makes them, as (rows, classes)."""
    if isinstance(answer, list):
        return np.asarray([list(row.values()) for row in answer])
    return np.asarray(answer)


def _try_one_row(graph: Graph, output: int) -> tuple[tuple[object, ...] | None, bool]:
    """The classes a graph names, and whether its scores are probabilities, from one row.

    Nothing written in the graph tells: exporters call margins "probabilities" as well.
    """
    from onnxruntime import RunOptions

    wanted = graph.session.get_outputs()[output]
    quiet = RunOptions()
    quiet.log_severity_level = 4
    feed: dict[str, Values] = {
        node.name: np.zeros(
            [size if isinstance(size, int) else 1 for size in node.shape],
            TYPES.get(node.type, np.float32),
        )
        for node in graph.session.get_inputs()
    }
    try:
        answer = graph.session.run([wanted.name], feed, quiet)[0]
    except Exception:  # a row of zeros need not be a legal one: the name is all there is
        return None, "prob" in wanted.name.lower()
    scores = _matrix(answer)
    classes = tuple(answer[0]) if isinstance(answer, list) else None
    sums_to_one = scores.min() >= 0 and np.allclose(scores.sum(axis=-1), 1.0, atol=1e-3)
    return classes, bool(scores.ndim == 2 and sums_to_one)
