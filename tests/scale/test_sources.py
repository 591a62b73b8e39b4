"""Sources: every format and place, batches, identity, damage."""

from __future__ import annotations

import gzip
import io
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic.errors import InputError, SettingsError
from anharmonic.sources import files
from anharmonic.sources.identity import file_addresses
from tests.scale.generated import parquet_folder, table, wavy

FEATURES = ["f0", "f1", "f2", "f3"]


def everything(dataset, batch=300, shard=600):
    parts = [rows for each in dataset.shards(shard) for rows in dataset.read(each, batch)]
    return pa.concat_tables([part.table for part in parts]), parts


def test_batches_begin_at_multiples_and_hold_every_row_once(tmp_path):
    tables = parquet_folder(tmp_path, rows=1000, group=170)
    dataset = files(tmp_path, drop=["id"]).open()
    whole, parts = everything(dataset, batch=200, shard=400)
    assert whole.equals(
        pa.concat_tables([part.select(FEATURES) for part in tables]).combine_chunks()
    )
    assert {int(part.numbers[0]) % 200 for part in parts} == {0}
    addresses = np.concatenate([part.addresses for part in parts])
    assert len(np.unique(addresses)) == 3000
    assert addresses[1500] == file_addresses(1, np.array([500]))[0]


@pytest.mark.parametrize(
    "pattern", ["*.parquet", "part-[01].parquet", "**/*.parquet", "part-?.parquet"]
)
def test_globs(tmp_path, pattern):
    parquet_folder(tmp_path / "in" / "ner", files=3, rows=10)
    base = tmp_path / "in" if "**" in pattern else tmp_path / "in" / "ner"
    dataset = files(f"{base}/{pattern}").open()
    assert len(dataset) == (20 if "01" in pattern else 30)


def test_markers_and_hidden_files_are_no_data(tmp_path):
    parquet_folder(tmp_path, files=1, rows=10)
    for name in ("_SUCCESS", ".part.crc", "notes.md"):
        (tmp_path / name).write_text("x")
    assert len(files(tmp_path).open()) == 10


def _texts(rows):
    columns = rows.column_names
    lines = [",".join(columns)]
    lines += [",".join(repr(cell) for cell in row.values()) for row in rows.to_pylist()]
    return "\n".join(lines) + "\n"


def write_as(ending, rows, path):
    text = _texts(rows)
    if ending == ".feather":
        pyarrow.feather.write_feather(rows, path, chunksize=100)
    elif ending == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows.to_pylist()))
    elif ending == ".tsv":
        path.write_text(text.replace(",", "\t"))
    elif ending == ".csv.gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".jsonl", ".feather"])
def test_every_format_holds_the_same(tmp_path, ending):
    rows = table(250, id=np.arange(250))
    write_as(ending, rows, tmp_path / f"rows{ending}")
    dataset = files(tmp_path / f"rows{ending}").open()
    whole, parts = everything(dataset, 64, 128)
    assert whole.equals(rows)
    assert np.concatenate([part.addresses for part in parts]).tolist() == list(range(250))


def test_standard_input(tmp_path, monkeypatch):
    rows = table(50)
    held = io.TextIOWrapper(io.BytesIO(_texts(rows).encode()))
    monkeypatch.setattr(sys, "stdin", held)
    assert everything(files("-").open())[0].equals(rows)


