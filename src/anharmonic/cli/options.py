"""Options that commands share, and what their text stands for."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import narwhals.stable.v1 as nw
import typer

from anharmonic import workers
from anharmonic.cli.importing import folder_last
from anharmonic.cli.show import tell
from anharmonic.columns import shown
from anharmonic.errors import InputError, SettingsError
from anharmonic.files import read_data
from anharmonic.models import as_model
from anharmonic.models.files import PICKLES, is_attribute, load_attribute
from anharmonic.protocols import Map, Model

__all__ = [
    "Ball",
    "BatchSize",
    "Bounds",
    "Columns",
    "Count",
    "Data",
    "Directions",
    "Drop",
    "Grid",
    "Json",
    "Keep",
    "ModelOption",
    "Moving",
    "NamedModels",
    "OneModel",
    "Out",
    "OutputOption",
    "Place",
    "Points",
    "Processes",
    "Radius",
    "Reduction",
    "Reference",
    "Resume",
    "ResumeFolder",
    "Rotations",
    "Scale",
    "Seed",
    "Threads",
    "Trust",
    "Where",
    "chosen",
    "executor",
    "load",
    "name_and_value",
    "names_of",
    "number",
    "numbers",
    "pair",
    "points_data",
    "radius_value",
    "reference_data",
    "scale_value",
    "split",
]


class Where(StrEnum):
    """Where models are compared."""

    auto = "auto"
    points = "points"


ModelOption = Annotated[
    str | None,
    typer.Option(
        help="An .onnx, .skops or .joblib file, module:function, models:/… or a v2 server's URL."
    ),
]
Points = Annotated[Path, typer.Option(help="Points: .csv, .parquet, .npy or .npz.")]
Data = Annotated[
    Path | None,
    typer.Option(help="Points: .csv, .parquet, .npy or .npz. Needed wherever a model is asked."),
]
Reference = Annotated[
    Path | None, typer.Option(help="Data the model knows: sets the scale and the radius.")
]
Place = Annotated[
    Where, typer.Option(help="auto: at the reference points too, the larger counts. Or: points.")
]
Radius = Annotated[str, typer.Option(help='In scaled units, or "auto".')]
Ball = Annotated[str, typer.Option(help="auto, simplex, antisimplex, cross, random pairs, …")]
Columns = Annotated[str | None, typer.Option(help="Columns to read, with commas.")]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out, such as the label.")]
Moving = Annotated[
    str | None,
    typer.Option(help="Columns that may move; if not told, the numeric ones that the model reads."),
]
Scale = Annotated[str, typer.Option(help='"auto" (standard deviations) or "raw".')]
Bounds = Annotated[str | None, typer.Option(help="Keep neighbours within LOW,HIGH.")]
OutputOption = Annotated[
    str | None, typer.Option(help="probability, logit, label, onehot, or a column's number.")
]
Reduction = Annotated[str | None, typer.Option(help="norm, predicted, angle, or a column.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Out = Annotated[Path | None, typer.Option(help="Write the scores here, as Parquet.")]
Resume = Annotated[Path | None, typer.Option(help="Unfinished scores to go on from.")]
Keep = Annotated[
    Path | None, typer.Option(help="A folder to keep what is finished in, until all is.")
]
ResumeFolder = Annotated[
    Path | None, typer.Option("--resume", help="The folder of an unfinished run to go on from.")
]
Count = Annotated[int | None, typer.Option(min=1, help="How many points; all if not told.")]
Directions = Annotated[
    int | None, typer.Option(min=1, help="The most neighbours in one copy of the ball.")
]
BatchSize = Annotated[int | None, typer.Option(min=1, help="Rows to ask the model for in a call.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Ask the model from so many threads.")]
Processes = Annotated[int | None, typer.Option(min=1, help="Share the work among processes.")]
Seed = Annotated[int, typer.Option(help="Of all that is random: the same gives the same numbers.")]
NamedModels = Annotated[list[str], typer.Argument(help="NAME=MODEL, as often as there are models.")]
Rotations = Annotated[int, typer.Option(min=0, help="Independent copies of the ball.")]
OneModel = Annotated[
    str,
    typer.Argument(help="A file, module:function, models:/… or a v2 server's URL, as for gamma."),
]
Grid = Annotated[float | None, typer.Option(help="Round features to multiples: 1 for grey levels.")]
Trust = Annotated[bool, typer.Option(help="Allow files that run code when read.")]


def load(source: str, output: str | None, trust: bool) -> Model:
    """The model that text on the command line stands for."""
    asked = number(output)
    if is_attribute(source) and not Path(source).exists():
        with folder_last():
            load_attribute(source)
    elif trust and Path(source).suffix.lower() in PICKLES:
        # A pickle names modules as well: those that its classes were defined in.
        with folder_last():
            return as_model(source, output=asked, trust=True)
    return as_model(source, output=asked, trust=trust)


def points_data(
    path: Path, columns: str | None, drop: str | None, reference: Path | None = None
) -> Any:
    """What is in a file, without columns that were not asked for.

    One of two files may lack what is dropped, such as the label.
    """
    table = read_data(path, tell)
    lacking = [name for name in split(drop) or [] if name not in names_of(table)]
    elsewhere = names_of(read_data(reference)) if lacking and reference is not None else []
    return chosen(table, columns, drop, path, elsewhere)


def reference_data(path: Path | None, columns: str | None, drop: str | None) -> Any:
    """Reference data, with the same columns as the points."""
    if path is None:
        return None
    return chosen(read_data(path, tell), columns, drop, path, split(drop) or [])


def chosen(
    table: Any,
    columns: str | None,
    drop: str | None,
    path: Path,
    elsewhere: Sequence[str] = (),
) -> Any:
    """A table without the columns that were not asked for; `elsewhere` are known to be dropped."""
    native = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(native, nw.DataFrame):
        if columns or drop:
            raise InputError("--columns and --drop need named columns: give CSV or Parquet")
        return table
    wanted = split(columns) or list(native.columns)
    dropped = split(drop) or []
    asked = [*wanted, *(name for name in dropped if name not in elsewhere)]
    missing = [name for name in asked if name not in native.columns]
    if missing:
        raise InputError(
            f"{path} has no column {shown(missing)}: there are {shown(native.columns)}"
        )
    return native.select([name for name in wanted if name not in dropped]).to_native()


def names_of(table: Any) -> list[str]:
    """The columns of a table; an array's have no names."""
    native = nw.from_native(table, eager_only=True, pass_through=True)
    return list(native.columns) if isinstance(native, nw.DataFrame) else []


