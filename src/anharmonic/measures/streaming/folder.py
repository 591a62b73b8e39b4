"""The folder of a run: a manifest, parts of the result, and rows that were set aside.

A part is written whole or not at all, under a name that says which rows it holds: whoever measures
the same rows again writes the same part again. So it does not matter who is killed when.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anharmonic._core.output_files import claimed
from anharmonic.errors import InputError, SettingsError, first_line
from anharmonic.sources import Aside, Shard
from anharmonic.sources.locations import (
    MANIFEST,
    RUNS,
    PathLike,
    absolute,
    join_address,
    open_folder,
)
from anharmonic.sources.patience import room_in

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MANIFEST", "PIPED", "QUERIES", "SCORES", "SOURCE", "SUMMARY", "RunFolder"]

SUMMARY = "summary.json"
SCORES, SET_ASIDE, STAGED, QUERIES, PIPED = RUNS
SOURCE = "source"
"""What the source itself set aside: lines that are no rows, files that cannot be opened."""
METADATA = b"anharmonic"


@dataclass(frozen=True)
class RunFolder:
    """A run's folder on any file system; it pickles, so that workers write to it too."""

    filesystem: Any
    path: str
    address: str

    @classmethod
    def at(cls, path: PathLike) -> RunFolder:
        """The folder of a path or an address; it is made where it is not there."""
        filesystem, inner = open_folder(path)
        try:
            filesystem.create_dir(inner)
        except OSError as problem:
            raise InputError(
                f"{path} cannot be written ({first_line(problem)}): give a folder of yours"
            ) from problem
        return cls(filesystem, inner, absolute(os.fspath(path)))

    @property
    def local(self) -> bool:
        """Whether it is on this machine's own disks."""
        return bool(self.filesystem.type_name == "local")

    @contextmanager
    def staging(self) -> Iterator[str]:
        """Where text files are kept as Parquet while this start lasts, apart from other starts."""
        if self.local:
            # Nobody else is at work here: what a killed run has left is nobody's.
            self.clear(STAGED)
        own = f"{STAGED}/{secrets.token_hex(8)}"
        try:
            yield join_address(self.address, own)
        finally:
            self.clear(own)
            if self.local:
                self.clear(STAGED)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other runs out for as long as this one lasts, where the file system knows locks."""
        if not self.local:
            yield
            return
        with claimed(Path(self.path) / MANIFEST):
            yield

    def read(self, name: str) -> dict[str, Any] | None:
        """A JSON file; None where it is not there."""
        if not self._exists(name):
            return None
        with self.filesystem.open_input_stream(f"{self.path}/{name}") as stream:
            text = stream.read()
        try:
            return {**json.loads(text)}
        except (ValueError, TypeError) as problem:
            raise InputError(
                f"{name} in {self.address} is damaged ({first_line(problem)}): start over with "
                "fresh=True (--fresh), or give another folder"
            ) from problem

    def write(self, name: str, content: dict[str, Any]) -> None:
        """A JSON file, whole or not at all."""
        with self._whole(name) as stream:
            stream.write(json.dumps(content, indent=1).encode())

    def write_part(self, shard: Shard, table: pa.Table, about: dict[str, Any]) -> None:
        """The scores of a shard: from here on it is done."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        repeating = [
            field.name
            for field in table.schema
            if pa.types.is_string(field.type) or pa.types.is_integer(field.type)
        ]
        table = table.replace_schema_metadata({METADATA: json.dumps(about)})
        with self._whole(f"{SCORES}/{shard.name}.parquet") as stream:
            pq.write_table(table, stream, use_dictionary=repeating)

    @contextmanager
    def table_writer(self, name: str) -> Iterator[Callable[[pa.Table], None]]:
        """What appends tables to one Parquet file, which is there whole or not at all."""
        import pyarrow.parquet as pq

        with ExitStack() as stack:
            writers: list[pq.ParquetWriter] = []

            def write(table: pa.Table) -> None:
                if not writers:
                    stream = stack.enter_context(self._whole(name))
                    writers.append(stack.enter_context(pq.ParquetWriter(stream, table.schema)))
                with room_in(self.address):
                    writers[0].write_table(table)

            yield write

    def fill_empty(self, empty: list[str], full: str) -> None:
        """Give parts without a row the columns of a full one, so that any reader finds them."""
        import pyarrow.parquet as pq

        paths = self.parts()
        with self.filesystem.open_input_file(paths[full]) as stream:
            columns = pq.read_schema(stream).empty_table()
        for name in empty:
            about = self.about(paths[name])
            told = columns.replace_schema_metadata({METADATA: json.dumps(about)})
            with self._whole(f"{SCORES}/{name}.parquet") as stream:
                pq.write_table(told, stream)

    def write_aside(self, name: str, aside: list[Aside]) -> None:
        """Rows that were set aside, with reasons; nothing where there are none."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not aside:
            if self._exists(stale := f"{SET_ASIDE}/{name}.parquet"):
                self.filesystem.delete_file(f"{self.path}/{stale}")
            return
        columns = {
            "file": pa.array([row.file for row in aside], pa.string()),
            "row": pa.array([row.row for row in aside], pa.int64()),
            "rows": pa.array([row.rows for row in aside], pa.int64()),
            "key": pa.array([row.key for row in aside], pa.string()),
            "reason": pa.array([row.reason for row in aside], pa.string()),
        }
        with self._whole(f"{SET_ASIDE}/{name}.parquet") as stream:
            pq.write_table(pa.table(columns), stream)

    def parts(self) -> dict[str, str]:
        """Paths of the parts that are done, by the names of their shards, in order."""
        return self.listed(SCORES)

    def about(self, path: str) -> dict[str, Any]:
        """What a part says of itself."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with self.filesystem.open_input_file(path) as stream:
                return {**json.loads(pq.read_schema(stream).metadata[METADATA])}
        except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as problem:
            raise InputError(
                f"{path} is damaged ({first_line(problem)}): remove it and start the run again, "
                "which measures its rows anew"
            ) from problem

    def part(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """The scores of a part; nothing of one that has no row, whatever columns it has."""
        import pyarrow.parquet as pq

        with self.filesystem.open_input_file(f"{self.path}/{SCORES}/{name}.parquet") as stream:
            file = pq.ParquetFile(stream)
            return file.read(columns=columns if file.metadata.num_rows else [])

    def table(self, path: str, columns: list[str]) -> pa.Table:
        """Some columns of a file of the run."""
        import pyarrow.parquet as pq

        with self.filesystem.open_input_file(path) as stream:
            return pq.ParquetFile(stream).read(columns=columns)

    def set_aside(self) -> pa.Table | None:
        """All rows that were set aside; None where there are none."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = []
        for path in self.listed(SET_ASIDE).values():
            with self.filesystem.open_input_file(path) as stream:
                tables.append(pq.read_table(stream))
        return pa.concat_tables(tables) if tables else None

    def set_aside_of_source(self) -> tuple[int, int]:
        """Rows that the source itself set aside, and files or ends of files nobody could read."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        path = self.listed(SET_ASIDE).get(SOURCE)
        if path is None:
            return 0, 0
        with self.filesystem.open_input_file(path) as stream:
            rows = pq.read_table(stream, columns=["rows"])["rows"]
        return int(pc.sum(rows).as_py() or 0), rows.null_count

    def clear(self, *names: str) -> None:
        """Remove what a run wrote: all of it, or these parts of it."""
        for name in names or RUNS:
            if self._exists(name):
                self.filesystem.delete_dir(f"{self.path}/{name}")
        for name in () if names else (MANIFEST, SUMMARY):
            if self._exists(name):
                self.filesystem.delete_file(f"{self.path}/{name}")

    def check_ours(self) -> None:
        """Refuse a folder that holds something else."""
        from pyarrow import fs

        if self._exists(MANIFEST):
            return
        inside = self.filesystem.get_file_info(fs.FileSelector(self.path))
        others = [info.base_name for info in inside if not info.base_name.startswith(".")]
        if set(others) - {STAGED, PIPED}:
            raise SettingsError(
                f"{self.path} holds {others[0]} and is no run of ours: give an empty folder"
            )

    def _exists(self, name: str) -> bool:
        from pyarrow import fs

        info = self.filesystem.get_file_info(f"{self.path}/{name}")
        return bool(info.type != fs.FileType.NotFound)

    def listed(self, folder: str) -> dict[str, str]:
        """Paths of a folder's Parquet files by their names, in order."""
        from pyarrow import fs

        selector = fs.FileSelector(f"{self.path}/{folder}", allow_not_found=True)
        named = {
            info.base_name.removesuffix(".parquet"): info.path
            for info in self.filesystem.get_file_info(selector)
            if info.base_name.endswith(".parquet") and not info.base_name.startswith(".")
        }
        return dict(sorted(named.items()))

    @contextmanager
    def _whole(self, name: str) -> Iterator[Any]:
        """A stream to a file that appears when it is complete.

        Object stores show a file when it is closed; on disks it gets its name then.
        """
        target = f"{self.path}/{name}"
        folder, _, base = target.rpartition("/")
        if not self.local:
            with room_in(self.address), self.filesystem.open_output_stream(target) as stream:
                yield stream
            return
        temporary = f"{folder}/.{base}.{secrets.token_hex(8)}"
        with room_in(self.address), self._renamed(temporary, target) as stream:
            yield stream

    @contextmanager
    def _renamed(self, temporary: str, target: str) -> Iterator[Any]:
        """A stream to a file on a disk that gets its name when it is complete."""
        os.makedirs(target.rpartition("/")[0], exist_ok=True)
        try:
            with self.filesystem.open_output_stream(temporary) as stream:
                yield stream
            descriptor = os.open(temporary, os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
