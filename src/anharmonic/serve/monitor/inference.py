"""Requests as model servers receive them: Open Inference Protocol v2 and the older v1."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anharmonic.models.tensors import DATATYPES
from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.metadata import metadata_texts
from anharmonic.serve.monitor.payloads import MOST_VALUES, check_size
from anharmonic.serve.monitor.records import Cell
from anharmonic.serve.monitor.row_schema import RowSchema

__all__ = ["InferenceRequest", "check_segment", "rows_of_request"]

MOST_DIMENSIONS = 16
Tensor = NDArray[np.float64] | NDArray[np.object_]
"""Numbers, or text."""
MOST_IN_SEGMENT = 200


@dataclass(frozen=True)
class InferenceRequest:
    """The points of a request, its id ("" where it has none), and what its parameters say.

    `segments` and `metadata` have an entry per row, and are None where nothing was said.
    """

    rows: list[list[Cell]]
    id: str
    segments: list[str | None] | None
    metadata: list[str | None] | None


def rows_of_request(
    body: bytes, row_schema: RowSchema, header_length: str | None = None
) -> InferenceRequest:
    """The points in an inference request, with the segments and metadata in its parameters.

    `parameters` may hold `segment`, a name for all rows, or `segments`, a list of them, and
    `metadata`, an object for all rows or a list of them; all else in it is the model server's.
    `header_length` is the Inference-Header-Content-Length of requests whose tensors follow
    their JSON as bytes.
    """
    head, tail = _split(body, header_length)
    try:
        request = json.loads(head)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    if not isinstance(request, dict):
        raise BadRequest("the body is no inference request: it has neither inputs nor instances")
    if "instances" in request:
        return _with_parameters(_instances(request["instances"], row_schema), "", request)
    inputs = request.get("inputs")
    if not isinstance(inputs, list) or not inputs or not all(isinstance(i, dict) for i in inputs):
        raise BadRequest("the body is no inference request: it has neither inputs nor instances")
    tensors = _tensors(inputs, tail)
    counts = {len(array) if array.ndim else 0 for array in tensors.values()}
    if len(counts) != 1:
        raise BadRequest("every input needs the same number of rows")
    check_size(counts.pop(), len(row_schema.columns))
    name = request.get("id")
    rows = row_schema.of_tensors(tensors)
    return _with_parameters(rows, name if isinstance(name, str) else "", request)


def _with_parameters(
    rows: list[list[Cell]], id: str, request: Mapping[str, object]
) -> InferenceRequest:
    parameters = request.get("parameters")
    if not isinstance(parameters, dict):
        return InferenceRequest(rows, id, None, None)
    one, several = parameters.get("segment"), parameters.get("segments")
    names = several if isinstance(several, list) else None if one is None else [one] * len(rows)
    segments = None if names is None else [None if n is None else check_segment(n) for n in names]
    metadata = parameters.get("metadata")
    objects = metadata if isinstance(metadata, list | None) else [metadata] * len(rows)
    return InferenceRequest(rows, id, segments, metadata_texts(objects))


def check_segment(name: object) -> str:
    """A segment's name; numbers and truth values are written out, as the protocol allows them."""
    if not isinstance(name, str | int | float):
        raise BadRequest("a segment is named by text")
    text = str(name)
    if not 1 <= len(text) <= MOST_IN_SEGMENT or not text.isprintable():
        raise BadRequest(f"a segment's name has 1 to {MOST_IN_SEGMENT} printable characters")
    return text


def _split(body: bytes, header_length: str | None) -> tuple[bytes, bytes]:
    if header_length is None:
        return body, b""
    if not (header_length.isascii() and header_length.isdigit()) or len(header_length) > 12:
        raise BadRequest("Inference-Header-Content-Length is a number of bytes", status=400)
    return body[: int(header_length)], body[int(header_length) :]


def _instances(instances: object, row_schema: RowSchema) -> list[list[Cell]]:
    if not isinstance(instances, list) or not instances:
        raise BadRequest("instances is a list with at least one point")
    check_size(len(instances), len(row_schema.columns))
    return row_schema.rows(
        _flatten(instance) if isinstance(instance, list) else instance for instance in instances
    )


def _flatten(values: list[object], depth: int = 0) -> list[object]:
    if depth > 8:
        raise BadRequest("an instance is nested more than eight deep")
    flat: list[object] = []
    for value in values:
        flat.extend(_flatten(value, depth + 1) if isinstance(value, list) else [value])
    return flat


def _tensors(inputs: list[Mapping[str, object]], tail: bytes) -> dict[str, Tensor]:
    """Inputs by name, their values in the JSON or, one after another, in the bytes after it."""
    tensors: dict[str, Tensor] = {}
    for tensor in inputs:
        name, datatype, shape = tensor.get("name"), tensor.get("datatype"), tensor.get("shape")
        if not (isinstance(name, str) and isinstance(datatype, str) and datatype in DATATYPES):
            raise BadRequest("an input needs a name and a datatype of the protocol")
        if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < 1e9 for n in shape):
            raise BadRequest(f"input {name[:40]!r} needs a shape of whole numbers")
        size = _binary_size(tensor)
        values = (
            _values_of_list(tensor, datatype)
            if size is None
            else _values_of_bytes(tail[:size], datatype)
        )
        tail = tail[size or 0 :]
        if len(shape) > MOST_DIMENSIONS or not values.size or values.size != math.prod(shape):
            raise BadRequest(f"input {name[:40]!r} does not hold what its shape says")
        tensors[name] = values.reshape(shape)
    return tensors


def _binary_size(tensor: Mapping[str, object]) -> int | None:
    parameters = tensor.get("parameters")
    size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
    if size is not None and (type(size) is not int or size < 0):
        raise BadRequest("binary_data_size is a number of bytes")
    return size


def _values_of_list(tensor: Mapping[str, object], datatype: str) -> Tensor:
    data = tensor.get("data")
    if not isinstance(data, list):
        raise BadRequest("an input's data is a list")
    flat = _flatten(data)
    kinds = (str, type(None)) if datatype == "BYTES" else (int, float, type(None))
    if not all(isinstance(value, kinds) for value in flat):
        raise BadRequest(f"an input's data are not {datatype}")
    if datatype == "BOOL":
        flat = [None if value is None else bool(value) for value in flat]
    try:
        return np.array(flat, dtype=object if datatype in ("BYTES", "BOOL") else np.float64)
    except OverflowError:
        raise BadRequest(f"an input's data are not {datatype}") from None


def _values_of_bytes(raw: bytes, datatype: str) -> Tensor:
    if datatype in ("BYTES", "BF16"):
        raise BadRequest(f"{datatype} as bytes is not read here: send it in the JSON")
    kind = np.dtype(DATATYPES[datatype]).newbyteorder("<")
    if len(raw) % kind.itemsize:
        raise BadRequest(f"{len(raw)} bytes are no whole number of {datatype}")
    if len(raw) // kind.itemsize > MOST_VALUES:
        raise BadRequest(f"more than {MOST_VALUES:,} values: send fewer", status=413, kind="size")
    values = np.frombuffer(raw, dtype=kind)
    return values.astype(object if datatype == "BOOL" else np.float64)
