"""Points and outputs as the Open Inference Protocol v2 writes them in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.frames import as_table
from anharmonic._core.protocols import Array
from anharmonic.errors import PointsError, RemoteError, SettingsError

__all__ = ["Json", "decode", "encode"]

Json = dict[str, Any]
"""An object of JSON: a tensor, a request or a response."""

Values = NDArray[Any]
"""Numbers or text, in whatever type a server takes or gives."""

FLOATS: Final[Mapping[str, type]] = {
    "FP64": np.float64,
    "FP32": np.float32,
    "FP16": np.float16,
    "BF16": np.float32,
}
DATATYPES: Final[Mapping[str, type]] = {
    **FLOATS,
    **{f"INT{bits}": np.dtype(f"int{bits}").type for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": np.dtype(f"uint{bits}").type for bits in (8, 16, 32, 64)},
    "BOOL": np.bool_,
    "BYTES": np.str_,
}
OF_COLUMNS: Final[Mapping[str, str]] = {"b": "BOOL", "i": "INT64", "u": "UINT64", "f": "FP64"}


def encode(points: Array, inputs: Sequence[Json], output: str) -> Json:
    """A request for points: an array as one tensor, a DataFrame as one tensor per column.

    `inputs` is what the server says it takes, possibly nothing; `output` names one output.

    >>> encode(np.array([[1.0, 2.0]]), [], "")["inputs"]
    [{'name': 'input-0', 'shape': [1, 2], 'datatype': 'FP64', 'data': [1.0, 2.0]}]
    """
    frame = as_table(points)
    request: Json = {"outputs": [{"name": output}]} if output else {}
    if frame is not None and (len(inputs) != 1 or len(frame.columns) == 1):
        declared = {wanted.get("name"): str(wanted.get("datatype")) for wanted in inputs}
        columns = {name: frame[name].to_numpy().reshape(-1, 1) for name in frame.columns}
        tensors = [_tensor(name, declared.get(name), column) for name, column in columns.items()]
        return {**request, "inputs": tensors, "parameters": {"content_type": "pd"}}
    if len(inputs) > 1:
        names = ", ".join(str(wanted.get("name")) for wanted in inputs)
        raise PointsError(
            f"The server takes {len(inputs)} inputs ({names}): pass points as a DataFrame with a "
            "column for each."
        )
    wanted = inputs[0] if inputs else {}
    name, datatype = str(wanted.get("name", "input-0")), str(wanted.get("datatype", "FP64"))
    return {**request, "inputs": [_tensor(name, datatype, np.asarray(points))]}


def _tensor(name: str, declared: str | None, values: Values) -> Json:
    datatype = OF_COLUMNS.get(values.dtype.kind, "BYTES")
    if declared in DATATYPES:
        datatype = str(declared)
    tensor: Json = {"name": name, "shape": list(values.shape), "datatype": datatype}
    if datatype == "BYTES":
        # NaN, which is not equal to itself, is a missing text.
        data = [None if item is None or item != item else str(item) for item in values.flat]
        return {**tensor, "data": data, "parameters": {"content_type": "str"}}
    try:
        numbers: Values = values.astype(DATATYPES[datatype])
    except (ValueError, TypeError) as error:
        raise PointsError(
            f"The server's input {name!r} is {datatype} and the points do not convert to that "
            f"({error}): pass numbers."
        ) from error
    if not np.isfinite(numbers).all():
        raise PointsError(
            f"Input {name!r} has NaN or infinite values in {datatype}, which JSON cannot carry to "
            "the server: fill or drop those rows."
        )
    return {**tensor, "data": numbers.ravel().tolist()}


def decode(answer: object, rows: int, output: str, labels: bool) -> Values:
    """The output to measure from a response, (rows, …): scores before labels.

    `labels` says whether labels will do; `output` names the one output to take.
    """
    outputs = answer.get("outputs") if isinstance(answer, dict) else None
    if not isinstance(outputs, list) or not outputs:
        raise RemoteError(
            "the answer has no outputs: check that the address is a v2 inference endpoint."
        )
    tensor = _chosen_output([tensor for tensor in outputs if isinstance(tensor, dict)], output)
    datatype = str(tensor.get("datatype"))
    if datatype not in FLOATS and not labels:
        raise SettingsError(
            f"The server answers labels ({datatype}) and no scores: pass output='onehot' with "
            "classes=, output='label' if they are numbers, or end the address with #NAME to "
            "take another output."
        )
    return _array(tensor, datatype, rows)


def _chosen_output(outputs: Sequence[Json], name: str) -> Json:
    """The output of that name; without one a matrix of floats, else floats, else the first."""
    names = ", ".join(str(tensor.get("name")) for tensor in outputs)
    if name:
        outputs = [tensor for tensor in outputs if tensor.get("name") == name]
    if not outputs:
        raise RemoteError(f"no output {name!r} in the answer: it has {names or 'none'}.")
    floats = [tensor for tensor in outputs if tensor.get("datatype") in FLOATS]
    matrices = [tensor for tensor in floats if len(tensor.get("shape") or ()) > 1]
    return [*matrices, *floats, *outputs][0]


def _array(tensor: Json, datatype: str, rows: int) -> Values:
    shape = tensor.get("shape")
    try:
        flat: Values = np.asarray(tensor["data"], dtype=DATATYPES[datatype])
        array = flat.reshape([int(size) for size in shape or ()])
    except (KeyError, TypeError, ValueError) as error:
        raise RemoteError(
            f"output {tensor.get('name')!r} ({datatype}, shape {shape}) does not hold the data it "
            "declares: fix the model server's output."
        ) from error
    if array.ndim == 0 or array.shape[0] != rows:
        raise RemoteError(
            f"output {tensor.get('name')!r} has shape {shape} for {rows} points: the model must "
            "answer one row for each."
        )
    return array
