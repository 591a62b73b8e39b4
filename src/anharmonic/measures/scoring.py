"""`scorer`: a plain function from a frame to a frame, for whatever shares out frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.columns import shown
from anharmonic._core.frames import as_table
from anharmonic._core.protocols import Integers
from anharmonic._core.randomness import hashed
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.streaming.faults import Losses, Measure, measure_or_set_aside
from anharmonic.measures.streaming.on_sample import (
    SAMPLE,
    check_dropped,
    inputs_of,
    settle_on_sample,
)
from anharmonic.measures.streaming.placing import Placing
from anharmonic.sources import Rows, Source
from anharmonic.sources.identity import KEY_BITS, key_addresses, without_fractions

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FrameScorer", "scorer"]

EXACT = 1 << 53
"""Up to where fractions hold every whole number."""


@dataclass(frozen=True)
class FrameScorer:
    """Scores of the rows of any frame: called with one, it gives one of the same library.

    It pickles, so that workers get it. A row's random numbers depend on its key, or on its own
    cells where there is none: however frames are cut, a row keeps its score.

    Parameters
    ----------
    placing, measure, block
        How rows become points, how these are measured, and how many at a time.
    columns, key
        What is measured, and who rows are.
    queries_per_row
        What a row costs, about.
    """

    placing: Placing
    measure: Measure
    block: int
    columns: tuple[str, ...]
    key: str | None
    queries_per_row: float

    def __call__(self, frame: Any) -> Any:
        """The scores of a frame's rows, in their order.

        Columns: the key where there is one, `value`, `error`, and the `reason` why a row has
        neither.
        """
        table = as_table(frame)
        if table is None:
            raise SettingsError(
                f"a {type(frame).__name__} is no frame: give one of pandas, polars or pyarrow"
            )
        wanted = self.columns if self.key is None else (*self.columns, self.key)
        if lacking := [name for name in wanted if name not in table.columns]:
            raise SettingsError(
                f"the frame has no column {shown(lacking)}: give the key and all columns that the "
                "sample had"
            )
        scored = self._scored(table.to_arrow().select(table.columns))
        if table.implementation.is_pandas_like():
            made = scored.to_pandas()
            # The same rows, under the same labels.
            return made.set_axis(nw.to_native(table).index, axis=0)
        return nw.from_arrow(scored, backend=table.implementation).to_native()

    def batches(self, frames: Iterator[Any]) -> Iterator[Any]:
        """The same for one frame after the other, as Spark's `mapInPandas` hands them over."""
        return map(self, frames)

    @property
    def schema(self) -> str:
        """The columns as Spark writes types; a key is text there unless you cast it."""
        key = "" if self.key is None else f"{self.key} string, "
        return f"{key}value double, error double, reason string"

    def _scored(self, table: pa.Table) -> pa.Table:
        import pyarrow as pa

        values, errors = np.full(len(table), np.nan), np.full(len(table), np.nan)
        reasons: list[str | None] = [None] * len(table)
        for start in range(0, len(table), self.block):
            rows = self._rows(table.slice(start, self.block), start)
            losses = Losses()
            setup, kept, unfit = self.placing.place(rows)
            if setup is not None:
                for piece, scores in measure_or_set_aside(self.measure, setup, kept, losses):
                    values[piece.numbers] = scores.values
                    errors[piece.numbers] = scores.errors
            for row in (*unfit, *losses.aside):
                reasons[row.row] = row.reason
        columns = {} if self.key is None else {self.key: table[self.key]}
        return pa.table(
            {
                **columns,
                "value": pa.array(values),
                "error": pa.array(errors),
                "reason": pa.array(reasons, pa.string()),
            }
        )

    def _rows(self, table: pa.Table, start: int) -> Rows:
        keys = None if self.key is None else table[self.key].combine_chunks()
        cells = table.select(list(self.columns))
        addresses = (
            _content_addresses(cells) if keys is None else key_addresses(without_fractions(keys))
        )
        return Rows(cells, "the frame", np.arange(start, start + len(table)), addresses, keys)


def scorer(
    model: object,
    sample: object,
    *,
    key: str | None = None,
    measure: Callable[..., Any] = gamma,
    **arguments: Any,
) -> FrameScorer:
    """A plain function from a frame to a frame of scores: for Dask, Spark, Ray and warehouses.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    sample
        Rows like those to come, as a frame or a `sources.Source`: radius, scale and the ball are
        settled on them, once.
    key
        The column that says who a row is.
    measure
        `gamma`, `nstep_robustness`, `adversarial_search` or `clever`.
    arguments
        The measure's own.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "b"])
    >>> score = scorer(lambda frame: np.sin(3 * frame["a"]), rows, radius=0.3)
    >>> whole, half = score(rows), score(rows[100:])
    >>> (whole["value"][100:] == half["value"]).all()
    np.True_
    """
    preparing = getattr(measure, "preparing", None)
    if preparing is None:
        raise SettingsError(
            "rows are scored one by one by gamma, nstep_robustness, adversarial_search or clever: "
            "give one of them as measure="
        )
    seed = int(arguments.get("seed", 0))
    if isinstance(sample, Source):
        wanted = inputs_of(model, arguments.get("output"))
        dataset = sample.open(seed=seed, wanted=wanted)
        check_dropped(sample, dataset, arguments.get("reference"), seed)
        table = dataset.sample(SAMPLE, seed).table
    else:
        native = as_table(sample)
        if native is None:
            raise SettingsError("give a sample as a frame with the columns that are to come")
        table = native.to_arrow().select(native.columns)
    columns = tuple(name for name in table.column_names if name != key)
    cells = table.select(list(columns))
    rows = Rows(cells, "the sample", np.arange(len(cells)), np.arange(len(cells)))
    placing, prepared = settle_on_sample(model, rows, preparing(measure), arguments)
    return FrameScorer(
        placing, prepared.measure, prepared.rows_at_once, columns, key, prepared.queries_per_row
    )


def _content_addresses(cells: pa.Table) -> Integers:
    """Numbers of rows by what is in them: equal rows have the same."""
    words = np.empty((len(cells), cells.num_columns), dtype=np.int64)
    for place, column in enumerate(cells.columns):
        words[:, place] = _words(column.combine_chunks())
    # The measure's seed is in every draw: here rows are only told apart.
    return np.asarray(hashed(words, 0, Stream.SOURCE_ROWS) & ((1 << KEY_BITS) - 1))


def _words(column: Any) -> Integers:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        # A frame with a gap has fractions where others have whole numbers: both are alike.
        rounded = column.cast(pa.float64(), safe=False)
        numbers = np.asarray(rounded.to_numpy(zero_copy_only=False)) + 0.0
        words = np.asarray(np.where(np.isnan(numbers), np.nan, numbers)).view(np.int64)
        if pa.types.is_integer(kind):
            # Whole numbers that fractions cannot tell apart stand for themselves.
            whole = column.fill_null(0).to_numpy(zero_copy_only=False)
            large = (whole > EXACT) | (whole < -EXACT)
            words = np.where(large, whole.astype(np.int64), words)
        return words
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return key_addresses(column)
    try:
        return key_addresses(column.cast(pa.string()))
    except pa.ArrowNotImplementedError:  # lists, structures, durations
        texts = [None if cell is None else str(cell) for cell in column.to_pylist()]
        return key_addresses(pa.array(texts, pa.string()))
