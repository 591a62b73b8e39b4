"""Gamma of a model that cannot be called from here.

`plan` writes every query to a Parquet file, whoever owns the model answers them
anywhere, and `collect` turns the answers into the same Scores a direct run would give.

Both run `gamma` itself: once with a model that writes down what it is asked, once with a
model that reads out the answers. So there is nothing to keep in step.
"""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.columns import is_index
from anharmonic._core.files import read_data, whole_file
from anharmonic._core.frames import as_table, dense, is_missing, missing_cells, numbers_in
from anharmonic._core.protocols import Array, Floats, Map
from anharmonic._core.reductions import Reduction
from anharmonic.errors import InputError, OutputError, SettingsError
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.offline_parts import collect_parts, plan_parts
from anharmonic.measures.offline_parts.planning import QUERY, check_names
from anharmonic.measures.setup.scale import with_neighbourhood
from anharmonic.measures.setup.settling import SetupArguments, settle_points, takes_arguments_of
from anharmonic.measures.streaming import StoredScores
from anharmonic.models import Predictor, as_model
from anharmonic.regions import as_region, points
from anharmonic.regions.tables.storing import law_as_text, law_from_text
from anharmonic.scores import Scores
from anharmonic.sources import Source
from anharmonic.sources.locations import is_folder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["collect", "plan"]

ARGUMENTS = (
    *("radius", "scale", "rotations", "directions"),
    *("bounds", "seed", "columns"),
)
"""Settings that `collect` hands back to `gamma`."""


class _Writer:
    """A Parquet file that takes its columns from the first rows it is given."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file: Any = None

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()

    def write(self, table: pa.Table) -> None:
        """Append rows."""
        from pyarrow.parquet import ParquetWriter

        if self.file is None:
            self.file = ParquetWriter(self.path, table.schema)
        self.file.write_table(table)

    def describe(self, about: dict[str, object]) -> None:
        """Keep facts beside the rows."""
        if self.file is not None:
            self.file.add_key_value_metadata({"anharmonic": json.dumps(about)})


class _Recorder:
    """A model that writes down what it is asked and answers zero."""

    def __init__(self, write: Callable[[pa.Table], None], names: Sequence[str]) -> None:
        self.write, self.names, self.count = write, names, 0

    def __call__(self, queries: Array) -> Floats:
        import pyarrow as pa

        rows = len(queries)
        if isinstance(queries, np.ndarray):
            flat = queries.reshape(rows, -1)
            columns = {name: flat[:, index] for index, name in enumerate(self.names)}
        else:
            table = nw.from_native(queries, eager_only=True)
            columns = {name: _as_arrow(table[name]) for name in self.names}
        numbers = np.arange(self.count, self.count + rows)
        self.write(pa.table({"query": numbers, **columns}))
        self.count += rows
        return np.zeros(rows)


class _Reader:
    """A model that reads out recorded answers, in the order they were asked for."""

    def __init__(self, answers: Array) -> None:
        self.answers, self.next = answers, 0

    def __call__(self, queries: Array) -> Array:
        start, self.next = self.next, self.next + len(queries)
        return self.answers[start : self.next]


def _as_arrow(series: nw.Series) -> Any:
    """A column as arrow's own, in a type that comes back from a file as it was."""
    import pyarrow as pa

    refused: Exception | None = None
    try:
        column = dense(series).to_arrow()
        if _comes_back(series, column):
            return column
    except (pa.ArrowException, TypeError, ValueError) as problem:
        refused = problem
    native = getattr(series.to_native(), "dtype", series.dtype)
    raise InputError(
        f"column {series.name} holds {native}, which does not come back from a Parquet file: make "
        "it text, numbers or dates, or leave it out"
    ) from refused


def _comes_back(series: nw.Series, column: pa.Array) -> bool:
    """Whether a file keeps a column's type, and arrow its cells where they are objects."""
    import pyarrow as pa

    listed = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if listed else column.type
    if isinstance(kind, pa.BaseExtensionType) or (listed and pa.types.is_duration(kind)):
        return False
    if series.dtype not in (nw.Object, nw.Categorical):
        return True
    there = np.flatnonzero(~missing_cells(series))
    return bool(series[there.tolist()].to_list() == column.take(there).to_pylist())


