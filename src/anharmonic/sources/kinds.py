"""The types that columns have in all files together, and columns as these.

Files of one table need not agree: an empty column has no type of its own, categories are texts
elsewhere, and each file counts its own categories with numbers as small as these allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["as_kind", "shared_kind"]


def shared_kind(kinds: Sequence[Any], is_empty: Callable[[int], bool]) -> Any:
    """The type that holds a column of every file; None where there is none.

    Parameters
    ----------
    kinds
        The column's type in each file.
    is_empty
        Whether a file, by its place in `kinds`, has nothing but missing cells there.

    >>> import pyarrow as pa
    >>> texts = [pa.dictionary(pa.int8(), pa.string()), pa.large_string()]
    >>> print(shared_kind(texts, lambda place: False))
    dictionary<values=large_string, indices=int32, ordered=0>
    """
    import pyarrow as pa

    shared = _unified(kinds)
    if shared is not None:
        return shared
    # What is written of a column without a cell is one of fractions.
    empty = [pa.types.is_floating(kind) and is_empty(at) for at, kind in enumerate(kinds)]
    return _unified([kind for kind, nothing in zip(kinds, empty, strict=True) if not nothing])


def as_kind(column: Any, kind: Any, *, exact: bool = False) -> Any:
    """A column as another type; `exact` where a number must not be rounded, as of a key."""
    import pyarrow as pa

    if kind is None or column.type == kind:
        return column
    if pa.types.is_dictionary(kind):
        chunks = [_as_category(chunk, kind) for chunk in column.chunks]
        return pa.chunked_array(chunks, kind)
    if pa.types.is_dictionary(column.type):
        cells = [chunk.dictionary_decode().cast(kind) for chunk in column.chunks]
        return pa.chunked_array(cells, kind)
    # A whole number among fractions is the nearest of these, as in memory.
    rounded = pa.types.is_floating(kind) and pa.types.is_integer(column.type)
    return column.cast(kind, safe=exact or not rounded)


def _unified(kinds: Sequence[Any]) -> Any:
    import pyarrow as pa

    different = list(dict.fromkeys(kinds))
    categories = [kind for kind in different if pa.types.is_dictionary(kind)]
    held = [kind.value_type if kind in categories else _plain(kind) for kind in different]
    if any(pa.types.is_timestamp(kind) for kind in held):
        # A day is the moment that it begins with.
        held = [pa.timestamp("s") if pa.types.is_date(kind) else kind for kind in held]
    schemas = [pa.schema([("cell", kind)]) for kind in held]
    try:
        shared = pa.unify_schemas(schemas, promote_options="permissive").field("cell").type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
    if not categories:
        return shared
    # Categories of many files may be more than the numbers of a single one can count.
    return pa.dictionary(pa.int32(), shared, ordered=all(kind.ordered for kind in categories))


def _plain(kind: Any) -> Any:
    """Texts as all libraries know them."""
    import pyarrow as pa

    return pa.string() if pa.types.is_string_view(kind) else kind


def _as_category(chunk: Any, kind: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_dictionary(chunk.type):
        chunk = chunk.cast(kind.value_type).dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        chunk.indices.cast(kind.index_type),
        chunk.dictionary.cast(kind.value_type),
        ordered=kind.ordered,
    )
