"""What commands share that read data larger than memory."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from anharmonic._core.estimate import Estimate
from anharmonic.cli.groups import PointOptions, SourceOptions, WorkerOptions
from anharmonic.cli.parsing import Arguments, given_data, split
from anharmonic.cli.show import plain, printable, tell
from anharmonic.errors import SettingsError
from anharmonic.sources.locations import join_address

if TYPE_CHECKING:
    from anharmonic.measures.compare import Comparison
    from anharmonic.measures.streaming import StoredScores
    from anharmonic.regions import Region
    from anharmonic.sources import Source

__all__ = [
    "SOME_SET_ASIDE",
    "finish_comparison",
    "finish_source",
    "is_several",
    "refuse_file",
    "refuse_labels",
    "refuse_page",
    "sampled",
    "source_arguments",
    "source_of",
    "streams",
]

SOME_SET_ASIDE = 3
"""The exit code of a run that came to its end and had to set rows aside."""
SHOWN = 5
SEVERAL = re.compile(r"[*?\[]|^[A-Za-z][A-Za-z0-9+.-]+://")


def is_several(data: str) -> bool:
    """Whether a name stands for a pattern, an address or a folder of files."""
    return Path(data).is_dir() or (SEVERAL.search(data) is not None and not Path(data).is_file())


def streams(points: PointOptions, source: SourceOptions) -> bool:
    """Whether data are read in batches: several files, a store, an engine, or told so."""
    if source.cluster() is not None or source.stream:
        return True
    if points.data is not None and is_several(points.data):
        return True
    if source.key is not None or source.fresh:
        raise SettingsError("--key and --fresh are for data that are read in batches: add --stream")
    return False


def sampled(region: Region, source: SourceOptions, seed: int | None) -> Region:
    """Rows of a region in memory drawn at random, with the numbers they have among all."""
    if source.sample is None or source.sample >= len(region):
        return region
    import numpy as np

    from anharmonic._core.randomness import generator
    from anharmonic._core.streams import Stream

    random = generator(seed or 0, Stream.SOURCE_ROWS)
    rows = np.sort(random.choice(len(region), source.sample, replace=False))
    return dataclasses.replace(region.rows(rows), addresses=rows)


def source_of(points: PointOptions, source: SourceOptions) -> Source:
    """The data as a source."""
    from anharmonic.sources import files

    return files(
        given_data(points.data),
        key=source.key,
        columns=split(points.columns),
        drop=split(points.drop) or (),
        sample=source.sample,
    )


def source_arguments(
    points: PointOptions,
    source: SourceOptions,
    out: str | None,
    workers: WorkerOptions | None = None,
) -> Arguments:
    """Arguments of any measure that takes a source."""
    from anharmonic.sources import files

    refuse_file(out)
    engine = source.cluster()
    if workers is not None and (workers.threads or workers.processes):
        if engine is not None:
            raise SettingsError("give --engine, --threads or --processes, not several")
        engine = workers.map()
    reference: Any = points.reference
    if reference is not None:
        reference = files(reference, columns=split(points.columns), drop=split(points.drop) or ())
    return {
        "reference": reference,
        "moving": points.moves,
        "kinds": points.kinds,
        "engine": engine,
        "out": out,
        "fresh": source.fresh,
    }


def refuse_file(out: str | None) -> None:
    """Refuse the name of one file where a folder will be."""
    if out is not None and out.endswith((".parquet", ".pq")):
        raise SettingsError(
            "data that are read in batches make a folder of scores: give --out "
            f"{out.rpartition('.')[0]}"
        )


def finish_source(stored: StoredScores, out: str | None, as_json: bool) -> None:
    """The result on standard output; exit code 3 where rows were set aside."""
    if as_json:
        print(json.dumps(plain(stored.summary())))
    else:
        _show(stored, out)
    if stored.set_aside or stored.unreadable:
        _say_set_aside(stored, out)


def finish_comparison(compared: Comparison) -> None:
    """Exit code 3 where a model could not be measured at some rows."""
    for name, stored in compared.scores.items():
        aside = getattr(stored, "set_aside", 0) + getattr(stored, "unreadable", 0)
        if aside:
            tell(f"{name}: {aside:,} rows or files were set aside, see its folder")
            raise typer.Exit(SOME_SET_ASIDE)


def refuse_labels(labels: str | None) -> None:
    """Labels are compared with answers in memory."""
    if labels is not None:
        raise SettingsError("--labels is for points in memory: add --sample, and drop --stream")


def refuse_page(page: Path | None) -> None:
    """Refuse pictures of more points than fit in memory."""
    if page is not None:
        raise SettingsError("--report is for points in memory: add --sample, and drop --stream")


def _show(stored: StoredScores, out: str | None) -> None:
    low, high = stored.interval()
    name = printable(stored.settings.model or "a model")
    table = Table(title=f"{stored.metric} of {name}", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row(f"mean {stored.metric}", str(Estimate(stored.mean, stored.error)))
    table.add_row("95% interval", f"{low:.4g} … {high:.4g}")
    table.add_row("points", f"{len(stored):,}")
    each = f" ({stored.queries / len(stored):.1f} per point)" if len(stored) else ""
    table.add_row("queries", f"{stored.queries:,}{each}")
    if stored.settings.knows("radius"):
        table.add_row("radius", f"{stored.settings.radius:.4g}")
    table.add_row(
        "scores", "not kept: give --out a folder" if out is None else join_address(out, "scores")
    )
    console = Console()
    console.print(table)
    worst = Table(title="most fragile, by the safe end of their intervals")
    rows = stored.worst(SHOWN, "pyarrow")
    for column in rows.column_names:
        worst.add_column(column, justify="right")
    for row in rows.to_pylist():
        cells = [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row.values()]
        worst.add_row(*map(printable, cells))
    console.print(worst)


def _say_set_aside(stored: StoredScores, out: str | None) -> NoReturn:
    rows = stored.set_aside_rows("pyarrow").to_pylist()
    where = "" if out is None else f"; all of them are in {join_address(out, 'set_aside')}"
    unread = f" and {stored.unreadable:,} files or ends of files" if stored.unreadable else ""
    tell(f"{stored.set_aside:,} rows{unread} were set aside{where}. Among them:")
    for row in rows[:SHOWN]:
        tell(f"  {row['file']} row {row['row']}: {row['reason']}")
    raise typer.Exit(SOME_SET_ASIDE)
