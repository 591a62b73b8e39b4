"""Cells of separated values: texts as numbers, dates and truth values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic.sources.retyping import SOME

__all__ = ["Cells", "OtherKind", "kind_of_first", "kind_of_texts", "marked", "readable"]

FEWEST = 10
"""Cells from which on a single wrong one does not make a column of numbers a text."""
LOOKED_AT = 1000
"""Cells that the type of a column is judged by which was empty at first."""
BLANK, MARK = " \t", "\ufffd"


class OtherKind(Exception):
    """A column's cells are of another type than it was said to have."""

    def __init__(self, kind: Any) -> None:
        super().__init__(str(kind))
        self.kind = kind


@dataclass(frozen=True)
class Cells:
    """How a file writes cells: `comma` says that numbers have commas for points."""

    comma: bool

    def read(self, texts: Any, kind: Any) -> tuple[Any, NDArray[np.bool_]]:
        """A column of texts as its type, null where a text is none, and which those are.

        `OtherKind` says which type the column has instead, where many cells are none.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        right = np.zeros(len(texts), dtype=bool)
        if kind == pa.null():
            return texts.cast(pa.float64()), right
        for written in (self._pointed(texts, kind), self._pointed(_trimmed(texts), kind)):
            try:
                return written.cast(kind), right
            except pa.ArrowInvalid:
                continue
        if pa.types.is_integer(kind) and self._are_fractions(_trimmed(texts)):
            raise OtherKind(pa.float64())
        encoded = self._pointed(_trimmed(texts), kind).dictionary_encode()
        levels = [_cast_one(level, kind) for level in encoded.dictionary.to_pylist()]
        if pa.types.is_integer(kind):
            others = encoded.dictionary.filter(pa.array([value is None for value in levels]))
            # One wrong cell beside a fraction does not make that one wrong too.
            if any(self._are_fractions(others.slice(place, 1)) for place in range(len(others))):
                raise OtherKind(pa.float64())
        wrong_level = np.array([value is None for value in levels] + [False])
        # A null cell has no level, and is a missing cell, not a wrong one.
        indices = pc.fill_null(encoded.indices, len(levels)).to_numpy(zero_copy_only=False)
        wrong = wrong_level[indices]
        if wrong.mean() > SOME and wrong.sum() > 1:
            raise OtherKind(pa.string())
        return pa.array([*levels, None], type=kind).take(pa.array(indices)), wrong

    def _are_fractions(self, texts: Any) -> bool:
        import pyarrow as pa

        try:
            self._pointed(texts, pa.float64()).cast(pa.float64())
        except pa.ArrowInvalid:
            return False
        return True

    def _pointed(self, texts: Any, kind: Any) -> Any:
        """Fractions with a point, as arrow reads them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        pointed = self.comma and pa.types.is_floating(kind)
        return pc.replace_substring(texts, ",", ".") if pointed else texts


def readable(text: bytes) -> bytes:
    r"""Lines in UTF-8, with a mark in place of bytes that are none.

    >>> readable(b"Z\xfcrich").decode()
    'Z�rich'
    """
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace").encode()
    return text


def marked(cells: Any) -> NDArray[np.bool_]:
    """Which cells hold what stands for bytes that are no text."""
    import pyarrow.compute as pc

    found = pc.fill_null(pc.match_substring(cells, MARK), False)
    return np.asarray(found.to_numpy(zero_copy_only=False))


def kind_of_first(cells: Any, how: Cells) -> Any:
    """The type of a column: that of its first cells, though a few of these may be wrong."""
    import pyarrow as pa

    if not pa.types.is_string(cells.type) or len(cells) < FEWEST:
        return cells.type
    for kind in (pa.int64(), pa.float64()):
        try:
            how.read(cells, kind)
        except OtherKind:
            continue
        return kind
    return cells.type


def kind_of_texts(texts: Any, how: Cells) -> Any:
    """The type of a column that was empty so far, from what it holds now."""
    import pyarrow as pa
    from pyarrow import csv

    written = pa.BufferOutputStream()
    some = texts.drop_null().slice(0, LOOKED_AT)
    csv.write_csv(pa.table({"cell": some}), written)
    read = csv.read_csv(
        written.getvalue(),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            decimal_point="," if how.comma else ".", strings_can_be_null=True
        ),
    )
    found = kind_of_first(read["cell"].combine_chunks(), how)
    return pa.string() if found == pa.null() else found


def _trimmed(texts: Any) -> Any:
    """Texts without blanks around them; of those that are blank nothing is left."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim(texts, characters=BLANK)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def _cast_one(text: str, kind: Any) -> object:
    import pyarrow as pa

    try:
        return pa.scalar(text).cast(kind).as_py()
    except pa.ArrowInvalid:
        return None
