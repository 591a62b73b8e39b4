"""Groups of options: each declared once, and taken by every command that needs it.

A command that is `grouped` takes a group as one argument; on the command line its fields are
options of their own. The default of such an argument changes the options' defaults there.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from anharmonic.cli import parsing

if TYPE_CHECKING:
    from anharmonic._core.protocols import Array, Map, Model
    from anharmonic.regions import Region

__all__ = [
    "BallOptions",
    "DirectionOptions",
    "FolderOptions",
    "Json",
    "ModelOptions",
    "ModelsOptions",
    "Out",
    "Place",
    "PointOptions",
    "Reduction",
    "RunOptions",
    "Seed",
    "SourceOptions",
    "StepOptions",
    "TableOptions",
    "WatchOptions",
    "Where",
    "WorkerOptions",
    "grouped",
]

Command = TypeVar("Command", bound=Callable[..., None])

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Out = Annotated[Path | None, typer.Option(help="Write the scores here, as Parquet.")]
Place = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Write the scores here, as Parquet; of data that are read in batches a folder or an "
        "address.",
    ),
]
Reduction = Annotated[str | None, typer.Option(help="norm, predicted, angle, or a column.")]
ColumnKind = Annotated[
    list[str] | None,
    typer.Option(
        help="COLUMN=KIND where a column's type misleads, as often as needed: number, bounded, "
        "share, whole, ordered, date, category, flag, spiked, one-hot or text; or its levels in "
        "order from the least, as in size=S,M,L."
    ),
]
Seed = Annotated[int, typer.Option(help="Of all that is random: the same gives the same numbers.")]
MODEL = "A file (.onnx, .skops, .joblib …), module:function, models:/… or a v2 server's URL."


def grouped(command: Command) -> Command:
    """The command with the fields of its groups as options of their own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {
        name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)
    }
    parameters: list[inspect.Parameter] = []
    fields_of: dict[str, list[str]] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = groups.get(parameter.name)
        if kind is None:
            parameters.append(
                parameter.replace(
                    kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name]
                )
            )
            continue
        options = _options(kind, parameter.default)
        fields_of[parameter.name] = [option.name for option in options]
        parameters += options

    @functools.wraps(command)
    def run(**options: object) -> None:
        filled = {
            name: groups[name](**{field: options.pop(field) for field in fields})
            for name, fields in fields_of.items()
        }
        command(**filled, **options)

    # Typer reads both: the signature for names and defaults, the annotations for types.
    setattr(run, "__signature__", inspect.Signature(parameters))  # noqa: B010
    run.__annotations__ = {option.name: option.annotation for option in parameters}
    return run  # type: ignore[return-value]


def _options(kind: Any, default: Any) -> list[inspect.Parameter]:
    """A group's fields as parameters, with the defaults of `default` where there is one."""
    hints = get_type_hints(kind, include_extras=True)
    title = str(kind.__doc__).splitlines()[0].rstrip(".")
    parameters = []
    for field in dataclasses.fields(kind):
        value = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        if default is not inspect.Parameter.empty:
            value = getattr(default, field.name)
        parameters.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=value,
                annotation=_in_panel(hints[field.name], title),
            )
        )
    return parameters


def _in_panel(annotation: Any, title: str) -> Any:
    """The same option, shown under the title of its group in the help."""
    kind, option = annotation.__origin__, copy.copy(annotation.__metadata__[0])
    option.rich_help_panel = title
    return Annotated[kind, option]