@takes_arguments_of(gamma, SetupArguments, without=("output", "batch_size"))
def plan(
    data: object,
    path: str | os.PathLike[str],
    *,
    ball: str = "auto pairs",
    directions: int | None = None,
    rotations: int = 4,
    engine: Map | None = None,
    fresh: bool = False,
    **setup: Unpack[SetupArguments],
) -> Path | str:
    """Write the queries of a `gamma` run on `data`: one row each, the features as columns.

    Parameters
    ----------
    data
        Rows, a DataFrame, a `regions.Region` or a `sources.Source`.
    path
        The Parquet file to write; of a source a folder, with Parquet files under `queries`.
    ball
        As in `gamma`. A ball that calls the model first cannot be planned, so "auto" means "auto
        pairs"; neither can budgets and tolerances.
    directions, rotations, radius, scale, reference, moving, bounds, seed
        As in `gamma`.
    engine, fresh
        Of a source: who does the work, and whether a plan that is there is begun anew. One that
        was stopped goes on by the same call.
    """
    fixed = "auto pairs" if ball == "auto" else ball
    if isinstance(data, Source):
        own = {"ball": fixed, "directions": directions, "rotations": rotations}
        return plan_parts(data, path, {**own, **setup}, engine or builtins.map, fresh)
    if engine is not None or fresh:
        raise SettingsError("engine= and fresh= are for sources (ah.sources.files): leave them out")
    with whole_file(path) as temporary, _Writer(temporary) as writer:
        region = as_region(data, setup.pop("moving", None))
        check_names(region.names, [QUERY])
        model = Predictor(_Recorder(writer.write, region.names), name="planned")
        settled = settle_points([model], region, setup)
        law = settled.region.neighbourhood
        shared: SetupArguments = {"seed": setup.get("seed", 0), "radius": settled.radius}
        if law is None:
            shared |= {"scale": settled.units, "bounds": setup.get("bounds")}
        scores = gamma(
            model,
            settled.region,
            ball=fixed,
            directions=directions,
            rotations=rotations,
            noise="ignore",
            **shared,
        )
        about = scores.settings.chosen(ARGUMENTS)
        about |= {"ball": fixed, "points": len(region), "queries": scores.queries}
        writer.describe(about | ({} if law is None else {"law": law_as_text(law)}))
    return Path(path)


