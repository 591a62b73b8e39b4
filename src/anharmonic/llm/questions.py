"""Questions from a file, one at a time: CSV, JSON lines or Parquet.

Not by `_core.files.read_data`: that reads a whole table of numbers and guesses types, so that the
id "007" would become 7, and knows no JSON lines. Here text stays text and memory stays flat.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from anharmonic.errors import InputError, first_line

__all__ = ["Question", "read_questions", "read_rows"]

PROMPTS = ("prompt", "question", "text", "input")
DOMAINS = ("domain", "category")
SUFFIXES = ".csv, .jsonl or .parquet"


class Question(NamedTuple):
    """A prompt, its id, and the domain it belongs to, if the file says."""

    id: str
    prompt: str
    domain: str = ""


def read_questions(
    path: str | os.PathLike[str], column: str | None = None, limit: int | None = None
) -> Iterator[Question]:
    """The file's questions in order.

    Parameters
    ----------
    path
        A .csv, .jsonl or .parquet file.
    column
        The one that holds the prompt, where it has none of the usual names.
    limit
        The first so many questions.
    """
    ids: set[str] = set()
    for number, row in enumerate(islice(read_rows(path), limit)):
        prompt = _prompt(row, column, path, number)
        name = str(_named(row, ("id",)) or number)
        if name in ids:
            raise InputError(f"{path}: the id {name!r} stands there twice: give each its own")
        ids.add(name)
        yield Question(name, prompt, str(_named(row, DOMAINS) or ""))


def read_rows(path: str | os.PathLike[str]) -> Iterator[dict[str, object]]:
    """The rows of a table, one at a time, whatever its format."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {file}: give {SUFFIXES}")
    readers = {".csv": _csv, ".jsonl": _lines, ".ndjson": _lines, ".parquet": _parquet}
    if file.suffix not in readers:
        raise InputError(f"{file}: questions come as {SUFFIXES}")
    try:
        yield from readers[file.suffix](file)
    except (ValueError, OSError, csv.Error) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(
            f"{file} cannot be read as {file.suffix} ({first_line(problem)}): see the file"
        ) from problem


def _csv(file: Path) -> Iterator[dict[str, object]]:
    with file.open(newline="", encoding="utf-8-sig") as lines:
        yield from csv.DictReader(lines)


def _lines(file: Path) -> Iterator[dict[str, object]]:
    with file.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            row = json.loads(line)
            if not isinstance(row, dict):
                raise InputError(f'{file}, line {number}: write objects such as {{"prompt": "…"}}')
            yield row


def _parquet(file: Path) -> Iterator[dict[str, object]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as table:
        for batch in table.iter_batches(batch_size=1024):
            yield from batch.to_pylist()


def _named(row: Mapping[str, object], names: tuple[str, ...]) -> object:
    """The value of the first of these columns that is there, in whatever case it is written."""
    lowered = {str(name).lower(): value for name, value in row.items()}
    return next((lowered[name] for name in names if lowered.get(name) not in (None, "")), None)


def _prompt(
    row: Mapping[str, object], column: str | None, path: str | os.PathLike[str], number: int
) -> str:
    prompt = row.get(column) if column else _named(row, PROMPTS)
    if not isinstance(prompt, str) or not prompt:
        wanted = column or " or ".join(PROMPTS)
        there = ", ".join(str(name) for name in row)
        raise InputError(f"{path}, row {number}: no text in {wanted} (there are {there})")
    return prompt
