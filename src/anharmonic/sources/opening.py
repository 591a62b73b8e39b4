"""From files to a dataset: what they hold, what of it is measured, and what cannot be read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from anharmonic._core.columns import shown
from anharmonic._core.files import as_fractions
from anharmonic.errors import InputError, SettingsError, first_line
from anharmonic.sources.columns import (
    folder_values,
    left_out_of,
    partition_types,
    usual_columns,
)
from anharmonic.sources.dataset import DataFile, Dataset
from anharmonic.sources.formats import (
    TEXT,
    Outline,
    check_readable,
    is_empty,
    outline,
    pieces_of,
)
from anharmonic.sources.kinds import shared_kind
from anharmonic.sources.locations import Location, PathLike, open_folder
from anharmonic.sources.patience import FOR_GOOD, NoRoom, NotNow, read_patiently
from anharmonic.sources.retyping import ROW, Kinds
from anharmonic.sources.rows import Aside
from anharmonic.sources.staging import Staged, stage

if TYPE_CHECKING:
    import pyarrow as pa

    from anharmonic.sources.source import Source

__all__ = ["Found", "dataset_of", "look_at", "stage_all", "stamped"]

Held = TypeVar("Held")
OPENERS = 16
"""Footers that are read at once: of object stores each takes a while."""


class Found(NamedTuple):
    """Files as they were found: what each holds, or why nobody can say, and what is no row."""

    filesystem: Any
    paths: tuple[str, ...]
    names: tuple[str, ...]
    outlines: tuple[Outline | str, ...]
    aside: tuple[Aside, ...] = ()


def stamped(location: Location, content: bool = False) -> tuple[str, ...]:
    """What tells files from others of the same names: size and time, or else what they hold.

    Parameters
    ----------
    location
        The files.
    content
        Whether only what is in them counts, as of a copy.
    """

    def stamp(path: str, known: str) -> str:
        if " of " in known and not content:
            return known
        digest = hashlib.blake2b(digest_size=16)
        for piece in pieces_of(location.filesystem, path, tail=not content):
            digest.update(piece)
        return f"{known.partition(' of ')[0]} {digest.hexdigest()}"

    with ThreadPoolExecutor(OPENERS) as pool:
        return tuple(pool.map(stamp, location.paths, location.stamps))


def look_at(location: Location) -> Found:
    """Files that can be read from any row on."""
    filesystem = location.filesystem

    def look(path: str) -> Outline | str:
        check = partial(check_readable, filesystem, path, tail=True)
        return _or_reason(partial(outline, filesystem, path), check, path)

    with ThreadPoolExecutor(OPENERS) as pool:
        outlines = tuple(pool.map(look, location.paths))
    names = tuple(location.name(path) for path in location.paths)
    return Found(filesystem, location.paths, names, outlines)


def stage_all(location: Location, endings: Sequence[str], staging: PathLike) -> Found:
    """Text files as Parquet files in a folder."""
    filesystem, folder = open_folder(staging)
    filesystem.create_dir(folder)
    names = tuple(location.name(path) for path in location.paths)
    others = [name for name, ending in zip(names, endings, strict=True) if ending not in TEXT]
    if others:
        raise InputError(
            f"{others[0]} is no text file and others are: give files of one kind at a time"
        )
    paths = tuple(f"{folder}/{place:06d}.parquet" for place in range(len(names)))

    def staged(place: int, known: Kinds) -> Staged | str:
        path, name = location.paths[place], names[place]
        check = partial(check_readable, location.filesystem, path)

        def write() -> Staged:
            with location.filesystem.open_input_file(path) as stream:
                return stage(stream, endings[place], name, filesystem, paths[place], check, known)

        return _or_reason(write, check, name)

    each = [staged(place, {}) for place in range(len(names))]
    for place, known in _as_texts(filesystem, paths, each).items():
        each[place] = staged(place, known)
    outlines = tuple(one if isinstance(one, str) else one.outline for one in each)
    aside = [row for one in each if not isinstance(one, str) for row in one.aside]
    return Found(filesystem, paths, names, outlines, tuple(aside))


def _as_texts(
    filesystem: Any, paths: Sequence[str], each: Sequence[Staged | str]
) -> dict[int, Kinds]:
    """What is a number here and words there, as the texts that both are: by places of files."""
    import pyarrow as pa

    schemas = {
        place: one.outline.schema
        for place, one in enumerate(each)
        if not isinstance(one, str) and one.outline.rows
    }
    again: dict[int, Kinds] = {}
    for name in dict.fromkeys(name for schema in schemas.values() for name in schema.names):
        kinds = {at: own.field(name).type for at, own in schemas.items() if name in own.names}
        if _shared(filesystem, [paths[at] for at in kinds], list(kinds.values()), name) is None:
            for place in (at for at, kind in kinds.items() if not pa.types.is_string(kind)):
                again.setdefault(place, {})[name] = pa.string()
    return again


def _or_reason(read: Callable[[], Held], check: Callable[[], None], name: str) -> Held | str:
    """What a file holds, or why it cannot be read; refused where it may be readable later."""
    try:
        return read_patiently(read, check, name)
    except NotNow as problem:
        if not isinstance(problem.__cause__, FOR_GOOD):
            raise
        return first_line(problem.__cause__)
    except (MemoryError, NoRoom):
        raise
    except Exception as problem:  # damage makes every library fail in ways of its own
        return first_line(problem)


def dataset_of(
    source: Source, found: Found, stamps: tuple[str, ...], wanted: Sequence[str]
) -> Dataset:
    """The files that could be opened, and those that could not, with reasons.

    Parameters
    ----------
    source
        What was asked for.
    found, stamps
        The files, and what tells them from others.
    wanted
        Columns that are measured where only folders say them.
    """
    import pyarrow as pa

    broken = list(found.aside)
    opened: list[tuple[DataFile, pa.Schema]] = []
    for place, (path, name, about) in enumerate(
        zip(found.paths, found.names, found.outlines, strict=True)
    ):
        if isinstance(about, str):
            broken.append(Aside(name, 0, None, f"the file cannot be read: {about}"))
        elif about.rows:
            opened.append((DataFile(place, path, name, about.groups), about.schema))
    if not opened:
        reason = f"no file can be read ({broken[0].reason})" if broken else "there are no rows"
        raise InputError(f"{source}: {reason}")
    said = partition_types([folder_values(file.name) for file, _ in opened])
    every = list(dict.fromkeys(name for _, schema in opened for name in schema.names))
    partitions = {name: kind for name, kind in said.items() if name not in set(every)}
    keys = () if source.key is None else (source.key,)
    columns = _columns(source, opened, partitions, wanted)
    known = {*every, *partitions}
    lacking = [name for name in (*columns, *keys) if name not in known]
    if lacking:
        raise SettingsError(
            f"{source} has no column {shown(lacking)}: there are {shown([*every, *partitions])}"
        )
    if not columns:
        raise InputError(f"{source}: most rows have no column in common: name some with columns=")
    held = [name for name in dict.fromkeys((*columns, *keys)) if name not in partitions]
    whole = [(file, own) for file, own in opened if not _lacks(file, own, held, broken)]
    kinds = partitions | _kinds(source, found.filesystem, whole, held)
    key_type = kinds.get(source.key) if source.key is not None else None
    if key_type is not None and pa.types.is_dictionary(key_type):
        key_type = key_type.value_type
    if key_type is not None and pa.types.is_nested(key_type):
        raise SettingsError(
            f"column {source.key} holds {key_type}, and a key is a whole number, a text, a date, "
            "a time or bytes: give another column"
        )
    return Dataset(
        filesystem=found.filesystem,
        files=tuple(_with_parts(file, partitions) for file, _ in whole),
        columns=tuple(columns),
        schema=pa.schema([(name, kinds[name]) for name in columns]),
        key=source.key,
        key_type=key_type,
        broken=tuple(broken),
        stamps=stamps,
        staged=ROW in every,
        named=tuple(name for name in (*every, *partitions) if name != ROW),
    )


def _columns(
    source: Source,
    opened: Sequence[tuple[DataFile, pa.Schema]],
    partitions: dict[str, Any],
    wanted: Sequence[str],
) -> list[str]:
    """Columns to measure: those named, or all but an index, the key and what is dropped."""
    left_out = {*source.drop, *([] if source.key is None else [source.key])}
    left_out = left_out.union(*(left_out_of(schema) for _, schema in opened))
    if source.columns is not None:
        return [name for name in source.columns if name not in left_out]
    usual = usual_columns([own.names for _, own in opened], [file.rows for file, _ in opened])
    named = [name for name in wanted if name in partitions]
    return [name for name in (*usual, *named) if name not in left_out]


def _kinds(
    source: Source,
    filesystem: Any,
    opened: Sequence[tuple[DataFile, pa.Schema]],
    names: Sequence[str],
) -> dict[str, Any]:
    """The types that columns have in all files together."""
    if not opened:
        raise InputError(f"{source}: no file has all of {shown(names)}: name some with columns=")
    kinds = {}
    for name in names:
        own = {file.name: schema.field(name).type for file, schema in opened}
        if name != source.key:
            own = {file: as_fractions(kind) for file, kind in own.items()}
        paths = [file.path for file, _ in opened]
        kinds[name] = _shared(filesystem, paths, list(own.values()), name)
        if kinds[name] is None:
            first = next(iter(own))
            other = next(file for file in own if own[file] != own[first])
            instead = (
                "give another key" if name == source.key else "leave it out with drop= (--drop)"
            )
            raise InputError(
                f"{source}: the files have columns of different kinds: {name} is {own[first]} in "
                f"{first} and {own[other]} in {other}: write it alike everywhere, or {instead}"
            )
    return kinds


def _shared(filesystem: Any, paths: Sequence[str], kinds: Sequence[Any], name: str) -> Any:
    """The type that holds a column of some files; None where there is none."""
    return shared_kind(kinds, lambda at: is_empty(filesystem, paths[at], name))


def _lacks(file: DataFile, schema: Any, needed: Sequence[str], broken: list[Aside]) -> bool:
    """Whether a file lacks a column that most others have: it is set aside then."""
    own = set(schema.names)
    lacking = [name for name in needed if name not in own]
    if lacking:
        broken.append(Aside(file.name, 0, file.rows, f"the file has no column {shown(lacking)}"))
    return bool(lacking)


def _with_parts(file: DataFile, partitions: dict[str, Any]) -> DataFile:
    said = folder_values(file.name)
    whole = [name for name in partitions if str(partitions[name]) == "int64"]
    values: dict[str, object] = {name: said[name] for name in partitions}
    values |= {name: int(said[name] or 0) for name in whole if said[name] is not None}
    return file._replace(parts=tuple(values.items()))
