"""Where files are: paths, folders, globs and object-store addresses, all as one file system."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from anharmonic._core.extras import needs
from anharmonic.errors import InputError, first_line

__all__ = [
    "MANIFEST",
    "RUNS",
    "Location",
    "PathLike",
    "Paths",
    "absolute",
    "is_folder",
    "join_address",
    "locate",
    "open_folder",
]

PathLike = str | os.PathLike[str]
Paths = PathLike | Sequence[PathLike]
GLOB = re.compile(r"[*?\[]")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
OPTIONS = re.compile(r"\?[\w.-]+=[^/]*$")
"""Of a store, behind its address: s3://bucket/rows?region=eu-west-1."""
MANIFEST, RUNS = "run.json", ("scores", "set_aside", "staged", "queries", "piped")
"""What says that a folder is one of a run, and the folders in it that are no data."""


class Location(NamedTuple):
    """Files of one file system, sorted, and what their names are relative to.

    `stamps` say of each its size and when it was written, as far as the store knows.
    """

    filesystem: Any
    paths: tuple[str, ...]
    root: str
    stamps: tuple[str, ...] = ()

    def name(self, path: str) -> str:
        """A file's name as results show it."""
        return path[len(self.root) :].lstrip("/") or path.rpartition("/")[2]


def locate(paths: Paths, endings: Sequence[str]) -> Location:
    """The files that a path, a folder, a glob, an address or several of them stand for.

    Parameters
    ----------
    paths
        What the user wrote. A name that is there is that file or folder, whatever signs are in it.
    endings
        Of files that count where a folder is given; a file that is named counts in any case.
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not several:
        raise InputError("no files: give a path, a folder, a glob or an address")
    places = [_locate_one(os.fspath(path), endings) for path in several]
    filesystem = places[0].filesystem
    if any(not place.filesystem.equals(filesystem) for place in places[1:]):
        raise InputError("the files are in several stores: give those of one store at a time")
    found = {
        path: stamp
        for place in places
        for path, stamp in zip(place.paths, place.stamps, strict=True)
    }
    root = places[0].root if len(places) == 1 else os.path.commonpath([p.root for p in places])
    ordered = sorted(found)
    return Location(filesystem, tuple(ordered), root, tuple(found[path] for path in ordered))


def open_folder(path: PathLike) -> tuple[Any, str]:
    """The file system of a folder to write to, and the folder's path there."""
    text = os.fspath(path)
    filesystem, inner = _opened(text) if SCHEME.match(text) else _local(text)
    return filesystem, inner.rstrip("/")


def is_folder(path: PathLike) -> bool:
    """Whether there is such a folder, on a disk or in a store."""
    from pyarrow import fs

    filesystem, inner = open_folder(path)
    return bool(filesystem.get_file_info(inner).type == fs.FileType.Directory)


def join_address(folder: PathLike, name: str) -> str:
    """A folder's own folder, of a path or an address.

    >>> join_address("s3://bucket/runs/", "forest"), join_address("s3://bucket?region=eu", "a")
    ('s3://bucket/runs/forest', 's3://bucket/a?region=eu')
    """
    address, options = _without_options(os.fspath(folder))
    return f"{address.rstrip('/')}/{name}{options}"


def absolute(path: str) -> str:
    """A path that means the same from any folder; an address does already.

    >>> absolute("s3://bucket/rows"), absolute("/data/../rows")
    ('s3://bucket/rows', '/rows')
    """
    return path if SCHEME.match(path) else os.path.abspath(os.path.expanduser(path))


class Place(NamedTuple):
    """A path of a file system, and a pattern of what is below it; empty where nothing varies."""

    filesystem: Any
    path: str
    pattern: str


def _locate_one(path: str, endings: Sequence[str]) -> Location:
    from pyarrow import fs

    filesystem, inner, pattern = _place(path)
    root = inner.rstrip("/")
    if pattern:
        entries = _files_under(filesystem, root, path)
        matched = [entry for entry in entries if _matches(_inside(entry.path, root), pattern)]
        if not matched:
            raise InputError(f"no file matches {path}: check the pattern")
        return _location(filesystem, matched, root)
    info = filesystem.get_file_info(inner)
    if info.type == fs.FileType.File:
        return _location(filesystem, [info], inner.rpartition("/")[0])
    if info.type != fs.FileType.Directory:
        raise InputError(f"there is no file or folder {path}: check the name")
    known = tuple(endings)
    every = _files_under(filesystem, root, path)
    listed = [entry for entry in every if entry.path.lower().endswith(known)]
    if not listed:
        raise InputError(f"{path} holds no data: give files that end with {', '.join(endings)}")
    return _location(filesystem, listed, root)