def collect(
    queries: str | os.PathLike[str],
    answers: object,
    *,
    output: object = None,
    reduction: Reduction | None = None,
    say: Callable[[str], None] | None = None,
    out: str | os.PathLike[str] | None = None,
    engine: Map | None = None,
    fresh: bool = False,
) -> Scores | StoredScores:
    """Scores from a plan and its answers.

    Parameters
    ----------
    queries
        The file that `plan` wrote, or the folder of a source's plan.
    answers
        A Parquet or CSV file, a DataFrame or an array, in the order of the queries or with their
        `query` numbers. Features that stand beside the answers, and an index, are no answers, and
        must be in that order as well. One column of text is taken as class labels. Of a source:
        a folder of Parquet files with the questions' columns `part` and `query`.
    output, reduction
        What the answers are, and how a vector becomes a number: as in `gamma`.
    say
        Called with what had to be assumed.
    out, engine, fresh
        Of a source: the folder for the scores (`collected` beside the plan's, if not given), who
        does the work, and whether scores that are there are begun anew. What was stopped goes on
        by the same call.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if is_folder(queries):
        return collect_parts(
            queries,
            answers,
            output=output,
            reduction=reduction,
            out=out,
            engine=engine or builtins.map,
            fresh=fresh,
        )
    if out is not None or engine is not None or fresh:
        raise SettingsError(
            f"out=, engine= and fresh= are for the plan of a source, and {queries} is a file: save "
            "these scores with .save"
        )
    try:
        about = json.loads(pq.read_metadata(queries).metadata[b"anharmonic"])
        planned = pq.read_table(queries)
    except (pa.ArrowInvalid, FileNotFoundError, KeyError, ValueError) as problem:
        raise InputError(f"{queries} is no plan: make one with anharmonic gamma plan") from problem
    outputs, classes = _answers(answers, planned, say)
    # Of every point's queries the first is the point itself.
    queries_per_point = about["queries"] // about["points"]
    first = np.arange(0, about["queries"], queries_per_point)
    centres = planned.drop_columns("query").take(first)
    model = as_model(
        Predictor(_Reader(outputs), name=Path(queries).name, classes=classes, kind="value"),
        output="onehot" if classes and output is None else output,
    )
    region = points(centres, moving=about["columns"])
    if "law" in about:
        region = with_neighbourhood(region, law_from_text(about["law"]))
    else:
        region = replace(region, plain=True)
    return gamma(
        model,
        region,
        radius=about["radius"],
        scale=about["scale"],
        ball=about["ball"],
        directions=about["directions"],
        rotations=about["rotations"],
        bounds=about["bounds"],
        seed=about["seed"],
        reduction=reduction,
        noise="ignore",
    )


def _answers(
    answers: object, planned: pa.Table, say: Callable[[str], None] | None
) -> tuple[Array, tuple[object, ...] | None]:
    """Answers as an array in the order of the queries, and the classes where they are text."""
    wanted = planned.num_rows
    if isinstance(answers, str | os.PathLike):
        answers = read_data(answers, say)
    native = as_table(answers)
    if native is not None:
        if "query" in native.columns:
            native = native.sort("query")
            numbers = native["query"].to_numpy()
            if len(numbers) == wanted and not np.array_equal(numbers, np.arange(wanted)):
                raise OutputError("query numbers repeat or are missing: answer each one once")
        elif say is not None:
            say("the answers have no column query: they are taken in the order of the plan")
        answers = _outputs_alone(native, planned).to_numpy()
    array = np.asarray(answers)
    if array.ndim == 0 or len(array) != wanted:
        raise OutputError(
            f"the plan asks {wanted:,} questions and there are {len(np.atleast_1d(array)):,} "
            "answers: give one row for each query"
        )
    if array.dtype.kind in "OUS":
        labels = array.reshape(wanted, -1)
        said = [isinstance(label, str) for label in labels[:, 0].tolist()]
        if labels.shape[1] == 1 and any(said):
            if not all(said):
                raise OutputError(
                    f"{said.count(False):,} of {wanted:,} answers are no text as the others are, "
                    f"the first that to query {said.index(False)}: give each question a label"
                )
            return labels[:, 0], tuple(sorted(set(labels[:, 0].tolist())))
    return array, None


def _outputs_alone(native: nw.DataFrame[Any], planned: pa.Table) -> nw.DataFrame[Any]:
    """The table without an index and without the queries, whose order must be the plan's."""
    beside = [name for name in native.columns if name in planned.column_names and name != "query"]
    for name in beside if len(native) == planned.num_rows else ():
        wanted = nw.from_native(planned[name], series_only=True)
        if not _same_cells(native[name], wanted):
            raise OutputError(
                f"the answers stand beside other questions than the plan's (column {name}): keep "
                "the order of the queries, or their query numbers"
            )
    index = [name for name in native.columns if is_index(name)]
    return native.drop([*beside, *index, *(["query"] if "query" in native.columns else [])])


def _same_cells(values: nw.Series, wanted: nw.Series) -> bool:
    """Whether a column that stands beside answers is the plan's, as far as its type can say.

    A file of text keeps fewer digits than the plan, and other words for dates, gaps and truth.
    """
    if all(series.dtype.is_numeric() or series.dtype == nw.Boolean for series in (values, wanted)):
        return bool(np.isclose(numbers_in(values), numbers_in(wanted), equal_nan=True).all())
    named = (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Object)
    if wanted.dtype not in named and values.dtype != wanted.dtype:
        return True
    return [_word(cell) for cell in values.to_list()] == [_word(cell) for cell in wanted.to_list()]


def _word(cell: object) -> str:
    """A cell as any file has it: nothing where it is missing, and whole numbers without a point."""
    if is_missing(cell):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    word = str(cell)
    return word.lower() if word in ("True", "False") else word
