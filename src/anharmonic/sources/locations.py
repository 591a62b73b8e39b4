"""Where files are: paths, folders, globs and object-store addresses, all as one file system."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from anharmonic._core.extras import needs
from anharmonic.errors import InputError, first_line

__all__ = ["Location", "PathLike", "Paths", "join_address", "locate", "open_folder"]

PathLike = str | os.PathLike[str]
Paths = PathLike | Sequence[PathLike]
GLOB = re.compile(r"[*?\[]")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class Location(NamedTuple):
    """Files of one file system, sorted, and what their names are relative to."""

    filesystem: Any
    paths: tuple[str, ...]
    root: str

    def name(self, path: str) -> str:
        """A file's name as results show it."""
        return path[len(self.root) :].lstrip("/") or path.rpartition("/")[2]


def locate(paths: Paths, endings: Sequence[str]) -> Location:
    """The files that a path, a folder, a glob, an address or several of them stand for.

    Parameters
    ----------
    paths
        What the user wrote.
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
    found = sorted({path for place in places for path in place.paths})
    root = places[0].root if len(places) == 1 else os.path.commonpath([p.root for p in places])
    return Location(filesystem, tuple(found), root)


def open_folder(path: PathLike) -> tuple[Any, str]:
    """The file system of a folder to write to, and the folder's path there."""
    filesystem, inner = _filesystem(os.fspath(path))
    return filesystem, inner.rstrip("/")


def join_address(folder: PathLike, name: str) -> str:
    """A folder's own folder, of a path or an address.

    >>> join_address("s3://bucket/runs/", "forest")
    's3://bucket/runs/forest'
    """
    return f"{os.fspath(folder).rstrip('/')}/{name}"


def _locate_one(path: str, endings: Sequence[str]) -> Location:
    from pyarrow import fs

    filesystem, inner = _filesystem(path)
    globbed = GLOB.search(inner)
    if globbed:
        root = inner[: globbed.start()].rpartition("/")[0]
        listed = _files_under(filesystem, root, path)
        matched = tuple(name for name in listed if _matches(name, inner))
        if not matched:
            raise InputError(f"no file matches {path}: check the pattern")
        return Location(filesystem, matched, root)
    kind = filesystem.get_file_info(inner).type
    if kind == fs.FileType.File:
        return Location(filesystem, (inner,), inner.rpartition("/")[0])
    if kind != fs.FileType.Directory:
        raise InputError(f"there is no file or folder {path}: check the name")
    root = inner.rstrip("/")
    every, known = _files_under(filesystem, root, path), tuple(endings)
    listed = [name for name in every if name.lower().endswith(known)]
    if not listed:
        raise InputError(f"{path} holds no data: give files that end with {', '.join(endings)}")
    return Location(filesystem, tuple(listed), root)


def _files_under(filesystem: Any, root: str, path: str) -> list[str]:
    """All files below a folder but for hidden ones and markers such as _SUCCESS."""
    from pyarrow import fs

    try:
        entries = filesystem.get_file_info(fs.FileSelector(root or ".", recursive=True))
    except (OSError, FileNotFoundError) as problem:
        raise InputError(f"{path} cannot be listed ({first_line(problem)}): check it") from problem
    kept = []
    for entry in entries:
        inside = entry.path[len(root) :].lstrip("/")
        hidden = any(part.startswith((".", "_")) for part in inside.split("/"))
        if entry.type == fs.FileType.File and not hidden:
            kept.append(entry.path)
    return sorted(kept)


def _matches(path: str, pattern: str) -> bool:
    """Whether a path fits a glob, in which ** stands for any folders and * for no slash.

    >>> _matches("/a/b/c.csv", "/a/**/*.csv"), _matches("/a/b/c.csv", "/a/*.csv")
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


def _filesystem(path: str) -> tuple[Any, str]:
    """The file system that an address is in, and the path there."""
    import pyarrow as pa
    from pyarrow import fs

    if not SCHEME.match(path):
        return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(path))
    # The glob is no part of an address that a library parses.
    globbed = GLOB.search(path)
    stem = path if globbed is None else path[: globbed.start()].rpartition("/")[0]
    rest = path[len(stem) :]
    try:
        filesystem, inner = fs.FileSystem.from_uri(stem)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # What arrow does not know, fsspec may: adls, memory, sftp, …
        fsspec = needs("fsspec", "stores")
        try:
            opened, inner = fsspec.core.url_to_fs(stem)
        except (ValueError, ImportError) as problem:
            raise InputError(f"{path} cannot be opened ({first_line(problem)})") from problem
        filesystem = fs.PyFileSystem(fs.FSSpecHandler(opened))
    except OSError as problem:
        raise InputError(f"{path} cannot be opened ({first_line(problem)})") from problem
    return filesystem, inner.rstrip("/") + rest