def _location(filesystem: Any, entries: Iterable[Any], root: str) -> Location:
    listed = list(entries)
    stamps = tuple(
        f"{entry.size} bytes" + ("" if entry.mtime_ns is None else f" of {entry.mtime_ns}")
        for entry in listed
    )
    return Location(filesystem, tuple(entry.path for entry in listed), root, stamps)


def _files_under(filesystem: Any, root: str, path: str) -> list[Any]:
    """All files below a folder but for hidden ones, markers such as _SUCCESS, and runs."""
    from pyarrow import fs

    top = root or ("/" if filesystem.type_name == "local" else "")
    try:
        entries = filesystem.get_file_info(fs.FileSelector(top, recursive=True))
    except (OSError, FileNotFoundError) as problem:
        raise InputError(f"{path} cannot be listed ({first_line(problem)}): check it") from problem
    files = [entry for entry in entries if entry.type == fs.FileType.File]
    # What a run writes beside its data is no data.
    runs = tuple(
        f"{entry.path.removesuffix(MANIFEST)}{name}/"
        for entry in files
        if entry.base_name == MANIFEST
        for name in RUNS
    )
    kept = []
    for entry in files:
        hidden = any(part.startswith((".", "_")) for part in _inside(entry.path, root).split("/"))
        if not hidden and not entry.path.startswith(runs):
            kept.append(entry)
    return sorted(kept, key=lambda entry: str(entry.path))


def _inside(path: str, root: str) -> str:
    return path[len(root) :].lstrip("/")


def _matches(path: str, pattern: str) -> bool:
    """Whether a path fits a glob, in which ** stands for any folders and * for no slash.

    >>> _matches("b/c.csv", "**/*.csv"), _matches("b/c.csv", "*.csv")
    (True, False)
    """
    # In the order they are tried: any folders, anything, one name, one character, a choice.
    tokens = {r"\*\*/": "(?:.*/)?", r"\*\*": ".*", r"\*": "[^/]*", r"\?": "[^/]"}
    regex, rest = "", pattern
    while rest:
        token = next((token for token in tokens if re.match(token, rest)), None)
        if token is not None:
            match, meaning = re.match(token, rest), tokens[token]
            assert match is not None
        else:
            match = re.match(r"\[!?[^\]]+\]|.", rest, re.DOTALL)
            assert match is not None
            text = match.group()
            meaning = text.replace("[!", "[^") if len(text) > 1 else re.escape(text)
        regex, rest = regex + meaning, rest[match.end() :]
    return re.fullmatch(regex, path) is not None


def _place(path: str) -> Place:
    """Where a path, an address or a pattern begins to vary; a name that is there does not."""
    address, options = _without_options(path)
    stem, pattern = _split(address)
    if not SCHEME.match(path):
        filesystem, inner = _local(stem)
        # As far as it goes by names that are there.
        while pattern and os.path.exists(f"{inner}/{pattern.partition('/')[0]}"):
            name, _, pattern = pattern.partition("/")
            inner = f"{inner.rstrip('/')}/{name}"
        return Place(filesystem, inner, pattern)
    filesystem, inner = _opened(stem + options)
    if pattern:
        from pyarrow import fs

        named = f"{inner.rstrip('/')}/{pattern}"
        with suppress(OSError):  # a name that a store knows it cannot hold
            if filesystem.get_file_info(named).type != fs.FileType.NotFound:
                return Place(filesystem, named, "")
    return Place(filesystem, inner, pattern)


def _split(path: str) -> tuple[str, str]:
    """What comes before a pattern, and the pattern.

    >>> _split("in/day=*/*.csv"), _split("*.csv"), _split("in/a.csv")
    (('in', 'day=*/*.csv'), ('', '*.csv'), ('in/a.csv', ''))
    """
    globbed = GLOB.search(path)
    if globbed is None:
        return path, ""
    stem, slash, begun = path[: globbed.start()].rpartition("/")
    return stem or slash, begun + path[globbed.start() :]


def _without_options(path: str) -> tuple[str, str]:
    options = OPTIONS.search(path) if SCHEME.match(path) else None
    return (path, "") if options is None else (path[: options.start()], options.group())


def _local(path: str) -> tuple[Any, str]:
    from pyarrow import fs

    return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(path))


def _opened(address: str) -> tuple[Any, str]:
    """The file system that an address is in, and the path there."""
    import pyarrow as pa
    from pyarrow import fs

    try:
        filesystem, inner = fs.FileSystem.from_uri(address)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # What arrow does not know, fsspec may: adls, memory, sftp, …
        fsspec = needs("fsspec", "stores")
        try:
            opened, inner = fsspec.core.url_to_fs(address)
        except (ValueError, ImportError) as problem:
            raise InputError(f"{address} cannot be opened ({first_line(problem)})") from problem
        filesystem = fs.PyFileSystem(fs.FSSpecHandler(opened))
    except OSError as problem:
        raise InputError(f"{address} cannot be opened ({first_line(problem)})") from problem
    return filesystem, inner
