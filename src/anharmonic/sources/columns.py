"""Which columns of a source's files are measured: what most rows have, and what folders say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import unquote

from anharmonic._core.columns import is_index
from anharmonic.sources.retyping import ROW

__all__ = ["folder_values", "left_out_of", "partition_types", "usual_columns"]

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def usual_columns(names: Sequence[Sequence[str]], rows: Sequence[int]) -> list[str]:
    """Columns that most rows have, in the order they come in.

    >>> usual_columns([["a", "b"], ["a", "b", "c"], ["a"]], [10, 5, 1])
    ['a', 'b']
    """
    counts: Counter[str] = Counter()
    for own, count in zip(names, rows, strict=True):
        for name in own:
            counts[name] += count
    return [name for name, count in counts.items() if 2 * count > sum(rows)]


def left_out_of(schema: Any) -> set[str]:
    """Columns of a file that are no features: an index that was saved along, and our numbers."""
    # pandas says which columns were an index.
    declared = (schema.pandas_metadata or {}).get("index_columns", [])
    unnamed = {name for name in schema.names if is_index(name)}
    return {ROW, *unnamed, *(name for name in declared if isinstance(name, str))}


def folder_values(name: str) -> dict[str, str | None]:
    """What a file's folders say, as Hive writes them.

    >>> folder_values("day=2/country=New%20Zealand/part-0.parquet")
    {'day': '2', 'country': 'New Zealand'}
    """
    pairs = (part.split("=", 1) for part in name.split("/")[:-1] if "=" in part)
    return {
        unquote(key): None if value == NO_VALUE else unquote(value) for key, value in pairs if key
    }


def partition_types(values: Collection[dict[str, str | None]]) -> dict[str, Any]:
    """Columns that the folders of every file say, whole numbers where all of them are."""
    import pyarrow as pa

    shared = set.intersection(*(set(each) for each in values)) if values else set()
    kinds = {}
    for name in sorted(shared):
        texts = [each[name] for each in values]
        whole = all(text is None or _is_whole(text) for text in texts)
        kinds[name] = pa.int64() if whole else pa.string()
    return kinds


def _is_whole(text: str) -> bool:
    # Leading zeros mean something, as in postcodes.
    digits = text.removeprefix("-")
    return digits.isdecimal() and digits.isascii() and len(digits) < 19 and str(int(text)) == text
