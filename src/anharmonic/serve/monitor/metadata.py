"""Metadata of a point: small, and never seen by the model."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from anharmonic.serve.http.problems import BadRequest

__all__ = ["METADATA_SCHEMA", "metadata_texts"]

MOST_NAMES, MOST_IN_NAME, MOST_IN_VALUE = 32, 100, 1_000
MOST_IN_ALL = 4_000
"""Characters of one point's metadata as JSON."""
METADATA_SCHEMA = {
    "type": "array",
    "items": {
        "anyOf": [
            {
                "type": "object",
                "maxProperties": MOST_NAMES,
                "additionalProperties": {
                    "anyOf": [
                        {"type": "number"},
                        {"type": "string", "maxLength": MOST_IN_VALUE},
                    ]
                },
            },
            {"type": "null"},
        ]
    },
}


def metadata_texts(metadata: Sequence[object] | None) -> list[str | None] | None:
    """Metadata as JSON, one per point, checked up to the first that is invalid."""
    if metadata is None:
        return None
    texts: list[str | None] = []
    try:
        for point in metadata:
            texts.append(None if not point else _text(point))
    except BadRequest as fault:
        fault.args = (f"point {len(texts)}: {fault}",)
        raise
    return texts


def _text(metadata: object) -> str:
    if not isinstance(metadata, dict):
        raise BadRequest("metadata is an object of numbers and text")
    if len(metadata) > MOST_NAMES:
        raise BadRequest(f"metadata has at most {MOST_NAMES} names and got {len(metadata):,}")
    for name, value in metadata.items():
        if not isinstance(name, str) or not 1 <= len(name) <= MOST_IN_NAME or not _storable(name):
            raise BadRequest(f"a name of metadata has 1 to {MOST_IN_NAME} printable characters")
        if isinstance(value, str):
            if len(value) > MOST_IN_VALUE or not _storable(value):
                raise BadRequest(
                    f"metadata {name[:40]!r} takes at most {MOST_IN_VALUE:,} characters of UTF-8"
                )
        elif isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            raise BadRequest(f"metadata {name[:40]!r} is neither text nor a finite number")
    text = json.dumps(metadata, ensure_ascii=False)
    if len(text) > MOST_IN_ALL:
        raise BadRequest(f"metadata of a point has at most {MOST_IN_ALL:,} characters")
    return text


def _finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _storable(text: str) -> bool:
    try:
        return "\x00" not in text and (text.isascii() or bool(text.encode()))
    except UnicodeEncodeError:
        return False