class Where(StrEnum):
    """Where models are compared."""

    auto = "auto"
    points = "points"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """One model, and what it is asked for."""

    source: Annotated[str | None, typer.Argument(metavar="MODEL", help=MODEL)] = None
    model: Annotated[
        str | None, typer.Option(help="The same as MODEL, as 0.1.0 spelt it.", hidden=True)
    ] = None
    output: Annotated[
        str | None, typer.Option(help="probability, logit, label, onehot, or a column's number.")
    ] = None
    trust: Annotated[bool, typer.Option(help="Allow files that run code when read.")] = False

    @property
    def name(self) -> str | None:
        """What names the model: the argument, or the option of old."""
        parsing.check_one_model(self.source, self.model)
        return self.source or self.model

    def load(self, output: str | None = None) -> Model:
        """The model, asked for what the options say or else for `output`."""
        return parsing.load(parsing.named_model(self.name), self.output or output, self.trust)

    def load_by_name(self) -> Model:
        """The model, of which workers are sent the name alone."""
        return parsing.load_by_name(parsing.named_model(self.name), self.output, self.trust)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelsOptions:
    """Several models by name, and what they are asked for."""

    models: Annotated[list[str], typer.Argument(help="NAME=MODEL, as often as there are models.")]
    output: Annotated[
        str | None, typer.Option(help="probability, logit, label, onehot, or a column's number.")
    ] = None
    trust: Annotated[bool, typer.Option(help="Allow files that run code when read.")] = False

    def load(self) -> dict[str, Model]:
        """The models by name."""
        sources = parsing.named_sources(self.models)
        return {
            name: parsing.load(source, self.output, self.trust) for name, source in sources.items()
        }

    def load_by_name(self) -> dict[str, Model]:
        """The same, of which workers are sent the names alone."""
        sources = parsing.named_sources(self.models)
        return {
            name: parsing.load_by_name(source, self.output, self.trust)
            for name, source in sources.items()
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Rows in a file, and the columns that are read."""

    data: Annotated[
        str | None,
        typer.Option(
            help="Points: .csv, .parquet, .npy, .npz, .tsv, .jsonl, .feather, .csv.gz or - for "
            "stdin. Needed wherever a model is asked."
        ),
    ] = None
    columns: Annotated[str | None, typer.Option(help="Columns to read, with commas.")] = None
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, such as the label.")] = (
        None
    )

    def table(self, reference: str | None = None) -> Array:
        """The rows, with the columns that are read."""
        path = parsing.given_data(self.data)
        return parsing.points_data(path, self.columns, self.drop, reference)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PointOptions(TableOptions):
    """Where a model is measured: rows, the columns that move, and what sets their scale."""

    reference: Annotated[
        str | None,
        typer.Option(
            help="Data the model knows: sets the scale and the radius. Over data: the other rows."
        ),
    ] = None
    moving: Annotated[
        str | None,
        typer.Option(
            help="Columns that may move; if not told, those that the model reads. "
            "Over data: those that rows are compared by."
        ),
    ] = None
    column_kind: ColumnKind = None

    @property
    def kinds(self) -> dict[str, str | list[str]] | None:
        """What columns are, if that was said."""
        return parsing.column_kinds(self.column_kind)

    @property
    def moves(self) -> list[str] | None:
        """The columns that may move, if that was said."""
        return parsing.split(self.moving)

    def whole_region(self) -> Region:
        """The rows as a region, of which nobody has said what moves."""
        from anharmonic.regions import points

        return points(self.table(self.reference))

    def region(self) -> Region:
        """The rows as a region in which some columns move."""
        from anharmonic.regions import points

        return points(self.table(self.reference), moving=self.moves, kinds=self.kinds)

    def rows(self) -> Region:
        """The rows as they are, of which nothing moves: any columns, and missing cells too."""
        from anharmonic.regions import unmoved

        return unmoved(self.table(self.reference))

    def reference_table(self) -> Array | None:
        """The reference, with the same columns; None where there is none."""
        return parsing.reference_data(self.reference, self.columns, self.drop)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DirectionOptions:
    """In which directions neighbours lie, in which units, within which bounds."""

    ball: Annotated[
        str | None,
        typer.Option(
            help="auto, simplex, antisimplex, cross, random pairs, … With data (data forest, data "
            "neighbours, data boosted) other rows take the place of a sphere: nothing moves."
        ),
    ] = "auto"
    directions: Annotated[
        int | None, typer.Option(min=1, help="The most neighbours in one copy of the ball.")
    ] = None
    rotations: Annotated[
        int | None, typer.Option(min=0, help="Independent copies of the ball.")
    ] = 4
    scale: Annotated[str | None, typer.Option(help='"auto" (standard deviations) or "raw".')] = (
        "auto"
    )
    bounds: Annotated[str | None, typer.Option(help="Keep neighbours within LOW,HIGH.")] = None

    def arguments(self) -> parsing.Arguments:
        """What was said, as arguments of `gamma`."""
        return parsing.sphere_arguments(scale=self.scale, bounds=self.bounds) | parsing.given(
            ball=self.ball, directions=self.directions, rotations=self.rotations
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class BallOptions(DirectionOptions):
    """The same, and how far away neighbours are."""

    radius: Annotated[str | None, typer.Option(help='In scaled units, or "auto".')] = "auto"

    def arguments(self) -> parsing.Arguments:
        """What was said, as arguments of `gamma`."""
        return super().arguments() | parsing.sphere_arguments(radius=self.radius)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepOptions:
    """How steps are made, by commands that walk."""

    radius: Annotated[str | None, typer.Option(help='In scaled units, or "auto".')] = "auto"
    directions: Annotated[int, typer.Option(min=1, help="Neighbours asked for per step.")] = 20
    scale: Annotated[str | None, typer.Option(help='"auto" (standard deviations) or "raw".')] = (
        "auto"
    )
    bounds: Annotated[str | None, typer.Option(help="Keep neighbours within LOW,HIGH.")] = None
    grid: Annotated[
        float | None, typer.Option(help="Round features to multiples: 1 for grey levels.")
    ] = None

    def arguments(self) -> parsing.Arguments:
        """What was said, as arguments of everything that walks."""
        return parsing.sphere_arguments(
            radius=self.radius, scale=self.scale, bounds=self.bounds
        ) | {"directions": self.directions, "grid": self.grid}


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What decides nothing but how a run goes: the seed and the size of calls."""

    seed: Annotated[
        int | None, typer.Option(help="Of all that is random: the same gives the same numbers.")
    ] = 0
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Rows to ask the model for in a call.")
    ] = None

    def arguments(self) -> parsing.Arguments:
        """What was said, as arguments of any measure."""
        return parsing.given(seed=self.seed, batch_size=self.batch_size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Data larger than memory: a folder, a glob, an address, or any file with --stream.

    They are read in batches, and --out is a folder; started again, a run goes on.
    """

    stream: Annotated[
        bool, typer.Option("--stream", help="Read in batches; --out is a folder then.")
    ] = False
    key: Annotated[
        str | None,
        typer.Option(help="A column that says who a row is: it stands beside the scores."),
    ] = None
    sample: Annotated[
        int | None, typer.Option(min=1, help="Measure so many rows, drawn at random.")
    ] = None
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over where --out holds a run already.")
    ] = False
    engine: Annotated[
        str | None, typer.Option(help="ray: share the work among the actors of a cluster.")
    ] = None
    address: Annotated[
        str | None,
        typer.Option(help="Of the cluster: auto, or ray://HOST:10001; else one of its own."),
    ] = None
    actors: Annotated[
        int | None, typer.Option(min=1, help="How many; as many as fit if not told.")
    ] = None
    gpus: Annotated[float, typer.Option(min=0, help="GPUs for each actor.")] = 0

    def cluster(self) -> Map | None:
        """The actors to share the work among; None where none were asked for."""
        from anharmonic import workers
        from anharmonic.errors import SettingsError

        if self.engine is None:
            if self.address or self.actors or self.gpus:
                raise SettingsError("--address, --actors and --gpus are for --engine ray: add it")
            return None
        if self.engine != "ray":
            raise SettingsError(f"no engine {self.engine}: give ray, or --threads or --processes")
        return workers.ray(self.actors, address=self.address, gpus=self.gpus)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """Who does the work."""

    threads: Annotated[
        int | None, typer.Option(min=1, help="Ask the model from so many threads.")
    ] = None
    processes: Annotated[
        int | None, typer.Option(min=1, help="Share the work among processes.")
    ] = None

    def map(self) -> Map:
        """Threads, processes, or this one thread."""
        return parsing.executor(self.threads, self.processes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """How a model's traffic is watched: against what, for what, with which promise."""

    reference: Annotated[
        Path,
        typer.Option(help="Held-out rows from a quiet time, in order: not the training rows."),
    ]
    false_alarms: Annotated[
        str, typer.Option(help="How many are allowed, such as '1 per 100000'.")
    ] = "1 per 100000"
    segment: Annotated[
        str | None, typer.Option(help="A column whose values are watched apart.")
    ] = None
    score: Annotated[
        str, typer.Option(help="How much is scored: a share, or '5000 queries per second'.")
    ] = "1"
    promise: Annotated[
        bool, typer.Option(help="Refuse a reference that can promise no rate of false alarms.")
    ] = True
    radius: Annotated[str, typer.Option(help='In scaled units, or "auto".')] = "auto"
    directions: Annotated[int, typer.Option(min=2, help="Neighbours per point, at most.")] = 16
    columns: Annotated[str | None, typer.Option(help="Columns to read, with commas.")] = None
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, such as the label.")] = (
        None
    )
    labels: Annotated[
        str | None,
        typer.Option(help="The reference's column of labels: then accuracy is estimated too."),
    ] = None
    moving: Annotated[
        str | None,
        typer.Option(help="Columns that may move; if not told, those that the model reads."),
    ] = None
    memory: Annotated[
        int,
        typer.Option(min=1, help="Rows that wait for a label: one that comes later is not used."),
    ] = 2000
    window: Annotated[int, typer.Option(min=30, help="Rows per window of accuracy over time.")] = (
        500
    )
    column_kind: ColumnKind = None
    seed: Seed = 0

    @property
    def dropped(self) -> str | None:
        """Columns that are left out, the label among them."""
        names = [*(parsing.split(self.drop) or []), *([self.labels] if self.labels else [])]
        return ",".join(names) or None

    def arguments(self) -> parsing.Arguments:
        """What was said, as arguments of a `Monitor`; the labels are read with the reference."""
        return {
            "moving": parsing.split(self.moving),
            "kinds": parsing.column_kinds(self.column_kind),
            "radius": parsing.radius_value(self.radius),
            "false_alarms": self.false_alarms,
            "segment": parsing.number(self.segment),
            "score": parsing.number_or_text(self.score),
            "promise": self.promise,
            "directions": self.directions,
            "memory": self.memory,
            "window": self.window,
            "seed": self.seed,
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class FolderOptions:
    """Where several runs that belong together are kept on the way."""

    keep: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="A folder to keep what is finished in, until all is; of data that are read in "
            "batches the folder of all scores, which stays.",
        ),
    ] = None
    resume: Annotated[
        Path | None, typer.Option("--resume", help="The folder of an unfinished run to go on from.")
    ] = None

    @property
    def kept(self) -> Path | None:
        """The folder of a run in memory."""
        return parsing.local_path(self.keep, "--keep")
