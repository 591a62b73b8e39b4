"""What the text of options stands for: models, tables, numbers."""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anharmonic.errors import InputError, SettingsError

if TYPE_CHECKING:
    from anharmonic._core.protocols import Array, Map, Model

__all__ = [
    "Arguments",
    "check_one_model",
    "chosen",
    "column_of",
    "executor",
    "given",
    "given_data",
    "load",
    "load_by_name",
    "local_path",
    "name_and_value",
    "named_model",
    "named_sources",
    "names_of",
    "number",
    "number_or_text",
    "numbers",
    "pair",
    "points_data",
    "radius_value",
    "reference_data",
    "scale_value",
    "sphere_arguments",
    "split",
]


Arguments = dict[str, Any]
"""Arguments for a measure by name: each is checked by the measure itself."""


def load(source: str, output: str | None, trust: bool) -> Model:
    """The model that text on the command line stands for."""
    from anharmonic.cli.importing import folder_last
    from anharmonic.models import as_model
    from anharmonic.models.files import PICKLES, is_attribute, load_attribute

    wanted = number(output)
    if is_attribute(source) and not Path(source).exists():
        with folder_last():
            load_attribute(source)
    elif trust and Path(source).suffix.lower() in PICKLES:
        # A pickle names modules as well: those that its classes were defined in.
        with folder_last():
            return as_model(source, output=wanted, trust=True)
    return as_model(source, output=wanted, trust=trust)


def load_by_name(source: str, output: str | None, trust: bool) -> Model:
    """The same, of which workers are sent the name alone: they may run in another folder."""
    from anharmonic.models.named import NamedModel

    name = str(Path(source).absolute()) if Path(source).exists() else source
    return NamedModel(load(source, output, trust), name, number(output), trust)


def check_one_model(argument: str | None, option: str | None) -> None:
    """Refuse two models where one is meant."""
    if argument and option:
        raise SettingsError(f"two models are named, {argument} and {option}: give one MODEL")


def named_model(name: str | None) -> str:
    """The model that was named, or a word on how to name one."""
    if not name:
        # A command that lacks something is mistyped: exit code 2, as for any other option.
        raise typer.BadParameter(
            "give a file, module:function, models:/… or a server's URL", param_hint="MODEL"
        )
    return name


def named_sources(models: Sequence[str]) -> dict[str, str]:
    """What NAME=MODEL stands for, given several times."""
    sources = dict(name_and_value(text) for text in models)
    if len(sources) < len(models):
        raise SettingsError("two models have the same name: give each its own")
    return sources


def given_data(path: str | None) -> str:
    """The file of points, or a word that it is missing."""
    if path is None:
        raise typer.BadParameter("give the points with the model", param_hint="--data")
    return path


def column_of(table: Array, name: str) -> Array:
    """One column of a table, such as its labels."""
    import narwhals.stable.v1 as nw
    import numpy as np

    frame = nw.from_native(table, eager_only=True)
    if name not in frame.columns:
        raise SettingsError(f"no column {name}: there are {', '.join(frame.columns)}")
    return np.asarray(frame[name].to_numpy())


def points_data(
    path: str | Path,
    columns: str | None,
    drop: str | None,
    reference: str | Path | None = None,
) -> Array:
    """What is in a file, without columns that were not asked for.

    One of two files may lack what is dropped, such as the label.
    """
    from anharmonic._core.files import read_data
    from anharmonic.cli.show import tell

    table = read_data(path, tell)
    lacking = [name for name in split(drop) or [] if name not in names_of(table)]
    elsewhere = names_of(read_data(reference)) if lacking and reference is not None else []
    return chosen(table, columns, drop, path, elsewhere)


def reference_data(path: str | Path | None, columns: str | None, drop: str | None) -> Array | None:
    """Reference data, with the same columns as the points."""
    if path is None:
        return None
    from anharmonic._core.files import read_data
    from anharmonic.cli.show import tell

    return chosen(read_data(path, tell), columns, drop, path, split(drop) or [])