def split(names: str | None) -> list[str] | None:
    """Names with commas between them."""
    return None if names is None else [name.strip() for name in names.split(",")]


def name_and_value(text: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise SettingsError(f"{text!r}: give each a name, such as forest=forest.onnx")
    return name, value


def number(text: str | None) -> Any:
    """A column's number, or a word."""
    return int(text) if text is not None and text.lstrip("-").isdigit() else text


def numbers(text: str | None, option: str) -> list[float] | None:
    """Numbers with commas between them."""
    try:
        return None if text is None else [float(each) for each in text.split(",")]
    except ValueError:
        raise SettingsError(f"{option} {text}: give numbers, such as 0.1,0.2") from None


def radius_value(text: str) -> Any:
    """A number or "auto"."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise SettingsError(f'--radius {text}: give a number or "auto"') from None


def scale_value(text: str) -> Any:
    """Standard deviations ("auto"), or None for raw units."""
    if text not in ("auto", "raw"):
        raise SettingsError(f'--scale {text}: give "auto" or "raw"')
    return None if text == "raw" else text


def pair(text: str | None) -> tuple[float, float] | None:
    """Two numbers with a comma between them."""
    if text is None:
        return None
    try:
        low, high = (float(each) for each in text.split(","))
    except ValueError:
        raise SettingsError(f"--bounds {text}: give two numbers, such as 0,255") from None
    return low, high


def executor(threads: int | None, processes: int | None) -> Map:
    """Threads, processes, or this one thread."""
    if threads and processes:
        raise SettingsError("give --threads or --processes, not both")
    if threads:
        return workers.threads(threads)
    return workers.processes(processes) if processes else builtins.map
