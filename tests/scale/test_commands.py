"""Commands over data larger than memory: what they write, how they end."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from anharmonic.cli import app
from tests.scale.generated import parquet_folder, table

MODEL = "tests.scale.generated:wavy"
MOODY = "tests.scale.generated:moody"
GIVEN = ["--radius", "0.3", "--scale", "raw"]


def run(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_a_folder_is_read_in_batches_and_started_again_is_done(tmp_path):
    parquet_folder(tmp_path / "in", rows=300)
    words = ["gamma", MODEL, "--data", tmp_path / "in", "--key", "id", "--out", tmp_path / "out"]
    first = run(*words, *GIVEN, "--json")
    assert first.exit_code == 0
    told = json.loads(first.stdout)
    assert (told["points"], told["set_aside"]) == (900, 0)
    scores = pq.read_table(tmp_path / "out" / "scores")
    assert sorted(scores["key"].to_pylist()) == list(range(900))
    assert json.loads(run(*words, *GIVEN, "--json").stdout) == told
    assert "most fragile" in run(*words, *GIVEN).stdout


def test_a_table_in_memory_and_a_stream_of_it_agree(tmp_path):
    pq.write_table(table(300), tmp_path / "rows.parquet")
    data = ["gamma", MODEL, "--data", tmp_path / "rows.parquet", *GIVEN, "--json"]
    here = json.loads(run(*data).stdout)
    there = json.loads(run(*data, "--stream").stdout)
    assert here["mean"] == pytest.approx(there["mean"], rel=1e-13)
    assert here["queries"] == there["queries"]
    some = json.loads(run(*data, "--sample", 100, "--out", tmp_path / "some.parquet").stdout)
    same = json.loads(run(*data, "--sample", 100, "--stream").stdout)
    assert some["points"] == same["points"] == 100
    assert some["mean"] == pytest.approx(same["mean"], rel=1e-13)


def test_rows_set_aside_end_the_command_with_3(tmp_path):
    rows = table(200).to_pandas().clip(-2, 2)
    rows.loc[7, "f2"] = np.nan
    rows.loc[9, "f0"] = 5.0
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "in" / "a.parquet")
    (tmp_path / "in" / "b.parquet").write_bytes(b"PAR1")
    done = run(
        "gamma", MOODY, "--data", tmp_path / "in", "--out", tmp_path / "out", *GIVEN, "--json"
    )
    assert done.exit_code == 3
    told = json.loads(done.stdout)
    assert (told["points"], told["set_aside"], told["unreadable"]) == (198, 2, 1)
    aside = pq.read_table(tmp_path / "out" / "set_aside").to_pylist()
    assert {(row["file"], row["row"]) for row in aside} == {
        ("a.parquet", 7),
        ("a.parquet", 9),
        ("b.parquet", 0),
    }
    assert "no rows beyond 2.9" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["nstep", MODEL],
        ["search", MODEL, "--steps", "3"],
        ["clever", MODEL, "--blocks", "10", "--block-size", "2"],
    ],
    ids=lambda words: words[0],
)
def test_other_measures_stream(tmp_path, words):
    parquet_folder(tmp_path / "in", rows=20)
    data = [
        "--data",
        f"{tmp_path}/in/*.parquet",
        "--drop",
        "id",
        "--out",
        tmp_path / "out",
        "--json",
    ]
    done = run(*words, *data)
    assert json.loads(done.stdout)["points"] == 60


def test_compare_streams(tmp_path):
    parquet_folder(tmp_path / "in", rows=50)
    words = ["compare", f"a={MODEL}", f"b={MODEL}", "--data", tmp_path / "in", "--drop", "id"]
    done = json.loads(run(*words, "--keep", tmp_path / "out", "--json").stdout)
    assert done["differences"][0]["same"]
    assert (tmp_path / "out" / "a" / "scores").is_dir()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "dask"], "no engine dask"),
        (["--address", "auto"], "--engine ray"),
        (["--key", "id"], "add --stream"),
        (["--stream", "--out", "scores.parquet"], "--out scores"),
        (["--stream", "--budget", "100"], "budget= is not for sources"),
    ],
)
def test_what_cannot_be_meant_is_said(tmp_path, words, said):
    pq.write_table(table(20), tmp_path / "rows.parquet")
    with pytest.raises(Exception, match=said):
        run("gamma", MODEL, "--data", tmp_path / "rows.parquet", *words)


@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["memory", "stream"])
def test_standard_input(tmp_path, stream):
    text = table(40).to_pandas().to_csv(index=False)
    command = [
        sys.executable,
        "-m",
        "anharmonic",
        "gamma",
        MODEL,
        "--data",
        "-",
        "--json",
        *GIVEN,
        *stream,
    ]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert json.loads(done.stdout)["points"] == 40, done.stderr[-500:]
