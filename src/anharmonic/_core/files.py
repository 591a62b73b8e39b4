"""Data in, results out: read what people keep tables in, write whole or not at all."""

from __future__ import annotations

import math
import os
import re
import secrets
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.columns import is_index, repeated, shown
from anharmonic.errors import InputError, first_line

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

__all__ = [
    "STDIN",
    "as_fractions",
    "copy_stdin",
    "csv_dialect",
    "is_closed",
    "read_data",
    "spans_lines",
    "whole_file",
    "write_text_whole",
]

Values = NDArray[Any]
"""Numbers or text, as a file has them."""

Data = Any
"""A pandas DataFrame, a pyarrow Table or a numpy array."""

SUFFIXES = ".csv, .parquet, .npy or .npz (also .tsv, .jsonl, .csv.gz, .feather, and - for stdin)"
STDIN = "-"
BEGINNINGS: Final = {
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"\x93NUMPY": ".npy",
    b"{": ".jsonl",
}
"""What standard input holds, by its first bytes; anything else is taken for .csv."""
GZIP, PEEKED = b"\x1f\x8b", 1 << 12
SEPARATORS = ",;\t"
WITH_COMMA, WITH_POINT = (
    re.compile(rb'(?:^|[;\t])"?[+-]?\d+%s\d+(?:[eE][+-]?\d+)?"?(?=[;\t]|$)' % point, re.MULTILINE)
    for point in (b",", rb"\.")
)
"""Cells that are numbers, in rows that no comma separates."""
PACKED: Final = ("", ".gz", ".bz2", ".zst")
DEFLATED: Final = 1100
"""How much smaller than its content a part of a .npz can be: deflate reaches 1032."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary name beside `path` that takes its place only if all goes well."""
    target = Path(path)
    temporary = str(target.with_name(f".{target.name}.{secrets.token_hex(8)}"))
    # Not by `tempfile`, whose files only their owner may read, and so would be the result.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        _flush_to_disk(temporary)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def write_text_whole(path: str | os.PathLike[str], text: str, errors: str = "strict") -> Path:
    """Write a text file in UTF-8, whole or not at all, and return its path.

    `errors` is what becomes of characters that UTF-8 cannot hold, as `str.encode` takes it.
    Line endings stay as they are in `text`.
    """
    with whole_file(path) as temporary:
        Path(temporary).write_bytes(text.encode("utf-8", errors))
    return Path(path)