def test_any_store_that_fsspec_opens(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    rows, stream = table(40), io.BytesIO()
    pq.write_table(rows, stream)
    store = fsspec.filesystem("memory")
    store.pipe("/bucket/a/rows.parquet", stream.getvalue())
    store.pipe("/bucket/b/rows.parquet", stream.getvalue())
    assert len(files("memory://bucket/*/rows.parquet").open()) == 80
    assert everything(files("memory://bucket/a").open())[0].equals(rows)


def test_lines_that_are_no_rows_are_set_aside_and_others_keep_their_numbers(tmp_path):
    lines = _texts(table(20)).splitlines()
    lines[3] = "1.0,2.0"
    lines[7] = "1.0,2.0,three,4.0"
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    dataset = files(tmp_path / "rows.csv").open()
    whole, parts = everything(dataset)
    assert len(whole) == 18
    assert parts[0].numbers.tolist() == [n for n in range(20) if n not in (2, 6)]
    assert sorted((row.row, row.rows) for row in dataset.broken) == [(2, 1), (6, 1)]
    assert any("2 cells for 4 columns" in row.reason for row in dataset.broken)
    assert any("'three'" in row.reason for row in dataset.broken)


def test_whole_numbers_that_meet_a_fraction_become_fractions(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,x\n" * 20_000 + "1.5,y\n")
    whole, _ = everything(files(tmp_path / "rows.csv").open(), 10**6, 10**6)
    assert whole.schema.field("a").type == pa.float64()
    assert whole["a"][-1].as_py() == 1.5
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n' * 100 + '{"a": 1.5}\nno json\n{"a": 2}\n')
    dataset = files(tmp_path / "rows.jsonl").open()
    whole, parts = everything(dataset, 10**6, 10**6)
    assert whole["a"].to_pylist()[-2:] == [1.5, 2.0]
    assert parts[0].numbers[-1] == 102
    assert [row.row for row in dataset.broken] == [101]


def test_a_file_that_cannot_be_opened_is_named_and_the_rest_read(tmp_path):
    parquet_folder(tmp_path, files=2, rows=10)
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1 nothing")
    dataset = files(tmp_path).open()
    assert len(dataset) == 10
    assert dataset.broken[0].file == "part-0.parquet"
    # The other file is still the second: its rows keep their numbers.
    assert everything(dataset)[1][0].addresses[0] == file_addresses(1, np.array([0]))[0]


def test_a_file_that_lacks_a_column_is_set_aside(tmp_path):
    parquet_folder(tmp_path, files=1, rows=10)
    pq.write_table(pa.table({"f0": [1.0]}), tmp_path / "z.parquet")
    dataset = files(tmp_path).open()
    assert (len(dataset), dataset.broken[0].rows) == (10, 1)


def test_keys_are_kept_and_no_features(tmp_path):
    pq.write_table(table(5, name=list("abcde")), tmp_path / "rows.parquet")
    dataset = files(tmp_path, key="name").open()
    _, parts = everything(dataset)
    assert dataset.columns == tuple(FEATURES)
    assert parts[0].keys.to_pylist() == list("abcde")
    pq.write_table(table(5, name=list("edcba")), tmp_path / "rows.parquet")
    again = everything(files(tmp_path, key="name").open())[1]
    assert again[0].addresses.tolist() == parts[0].addresses[::-1].tolist()


def test_a_name_alone_is_one_column_and_not_its_letters(tmp_path):
    rows = table(5).rename_columns(["f", "0", "f0", "f3"])
    pq.write_table(rows, tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet"
    assert files(path, drop="f0").open().columns == ("f", "0", "f3")
    assert files(path, columns="f0").open().columns == ("f0",)


def test_a_sample_is_drawn_by_its_seed_alone(tmp_path):
    parquet_folder(tmp_path, files=3, rows=1000)
    one, same, other = (
        np.concatenate(
            [part.addresses for part in everything(files(tmp_path, sample=100).open(seed=seed))[1]]
        )
        for seed in (0, 0, 1)
    )
    assert len(np.unique(one)) == 100
    assert one.tolist() == same.tolist() != other.tolist()


def test_a_sample_for_the_scale_takes_few_of_many_runs_of_rows(tmp_path):
    parquet_folder(tmp_path, files=2, rows=1000, group=5)
    sample = files(tmp_path).open().sample(300, seed=0)
    assert len(np.unique(sample.addresses)) == len(sample) == 300
    runs = {(address >> 40, (address % (1 << 40)) // 5) for address in sample.addresses.tolist()}
    assert 90 <= len(runs) <= 100


@pytest.mark.parametrize(
    ("paths", "options", "words"),
    [
        ("nowhere/*.parquet", {}, "no file matches|cannot be listed"),
        ("nowhere", {}, "there is no file or folder"),
        ("rows.parquet", {"columns": ["f9"]}, "has no column f9"),
        ("rows.parquet", {"key": "f9"}, "has no column f9"),
        ("rows.parquet", {"sample": 0}, "sample counts rows"),
        ("rows.parquet", {"sample": True}, "sample counts rows"),
        ("rows.parquet", {"sample": 2.5}, "sample counts rows"),
        ("", {}, "the name of a file is empty"),
        ([], {}, "no files"),
        ("rows.xls", {}, "data come as"),
    ],
)
def test_what_cannot_be_meant_is_said(tmp_path, monkeypatch, paths, options, words):
    monkeypatch.chdir(tmp_path)
    pq.write_table(table(5), tmp_path / "rows.parquet")
    (tmp_path / "rows.xls").write_text("x")
    with pytest.raises((InputError, SettingsError), match=words):
        files(paths, **options).open()


def test_what_is_nowhere_cannot_be_left_out(tmp_path):
    """A label whose name is mistyped would be measured as a feature."""
    content = table(60, label=np.arange(60))
    pq.write_table(content, tmp_path / "rows.parquet")
    pq.write_table(content.drop_columns(["label"]), tmp_path / "bare.parquet")
    labelled, bare = tmp_path / "rows.parquet", tmp_path / "bare.parquet"
    given = {"radius": 0.3, "scale": None}
    mistyped = files(labelled, drop=["lable"])
    with pytest.raises(SettingsError, match=r"has no column lable to leave out: .*label.*drop="):
        ah.gamma(wavy, mistyped, **given)
    with pytest.raises(SettingsError, match="has no column lable"):
        ah.gamma(wavy, mistyped, reference=files(labelled, drop=["lable"]), **given)
    with pytest.raises(SettingsError, match="has no column lable"):
        ah.compare({"a": wavy, "b": wavy}, mistyped, **given)
    with pytest.raises(SettingsError, match="has no column lable"):
        ah.plan(mistyped, tmp_path / "plan", **given)
    with pytest.raises(SettingsError, match="has no column lable"):
        ah.scorer(wavy, mistyped, **given)
    # Either side may be the one that has it.
    for data, reference in ((bare, labelled), (labelled, bare)):
        known = files(reference, drop=["label"])
        source = files(data, drop=["label"])
        assert len(ah.gamma(wavy, source, reference=known, **given)) == 60
        both = ah.compare({"a": wavy, "b": wavy}, source, reference=known, **given)
        assert len(both.scores["a"]) == 60
    frame = content.to_pandas()
    assert len(ah.gamma(wavy, files(bare, drop=["label"]), reference=frame, **given)) == 60
