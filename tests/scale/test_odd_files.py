"""Files of one table that do not agree, and texts that are damaged: no row is lost in silence."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic._core.files import read_data
from anharmonic.errors import InputError, SettingsError
from anharmonic.sources import csv_text, files
from tests.scale.generated import parquet_folder, table, wavy

GIVEN = {"radius": 0.3, "scale": [1.0] * 4, "ball": "auto pairs"}


def of(stored):
    return pa.concat_tables(list(stored.batches()))


def read(source):
    """All rows of a source, and what is none."""
    dataset = source.open()
    parts = [rows for shard in dataset.shards(10**6) for rows in dataset.read(shard, 10**6)]
    return pa.concat_tables([part.table for part in parts]), dataset


def is_red(frame):
    return np.sin(3 * frame["f0"]) + (np.asarray(frame["colour"]).astype(str) == "red")


def test_categories_of_many_files_are_more_than_a_file_counts(tmp_path):
    """Pandas counts up to 127 categories with a byte, and other files have other ones."""
    for number in range(3):
        frame = table(200, number).to_pandas()
        frame["colour"] = pd.Categorical([f"{number}-{row % 100}" for row in range(200)])
        frame.to_parquet(tmp_path / f"{number}.parquet", row_group_size=50)
    assert pq.read_schema(tmp_path / "0.parquet").field("colour").type.index_type == pa.int8()
    whole = ah.gamma(is_red, files(tmp_path), ball="auto pairs")
    assert (len(whole), whole.set_aside) == (600, 0)
    two = ah.gamma(is_red, files(tmp_path), ball="auto pairs", engine=ah.workers.threads(2))
    assert of(two).equals(of(whole))


def test_row_groups_may_count_categories_each_for_themselves(tmp_path):
    kind = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema([*table(1).schema, ("colour", kind)])
    with pq.ParquetWriter(tmp_path / "rows.parquet", schema) as writer:
        for number in range(3):
            cells = pa.array([f"{number}-{row % 100}" for row in range(200)])
            writer.write_table(table(200, number, colour=cells.dictionary_encode().cast(kind)))
    rows, _ = read(files(tmp_path / "rows.parquet"))
    assert rows["colour"][-1].as_py() == "2-99"
    assert len(ah.gamma(is_red, files(tmp_path / "rows.parquet"), ball="auto pairs")) == 600


def test_texts_in_one_file_are_categories_in_another(tmp_path):
    kinds = [pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.large_string()]
    cells = pa.array(np.random.default_rng(0).choice(["red", "green", "blue"], 100))
    for number, kind in enumerate(kinds):
        rows = table(100, number, colour=cells.cast(kind))
        pq.write_table(rows, tmp_path / f"{number}.parquet")
    rows, dataset = read(files(tmp_path))
    assert rows["colour"].to_pylist() == 3 * cells.to_pylist()
    assert str(dataset.schema.field("colour").type).startswith("dictionary")
    assert len(ah.gamma(is_red, files(tmp_path), ball="auto pairs")) == 300


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_that_is_empty_in_one_file_has_the_type_of_the_others(tmp_path, ending):
    for number, cell in enumerate((np.nan, "red", None)):
        frame = table(50, number).to_pandas().assign(colour=cell)
        if ending == "csv":
            frame.to_csv(tmp_path / f"{number}.csv", index=False)
        elif ending == "jsonl":
            frame.to_json(tmp_path / f"{number}.jsonl", orient="records", lines=True)
        else:
            frame.to_parquet(tmp_path / f"{number}.parquet")
    rows, dataset = read(files(tmp_path))
    assert (len(rows), dataset.broken) == (150, ())
    assert rows["colour"].to_pylist() == [None] * 50 + ["red"] * 50 + [None] * 50


def test_numbers_in_one_text_file_and_words_in_another_are_texts(tmp_path):
    for number, cells in enumerate((["01", "2", "3"], ["4", "five", "6"], ["", "", ""])):
        frame = table(3, number).to_pandas().assign(colour=cells)
        frame.to_csv(tmp_path / f"{number}.csv", index=False)
    rows, dataset = read(files(tmp_path))
    assert rows["colour"].to_pylist() == ["01", "2", "3", "4", "five", "6", None, None, None]
    assert dataset.broken == ()


def test_days_in_one_file_and_moments_in_another_are_moments(tmp_path):
    for number, moment in enumerate(("2024-01-02", "2024-01-02 10:00:00")):
        table(3, number).to_pandas().assign(when=moment).to_csv(
            tmp_path / f"{number}.csv", index=False
        )
    rows, _ = read(files(tmp_path))
    assert [str(when) for when in rows["when"].to_pylist()[2:4]] == [
        "2024-01-02 00:00:00",
        "2024-01-02 10:00:00",
    ]


def test_kinds_that_nothing_holds_are_named_with_their_files(tmp_path):
    frame = table(20).to_pandas()
    frame.to_parquet(tmp_path / "a.parquet")
    frame.astype({"f1": str}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"f1 is double in a\.parquet and .*string in b\.parquet"):
        files(tmp_path).open()
    assert len(files(tmp_path, drop=["f1"]).open()) == 40
    with pytest.raises(InputError, match="give another key"):
        files(tmp_path, key="f1").open()


@pytest.mark.parametrize("beside", ["gap", "fraction"])
def test_whole_numbers_beyond_fractions_are_rounded_as_in_memory(tmp_path, beside):
    large = (1 << 60) + np.arange(60)
    cells = pa.array(
        [None if row == 7 and beside == "gap" else int(large[row]) for row in range(60)]
    )
    pq.write_table(table(60, n=cells), tmp_path / "0.parquet")
    if beside == "fraction":
        pq.write_table(table(60, 1, n=np.linspace(0, 1, 60)), tmp_path / "1.parquet")

    def model(frame):
        return np.sin(3 * frame["f0"]) + 0 * frame["n"].isna()

    stored = ah.gamma(model, files(tmp_path), ball="auto pairs")
    assert stored.set_aside == 0
    frame = pd.concat([pq.read_table(path).to_pandas() for path in sorted(tmp_path.iterdir())])
    here = ah.gamma(model, frame.reset_index(drop=True), ball="auto pairs")
    np.testing.assert_array_equal(stored.to_scores().values[:60], here.values[:60])


def test_a_key_that_is_no_number_is_a_missing_key(tmp_path):
    keys = pa.array(
        [np.nan if row % 5 == 0 else float(row) for row in range(20)], from_pandas=False
    )
    pq.write_table(table(20, who=keys), tmp_path / "rows.parquet")
    stored = ah.gamma(wavy, files(tmp_path / "rows.parquet", key="who"), **GIVEN)
    assert (len(stored), stored.set_aside) == (16, 4)
    aside = stored.set_aside_rows("pyarrow")
    assert set(aside["reason"].to_pylist()) == {"the row has no key"}
    # No key is no text that says so.
    assert aside["key"].null_count == 4


def test_a_key_that_is_a_fraction_costs_its_row_and_many_are_no_keys(tmp_path):
    keys = np.arange(30_000.0)
    keys[[29_000, 29_001]] = 0.5, np.inf
    rows = table(30_000, who=keys)
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=100)
    source = files(tmp_path / "rows.parquet", key="who")
    dataset = source.open()
    assert not {29_000, 29_001} & set(dataset.sample(20_000, 0).numbers.tolist())
    stored = ah.gamma(wavy, source, rotations=1, **GIVEN)
    aside = stored.set_aside_rows()
    assert aside["row"].tolist() == [29_000, 29_001]
    assert set(aside["reason"]) == {"the row's key is a fraction"}
    pq.write_table(rows.slice(28_990, 100), tmp_path / "rows.parquet")
    with pytest.raises(SettingsError, match="a key is a whole number or a text"):
        ah.gamma(wavy, source, **GIVEN)


def test_a_word_among_fractions_of_json_costs_its_row(tmp_path):
    lines = [json.dumps(row) for row in table(300).to_pylist()]
    lines[7] = lines[7].replace('"f0": ', '"f0": "unknown", "was": ')
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    rows, dataset = read(files(tmp_path / "rows.jsonl", drop=["was"]))
    assert (len(rows), rows.schema.field("f0").type) == (299, pa.float64())
    assert [(row.row, row.rows) for row in dataset.broken] == [(7, 1)]


def test_bytes_that_are_a_key_are_told_as_in_the_scores(tmp_path):
    rows = table(20, who=[b"k%d" % row for row in range(20)])
    bad = rows.set_column(0, "f0", pa.array([np.nan, *rows["f0"].to_pylist()[1:]]))
    pq.write_table(bad, tmp_path / "rows.parquet")
    stored = ah.gamma(wavy, files(tmp_path / "rows.parquet", key="who"), **GIVEN)
    assert stored.set_aside_rows()["key"].tolist() == ["k0"]


def test_a_column_of_lists_is_no_key(tmp_path):
    pq.write_table(table(20, who=[[row] for row in range(20)]), tmp_path / "rows.parquet")
    with pytest.raises(SettingsError, match=r"who holds list.*give another column"):
        files(tmp_path / "rows.parquet", key="who").open()


def _lines_in_cells(path, rows):
    cells = [f'say "hi",\nline {row % 7}\n\n{"x" * (row % 50)}' for row in range(rows)]
    frame = table(rows).to_pandas().assign(note=cells)
    frame.to_csv(path, index=False)
    return frame


def test_cells_in_quotes_hold_lines_wherever_blocks_end(tmp_path, monkeypatch):
    frame = _lines_in_cells(tmp_path / "rows.csv", 30_000)
    assert len(read_data(tmp_path / "rows.csv")) == 30_000
    for block in (1 << 16, 100_003):
        monkeypatch.setattr(csv_text, "BLOCK", block)
        rows, dataset = read(files(tmp_path / "rows.csv"))
        assert dataset.broken == ()
        assert rows["note"].to_pylist() == frame["note"].tolist()
        assert rows["f0"].to_numpy().tolist() == frame["f0"].tolist()


@pytest.mark.parametrize("place", ["last column", "first column"])
@pytest.mark.parametrize("block", [1 << 16, 1 << 24], ids=["many blocks", "one block"])
def test_a_quote_that_is_never_closed_swallows_no_row_in_silence(
    tmp_path, monkeypatch, place, block
):
    monkeypatch.setattr(csv_text, "BLOCK", block)
    lines = table(5000).to_pandas().assign(note="word").to_csv(index=False).splitlines()
    bare = lines[3001]
    lines[3001] = f'"{bare}' if place == "first column" else bare.replace("word", '"word')
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    rows, dataset = read(files(tmp_path / "rows.csv"))
    assert len(rows) == 3000
    assert [(row.row, row.rows) for row in dataset.broken] == [(3000, None)]
    assert "quote" in dataset.broken[0].reason
    with pytest.raises(InputError, match=r"cannot be read|never closed"):
        read_data(tmp_path / "rows.csv")


def test_a_last_cell_may_hold_lines_and_quotes(tmp_path):
    frame = table(20).to_pandas().assign(note='he said\n"no"')
    for end in ("\n", "", "\r\n"):
        frame.to_csv(tmp_path / "rows.csv", index=False, quoting=csv.QUOTE_ALL)
        text = (tmp_path / "rows.csv").read_bytes().rstrip() + end.encode()
        (tmp_path / "rows.csv").write_bytes(text)
        rows, dataset = read(files(tmp_path / "rows.csv"))
        assert (len(rows), dataset.broken) == (20, ())
        assert read_data(tmp_path / "rows.csv")["note"].tolist() == ['he said\n"no"'] * 20


def test_bytes_that_are_no_text_cost_their_row(tmp_path):
    lines = table(300).to_pandas().assign(town="Zürich").to_csv(index=False).encode().splitlines()
    lines[201] = lines[201].replace("ü".encode(), b"\xfc")
    (tmp_path / "rows.csv").write_bytes(b"\n".join(lines))
    rows, dataset = read(files(tmp_path / "rows.csv"))
    assert (len(rows), set(rows["town"].to_pylist())) == (299, {"Zürich"})
    assert [(row.row, row.rows) for row in dataset.broken] == [(200, 1)]
    assert "no text in UTF-8" in dataset.broken[0].reason
    # A model would see other bytes than the texts that it knows.
    with pytest.raises(InputError, match="town is not written in UTF-8"):
        read_data(tmp_path / "rows.csv")
    (tmp_path / "rows.csv").write_bytes(b"\n".join(lines).replace("ü".encode(), b"\xfc"))
    with pytest.raises(InputError, match="town is not written in UTF-8"):
        files(tmp_path / "rows.csv").open()


def test_decimal_commas_are_seen_in_any_row_and_in_quotes(tmp_path):
    text = '"a";"b"\n"1";"2"\n' + '"1,5";"-2,25"\n' * 3
    (tmp_path / "rows.csv").write_text(text)
    (tmp_path / "rows.tsv").write_text(text.replace(";", "\t"))
    for ending in ("csv", "tsv"):
        rows, _ = read(files(tmp_path / f"rows.{ending}"))
        assert rows.to_pydict() == {"a": [1.0, 1.5, 1.5, 1.5], "b": [2.0, -2.25, -2.25, -2.25]}
        assert read_data(tmp_path / f"rows.{ending}")["b"].tolist() == [2.0, -2.25, -2.25, -2.25]
    # Points are points, whatever a text beside them looks like.
    (tmp_path / "rows.csv").write_text("a;b\n1,5;2.5\n" + "x;0.5\n" * 3)
    assert read_data(tmp_path / "rows.csv")["b"].tolist() == [2.5, 0.5, 0.5, 0.5]


def test_a_name_that_says_tabs_is_believed(tmp_path):
    text = "height, cm\tweight, kg\n" + "1.5\t2.5\n" * 3
    (tmp_path / "rows.tsv").write_text(text)
    rows, _ = read(files(tmp_path / "rows.tsv"))
    assert (
        rows.column_names == list(read_data(tmp_path / "rows.tsv")) == ["height, cm", "weight, kg"]
    )


def test_a_line_of_noise_costs_that_line(tmp_path, capfd):
    lines = table(300).to_pandas().to_csv(index=False).encode().splitlines()
    lines[201] = b"\xff\xfe\x80 noise"
    (tmp_path / "rows.csv").write_bytes(b"\n".join(lines))
    rows, dataset = read(files(tmp_path / "rows.csv"))
    assert len(rows) == 299
    assert [(row.row, row.rows) for row in dataset.broken] == [(200, 1)]
    assert capfd.readouterr().err == ""
    (tmp_path / "rows.csv").write_bytes("größe,b\n1,2\n3,4\n".encode("latin-1"))
    with pytest.raises(InputError, match="first line is not written in UTF-8"):
        files(tmp_path / "rows.csv").open()


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("begun", [b"", b"\xef\xbb\xbf", b"\n"], ids=["at once", "mark", "line"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_standard_input_is_known_by_what_it_holds(monkeypatch, kind, begun, packed):
    frame = table(50).to_pandas()
    text = frame.to_csv(index=False)
    if kind == "jsonl":
        text = "\n".join(json.dumps(row) for row in frame.to_dict("records"))
    content = begun + text.encode()
    content = gzip.compress(content) if packed else content

    def pipe():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    pipe()
    assert read(files("-"))[0].equals(table(50))
    pipe()
    assert read_data("-").equals(frame)


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_no_damage_of_the_data(tmp_path, monkeypatch):
    """What cannot be written now says nothing about what was read, and what is there stays."""
    table(300).to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    pq.write_table(table(300), tmp_path / "rows.parquet")
    write = pq.ParquetWriter.write_table
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    words = r"cannot be written \(.*No space left.*make room and start again"
    for ending in ("csv", "parquet"):
        source = files(tmp_path / f"rows.{ending}")
        with pytest.raises(InputError, match=words):
            ah.gamma(wavy, source, out=tmp_path / ending, **GIVEN)
        with pytest.raises(InputError, match=words):
            ah.plan(source, tmp_path / f"plan-{ending}", radius=0.3)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", write)
    for ending in ("csv", "parquet"):
        source = files(tmp_path / f"rows.{ending}")
        assert len(ah.gamma(wavy, source, out=tmp_path / ending, **GIVEN)) == 300
        ah.plan(source, tmp_path / f"plan-{ending}", radius=0.3)


@pytest.mark.parametrize("name", ["run.json", "summary.json", "part"])
@pytest.mark.parametrize("content", [b"{", b"[]", b""])
def test_a_run_that_was_damaged_says_what_to_do(tmp_path, name, content):
    pq.write_table(table(300), tmp_path / "rows.parquet")
    source = files(tmp_path / "rows.parquet")
    first = ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    path = (
        next((tmp_path / "out" / "scores").iterdir()) if name == "part" else tmp_path / "out" / name
    )
    path.write_bytes(content)
    words = "is damaged .*remove it" if name == "part" else "is damaged .*fresh"
    for again in (
        lambda: ah.load(tmp_path / "out"),
        lambda: ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN),
    ):
        with pytest.raises(InputError, match=words):
            again()
    fresh = ah.gamma(wavy, source, out=tmp_path / "out", fresh=True, **GIVEN)
    assert of(fresh).equals(of(first))


def test_a_part_that_was_removed_is_measured_anew(tmp_path):
    parquet_folder(tmp_path / "in", files=3, rows=100)
    source = files(tmp_path / "in", drop=["id"])
    first = ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    parts = sorted((tmp_path / "out" / "scores").iterdir())
    assert len(parts) == 3
    parts[1].unlink()
    with pytest.raises(InputError, match="start it again, which measures the others anew"):
        ah.load(tmp_path / "out")
    again = ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    assert of(again).equals(of(first))
    assert (again.mean, again.queries) == (first.mean, first.queries)


def test_to_look_for_scores_makes_no_folder(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        ah.StoredScores.load(tmp_path / "typo")
    assert not (tmp_path / "typo").exists()
