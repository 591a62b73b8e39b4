"""Where rows are and who they are: names, patterns, folders that say something, keys."""

from __future__ import annotations

import datetime
import io
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anharmonic.errors import InputError, SettingsError
from anharmonic.sources import files, locations, opening
from anharmonic.sources.formats import RowReader
from anharmonic.sources.identity import key_addresses
from anharmonic.sources.locations import MANIFEST
from anharmonic.sources.patience import NotNow, read_patiently
from tests.scale.generated import parquet_folder, table

FEATURES = ("f0", "f1", "f2", "f3")


@pytest.mark.parametrize("folder", ["in[1]", "in*", "what?"])
def test_a_name_that_is_there_is_no_pattern(tmp_path, monkeypatch, folder):
    parquet_folder(tmp_path / folder, files=2, rows=5)
    inside = tmp_path / folder
    for path in (inside, inside / "part-0.parquet", f"{inside}/*.parquet"):
        assert len(files(path).open()) in (5, 10)
    monkeypatch.chdir(inside)
    assert len(files("part-1.parquet").open()) == 5
    assert len(files("*.parquet").open()) == 10
    assert len(files(f"{inside.as_uri()}/part-*.parquet").open()) == 10


def test_options_of_a_store_are_no_pattern(monkeypatch):
    asked = []
    monkeypatch.setattr(locations, "_opened", lambda address: asked.append(address) or (None, "b"))
    for address, stem, pattern in [
        ("s3://b/rows.parquet?region=eu", "s3://b/rows.parquet?region=eu", ""),
        ("s3://b/day=?/*.parquet", "s3://b", "day=?/*.parquet"),
    ]:
        with pytest.raises(AttributeError) if pattern else nullcontext():
            locations._place(address)
        assert asked.pop() == stem
    assert locations.join_address("s3://b/runs?region=eu", "a") == "s3://b/runs/a?region=eu"


def test_what_runs_have_written_beside_the_data_is_no_data(tmp_path):
    parquet_folder(tmp_path, files=2, rows=5)
    for name in ("scores", "staged", "queries"):
        parquet_folder(tmp_path / "out" / name, files=1, rows=50)
    (tmp_path / "out" / MANIFEST).write_text("{}")
    assert len(files(tmp_path).open()) == 10
    assert len(files(f"{tmp_path}/**/*.parquet").open()) == 10
    # Asked for by name they are data like any other.
    assert len(files(tmp_path / "out" / "scores").open()) == 50


def test_folders_say_columns(tmp_path):
    for day, city in ((1, "Oslo"), (2, "New%20York"), (10, "__HIVE_DEFAULT_PARTITION__")):
        parquet_folder(tmp_path / f"day={day}" / f"city={city}", files=1, rows=3)
    plain = files(tmp_path, drop=["id"]).open()
    assert plain.columns == FEATURES
    named = files(tmp_path, columns=["day", "f0", "city"]).open()
    rows = pa.concat_tables(
        [part.table for shard in named.shards(9) for part in named.read(shard, 9)]
    )
    # The files in the order of their names.
    assert rows["day"].to_pylist() == [1] * 3 + [10] * 3 + [2] * 3
    assert rows["city"].to_pylist() == ["Oslo"] * 3 + [None] * 3 + ["New York"] * 3
    asked = files(tmp_path, drop=["id"]).open(wanted=["day", "f0", "nowhere"])
    assert asked.columns == (*FEATURES, "day")
    keyed = files(tmp_path, key="day", drop=["id"]).open()
    found = [part.keys.to_pylist() for shard in keyed.shards(9) for part in keyed.read(shard, 9)]
    assert found == [[1] * 3, [10] * 3, [2] * 3]


def test_a_column_that_few_rows_have_does_not_cost_the_others(tmp_path):
    parquet_folder(tmp_path, files=3, rows=10)
    pq.write_table(table(4, extra=np.ones(4), id=np.arange(4)), tmp_path / "z.parquet")
    dataset = files(tmp_path, drop=["id"]).open()
    assert (len(dataset), dataset.columns, dataset.broken) == (34, FEATURES, ())
    pq.write_table(table(100, extra=np.ones(100), id=np.arange(100)), tmp_path / "z.parquet")
    dataset = files(tmp_path, drop=["id"]).open()
    assert (len(dataset), dataset.columns) == (100, (*FEATURES, "extra"))
    assert [row.rows for row in dataset.broken] == [10, 10, 10]
    pq.write_table(pa.table({"other": np.ones(30)}), tmp_path / "z.parquet")
    with pytest.raises(InputError, match="no column in common"):
        files(tmp_path).open()


def test_a_row_that_is_written_anew_changes_the_fingerprint(tmp_path):
    parquet_folder(tmp_path, files=2, rows=10)
    before = files(tmp_path).open().fingerprint
    assert files(tmp_path).open().fingerprint == before
    pq.write_table(table(10, seed=99, id=np.arange(10)), tmp_path / "part-0.parquet")
    assert files(tmp_path).open().fingerprint != before