def _flush_to_disk(path: str) -> None:
    """Have the content on the disk before its name is: whole or absent after a power failure."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_data(path: str | os.PathLike[str], say: Callable[[str], None] | None = None) -> Data:
    """Read a table (as pandas where that is installed, else pyarrow) or an array, by its ending.

    An index that was saved along with a table is no column of it; `say` is called with a
    sentence about one that nothing but its missing name gives away.
    """
    if str(path) == STDIN:
        with tempfile.TemporaryDirectory() as folder:
            return read_data(copy_stdin(Path(folder)), say)
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {file}: give {SUFFIXES}")
    read = next((READERS[end] for end in READERS if file.name.lower().endswith(end)), None)
    if read is None:
        raise InputError(f"{file}: data come as {SUFFIXES}")
    try:
        data = read(file)
        return data if isinstance(data, np.ndarray) else _without_index(file, data, say)
    except InputError:
        raise
    except Exception as problem:  # damage makes every library fail in ways of its own
        raise InputError(
            f"{file} cannot be read as {file.suffix} ({first_line(problem)}): save it again"
        ) from problem


def copy_stdin(folder: Path) -> Path:
    """Standard input as a file in a folder, with the ending of what it holds."""
    head = sys.stdin.buffer.read(PEEKED)
    if not head:
        raise InputError("there is nothing on standard input: give data, or the name of a file")
    ending = _ending_of(head)
    file = folder / f"stdin{ending}"
    with file.open("wb") as copy:
        copy.write(head)
        shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)
    return file


def _ending_of(head: bytes) -> str:
    r"""What begins like this.

    >>> _ending_of(b"\xef\xbb\xbf\n{"), _ending_of(zlib.compress(b"a,b", wbits=31))
    ('.jsonl', '.csv.gz')
    """
    packed = head.startswith(GZIP)
    if packed:
        with suppress(zlib.error):
            head = zlib.decompressobj(wbits=31).decompress(head, PEEKED)
    begun = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    ending = next((end for begin, end in BEGINNINGS.items() if begun.startswith(begin)), ".csv")
    return f"{ending}.gz" if packed and ending in (".csv", ".jsonl") else ending


def _read_npy(file: Path) -> Values:
    with file.open("rb") as stream:
        _check_header(stream, file.stat().st_size)
    array: Values = np.load(file, allow_pickle=False)
    return array


def _read_npz(file: Path) -> Values:
    with zipfile.ZipFile(file) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        if len(names) != 1:
            raise InputError(f"{file} holds {shown(names) or 'nothing'}: save the points alone")
        part = archive.infolist()[0]
        if part.file_size > DEFLATED * max(part.compress_size, 1):
            raise ValueError("it claims to hold more than it can")
        with archive.open(part) as stream:
            _check_header(stream, part.file_size)
        with archive.open(part) as stream:
            array: Values = np.lib.format.read_array(stream, allow_pickle=False)
            return array


def _check_header(stream: IO[bytes], size: int) -> None:
    """Refuse a header that promises more than there is, before memory is taken for it."""
    version = np.lib.format.read_magic(stream)
    headers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in headers:
        raise ValueError("it holds no plain array")
    shape, _, dtype = headers[version](stream)
    promised = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or not dtype.itemsize or promised > size - stream.tell():
        raise ValueError(f"its header speaks of an array {shape} that the file does not hold")


def _read_csv(file: Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    with pa.input_stream(str(file), compression="detect") as opened:
        separator, comma = csv_dialect(opened.read(1 << 16), tabs=_is_tsv(file.name))
    try:
        table = csv.read_csv(
            file,
            # Cells in quotes may hold lines of their own.
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                decimal_point="," if comma else ".",
                # An empty cell among texts is missing, as among numbers and as pandas reads it.
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as problem:
        if "straddling" not in str(problem):
            raise
        raise InputError(
            f"{file}: a line is longer than a megabyte, as where a quote is never closed: close "
            "it, or double the quote if it belongs to the text"
        ) from problem
    _require_distinct(file, table.column_names)
    undecoded = [field.name for field in table.schema if pa.types.is_binary(field.type)]
    if undecoded:
        raise InputError(
            f"{file}: column {shown(undecoded)} is not written in UTF-8: save the file in UTF-8"
        )
    if len(table) and spans_lines(table[-1][-1].as_py()):
        with pa.input_stream(str(file), compression="detect") as opened:
            ends = is_closed(_tail(opened))
        if not ends:
            raise InputError(
                f"{file}: a cell in row {len(table) - 1:,} begins with a quote that is never "
                "closed: close it, or double the quote if it belongs to the text"
            )
    return table


def csv_dialect(head: bytes, tabs: bool = False) -> tuple[str, bool]:
    r"""What separates the columns of a file, by its first bytes, and whether numbers have commas.

    `tabs` says that the file's name promises tabs.

    >>> csv_dialect(b"a;b\n1;2\n1,5;2\n"), csv_dialect(b"last, first\tb\n", tabs=True)
    ((';', True), ('\t', False))
    """
    header, *_ = head.splitlines() or [b""]
    # The separator is the one that is most often in the header, outside of quotes.
    text = re.sub('"[^"]*"', "", header.decode("utf-8", "replace"))
    separator = "\t" if tabs and "\t" in text else max(SEPARATORS, key=text.count)
    # Where a comma does not separate columns it may stand in numbers.
    commas, points = (len(cell.findall(head)) for cell in (WITH_COMMA, WITH_POINT))
    return separator, separator != "," and commas > points


def is_closed(end: bytes) -> bool:
    r"""Whether a file's last cell, one that spans lines, ends with the quote it began with.

    >>> is_closed(b'line"\n'), is_closed(b'line\n'), is_closed(b'a ""word""\n')
    (True, False, False)
    """
    bare = end.rstrip()
    # Two quotes are one that belongs to the text.
    return (len(bare) - len(bare.rstrip(b'"'))) % 2 == 1


def spans_lines(cell: object) -> bool:
    """Whether a cell is a text of several lines, as only one in quotes can be."""
    return isinstance(cell, str) and ("\n" in cell or "\r" in cell)


def _tail(stream: Any) -> bytes:
    end = b""
    while piece := stream.read(1 << 20):
        end = (end + piece)[-(1 << 10) :]
    return end


def _is_tsv(name: str) -> bool:
    return ".tsv" in name.lower()[-8:]


def _read_parquet(file: Path) -> pa.Table:
    from pyarrow.parquet import read_schema, read_table

    _require_distinct(file, read_schema(file).names)
    return read_table(file)


def _read_feather(file: Path) -> pa.Table:
    from pyarrow.feather import read_table

    return read_table(file)


def _read_json_lines(file: Path) -> pa.Table:
    from pyarrow.json import read_json

    return read_json(str(file))


def as_fractions(kind: Any) -> Any:
    """A type of cells as models know it: pandas would make objects of decimals, and hold them."""
    import pyarrow as pa

    return pa.float64() if pa.types.is_decimal(kind) else kind


def _with_fractions(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    known = table.schema
    kinds = [field.with_type(as_fractions(field.type)) for field in known]
    wanted = pa.schema(kinds, metadata=known.metadata)
    return table if wanted.equals(known) else table.cast(wanted)


def _require_distinct(file: Path, names: Sequence[str]) -> None:
    twice = repeated(names)
    if twice:
        raise InputError(f"{file} has several columns called {shown(twice)!r}: rename them")


READERS: Final[Mapping[str, Callable[[Path], Values | pa.Table]]] = {
    **{f"{text}{how}": _read_csv for text in (".csv", ".tsv") for how in PACKED},
    **{f"{text}{how}": _read_json_lines for text in (".jsonl", ".ndjson") for how in PACKED},
    **dict.fromkeys((".feather", ".arrow"), _read_feather),
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".npy": _read_npy,
    ".npz": _read_npz,
}


def _without_index(
    file: Path, table: pa.Table, say: Callable[[str], None] | None
) -> pandas.DataFrame | pa.Table:
    """An arrow table without its index, as pandas where that is installed."""
    if not table.num_rows:
        raise InputError(f"{file} has columns and no rows: give at least one")
    # pandas says which columns were an index; where it is not installed we must heed that.
    declared = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in declared if isinstance(name, str) and name in table.column_names]
    unnamed = [name for name in table.column_names if is_index(name) and name not in index]
    if unnamed and say is not None:
        what = "a column without a name" if unnamed == [""] else f"column {shown(unnamed)}"
        say(f"{file}: {what} is taken for an index and left out; name it if it is a feature.")
    bare = _with_fractions(table.drop_columns(unnamed))
    if not find_spec("pandas"):
        return bare.drop_columns(index)
    frame = bare.to_pandas()
    if len(unnamed) == 1 and not index:
        # It still says what the rows are called.
        frame.index = table[unnamed[0]].to_pandas()
        frame.index.name = None
    return frame
