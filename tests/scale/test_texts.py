"""Text files as sources: types, gaps, blanks, long headers, columns that come late."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from anharmonic.errors import InputError
from anharmonic.sources import csv_text, files, json_text
from anharmonic.sources.patience import Interrupted
from anharmonic.sources.staging import stage


def read(path, text, **options):
    """The file's rows as a source holds them, and what of it is no row."""
    path.write_text(text)
    dataset = files(path, **options).open()
    parts = [rows for shard in dataset.shards(10**6) for rows in dataset.read(shard, 10**6)]
    return pa.concat_tables([part.table for part in parts]), dataset


def small_blocks(monkeypatch, lines):
    """Blocks of so many lines of JSON."""
    monkeypatch.setattr(
        json_text,
        "_blocks_of_lines",
        lambda stream: iter(_cut(bytes(stream.read()).splitlines(), lines)),
    )


def _cut(lines, size):
    return [lines[start : start + size] for start in range(0, len(lines), size)]


@pytest.mark.parametrize(
    ("later", "kind", "value"),
    [
        ("2.5", pa.float64(), 2.5),
        ("7", pa.int64(), 7),
        ("2024-01-31", pa.date32(), None),
        ("true", pa.bool_(), True),
        ("Oslo", pa.string(), "Oslo"),
    ],
)
def test_a_column_that_is_empty_at_first_is_what_it_holds_later(tmp_path, later, kind, value):
    whole, dataset = read(
        tmp_path / "rows.csv", "a,b\n" + "1,\n" * 30_000 + f"1,{later}\n" * 30_000
    )
    assert whole.schema.field("b").type == kind
    assert (len(whole), whole["b"].null_count, dataset.broken) == (60_000, 30_000, ())
    assert value is None or whole["b"][-1].as_py() == value


def test_decimal_commas_may_come_after_whole_numbers(tmp_path):
    whole, _ = read(tmp_path / "rows.csv", "a;b\n" + "1;2,5\n" * 20_000 + "1,5;2,5\n" * 20_000)
    assert whole.schema.types == [pa.float64(), pa.float64()]
    assert whole["a"].to_numpy().sum() == 20_000 * 2.5


def test_blanks_beside_numbers_are_no_text(tmp_path):
    whole, dataset = read(tmp_path / "rows.csv", "a,b\n1, 2\n3, 4\n5, \n" + "6, 7.5\n" * 20)
    assert whole["b"].to_pylist()[:4] == [2.0, 4.0, None, 7.5]
    assert dataset.broken == ()


@pytest.mark.parametrize("columns", [3000, 9000])
def test_a_header_may_be_longer_than_what_is_looked_at_first(tmp_path, columns):
    names = [f"column-{number:06d}" for number in range(columns)]
    cells = np.arange(columns) / 8
    text = ",".join(names) + "\n" + ",".join(map(repr, cells.tolist())) + "\n"
    whole, _ = read(tmp_path / "rows.csv", text)
    assert whole.column_names == names
    assert set(whole.schema.types) == {pa.float64()}
    assert [column[0].as_py() for column in whole.columns] == cells.tolist()


def test_a_wrong_cell_at_the_top_does_not_stop_a_column_from_becoming_fractions(tmp_path):
    text = "a\n" + "1\n" * 500 + "one\n" + "1\n" * 60_000 + "1.5\n"
    whole, dataset = read(tmp_path / "rows.csv", text)
    assert whole.schema.field("a").type == pa.float64()
    assert whole["a"][-1].as_py() == 1.5
    assert [row.row for row in dataset.broken] == [500]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_of_one_name_are_refused_in_words(tmp_path, ending):
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        path.write_text("a,a\n1,2\n")
    else:
        twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
        pq.write_table(twice, path)
    with pytest.raises(InputError, match="several columns are called 'a': rename them"):
        files(path).open()