def chosen(
    table: Array,
    columns: str | None,
    drop: str | None,
    path: str | Path,
    elsewhere: Sequence[str] = (),
) -> Array:
    """A table without the columns that were not asked for; `elsewhere` are known to be dropped."""
    import narwhals.stable.v1 as nw

    from anharmonic._core.columns import shown

    native = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(native, nw.DataFrame):
        if columns or drop:
            raise InputError("--columns and --drop need named columns: give CSV or Parquet")
        return table
    wanted = split(columns) or list(native.columns)
    dropped = split(drop) or []
    needed = [*wanted, *(name for name in dropped if name not in elsewhere)]
    missing = [name for name in needed if name not in native.columns]
    if missing:
        raise InputError(
            f"{path} has no column {shown(missing)}: there are {shown(native.columns)}"
        )
    return native.select([name for name in wanted if name not in dropped]).to_native()


def names_of(table: object) -> list[str]:
    """The columns of a table; an array's have no names."""
    import narwhals.stable.v1 as nw

    native = nw.from_native(table, eager_only=True, pass_through=True)
    return list(native.columns) if isinstance(native, nw.DataFrame) else []


def split(names: str | None) -> list[str] | None:
    """Names with commas between them."""
    return None if names is None else [name.strip() for name in names.split(",")]


def local_path(place: str | None, option: str) -> Path | None:
    """A path on this machine's disks; refused where it is an address.

    >>> local_path("scores.parquet", "--out").name
    'scores.parquet'
    """
    if place is not None and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", place):
        raise SettingsError(
            f"{option} {place} is an address, which only data that are read in batches are written "
            "to: add --stream, or give a path"
        )
    return None if place is None else Path(place)


def column_kinds(given: Sequence[str] | None) -> dict[str, str | list[str]] | None:
    """Kinds by column, from COLUMN=KIND, and levels in order from COLUMN=LEVEL,LEVEL.

    >>> column_kinds(["postcode=category", "size=S,M,L"])
    {'postcode': 'category', 'size': ['S', 'M', 'L']}
    """
    if not given:
        return None
    named = dict(map(name_and_value, given))
    return {name: (split(kind) or []) if "," in kind else kind for name, kind in named.items()}


def name_and_value(text: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise SettingsError(f"{text!r}: give each a name, such as forest=forest.onnx")
    return name, value


def number(text: str | None) -> int | str | None:
    """A column's number, or a word."""
    return int(text) if text is not None and text.lstrip("-").isdigit() else text


def numbers(text: str | None, option: str) -> list[float] | None:
    """Numbers with commas between them."""
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(f"{option} {text}: give numbers, such as 0.1,0.2") from None


def radius_value(text: str) -> float | str:
    """A number or "auto"."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise SettingsError(f'--radius {text}: give a number or "auto"') from None


def scale_value(text: str) -> str | None:
    """Standard deviations ("auto"), or None for raw units."""
    if text not in ("auto", "raw"):
        raise SettingsError(f'--scale {text}: give "auto" or "raw"')
    return None if text == "raw" else text


def pair(text: str | None) -> tuple[float, float] | None:
    """Two numbers with a comma between them."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"--bounds {text}: give two numbers, such as 0,255") from None
    return low, high


def sphere_arguments(
    *, radius: str | None = None, scale: str | None = None, bounds: str | None = None
) -> Arguments:
    """Radius, scale and bounds as arguments, without what was not said."""
    arguments = given(radius=None if radius is None else radius_value(radius), bounds=pair(bounds))
    # None means raw units to a measure, and is no missing option.
    return arguments if scale is None else arguments | {"scale": scale_value(scale)}


def given(**options: object) -> Arguments:
    """The options that were said."""
    return {name: value for name, value in options.items() if value is not None}


def number_or_text(text: str) -> float | str:
    """A number where it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def executor(threads: int | None, processes: int | None) -> Map:
    """Threads, processes, or this one thread."""
    if threads and processes:
        raise SettingsError("give --threads or --processes, not both")
    from anharmonic import workers

    if threads:
        return workers.threads(threads)
    return workers.processes(processes) if processes else builtins.map
