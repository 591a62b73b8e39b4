"""Files as people have them: an index inside, semicolons, no rows, damage."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic._core.files import read_data
from anharmonic.cli import app
from anharmonic.errors import InputError, OutputError
from tests.commands import command_named

FRAME = pd.DataFrame(
    np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"], index=np.arange(30)[::-1]
)
WITHOUT_PANDAS = """
import sys
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "pandas" else found(name, *rest)
from anharmonic._core.files import read_data
print(type(read_data(sys.argv[1])).__module__, read_data(sys.argv[1]).column_names)
"""


MODEL = "def model(table):\n    return table['a'].to_numpy() ** 2\n"


def model(table):
    return np.asarray(table["a"]) ** 2


@pytest.mark.finding("newcomer B2")
@pytest.mark.parametrize("index", [None, "key"])
def test_an_index_in_parquet_is_no_feature_with_and_without_pandas(index, tmp_path: Path) -> None:
    file = tmp_path / "shuffled.parquet"
    FRAME.rename_axis(index).to_parquet(file)
    assert list(read_data(file).columns) == ["a", "b"]
    command = [sys.executable, "-c", WITHOUT_PANDAS, str(file)]
    bare = subprocess.run(command, capture_output=True, text=True, check=True)
    assert bare.stdout.split() == ["pyarrow.lib", "['a',", "'b']"]


@pytest.mark.finding("newcomer B3")
@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_an_unnamed_index_in_csv_is_no_feature_and_that_is_said(name: str, tmp_path: Path) -> None:
    file, told = tmp_path / "index.csv", []
    FRAME.to_csv(file, index_label=name or None)
    # It is no feature, and still what the rows are called.
    pd.testing.assert_frame_equal(read_data(file, told.append), FRAME)
    assert len(told) == 1
    assert "taken for an index and left out" in told[0]
    plain = tmp_path / "plain.csv"
    FRAME.to_csv(plain, index=False)
    with_index, without = (ah.gamma(model, read_data(each)) for each in (file, plain))
    np.testing.assert_array_equal(with_index.values, without.values)


@pytest.mark.finding("newcomer B3", "newcomer job 7")
def test_answers_are_answers_alone_and_in_order(tmp_path: Path) -> None:
    plan, file, told = tmp_path / "plan.parquet", tmp_path / "answers.csv", []
    ah.plan(FRAME, plan)
    asked = pd.read_parquet(plan)
    answers = pd.DataFrame({"answer": asked["a"] ** 2})
    right = ah.collect(plan, answers)
    answers.to_csv(file)  # with an index, as pandas does unless told
    np.testing.assert_array_equal(ah.collect(plan, file, say=told.append).values, right.values)
    assert [("index" in each, "no column query" in each) for each in told] == [
        (True, False),
        (False, True),
    ]
    np.testing.assert_array_equal(
        ah.collect(plan, answers.assign(**{"Unnamed: 0": answers.index})).values, right.values
    )
    beside = asked.assign(answer=answers["answer"])
    shuffled = beside.sample(frac=1, random_state=0)
    for known in (beside, beside.drop(columns="query"), shuffled):
        np.testing.assert_array_equal(ah.collect(plan, known).values, right.values)
    with pytest.raises(OutputError, match=r"other questions than the plan's \(column a\)"):
        ah.collect(plan, shuffled.drop(columns="query"))


@pytest.mark.finding("newcomer B20")
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a;b\n1.5;2\n3.5;4\n", 1.5),
        ("a;b\n1,5;2\n3,5;4\n", 1.5),
        ("a\tb\n1.5\t2\n3.5\t4\n", 1.5),
        ('"a, left";b\n1.5;2\n3.5;4\n', 1.5),
        ("a,b;c\n1.5,2\n3.5,4\n", 1.5),
    ],
)
def test_other_separators_are_seen(text: str, first: float, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    table = read_data(tmp_path / "x.csv")
    assert table.shape == (2, 2)
    assert table.iloc[0, 0] == first


@pytest.mark.finding("newcomer B20")
def test_a_header_alone_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="columns and no rows"):
        read_data(tmp_path / "x.csv")


@pytest.mark.finding("security A15")
def test_damaged_arrays_are_refused_in_a_line(tmp_path: Path) -> None:
    huge, whole = tmp_path / "huge.npy", tmp_path / "whole.npz"
    with huge.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 1)}
        )
    with pytest.raises(InputError, match="the file does not hold"):
        read_data(huge)
    np.savez_compressed(whole, x=np.zeros((400, 20)))
    for place in range(0, len(whole.read_bytes()), 7):
        damaged = bytearray(whole.read_bytes())
        damaged[place] ^= 0xFF
        (tmp_path / "damaged.npz").write_bytes(damaged)
        with contextlib.suppress(InputError):  # and nothing else
            read_data(tmp_path / "damaged.npz")
    with zipfile.ZipFile(tmp_path / "many.npz", "w") as archive:
        archive.writestr("a.npy", b"")
        archive.writestr("b.npy", b"")
    with pytest.raises(InputError, match="holds a, b: save the points alone"):
        read_data(tmp_path / "many.npz")


@pytest.mark.finding("newcomer: --drop", "coverage slips: --drop label")
def test_either_file_may_lack_what_is_dropped(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squares.py").write_text(MODEL)
    FRAME.assign(label=1).to_csv("labelled.csv", index=False)
    FRAME.to_csv("plain.csv", index=False)

    def run(data: str, reference: str, drop: str):
        command = ["gamma", "--model", "squares:model", "--data", data, "--reference", reference]
        return CliRunner().invoke(app, [*command, "--drop", drop])

    for data, reference in (("labelled", "plain"), ("plain", "labelled")):
        found = run(f"{data}.csv", f"{reference}.csv", "label")
        assert found.exit_code == 0, found.exception
    mistyped = run("plain.csv", "labelled.csv", "lable")
    assert "plain.csv has no column lable" in str(mistyped.exception)


@pytest.mark.finding("newcomer: --moving")
def test_moving_holds_for_the_reference_too(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cubes.py").write_text(MODEL)
    FRAME.to_csv("points.csv", index=False)
    FRAME.assign(b=FRAME["b"].where(FRAME["b"] > 0)).to_csv("reference.csv", index=False)
    command = ["gamma", "--model", "cubes:model", "--data", "points.csv"]
    command += ["--reference", "reference.csv"]
    found = CliRunner().invoke(app, [*command, "--moving", "a"])
    assert found.exit_code == 0, found.exception
    # A cell that is missing in the reference is missing in some neighbours, and nothing breaks.
    assert CliRunner().invoke(app, command).exit_code == 0


@pytest.mark.finding("newcomer: --help")
@pytest.mark.parametrize("command", ["gamma", "compare", "search", "nstep", "explain", "sweep"])
def test_every_option_is_explained(command: str) -> None:
    found, _ = command_named([command])
    silent = [each.name for each in found.params if not getattr(each, "help", True)]
    assert silent == []
    data = next(each for each in found.params if each.name == "data")
    assert data.required or "Needed" in data.help
