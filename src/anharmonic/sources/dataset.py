"""A source that was opened: which rows there are, and any of them on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import InputError, first_line
from anharmonic.sources.formats import read_rows
from anharmonic.sources.identity import file_addresses, key_addresses
from anharmonic.sources.retyping import ROW
from anharmonic.sources.rows import Aside, Rows, Shard

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DataFile", "Dataset"]

MOST_GROUPS = 100
"""Runs of rows that a sample for scale and radius is taken from at most."""


class DataFile(NamedTuple):
    """A file: its place among the sorted names, path, name, and runs of rows read together."""

    place: int
    path: str
    name: str
    groups: tuple[int, ...]

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
    key
        The column of keys, if there is one.
    broken
        What cannot be read, with reasons.
    staged
        Whether the files are text files that were written as Parquet.
    chosen
        Places of the rows that count, over all files, sorted; all where there are none.
    held
        What the files need to stay, such as a temporary folder.
    """

    filesystem: Any
    files: tuple[DataFile, ...]
    columns: tuple[str, ...]
    schema: Any
    key: str | None = None
    broken: tuple[Aside, ...] = ()
    staged: bool = False
    chosen: Integers | None = None
    held: list[Any] = field(default_factory=list, repr=False, compare=False)

    def __len__(self) -> int:
        return self.total if self.chosen is None else len(self.chosen)

    def __getstate__(self) -> dict[str, Any]:
        # What keeps a temporary folder alive stays with whoever made it.
        return {**vars(self), "held": []}

    def keep_alive(self, thing: Any) -> None:
        """Hold on to what the files need, such as a temporary folder."""
        self.held.append(thing)

    @property
    def total(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def fingerprint(self) -> str:
        """A short text that is the same for the same files: names, rows, columns, key."""
        facts = repr((
            [(file.place, file.name, file.rows) for file in self.files],
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
        file, first = self._file(shard.file)
        kept: list[pa.Table] = []
        at = shard.start
        for table in self._tables(file, shard.start, shard.stop, batch):
            kept.append(table)
            # Runs of rows in the file need not end where batches do.
            while (waiting := sum(map(len, kept))) >= (size := batch - at % batch):
                yield self._rows(file, _joined(kept, size), at, first)
                at, waiting = at + size, waiting - size
        if any(map(len, kept)):
            yield self._rows(file, _joined(kept, sum(map(len, kept))), at, first)

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
                try:
                    parts.append(self._take(run, numbers[wanted]))
                except (OSError, ValueError) as problem:  # damage: whoever measures it says so
                    damage = first_line(problem)
        if not parts:
            raise InputError(f"the source has no rows that can be read{damage and ': ' + damage}")
        return _concatenated(parts)

    def _runs(self) -> list[Shard]:
        """The runs of rows that are read together."""
        runs = []
        for file in self.files:
            ends = np.cumsum([0, *file.groups]).tolist()
            runs += [Shard(file.place, *ends) for ends in pairwise(ends) if ends[1] > ends[0]]
        return runs

    def _file(self, place: int) -> tuple[DataFile, int]:
        """A file by its place among the sorted names, and how many rows others before it have."""
        first = 0
        for file in self.files:
            if file.place == place:
                return file, first
            first += file.rows
        raise InputError(f"the source has no file number {place}")

    def _counting(self, run: Shard) -> Integers:
        """The rows of a run that count, by their place in the file."""
        _, first = self._file(run.file)
        return self._chosen_in(first + run.start, first + run.stop) - first

    def _take(self, run: Shard, wanted: Integers) -> Rows:
        file, _ = self._file(run.file)
        size = run.stop - run.start
        whole = _joined(list(self._tables(file, run.start, run.stop, size)), size)
        return self._identified(file, whole, np.arange(run.start, run.stop)).take(
            wanted - run.start
        )

    def _tables(self, file: DataFile, start: int, stop: int, batch: int) -> Iterator[pa.Table]:
        """A run of rows with all that is needed of it, in the dataset's own types."""
        for table in read_rows(
            self.filesystem, file.path, file.groups, start, stop, self._read_columns, batch
        ):
            for place, name in enumerate(table.column_names):
                wanted = self.schema.field(name).type if name in self.columns else None
                if wanted is not None and table[name].type != wanted:
                    table = table.set_column(place, name, table[name].cast(wanted))
            yield table

    @property
    def _read_columns(self) -> Sequence[str]:
        keys = () if self.key is None else (self.key,)
        rows = (ROW,) if self.staged else ()
        return list(dict.fromkeys((*self.columns, *keys, *rows)))

    def _rows(self, file: DataFile, table: pa.Table, start: int, first: int) -> Rows:
        """Rows of a batch that count."""
        places = np.arange(start, start + len(table))
        rows = self._identified(file, table, places)
        if self.chosen is None:
            return rows
        return rows.take(self._chosen_in(first + start, first + start + len(table)) - first - start)

    def _identified(self, file: DataFile, table: pa.Table, places: Integers) -> Rows:
        numbers = np.asarray(table[ROW].to_numpy()) if self.staged else places
        keys = None if self.key is None else table[self.key].combine_chunks()
        addresses = file_addresses(file.place, numbers) if keys is None else key_addresses(keys)
        return Rows(table.select(list(self.columns)), file.name, numbers, addresses, keys)

    def _chosen_in(self, start: int, stop: int) -> Integers:
        """Places of rows that count, from start to stop over all files."""
        if self.chosen is None:
            return np.arange(start, stop)
        low, high = np.searchsorted(self.chosen, (start, stop))
        return np.asarray(self.chosen[low:high])


def _joined(kept: list[pa.Table], rows: int) -> pa.Table:
    """The first rows of several tables, taken from them."""
    import pyarrow as pa

    taken = []
    while rows > 0:
        table = kept.pop(0)
        taken.append(table.slice(0, rows))
        if len(table) > rows:
            kept.insert(0, table.slice(rows))
        rows -= min(rows, len(table))
    return pa.concat_tables(taken).combine_chunks()


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
