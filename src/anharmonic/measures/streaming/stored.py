"""Scores in a folder: as many as there are rows, and only what is asked for in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core import tables
from anharmonic._core.estimate import Estimate
from anharmonic._core.metrics import Metric, metric_of
from anharmonic._core.protocols import Integers
from anharmonic._core.reading import in_spreads, share_in_words
from anharmonic._core.settings import Settings
from anharmonic._core.statistics import Moments
from anharmonic._core.uncertainty import precision
from anharmonic.errors import InputError
from anharmonic.measures.streaming.folder import MANIFEST, SCORES, SUMMARY, RunFolder
from anharmonic.measures.streaming.manifest import Manifest
from anharmonic.measures.streaming.shard_work import Report, fragile_first
from anharmonic.scores import COLUMNS, Scores
from anharmonic.sources.locations import PathLike, is_folder
from anharmonic.sources.temporary import TemporaryFolder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["StoredScores", "reports_of", "summarise"]

WHO = ("file", "row", "key")


@dataclass(frozen=True, repr=False)
class StoredScores:
    """What a measure returns for a source: a folder of scores, and their summary.

    Parameters
    ----------
    folder
        Where they are: Parquet files under `scores`, each row with its file, its number there,
        and its key if there is one; rows that could not be measured under `set_aside`.
    metric, settings
        What was measured, and how.
    values, squares
        Moments of the scores, and of their squares without bias.
    errors_squared, errors_known, floor
        Of the points' own errors: their summed squares and how many there are; and what noise
        alone would make the mean read.
    spread
        The root mean square distance of the model's answers from their mean.
    set_aside, unreadable, queries
        Rows set aside, files or ends of files that nobody could read, and
        queries in all.
    worst_rows
        The most fragile rows, the worst first: file, number there, key, value.
    shard
        Rows of a part at most: parts of runs that are cut alike hold the same rows.
    held
        A temporary folder that lives as long as its scores.
    """

    folder: RunFolder
    metric: str
    settings: Settings
    values: Moments
    squares: Moments
    errors_squared: float
    errors_known: int
    floor: float
    spread: float
    set_aside: int
    unreadable: int
    queries: int
    worst_rows: list[list[Any]]
    shard: int
    held: TemporaryFolder | None = field(default=None, compare=False)

    @classmethod
    def load(cls, path: PathLike) -> StoredScores:
        """Open the folder of a run that came to its end."""
        if not is_folder(path):
            raise InputError(f"there is no folder {path}: give the one that out= or --out named")
        folder = RunFolder.at(path)
        manifest, summary = folder.read(MANIFEST), folder.read(SUMMARY)
        if manifest is None:
            raise InputError(f"{path} holds no run: give the folder that out= or --out named")
        if summary is None:
            raise InputError(f"the run in {path} has not come to its end: start it again to go on")
        stored = summarise(folder, Manifest.read(manifest), reports_of(folder))
        if len(stored) != summary.get("points"):
            raise InputError(
                f"the run in {path} has scores of {len(stored):,} rows and had of "
                f"{summary.get('points'):,}: start it again, which measures the others anew"
            )
        return stored

    def __len__(self) -> int:
        return int(self.values.count)

    @property
    def about(self) -> Metric:
        """What the values are: which way is fragile, how intervals are made."""
        return metric_of(self.metric)

    @property
    def fragile(self) -> str:
        """Which values are the fragile ones: "large" or "small"."""
        return self.settings.fragile or self.about.fragile

    @property
    def path(self) -> str:
        """The folder."""
        return self.folder.path

    @property
    def mean(self) -> float:
        """The average over the points."""
        return float(self.values.mean) if len(self) else float("nan")

    @property
    def error(self) -> float:
        """The standard error of `mean` as an estimate for where the points came from."""
        return float(self.values.error)

    @property
    def ball_error(self) -> float:
        """The part of the error that more turns would remove: the error for just these points."""
        known = self.errors_known
        return float(np.sqrt(self.errors_squared)) / known if known else float("nan")

    @property
    def rms(self) -> Estimate:
        """Root of the mean square: noise does not lift it."""
        value = float(np.sqrt(max(float(self.squares.mean), 0.0)))
        return Estimate(value, float(self.squares.error) / (2 * value) if value else float("nan"))

    @property
    def relative(self) -> Estimate:
        """The mean in units of the outputs' spread over the points: what share of it a score is."""
        return in_spreads(self.mean, self.error, self.spread)

    @property
    def share_of_spread(self) -> str:
        """`relative` in words; nothing where the values are not in the outputs' unit."""
        return share_in_words(self.relative, self.about.bounded, self.settings.reduction)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval for the mean."""
        low, high = self.values.interval(level)
        return float(low), float(high)

    def worst(self, count: int = 10, backend: tables.Backend | None = None) -> Any:
        """The most fragile rows as a frame: who they are, their scores and errors.

        They are ordered by the safe ends of their intervals; a folder remembers a few of each
        of its parts.
        """
        rows = self.worst_rows[:count]
        names = ("safe_end", "value", "error", "file", "row", "key")
        columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
        if all(key is None for key in columns["key"]):
            del columns["key"]
        import pyarrow as pa

        return tables.frame(pa.table(columns), backend)

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """The scores as arrow tables, part by part, in the order of the rows.

        Parameters
        ----------
        columns
            Which to read; all if not given.
        """
        for name in self.folder.parts():
            table = self.folder.part(name, columns)
            if len(table):
                yield table

    def pieces(self) -> Iterator[tuple[str, Integers, Scores]]:
        """Parts by their names: the rows' numbers in their file, and their scores."""
        for name in self.folder.parts():
            if (piece := self.piece(name)) is not None:
                yield name, *piece

    def piece(self, name: str) -> tuple[Integers, Scores] | None:
        """One part: the rows' numbers in their file, and their scores; None where it has none."""
        table = self.folder.part(name)
        return (np.asarray(table["row"].to_numpy()), self._scores(table)) if len(table) else None

    def set_aside_rows(self, backend: tables.Backend | None = None) -> Any:
        """Rows that could not be measured, and why, as a frame; None where there are none."""
        table = self.folder.set_aside()
        return None if table is None else tables.frame(table, backend)

    def to_scores(self) -> Scores:
        """All of them in memory, as `Scores`; `index` says who the rows are."""
        import pyarrow as pa

        tables = list(self.batches())
        if not tables:
            raise InputError(f"no row of the run in {self.path} could be measured: see set_aside")
        return self._scores(pa.concat_tables(tables))

    def _scores(self, table: pa.Table) -> Scores:
        outputs = tables.column(table, "output")
        settings = self.settings.with_facts(points=len(table), precision=precision(outputs))
        about = {"metric": self.metric, "queries": self.queries, "settings": settings.plain()}
        known = [name for name in table.column_names if name in COLUMNS or name not in WHO]
        return Scores.read(table.select(known), about)

    def summary(self) -> dict[str, Any]:
        """The headline as plain numbers, ready for JSON."""
        low, high = self.interval()
        return {
            "metric": self.metric,
            "points": len(self),
            "mean": self.mean,
            "error": self.error,
            "interval95": [low, high],
            "noise_floor": self.floor,
            "rms": list(self.rms),
            "queries": self.queries,
            "set_aside": self.set_aside,
            "unreadable": self.unreadable,
            "scores": f"{self.path}/{SCORES}",
            "settings": self.settings.plain(),
        }

    def __repr__(self) -> str:
        aside = f", {self.set_aside:,} set aside" if self.set_aside else ""
        unread = f", {self.unreadable:,} files not wholly read" if self.unreadable else ""
        radius = self.settings.radius
        where = f", radius {radius:.4g}" if self.settings.knows("radius") else ""
        return (
            f"<{self.metric} {Estimate(self.mean, self.error)} over {len(self):,} points{aside}"
            f"{unread}, {self.queries:,} queries{where}, in {self.path}>"
        )

    def _repr_html_(self) -> str:
        return tables.facts(
            {
                self.metric: Estimate(self.mean, self.error),
                "points": f"{len(self):,}",
                "set aside": f"{self.set_aside:,}",
                "queries": f"{self.queries:,}",
                "folder": self.path,
                **self.settings.chosen(("radius", "ball", "model")),
            }
        )


