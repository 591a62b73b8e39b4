"""Sources: data that may be larger than memory, named by where they are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anharmonic._core.columns import shown
from anharmonic._core.files import STDIN, copy_stdin
from anharmonic.errors import InputError, SettingsError, first_line
from anharmonic.sources.dataset import DataFile, Dataset
from anharmonic.sources.formats import ENDINGS, TEXT, Outline, ending_of, outline
from anharmonic.sources.locations import Location, PathLike, Paths, locate, open_folder
from anharmonic.sources.retyping import ROW
from anharmonic.sources.rows import Aside
from anharmonic.sources.staging import stage
from anharmonic.sources.temporary import TemporaryFolder

__all__ = ["Source", "files"]

OPENERS = 16
"""Footers that are read at once: of object stores each takes a while."""
INDEXES = ("__index_level_0__",)


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
    """

    paths: tuple[str, ...]
    key: str | None = None
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    sample: int | None = None

    def __str__(self) -> str:
        return ", ".join(self.paths)

    def open(self, staging: PathLike | None = None, seed: int = 0) -> Dataset:
        """Look at the files: their columns and rows; text files are written to `staging` first.

        Parameters
        ----------
        staging
            A folder for text files as Parquet, where there are any; a temporary one of its own
            if not given.
        seed
            Of the `sample`.
        """
        own: TemporaryFolder | None = None
        if self.paths == (STDIN,):
            own = TemporaryFolder()
            location = locate(copy_stdin(Path(own.path)), ENDINGS)
        else:
            location = locate(self.paths, ENDINGS)
        endings = [ending_of(path) for path in location.paths]
        if any(ending in TEXT for ending in endings):
            if staging is None:
                own = own or TemporaryFolder()
                staging = f"{own.path}/staged"
            dataset = self._staged(location, endings, staging)
        else:
            dataset = self._outlined(location)
        if own is not None:
            dataset.keep_alive(own)
        return dataset if self.sample is None else dataset.sampled(self.sample, seed)

    def _outlined(self, location: Location) -> Dataset:
        """Files that can be read from any row on."""

        def look(path: str) -> Outline | str:
            try:
                return outline(location.filesystem, path)
            except Exception as problem:  # damage makes every library fail in ways of its own
                return first_line(problem)

        with ThreadPoolExecutor(OPENERS) as pool:
            outlines = list(pool.map(look, location.paths))
        return self._dataset(location, zip(location.paths, outlines, strict=True), ())

    def _staged(self, location: Location, endings: list[str], staging: PathLike) -> Dataset:
        """Text files as Parquet files in a folder; others beside them are copied as they are."""
        filesystem, folder = open_folder(staging)
        filesystem.create_dir(folder)
        pairs: list[tuple[str, Outline | str]] = []
        aside: list[Aside] = []
        for place, (path, ending) in enumerate(zip(location.paths, endings, strict=True)):
            target = f"{folder}/{place:06d}.parquet"
            if ending not in TEXT:
                raise InputError(
                    f"{location.name(path)} is no text file and others are: give files of one kind"
                )
            try:
                with location.filesystem.open_input_file(path) as stream:
                    result = stage(stream, ending, location.name(path), filesystem, target)
                pairs.append((target, result.outline))
                aside += result.aside
            except InputError as problem:
                pairs.append((target, first_line(problem)))
        named = Location(filesystem, tuple(path for path, _ in pairs), folder)
        names = [location.name(path) for path in location.paths]
        return self._dataset(named, pairs, aside, names)

    def _dataset(
        self,
        location: Location,
        pairs: Iterable[tuple[str, Outline | str]],
        aside: Sequence[Aside],
        names: list[str] | None = None,
    ) -> Dataset:
        """The files that could be opened, and those that could not, with reasons."""
        import pyarrow as pa

        opened: list[DataFile] = []
        schemas = []
        broken = list(aside)
        for place, (path, found) in enumerate(pairs):
            name = location.name(path) if names is None else names[place]
            if isinstance(found, str):
                broken.append(Aside(name, 0, None, f"the file cannot be read: {found}"))
                continue
            opened.append(DataFile(place, path, name, found.groups))
            schemas.append(found.schema)
        if not opened:
            raise InputError(f"{self}: no file can be read ({broken[0].reason})")
        try:
            schema = pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
            raise InputError(
                f"{self}: the files have columns of different kinds ({first_line(problem)})"
            ) from problem
        columns = self._columns(schema)
        lacking = [name for name in (*columns, *self._keys) if name not in schema.names]
        if lacking:
            raise SettingsError(
                f"{self} has no column {shown(lacking)}: there are {shown(schema.names)}"
            )
        whole = [
            file
            for file, own in zip(opened, schemas, strict=True)
            if not _lacks(file, own, (*columns, *self._keys), broken)
        ]
        return Dataset(
            filesystem=location.filesystem,
            files=tuple(whole),
            columns=tuple(columns),
            schema=pa.schema([schema.field(name) for name in columns]),
            key=self.key,
            broken=tuple(broken),
            staged=ROW in schema.names,
        )

    @property
    def _keys(self) -> tuple[str, ...]:
        return () if self.key is None else (self.key,)

    def _columns(self, schema: Any) -> list[str]:
        """Columns to measure: those named, or all but an index, the key and what is dropped."""
        # pandas says which columns were an index.
        declared = (schema.pandas_metadata or {}).get("index_columns", [])
        index = [name for name in declared if isinstance(name, str)]
        left_out = {*self.drop, *self._keys, *index, *INDEXES, ROW}
        named = schema.names if self.columns is None else self.columns
        return [name for name in named if name not in left_out]


def _lacks(file: DataFile, schema: Any, needed: Sequence[str], broken: list[Aside]) -> bool:
    """Whether a file lacks a column that others have: it is set aside then."""
    lacking = [name for name in needed if name not in schema.names]
    if lacking:
        broken.append(Aside(file.name, 0, file.rows, f"the file has no column {shown(lacking)}"))
    return bool(lacking)


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
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    if sample is not None and sample < 1:
        raise SettingsError(f"sample counts rows, got {sample}")
    return Source(
        tuple(os.fspath(path) for path in several),
        key,
        None if columns is None else tuple(columns),
        tuple(drop),
        sample,
    )
