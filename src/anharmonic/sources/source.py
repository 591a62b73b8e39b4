"""Sources: data that may be larger than memory, named by where they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import STDIN, copy_stdin
from anharmonic.errors import InputError, SettingsError
from anharmonic.sources.dataset import Dataset
from anharmonic.sources.formats import ENDINGS, PIECE, TEXT, ending_of
from anharmonic.sources.locations import (
    PathLike,
    Paths,
    absolute,
    join_address,
    locate,
    open_folder,
)
from anharmonic.sources.opening import dataset_of, look_at, stage_all, stamped
from anharmonic.sources.temporary import TemporaryFolder

__all__ = ["Source", "files"]


@dataclass(frozen=True)
class Source:
    """Rows in files, read in batches when they are measured; see `files`.

    Parameters
    ----------
    paths
        Files, folders, patterns or URLs.
    key
        A column that names rows.
    columns, drop
        Columns that are measured, and those that are not.
    sample
        How many rows are drawn; all where None.
    piped
        Where standard input was copied to, if it was.
    """

    paths: tuple[str, ...]
    key: str | None = None
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    sample: int | None = None
    piped: str | None = None

    def __str__(self) -> str:
        return ", ".join(self.paths)

    @property
    def is_stdin(self) -> bool:
        """Whether the rows come over standard input, which can be read once."""
        return self.paths == (STDIN,)

    def kept(self, folder: PathLike) -> Source:
        """The same, able to be opened more than once: standard input is copied to a folder."""
        if not self.is_stdin or self.piped is not None:
            return self
        filesystem, inner = open_folder(folder)
        filesystem.create_dir(inner)
        own = TemporaryFolder()
        copy = copy_stdin(Path(own.path))
        with (
            copy.open("rb") as read,
            # As it is: what is compressed already would be compressed once more by its name.
            filesystem.open_output_stream(f"{inner}/{copy.name}", compression=None) as written,
        ):
            while piece := read.read(PIECE):
                written.write(piece)
        return replace(self, piped=join_address(folder, copy.name))

    def absolute(self) -> Source:
        """The same, from any folder it is opened in."""
        if self.is_stdin:
            return self
        return replace(self, paths=tuple(absolute(path) for path in self.paths))

    def open(
        self, staging: PathLike | None = None, seed: int = 0, wanted: Sequence[str] = ()
    ) -> Dataset:
        """Look at the files: their columns and rows; text files are written to `staging` first.

        Parameters
        ----------
        staging
            A folder for text files as Parquet, where there are any; a temporary one of its own
            if not given.
        seed
            Of the `sample`.
        wanted
            Columns that a model takes by name: what folders say is measured where it is one.
        """
        own = TemporaryFolder()
        source = self.kept(own.path)
        location = locate(source.piped or source.paths, ENDINGS)
        endings = [ending_of(path) for path in location.paths]
        stamps = stamped(location, content=self.is_stdin)
        if any(ending in TEXT for ending in endings):
            found = stage_all(location, endings, staging or f"{own.path}/staged")
        else:
            found = look_at(location)
        dataset = dataset_of(self, found, stamps, wanted)
        dataset.keep_alive(own)
        return dataset if self.sample is None else dataset.sampled(self.sample, seed)


def files(
    paths: Paths,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    sample: int | None = None,
) -> Source:
    """Rows in files that may be larger than memory: hand them to a measure in place of points.

    Parameters
    ----------
    paths
        A file, a folder, a glob, an address (s3://, gs://, hdfs://, whatever fsspec opens),
        several of them, or "-" for standard input. Parquet and Arrow (.feather) are read where
        they lie; .csv, .tsv, .jsonl, also compressed, are written as Parquet first.
    key
        A column that says who a row is: it stands beside the scores, and the row's random numbers
        depend on it alone. Without one they depend on the file and the row in it.
    columns, drop
        The columns to measure, and columns to leave out, such as the label.
    sample
        How many rows, drawn at random; all if not given.

    Examples
    --------
    >>> import tempfile, numpy as np, pyarrow as pa, pyarrow.parquet as pq, anharmonic as ah
    >>> folder = tempfile.mkdtemp()
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> pq.write_table(pa.table({"a": x[:, 0], "b": x[:, 1]}), f"{folder}/rows.parquet")
    >>> wave = lambda rows: np.sin(np.asarray(rows["a"]))
    >>> ah.gamma(wave, files(f"{folder}/*.parquet"), out=f"{folder}/scores")
    ... # doctest: +ELLIPSIS
    <gamma ... over 100 points, ... queries...>
    """
    several = tuple(os.fspath(path) for path in _listed(paths))
    if not all(several):
        raise InputError("the name of a file is empty: give a path, a folder, a glob or an address")
    if sample is not None:
        if isinstance(sample, bool) or not isinstance(sample, int | np.integer) or sample < 1:
            raise SettingsError(f"sample counts rows, got {sample}")
        sample = int(sample)
    names = None if columns is None else tuple(_listed(columns))
    return Source(several, key, names, tuple(_listed(drop)), sample)


def _listed(names: Any) -> Sequence[Any]:
    """One name as a list of it: the letters of a text are no names."""
    return [names] if isinstance(names, str | os.PathLike) else names
