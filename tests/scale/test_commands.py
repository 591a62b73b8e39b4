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

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.errors import InputError, SettingsError
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


def test_a_folder_may_be_an_address(tmp_path, monkeypatch):
    parquet_folder(tmp_path / "in", rows=30)
    monkeypatch.chdir(tmp_path)
    data = ["--data", tmp_path / "in", "--drop", "id", *GIVEN]
    place = (tmp_path / "out").as_uri()
    told = json.loads(run("gamma", MODEL, *data, "--out", place, "--json").stdout)
    assert len(pq.read_table(tmp_path / "out" / "scores")) == told["points"] == 90
    assert len(ah.load(place)) == 90
    run("compare", f"a={MODEL}", f"b={MODEL}", *data, "--keep", f"{place}/models", "--json")
    assert (tmp_path / "out" / "models" / "b" / "scores").is_dir()
    run("gamma", "plan", *data, "--out", f"{place}/plan")
    asked = pq.read_table(tmp_path / "out" / "plan" / "queries").to_pandas()
    answers = asked[["part", "query"]].assign(y=asked["f0"] ** 2)
    answers.to_parquet(tmp_path / "answers.parquet")
    files = [f"{place}/plan", (tmp_path / "answers.parquet").as_uri()]
    done = json.loads(run("gamma", "collect", *files, "--json").stdout)
    assert done["points"] == 90
    assert (tmp_path / "out" / "plan" / "collected" / "summary.json").exists()
    # Nothing was written to a folder called "file:".
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.parquet", "in", "out"]


@pytest.mark.parametrize(
    "words",
    [
        ["gamma", MODEL, "--out"],
        ["nstep", MODEL, "--out"],
        ["search", MODEL, "--out"],
        ["clever", MODEL, "--out"],
        ["gamma", "plan", "--out"],
        ["compare", f"a={MODEL}", f"b={MODEL}", "--keep"],
        ["sweep", f"a={MODEL}", "--keep"],
    ],
    ids=lambda words: " ".join(words[:1]),
)
def test_a_table_in_memory_is_not_written_to_an_address(tmp_path, words):
    pq.write_table(table(20), tmp_path / "rows.parquet")
    with pytest.raises(SettingsError, match=r"is an address.*add --stream"):
        run(*words, "s3://bucket/out", "--data", tmp_path / "rows.parquet")


def test_a_plan_takes_an_engine_and_starts_over(tmp_path, monkeypatch):
    parquet_folder(tmp_path / "in", rows=30)
    words = ["gamma", "plan", "--data", tmp_path / "in", "--drop", "id", "--out", tmp_path / "plan"]
    asked = []

    def actors(*_, **__):
        return lambda function, items: asked.append(items) or map(function, items)

    monkeypatch.setattr(ah.workers, "ray", actors)
    run(*words, "--engine", "ray")
    assert len(asked[0]) == 3
    with pytest.raises(InputError, match="holds a plan already"):
        run(*words, "--radius", "0.2")
    run(*words, "--radius", "0.2", "--fresh")
    plan = json.loads((tmp_path / "plan" / "run.json").read_text())
    assert plan["plan"]["arguments"]["radius"] == 0.2


def test_scores_are_collected_anew(tmp_path):
    parquet_folder(tmp_path / "in", rows=30)
    data = ["--data", tmp_path / "in", "--drop", "id", "--out", tmp_path / "plan"]
    run("gamma", "plan", *data, *GIVEN)
    asked = pq.read_table(tmp_path / "plan" / "queries").to_pandas()
    words = ["gamma", "collect", tmp_path / "plan", tmp_path / "answers.parquet", "--json"]
    means = []
    for factor in (1, 9):
        answers = asked[["part", "query"]].assign(y=factor * np.sin(asked["f0"]))
        answers.to_parquet(tmp_path / "answers.parquet")
        means.append(json.loads(run(*words, "--fresh").stdout)["mean"])
    assert means[1] == pytest.approx(9 * means[0])
    with pytest.raises(SettingsError, match="--fresh is for the folder of a plan"):
        run("gamma", "collect", tmp_path / "answers.parquet", "answers.csv", "--fresh")


def test_a_plan_in_memory_takes_a_sample(tmp_path):
    pq.write_table(table(200), tmp_path / "rows.parquet")
    words = ["--data", tmp_path / "rows.parquet", "--sample", "20", "--out", tmp_path / "q.parquet"]
    run("gamma", "plan", *words, *GIVEN)
    about = json.loads(pq.read_metadata(tmp_path / "q.parquet").metadata[b"anharmonic"])
    assert about["points"] == 20


def test_resume_is_refused_where_runs_go_on_by_themselves(tmp_path):
    parquet_folder(tmp_path / "in", rows=30)
    words = ["compare", f"a={MODEL}", f"b={MODEL}", "--data", tmp_path / "in"]
    with pytest.raises(SettingsError, match="--resume is for points in memory"):
        run(*words, "--resume", tmp_path)
    with pytest.raises(SettingsError, match="are for points in memory"):
        ah.compare({"a": MODEL}, ah.sources.files(tmp_path / "in"), resume=tmp_path)


@pytest.mark.parametrize("name", ["rows[1].parquet", "rows*.parquet"])
def test_one_file_is_one_file_whatever_it_is_called(tmp_path, name):
    pq.write_table(table(20), tmp_path / name)
    done = run("gamma", MODEL, "--data", tmp_path / name, "--out", tmp_path / "s.parquet", *GIVEN)
    assert done.exit_code == 0
    assert (tmp_path / "s.parquet").is_file()


def test_models_are_compared_on_standard_input(tmp_path):
    text = table(40).to_pandas().to_csv(index=False)
    words = ["compare", f"a={MODEL}", f"b={MODEL}", "--data", "-", "--stream", "--json", *GIVEN]
    command = [sys.executable, "-m", "anharmonic", *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert json.loads(done.stdout)["differences"][0]["same"]
