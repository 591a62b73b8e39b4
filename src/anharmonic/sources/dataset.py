"""A source that was opened: which rows there are, and any of them on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import AnharmonicError, InputError, first_line
from anharmonic.sources.formats import RowReader, check_readable
from anharmonic.sources.identity import (
    check_whole,
    file_addresses,
    key_addresses,
    without_fractions,
)
from anharmonic.sources.kinds import as_kind
from anharmonic.sources.patience import read_patiently
from anharmonic.sources.retyping import ROW
from anharmonic.sources.rows import Aside, Rows, Shard

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DataFile", "Dataset"]

MOST_GROUPS = 100
"""Runs of rows that a sample for scale and radius is taken from at most."""
TAKEN = 1 << 14
"""Rows that such a sample is looked for among at once."""


class DataFile(NamedTuple):
    """A file: its place among the sorted names, path, name, and runs of rows read together.

    `parts` are what its folders say, as in day=1/rows.parquet, of columns it does not hold.
    """

    place: int
    path: str
    name: str
    groups: tuple[int, ...]
    parts: tuple[tuple[str, object], ...] = ()

    @property
    def rows(self) -> int:
        return sum(self.groups)


@dataclass(frozen=True)
class Dataset:
    """Files with the same columns, and any run of their rows.

    Parameters
    ----------
    filesystem, files
        Where they are, and which.
    columns, schema
        What is measured, and as what.
    key, key_type
        The column of keys, if there is one, and as what.
    broken
        What cannot be read, with reasons.
    stamps
        Sizes and times of all files, readable or not.
    staged
        Whether the files are text files that were written as Parquet.
    named
        All columns that some file or folder has, measured or not.
    chosen
        Places of the rows that count, over all files, sorted; all where there are none.
    held, readers
        What the files need to stay, such as a temporary folder; and what is open in each thread.
    """

    filesystem: Any
    files: tuple[DataFile, ...]
    columns: tuple[str, ...]
    schema: Any
    key: str | None = None
    key_type: Any = None
    broken: tuple[Aside, ...] = ()
    stamps: tuple[str, ...] = ()
    staged: bool = False
    named: tuple[str, ...] = ()
    chosen: Integers | None = None
    held: list[Any] = field(default_factory=list, repr=False, compare=False)
    readers: threading.local = field(default_factory=threading.local, repr=False, compare=False)

    def __len__(self) -> int:
        return self.total if self.chosen is None else len(self.chosen)

    def __getstate__(self) -> dict[str, Any]:
        # What keeps a temporary folder alive stays with whoever made it, and open files too.
        kept = {name: vars(self)[name] for name in self.__dataclass_fields__}
        return {**kept, "held": [], "readers": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "readers": threading.local()})

    def keep_alive(self, thing: Any) -> None:
        """Hold on to what the files need, such as a temporary folder."""
        self.held.append(thing)

    @property
    def total(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def fingerprint(self) -> str:
        """A short text that is the same for the same files: names, sizes, times, columns, key."""
        facts = repr((
            [(file.place, file.name, file.rows) for file in self.files],
            self.stamps,
            self.columns,
            [str(kind) for kind in self.schema.types],
            self.key,
        ))  # fmt: skip
        digest = blake2b(facts.encode(), digest_size=16)
        if self.chosen is not None:
            digest.update(self.chosen.tobytes())
        return digest.hexdigest()

    def name_of(self, place: int) -> str:
        """A file's name by its place among the sorted names."""
        return self._file(place)[0].name

    def count(self, shard: Shard) -> int:
        """Rows of a shard that count."""
        return len(self._counting(shard))

    def sampled(self, count: int, seed: int) -> Dataset:
        """The same with so many rows drawn at random, every row with the same chance."""
        if count >= self.total:
            return self
        random = generator(seed, Stream.SOURCE_ROWS)
        chosen = np.sort(random.choice(self.total, count, replace=False))
        return replace(self, chosen=chosen)

    def shards(self, rows: int) -> list[Shard]:
        """Runs of at most so many rows, in order; runs without a row that counts are left out."""
        every = [
            Shard(file.place, start, min(start + rows, file.rows))
            for file in self.files
            for start in range(0, file.rows, rows)
        ]
        return [shard for shard in every if self.chosen is None or len(self._counting(shard))]

    def read(self, shard: Shard, batch: int) -> Iterator[Rows]:
        """A shard's rows in batches that begin at multiples of `batch` in the file."""
        for run in self.batches(shard, batch):
            yield self.rows(run, batch)

    def batches(self, shard: Shard, batch: int) -> Iterator[Shard]:
        """A shard as runs that begin at multiples of `batch` in the file."""
        ends = [*range((shard.start // batch + 1) * batch, shard.stop, batch), shard.stop]
        for start, stop in pairwise([shard.start, *ends]):
            yield Shard(shard.file, start, stop)

    def rows(self, run: Shard, batch: int) -> Rows:
        """The rows of a run that count; `batch` is how many are asked for at a time, usually."""
        file, _ = self._file(run.file)
        read = self._identified(file, self._table(file, run.start, run.stop, batch), run)
        if self.chosen is None:
            return read
        return read.take(self._counting(run) - run.start)

    def check_readable(self, place: int) -> None:
        """Read a file's bytes: OSError where nobody can have them."""
        check_readable(self.filesystem, self._file(place)[0].path)

    def sample(self, count: int, seed: int) -> Rows:
        """Rows at random, for scale and radius; all in their order where there are no more.

        Where the files have more than a hundred runs of rows, a hundred of these are drawn
        first and rows from them: to read all files for a sample would take as long as the run.
        """
        runs = self._runs()
        random = generator(seed, Stream.SOURCE_SAMPLE)
        if len(self) > count and len(runs) > MOST_GROUPS:
            sizes = np.array([stop - start for _, start, stop in runs], dtype=float)
            drawn = random.choice(len(runs), MOST_GROUPS, replace=False, p=sizes / sizes.sum())
            runs = [runs[place] for place in np.sort(drawn).tolist()]
        counts = [self._counting(run) for run in runs]
        places = np.arange(sum(map(len, counts)))
        if len(places) > count:
            places = np.sort(random.choice(len(places), count, replace=False))
        parts, first, damage = [], 0, ""
        for run, numbers in zip(runs, counts, strict=True):
            wanted = places[(places >= first) & (places < first + len(numbers))] - first
            first += len(numbers)
            if len(wanted):
                take = partial(self._take, run, numbers[wanted])
                check = partial(self.check_readable, run.file)
                try:
                    parts.append(read_patiently(take, check, self.name_of(run.file)))
                except AnharmonicError:
                    raise
                except Exception as problem:  # damage: whoever measures it says so
                    damage = first_line(problem)
        if not parts:
            raise InputError(f"the source has no rows that can be read{damage and ': ' + damage}")
        sample = _concatenated(parts)
        if sample.keys is not None:
            check_whole(sample.keys)
        return sample

    def _runs(self) -> list[Shard]:
        """The runs of rows that are read together."""
        runs = []
        for file in self.files:
            ends = np.cumsum([0, *file.groups]).tolist()
            runs += [Shard(file.place, *ends) for ends in pairwise(ends) if ends[1] > ends[0]]
        return runs

    @cached_property
    def _by_place(self) -> dict[int, tuple[DataFile, int]]:
        """Files by their places among the sorted names, and how many rows others before have."""
        firsts = np.cumsum([0, *(file.rows for file in self.files)]).tolist()
        return {
            file.place: (file, first) for file, first in zip(self.files, firsts[:-1], strict=True)
        }

    def _file(self, place: int) -> tuple[DataFile, int]:
        """A file by its place among the sorted names, and how many rows others before it have."""
        if place not in self._by_place:
            raise InputError(f"the source has no file number {place}")
        return self._by_place[place]

    def _counting(self, run: Shard) -> Integers:
        """The rows of a run that count, by their place in the file."""
        _, first = self._file(run.file)
        return self._chosen_in(first + run.start, first + run.stop) - first

    def _take(self, run: Shard, wanted: Integers) -> Rows:
        """Some rows of a run; only a few thousand of it are in memory at a time."""
        found = []
        for piece in self.batches(run, TAKEN):
            inside = wanted[(wanted >= piece.start) & (wanted < piece.stop)]
            if len(inside):
                file, _ = self._file(run.file)
                table = self._table(file, piece.start, piece.stop, TAKEN)
                found.append(self._identified(file, table, piece).take(inside - piece.start))
        return _concatenated(found)

    def _table(self, file: DataFile, start: int, stop: int, batch: int) -> pa.Table:
        """A run of rows with all that is needed of it, in the dataset's own types."""
        import pyarrow as pa

        reader = self._reader(file, batch)
        try:
            pieces = [self._typed(piece) for piece in reader.rows(start, stop)]
            read = pa.concat_tables(pieces).combine_chunks()
        except BaseException:
            self._let_go()
            raise
        parts = dict(file.parts)
        columns = {
            name: pa.repeat(pa.scalar(parts[name], kind), len(read))
            if name in parts
            else read[name]
            for name, kind in self._needed.items()
        }
        return pa.table(columns)

    def _typed(self, piece: pa.Table) -> pa.Table:
        """What was read, in the dataset's own types: pieces of a file count categories alike."""
        import pyarrow as pa

        # Arrow lists the names anew each time: of thousands of columns that takes seconds.
        there = set(piece.column_names)
        columns = {
            name: as_kind(piece[name], kind, exact=name == self.key)
            for name, kind in self._needed.items()
            if name in there
        }
        # Rows of a file of which folders say all columns are counted by what was read.
        return pa.table(columns) if columns else piece

    def _reader(self, file: DataFile, batch: int) -> RowReader:
        """The file, open where this thread left it."""
        held = vars(self.readers)
        if held.get("of") != (file.place, batch):
            self._let_go()
            parts = dict(file.parts)
            columns = [name for name in self._needed if name not in parts]
            held["reader"] = RowReader(self.filesystem, file.path, file.groups, columns, batch)
            held["of"] = (file.place, batch)
        reader: RowReader = held["reader"]
        return reader

    def _let_go(self) -> None:
        """Close what this thread has open."""
        held = vars(self.readers)
        if "reader" in held:
            held.pop("reader").close()
        held.clear()

    @cached_property
    def _needed(self) -> dict[str, Any]:
        """What is read of every row, and as what: None where it is as the file has it."""
        columns = dict(zip(self.columns, self.schema.types, strict=True))
        keys = {} if self.key is None else {self.key: self.key_type}
        return {**({ROW: None} if self.staged else {}), **keys, **columns}

    def _identified(self, file: DataFile, table: pa.Table, run: Shard) -> Rows:
        places = np.arange(run.start, run.stop)
        numbers = np.asarray(table[ROW].to_numpy()) if self.staged else places
        keys = None if self.key is None else table[self.key].combine_chunks()
        addresses = (
            file_addresses(file.place, numbers)
            if keys is None
            else key_addresses(without_fractions(keys))
        )
        return Rows(table.select(list(self.columns)), file.name, numbers, addresses, keys)

    def _chosen_in(self, start: int, stop: int) -> Integers:
        """Places of rows that count, from start to stop over all files."""
        if self.chosen is None:
            return np.arange(start, stop)
        low, high = np.searchsorted(self.chosen, (start, stop))
        return np.asarray(self.chosen[low:high])


def _concatenated(parts: list[Rows]) -> Rows:
    """Rows of several runs; the file's name is that of the first."""
    import pyarrow as pa

    first = parts[0]
    keys = None if first.keys is None else pa.concat_arrays([part.keys for part in parts])
    return Rows(
        pa.concat_tables([part.table for part in parts]).combine_chunks(),
        first.file,
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.addresses for part in parts]),
        keys,
    )
