"""`anharmonic gamma`, and `plan` and `collect` for models that cannot be called from here."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Annotated, Any

import narwhals.stable.v1 as nw
import typer
from rich.console import Console

from anharmonic import workers
from anharmonic.cli.show import progress_bar, show_scores
from anharmonic.errors import InputError, ModelError, SettingsError
from anharmonic.files import read_data
from anharmonic.meanvalue import gamma
from anharmonic.models import as_model
from anharmonic.offline import collect, plan
from anharmonic.protocols import Map
from anharmonic.regions import points
from anharmonic.scores import Scores

__all__ = ["measure"]

measure = typer.Typer(
    invoke_without_command=True,
    help="How far a model is from the mean-value property at each point: 0 for a harmonic one.",
)

ModelOption = Annotated[
    str | None,
    typer.Option(help="An .onnx, .skops or .joblib file, module:function, or a v2 server's URL."),
]
Data = Annotated[Path | None, typer.Option(help="Points: .csv, .parquet, .npy or .npz.")]
Reference = Annotated[
    Path | None, typer.Option(help="Data the model knows: sets the scale and the radius.")
]
Radius = Annotated[str, typer.Option(help='In scaled units, or "auto".')]
Ball = Annotated[str, typer.Option(help="auto, simplex, antisimplex, cross, random pairs, …")]
Columns = Annotated[str | None, typer.Option(help="Columns to read, with commas.")]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out, such as the label.")]
Moving = Annotated[str | None, typer.Option(help="Numeric columns that may move; all otherwise.")]
Scale = Annotated[str, typer.Option(help='"auto" (standard deviations) or "raw".')]
Bounds = Annotated[str | None, typer.Option(help="Keep neighbours within LOW,HIGH.")]
OutputOption = Annotated[
    str | None, typer.Option(help="probability, logit, label, onehot, or a column's number.")
]
Reduction = Annotated[str | None, typer.Option(help="norm, predicted, angle, or a column.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Out = Annotated[Path | None, typer.Option(help="Write the scores here, as Parquet.")]
Count = Annotated[int | None, typer.Option(min=1)]


@measure.callback()
def run(
    context: typer.Context,
    model: ModelOption = None,
    data: Data = None,
    radius: Radius = "auto",
    ball: Ball = "auto",
    directions: Count = None,
    rotations: Annotated[int, typer.Option(min=0, help="Independent copies of the ball.")] = 4,
    output: OutputOption = None,
    reduction: Reduction = None,
    scale: Scale = "auto",
    reference: Reference = None,
    bounds: Bounds = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    budget: Annotated[int | None, typer.Option(help="Queries in all.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Stop a point this narrow.")] = None,
    noise: Annotated[str, typer.Option(help="include, refuse or ignore.")] = "include",
    seed: int = 0,
    batch_size: Count = None,
    threads: Count = None,
    processes: Count = None,
    trust: Annotated[bool, typer.Option(help="Allow files that run code when read.")] = False,
    out: Out = None,
    resume: Annotated[Path | None, typer.Option(help="Unfinished scores to go on from.")] = None,
    as_json: Json = False,
) -> None:
    """Measure a model on data."""
    if context.invoked_subcommand:
        return
    if model is None or data is None:
        raise SettingsError("give --model and --data, or see: anharmonic gamma --help")
    # A module named on the command line may lie beside the data, as for `python -m`.
    sys.path.insert(0, "")
    asked = as_model(model, output=_number(output), trust=trust)
    table = _chosen(read_data(data), columns, drop)
    try:
        with progress_bar(quiet=as_json) as progress:
            scores = gamma(
                asked,
                points(table, moving=_split(moving)),
                radius=_radius(radius),
                ball=ball,
                directions=directions,
                rotations=rotations,
                reduction=_number(reduction),
                scale=_scale(scale),
                reference=_reference(reference, columns, drop),
                bounds=_pair(bounds),
                budget=budget,
                tolerance=tolerance,
                noise=noise,  # type: ignore[arg-type]
                resume=None if resume is None else Scores.load(resume),
                batch_size=batch_size,
                seed=seed,
                map=_workers(threads, processes),
                progress=progress,
            )
    except (ModelError, KeyboardInterrupt) as stop:
        _keep(getattr(stop, "partial", None), out)
        raise
    if out is not None:
        scores.save(out)
    show_scores(scores, as_json)


@measure.command("plan")
def plan_command(
    data: Annotated[Path, typer.Option(help="Points: .csv, .parquet, .npy or .npz.")],
    out: Annotated[Path, typer.Option(help="The questions, as Parquet.")],
    radius: Radius = "auto",
    ball: Ball = "auto pairs",
    directions: Count = None,
    rotations: Annotated[int, typer.Option(min=0)] = 4,
    scale: Scale = "auto",
    reference: Reference = None,
    bounds: Bounds = None,
    columns: Columns = None,
    drop: Drop = None,
    moving: Moving = None,
    seed: int = 0,
) -> None:
    """Write every question for a model that runs elsewhere; answer them, then collect."""
    plan(
        points(_chosen(read_data(data), columns, drop), moving=_split(moving)),
        out,
        ball=ball,
        directions=directions,
        radius=_radius(radius),
        rotations=rotations,
        scale=_scale(scale),
        reference=_reference(reference, columns, drop),
        bounds=_pair(bounds),
        seed=seed,
    )
    Console(stderr=True).print(
        f"{out} is written. Run the model on its feature columns, keep the query column or the "
        f"order, and then: anharmonic gamma collect {out} answers.parquet"
    )


@measure.command("collect")
def collect_command(
    queries: Annotated[Path, typer.Argument(help="What plan wrote.")],
    answers: Annotated[Path, typer.Argument(help="The model's outputs: Parquet, CSV or .npy.")],
    output: OutputOption = None,
    reduction: Reduction = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Turn the answers to a plan into the scores a direct run would have given."""
    scores = collect(queries, answers, output=_number(output), reduction=_number(reduction))
    if out is not None:
        scores.save(out)
    show_scores(scores, as_json)


