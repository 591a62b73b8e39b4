"""Recorded answers by the part whose questions they answer."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from anharmonic._core.columns import is_index, shown
from anharmonic._core.protocols import Array
from anharmonic.errors import InputError, OutputError, first_line
from anharmonic.measures.offline_parts.planning import PART, QUERY
from anharmonic.measures.streaming.folder import QUERIES, RunFolder
from anharmonic.measures.streaming.manifest import RECORDED
from anharmonic.models.identity import identity
from anharmonic.sources.formats import PARQUET
from anharmonic.sources.locations import locate
from anharmonic.sources.opening import stamped

__all__ = ["Answers"]


@dataclass(frozen=True)
class Answers:
    """Recorded answers by their part.

    Parameters
    ----------
    paths
        Where they are, or a table of them.
    columns
        Which of their columns are outputs.
    classes
        What texts name, where the answers are texts.
    """

    paths: Any
    columns: tuple[str, ...]
    classes: tuple[object, ...] | None

    @classmethod
    def open(cls, answers: object, plan: RunFolder, asked: Collection[str]) -> Answers:
        """Look at the answers: which columns are outputs, and which classes texts name.

        Parameters
        ----------
        answers
            What the user gave.
        plan, asked
            The folder of the questions, and the columns they have: beside answers they are none.
        """
        import pyarrow as pa

        try:
            dataset = _dataset(answers)
        except (OSError, pa.ArrowInvalid, TypeError) as problem:
            raise InputError(
                f"the answers cannot be read ({first_line(problem)}): give Parquet files with the "
                f"columns {PART} and {QUERY} and the model's outputs"
            ) from problem
        names = dataset.schema.names
        lacking = [name for name in (PART, QUERY) if name not in names]
        if lacking:
            raise InputError(
                f"the answers have no column {', '.join(lacking)}: keep the questions'"
            )
        beside = [name for name in names if name in asked]
        known = {PART, QUERY, *beside}
        columns = tuple(name for name in names if not (name in known or is_index(name)))
        if not columns:
            raise InputError(
                f"the answers have no column beside {shown(names)}: keep the model's outputs"
            )
        _check_beside(dataset, beside, plan)
        if len(columns) == 1 and _is_text(dataset.schema.field(columns[0]).type):
            return cls(answers, columns, _classes(dataset, columns[0]))
        return cls(answers, columns, None)

    @property
    def fingerprint(self) -> str:
        """A short text that is the same for the same answers."""
        if not isinstance(self.paths, str | os.PathLike):
            return f"{RECORDED}{identity(self.paths)}"
        files = locate(self.paths, PARQUET)
        names = [files.name(path) for path in files.paths]
        facts = repr((list(zip(names, stamped(files), strict=True)), self.columns))
        return f"{RECORDED}{blake2b(facts.encode(), digest_size=16).hexdigest()}"

    @cached_property
    def _opened(self) -> Any:
        return _dataset(self.paths)

    def __getstate__(self) -> dict[str, Any]:
        # What is open is opened again where it is needed.
        return {name: vars(self)[name] for name in self.__dataclass_fields__}

    def of(self, part: str) -> Array:
        """The answers of a part in the order of its questions, (queries,) or (queries, columns)."""
        table = _in_order(self._opened, part, self.columns)
        outputs = [_plain(table[name]) for name in self.columns]
        return outputs[0] if len(outputs) == 1 else np.stack(outputs, axis=1)


def _in_order(dataset: Any, part: str, columns: Collection[str]) -> Any:
    """Columns of a part by the numbers of its questions."""
    import pyarrow.compute as pc

    table = dataset.to_table(columns=[QUERY, *columns], filter=pc.field(PART) == part)
    numbers = table[QUERY].to_numpy()
    order = np.argsort(numbers, kind="stable")
    if not np.array_equal(numbers[order], np.arange(len(numbers))):
        raise OutputError(
            f"query numbers of part {part} repeat or are missing: answer each one once"
        )
    return table.take(order)


def _check_beside(dataset: Any, beside: Collection[str], plan: RunFolder) -> None:
    """Refuse outputs that are called as a feature is: features come back as they were asked."""
    asked = plan.listed(QUERIES)
    if not beside or not asked:
        return
    part, path = next(iter(asked.items()))
    questions = plan.table(path, list(beside))
    answers = _in_order(dataset, part, beside)
    for name in beside if len(answers) == len(questions) else ():
        one, other = _plain(answers[name]), _plain(questions[name])
        numeric = one.dtype.kind in "iuf" and other.dtype.kind in "iuf"
        alike = np.isclose(one, other, equal_nan=True) if numeric else one == other
        if not np.all(alike):
            raise OutputError(
                f"column {name} of the answers is called as a feature is and holds something "
                "else: rename it if it is an output, or leave it out"
            )


def _classes(dataset: Any, column: str) -> tuple[object, ...]:
    import pyarrow.compute as pc

    found: set[str] = set()
    for batch in dataset.to_batches(columns=[column]):
        found |= set(pc.unique(batch.column(0)).to_pylist())
    return tuple(sorted(found - {None}))


def _plain(column: Any) -> Any:
    import pyarrow as pa

    categories = pa.types.is_dictionary(column.type)
    return (column.cast(column.type.value_type) if categories else column).to_numpy()


def _dataset(answers: Any) -> Any:
    import pyarrow as pa
    import pyarrow.dataset as ds

    if not isinstance(answers, str | os.PathLike):
        return ds.dataset(answers)
    files = locate(answers, PARQUET)
    given: dict[str, Any] = {"format": "parquet", "filesystem": files.filesystem}
    whole = ds.dataset(list(files.paths), **given)
    if PART in whole.schema.names:
        return whole
    # Without a schema a part's name would be taken for a number.
    parts = ds.partitioning(pa.schema([(PART, pa.string())]), flavor="hive")
    return ds.dataset(list(files.paths), **given, partitioning=parts, partition_base_dir=files.root)


def _is_text(kind: Any) -> bool:
    """Texts of any width, or a few of them as categories: libraries write them differently."""
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(test(held) for test in tests)