def reports_of(folder: RunFolder, known: Mapping[str, Report] | None = None) -> dict[str, Report]:
    """What is known of every part, in the order of the rows; `known` need not be read."""
    told = known or {}
    return {
        name: told.get(name) or Report(**folder.about(path))
        for name, path in folder.parts().items()
    }


def summarise(
    folder: RunFolder,
    manifest: Manifest,
    reports: Mapping[str, Report],
    held: TemporaryFolder | None = None,
) -> StoredScores:
    """All parts of a run together, merged in the order of the rows whoever measured them."""
    every = list(reports.values())
    settings_kind = metric_of(manifest.measure).settings or Settings
    values = squares = Moments.of(np.empty(0))
    outputs = Moments.of(np.empty(0))
    errors_squared, errors_known = 0.0, 0
    floors = 0.0
    for count, mean, spread, square, square_spread, errors, errors_count, floor in (
        block for report in every for block in report.blocks
    ):
        floors += floor
        values = values.merge(Moments(*map(np.asarray, (count, mean, spread))))
        squares = squares.merge(Moments(*map(np.asarray, (count, square, square_spread))))
        errors_squared, errors_known = errors_squared + errors, errors_known + int(errors_count)
    for answers, means, deviations in (block for report in every for block in report.outputs):
        block = Moments(np.asarray(answers), np.asarray(means), np.asarray(deviations))
        outputs = outputs.merge(block) if outputs.count else block
    unread = folder.set_aside_of_source()
    settings = settings_kind.read(manifest.settings)
    queries = manifest.queries + sum(report.queries for report in every)
    if settings.bounds is not None:
        clipped = sum(report.clipped for report in every)
        settings = settings.with_facts(clipped=clipped / max(1, queries))
    large = (settings.fragile or metric_of(manifest.measure).fragile) == "large"
    worst = [row for report in every for row in report.worst]
    return StoredScores(
        folder=folder,
        metric=manifest.measure,
        settings=settings.with_facts(
            precision=max((report.precision for report in every), default=0.0)
        ),
        values=values,
        squares=squares,
        errors_squared=errors_squared,
        errors_known=errors_known,
        floor=floors / max(1.0, float(values.count)),
        spread=_spread(outputs),
        set_aside=sum(report.aside for report in every) + unread[0],
        unreadable=sum(report.unreadable for report in every) + unread[1],
        queries=queries,
        worst_rows=fragile_first(worst, large),
        shard=manifest.shard,
        held=held,
    )


def _spread(outputs: Moments) -> float:
    """As `spread_of`, from moments of each column: √(Σ squares / count)."""
    count = int(np.max(outputs.count))
    return float(np.sqrt(np.sum(outputs.squares) / count)) if count > 1 else float("nan")