def _keep(partial: Scores | None, out: Path | None) -> None:
    """Save what was finished, and say how to go on."""
    if partial is None or not (partial.turns > 0).any():
        return
    if out is None:
        Console(stderr=True).print("What was finished is lost: give --out to keep it next time.")
        return
    kept = partial.save(out.with_suffix(".partial.parquet"))
    Console(stderr=True).print(f"What was finished is kept. Go on with: --resume {kept}")


def _chosen(table: Any, columns: str | None, drop: str | None) -> Any:
    native = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(native, nw.DataFrame):
        if columns or drop:
            raise InputError("--columns and --drop need named columns: give CSV or Parquet")
        return table
    wanted = _split(columns) or list(native.columns)
    missing = [name for name in [*wanted, *(_split(drop) or [])] if name not in native.columns]
    if missing:
        raise InputError(f"no column {', '.join(missing)}: there are {', '.join(native.columns)}")
    return native.select([name for name in wanted if name not in (_split(drop) or [])]).to_native()


def _reference(path: Path | None, columns: str | None, drop: str | None) -> Any:
    return None if path is None else _chosen(read_data(path), columns, drop)


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]


def _number(text: str | None) -> Any:
    return int(text) if text is not None and text.lstrip("-").isdigit() else text


def _radius(text: str) -> Any:
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise SettingsError(f'--radius {text}: give a number or "auto"') from None


def _scale(text: str) -> Any:
    if text not in ("auto", "raw"):
        raise SettingsError(f'--scale {text}: give "auto" or "raw"')
    return None if text == "raw" else text


def _pair(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(each) for each in text.split(","))
    except ValueError:
        raise SettingsError(f"--bounds {text}: give two numbers, such as 0,255") from None
    return low, high


def _workers(threads: int | None, processes: int | None) -> Map:
    if threads and processes:
        raise SettingsError("give --threads or --processes, not both")
    if threads:
        return workers.threads(threads)
    return workers.processes(processes) if processes else builtins.map