def test_a_store_that_keeps_no_times_is_told_by_what_files_hold():
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")

    def fingerprint(factor):
        stream = io.BytesIO()
        rows = table(40)
        pq.write_table(rows.set_column(0, "f0", pa.array(rows["f0"].to_numpy() * factor)), stream)
        store.pipe("/stamps/rows.parquet", stream.getvalue())
        return files("memory://stamps/rows.parquet").open().fingerprint

    assert fingerprint(1) == fingerprint(1) != fingerprint(-1)


@pytest.mark.parametrize(
    ("keys", "alone"),
    [
        (pa.array([5, -1, 2**62, 7]), pa.array([5])),
        (pa.array([5, 2**63 + 1], pa.uint64()), pa.array([5])),
        (pa.array([5.0, None, 7.0]), pa.array([5])),
        (pa.array(["a", None]).dictionary_encode(), pa.array(["a"])),
        (pa.array(["a", "b"], pa.large_string()), pa.array(["a"])),
        (pa.array([b"a", None]), pa.array([b"a"], pa.large_binary())),
        (pa.array([datetime.date(2024, 1, 1), None]), pa.array([datetime.date(2024, 1, 1)])),
        (pa.array([5, 7], pa.int8()), pa.array([5], pa.int64())),
    ],
    ids=lambda keys: str(keys.type),
)
def test_a_rows_number_depends_on_its_own_key_alone(keys, alone):
    numbers = key_addresses(keys)
    assert numbers[0] == key_addresses(alone)[0]
    assert len(set(numbers.tolist())) == len(keys) or keys.null_count
    for place in range(len(keys)):
        assert key_addresses(keys.slice(place, 1))[0] == numbers[place]


def test_fractions_are_no_keys():
    with pytest.raises(SettingsError, match="this one is a fraction"):
        key_addresses(pa.array([1.0, 1.5]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.int32(), pa.int64()),
        (pa.string(), pa.large_string()),
        (pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.string())),
        (pa.int64(), pa.float64()),
    ],
    ids=str,
)
def test_keys_and_columns_of_files_that_are_written_differently(tmp_path, one, other):
    values = pa.array(["4", "2", "3"])
    values = values.cast(pa.int64()) if pa.types.is_integer(one) else values
    for number, kind in enumerate((one, other)):
        rows = table(3, number, who=values.cast(kind), also=values.cast(kind))
        pq.write_table(rows, tmp_path / f"{number}.parquet")
    dataset = files(tmp_path, key="who").open()
    whole = dataset.sample(100, 0)
    assert (
        whole.keys.cast(pa.string()).to_pylist()
        == whole.table["also"].cast(pa.string()).to_pylist()
    )
    assert whole.addresses[:3].tolist() == whole.addresses[3:].tolist()


def test_rows_are_decoded_once_however_they_are_asked_for(tmp_path, monkeypatch):
    rows = parquet_folder(tmp_path, files=1, rows=1000, group=400)[0]
    decoded = []
    records = RowReader._records_of
    monkeypatch.setattr(
        RowReader,
        "_records_of",
        lambda self, group: (decoded.append(len(each)) or each for each in records(self, group)),
    )
    dataset = files(tmp_path).open()
    for skip in (1, 2):
        decoded.clear()
        shards = dataset.shards(50)[::skip]
        read = pa.concat_tables([part.table for each in shards for part in dataset.read(each, 25)])
        wanted = np.concatenate([np.arange(each.start, each.stop) for each in shards])
        assert read.equals(rows.take(wanted).combine_chunks())
        assert sum(decoded) <= 1000
    # What lies before is read anew.
    assert next(dataset.read(dataset.shards(50)[0], 25)).table.equals(rows.slice(0, 25))


def test_bytes_that_cannot_be_had_are_asked_for_again(monkeypatch):
    pauses = []
    monkeypatch.setattr("time.sleep", pauses.append)
    away = iter([True, True, False])

    def read():
        if left := next(away):
            raise OSError(f"connection {left}")
        return "rows"

    states = iter([OSError("reset"), None])

    def check():
        if (state := next(states)) is not None:
            raise state

    assert read_patiently(read, check, "a.parquet") == "rows"
    assert pauses == [0.5]

    def gone():
        raise OSError("reset")

    with pytest.raises(NotNow, match=r"a\.parquet cannot be read now \(reset\)"):
        read_patiently(gone, gone, "a.parquet")
    asked = []

    def damaged():
        asked.append(1)
        raise OSError("bad page")

    with pytest.raises(OSError, match="bad page"):
        read_patiently(damaged, lambda: None, "a.parquet")
    assert len(asked) == 2


def test_a_store_that_is_away_refuses_the_start_and_sets_nothing_aside(tmp_path, monkeypatch):
    parquet_folder(tmp_path, files=2, rows=10)
    monkeypatch.setattr("time.sleep", lambda _: None)

    def away(*_, **__):
        raise OSError("connection reset")

    monkeypatch.setattr(opening, "outline", away)
    monkeypatch.setattr(opening, "check_readable", away)
    with pytest.raises(NotNow, match="start again when it can"):
        files(tmp_path).open()