@pytest.mark.parametrize("text", ["", "a,b\n", "a,b"], ids=["nothing", "header", "no newline"])
def test_a_file_without_rows_is_no_damage(tmp_path, text):
    (tmp_path / "0.csv").write_text(text)
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    dataset = files(tmp_path).open()
    assert (len(dataset), dataset.broken) == (1, ())
    with pytest.raises(InputError, match="there are no rows"):
        files(tmp_path / "0.csv").open()


def test_an_index_that_was_saved_along_is_no_feature(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    frame.to_csv(tmp_path / "plain.csv")
    frame.reset_index(names="Unnamed: 0").to_csv(tmp_path / "named.csv", index=False)
    for name in ("plain", "named"):
        assert files(tmp_path / f"{name}.csv").open().columns == ("a", "b")


def test_objects_keep_their_columns_when_one_becomes_fractions(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 50)
    lines = [json.dumps({"a": number, "b": -number, "c": "x"}) for number in range(100)]
    lines += [json.dumps({"a": 0.5, "b": 7, "c": "y"})]
    whole, _ = read(tmp_path / "rows.jsonl", "\n".join(lines))
    assert whole.column_names == ["a", "b", "c"]
    assert whole["a"].to_pylist() == [*map(float, range(100)), 0.5]
    assert whole["b"].to_pylist() == [*range(0, -100, -1), 7]


def test_a_key_that_comes_late_is_a_column(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 10)
    lines = ['{"a": 1}'] * 30 + ['{"a": 2, "b": 2.5, "c": null}', '{"a": 3, "c": true}']
    whole, _ = read(tmp_path / "rows.jsonl", "\n".join(lines))
    assert whole.schema.names == ["a", "b", "c"]
    assert whole["b"].to_pylist()[-2:] == [2.5, None]
    assert whole["c"].to_pylist()[-2:] == [None, True]
    assert whole["b"].null_count == whole["c"].null_count == 31


def test_objects_with_numbers_that_do_not_fit(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 1000)
    lines = [f'{{"a": {number}, "b": {number}}}' for number in range(999)]
    lines += [f'{{"a": {2**70}, "b": {2**60 + 1}}}', '{"a": 1, "b": 0.5}']
    whole, dataset = read(tmp_path / "rows.jsonl", "\n".join(lines))
    assert [row.row for row in dataset.broken] == [999]
    assert whole["b"][-1].as_py() == 0.5
    assert whole["a"].to_pylist() == [*range(999), 1]


def cut_off(tmp_path, monkeypatch):
    """A compressed file that ends in its middle, what it held, and how it is staged."""
    monkeypatch.setattr(csv_text, "BLOCK", 1 << 17)
    local = fs.LocalFileSystem()
    numbers = np.random.default_rng(0).integers(0, 10**9, (100_000, 2))
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in numbers.tolist())
    packed = gzip.compress(text.encode())
    (tmp_path / "rows.csv.gz").write_bytes(packed[: len(packed) // 2])
    target = str(tmp_path / "rows.parquet")

    def staged(check):
        with local.open_input_file(str(tmp_path / "rows.csv.gz")) as stream:
            return stage(stream, ".csv.gz", "rows", local, target, check)

    return numbers, staged, target


def test_of_a_file_that_ends_in_its_middle_the_same_rows_are_read_every_time(tmp_path, monkeypatch):
    numbers, staged, target = cut_off(tmp_path, monkeypatch)
    found = [staged(lambda: None) for _ in range(5)]
    assert len({each.outline.rows for each in found}) == 1
    rows = pq.read_table(target).select(["a", "b"]).to_pandas().to_numpy()
    assert 40_000 < len(rows) < 60_000
    # No number is cut off.
    np.testing.assert_array_equal(rows, numbers[: len(rows)])
    assert [(row.row, row.rows) for row in found[0].aside] == [(len(rows), None)]


def test_a_store_that_is_away_is_not_taken_for_a_file_that_ends(tmp_path, monkeypatch):
    """Bytes that cannot be had say nothing about the rest of a file; damage does."""
    _, staged, _ = cut_off(tmp_path, monkeypatch)

    def away():
        raise OSError("connection reset")

    with pytest.raises(Interrupted):
        staged(away)
