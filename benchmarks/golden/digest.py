"""A result as plain JSON: arrays by hash, everything else as it is."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

__all__ = ["digest", "page_text", "steady"]


def digest(value: object) -> object:
    """Anything a call returns as JSON that differs if one bit of an array does."""
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        content = hashlib.sha256(array.tobytes()).hexdigest()[:16]
        return f"{array.dtype} {list(array.shape)} {content}"
    if isinstance(value, np.generic):
        return digest(value.item())
    if isinstance(value, float):
        return value.hex() if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): digest(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [digest(part) for part in value]
    if isinstance(value, Path):
        return value.name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: digest(getattr(value, field.name)) for field in fields}
    return repr(value)


def page_text(page: str, folder: str = "") -> str:
    """The words of a page: no styles, scripts, pictures, folders or seconds."""
    body = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", " ", page)
    words = re.sub(r"<[^>]+>", " ", body).replace(folder, "FOLDER")
    return steady(words)


def steady(words: str) -> str:
    """Words without what changes from run to run: dates and seconds."""
    words = re.sub(r"\b\d{4}-\d\d-\d\d\b", "DATE", " ".join(words.split()))
    words = re.sub(r"(\b[Ss]econds\W+)\d+(\.\d+)?\b", r"\1SECONDS", words)
    return re.sub(r"\b\d+(\.\d+)?(e-?\d+)? (s|ms|seconds?|minutes)\b", "SECONDS", words)
