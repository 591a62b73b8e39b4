"""What cannot be written is refused before the first query, and nothing is written twice."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic._core import extras
from anharmonic._core.output_files import PARQUET, claimed
from anharmonic.cli import app
from anharmonic.cli.show import complain
from anharmonic.errors import (
    AnharmonicError,
    InputError,
    MeasurementStopped,
    MissingExtra,
    SettingsError,
)

POINTS = np.random.default_rng(0).normal(size=(60, 3))
NUMBER = count()
MODULE = """
import numpy as np
asked = 0
def answer(x):
    global asked
    asked += len(x)
    return np.stack([np.tanh(x[:, 0]), -x[:, 1]], axis=1)
def failing(x):
    raise KeyError("first line\\nsecond \\x1b[2J line")
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a model that counts, under a name nobody has imported yet, and points."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"counted{next(NUMBER)}"
    Path(f"{name}.py").write_text(MODULE)
    np.save("points.npy", POINTS)
    Path("folder.parquet").mkdir()
    ah.gamma(lambda x: x[:, 0], POINTS, radius=0.1).save("known.parquet")
    return name


def run(*arguments):
    """The command in this process; what it raised."""
    return CliRunner().invoke(app, [str(each) for each in arguments])


def asked(name):
    return getattr(sys.modules.get(name), "asked", 0)


DATA = ("--data", "points.npy")
COMMANDS = {
    "gamma": ("gamma", "--model", "{}:answer", *DATA, "--out"),
    "check": ("check", "{}:answer", *DATA, "--max-gamma", "1", "--out"),
    "search": ("search", "{}:answer", *DATA, "--steps", "2", "--out"),
    "nstep": ("nstep", "{}:answer", *DATA, "--out"),
    "clever": ("clever", "{}:answer", *DATA, "--out"),
    "spade": ("spade", "--model", "{}:answer", *DATA, "--blocks", "0", "--out"),
    "plan": ("gamma", "plan", *DATA, "--out"),
}
PAGES = {
    "compare": ("compare", "a={}:answer", *DATA, "--report"),
    "report": ("report", "a={}:answer", *DATA, "--out"),
    "explain": ("explain", "{}:answer", *DATA, "--html"),
    "spade page": ("spade", "--model", "{}:answer", *DATA, "--html"),
    "replay": (
        *("monitor", "replay", "points.npy", "--model", "{}:answer"),
        *("--reference", "points.npy", "--out"),
    ),
}


@pytest.mark.finding("newcomer B8")
@pytest.mark.parametrize("command", [*COMMANDS, *PAGES])
def test_what_cannot_be_written_is_refused_before_the_first_query(place, command):
    words = [each.format(place) for each in (COMMANDS | PAGES)[command]]
    ending = "parquet" if command in COMMANDS else "html"
    for target, why in (
        ("folder.parquet", "is a folder"),
        ("scores.csv", f"give scores.{ending}"),
        (f"points.npy/o.{ending}", "cannot be written"),
        (f"/proc/nowhere/o.{ending}", "cannot be written"),
    ):
        done = run(*words, target)
        assert isinstance(done.exception, AnharmonicError), done.output
        assert why in str(done.exception)
    assert asked(place) == 0


@pytest.mark.finding("newcomer B8")
def test_a_folder_that_is_not_there_is_made(place):
    words = [each.format(place) for each in COMMANDS["gamma"]]
    assert run(*words, "new/deep/scores.parquet").exit_code == 0
    assert ah.Scores.load("new/deep/scores.parquet").complete
    assert [each.name for each in Path("new/deep").iterdir()] == ["scores.parquet"]
    words = [each.format(place) for each in COMMANDS["check"]]
    assert run(*words, "c.parquet", "--junit", "folder.parquet").exit_code == 1
    assert run(*words, "c.parquet", "--junit", "ci/junit.xml").exit_code == 0
    assert Path("ci/junit.xml").is_file()


@pytest.mark.finding("newcomer B6", "newcomer B7")
@pytest.mark.parametrize("command", PAGES)
def test_a_missing_extra_is_met_at_once_and_named_once(place, command, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    done = run(*(each.format(place) for each in PAGES[command]), "page.html")
    assert isinstance(done.exception, MissingExtra)
    assert "plotly and jinja2" in str(done.exception)
    assert "anharmonic[report]" in str(done.exception)
    assert asked(place) == 0


@pytest.mark.finding("newcomer B7")
def test_a_page_in_python_asks_for_all_it_needs(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"plotly and jinja2 .*\[report\]"):
        ah.report.write(tmp_path / "p.html", ah.gamma(lambda x: x[:, 0], POINTS, radius=0.1))


@pytest.mark.finding("newcomer B15")
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "{}:answer", *DATA, "--baseline", "nothere.parquet"),
        ("check", "--scores", "nothere.parquet", "--max-gamma", "1"),
        ("gamma", "--model", "{}:answer", *DATA, "--resume", "nothere.parquet"),
        ("search", "{}:answer", *DATA, "--resume", "nothere.parquet"),
        ("compare", "a={}:answer", *DATA, "--resume", "nothere"),
        ("card", "README.md", "points=nothere.parquet"),
        ("clever", "{}:answer", *DATA, "--guide", "nothere.parquet"),
    ],
)
def test_a_file_that_is_not_there_is_said_to_be_so(place, arguments):
    done = run(*(each.format(place) for each in arguments))
    assert isinstance(done.exception, InputError)
    assert "there is no f" in str(done.exception)
    assert "nothere" in str(done.exception)
    assert asked(place) == 0


@pytest.mark.finding("newcomer B9")
@pytest.mark.parametrize("command", ["nstep", "clever", "explain", "spade", "search", "compare"])
def test_a_model_that_raises_is_one_line(place, command, capsys):
    words = (COMMANDS | PAGES)[command][:-1]
    done = run(*(each.format(place).replace(":answer", ":failing") for each in words))
    assert isinstance(done.exception, MeasurementStopped)
    complain(done.exception)
    told = capsys.readouterr().err
    assert "KeyError" in told
    assert told.count("\n") == 1
    assert "\x1b[2J" not in told


@pytest.mark.finding("security A10")
def test_one_run_at_a_time(tmp_path):
    out = tmp_path / "o.parquet"
    left = tmp_path / f".o.parquet.{'0a' * 8}"
    mine = tmp_path / ".o.parquet.notes"
    left.touch()
    mine.touch()
    with claimed(out, PARQUET):
        assert not left.exists()
        with pytest.raises(InputError, match="another run"), claimed(out, PARQUET):
            pass
    with claimed(out, PARQUET):
        pass
    assert list(tmp_path.iterdir()) == [mine]


@pytest.mark.finding("security A10")
def test_a_bare_rerun_tells_of_the_partial_file(place):
    words = [each.format(place) for each in COMMANDS["gamma"]]
    ah.gamma(lambda x: x[:, 0], POINTS, radius=0.1, checkpoint="o.partial.parquet")
    unfinished = ah.Scores.load("o.partial.parquet")
    unfinished = replace(unfinished, settings=unfinished.settings.with_facts(unfinished=True))
    unfinished.save("o.partial.parquet")
    done = run(*words, "o.parquet")
    assert isinstance(done.exception, SettingsError)
    assert "--resume o.partial.parquet" in str(done.exception)
    assert asked(place) == 0


HALTING = """
from {0} import answer
calls = 1
def halting(x):
    global calls
    calls -= 1
    if calls < 0:
        raise RuntimeError("gone")
    return answer(x)
"""


@pytest.mark.finding("security A10", "newcomer jobs 11")
@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (("compare", "--keep", "kept"), "kept"),
        (("compare", "--report", "page.html"), "page.partial"),
        (("report", "--out", "page.html", "--sweep"), "page.partial"),
        (("sweep", "--radii", "0.1", "--keep", "kept"), "kept"),
    ],
)
def test_several_models_go_on(place, command, kept):
    half = f"half{place}"
    Path(f"{half}.py").write_text(HALTING.format(place))
    models = (*command, f"a={place}:answer", f"b={half}:halting", *DATA)
    done = run(*models)
    assert isinstance(done.exception, MeasurementStopped), done.output
    assert f"--resume {kept}" in done.output.replace("\n", "")
    assert isinstance(run(*models).exception, SettingsError)
    finished = asked(place)
    sys.modules[half].calls = 10**6
    done = run(*models, "--resume", kept)
    assert done.exit_code == 0, done.output
    assert not Path(kept).exists()
    if command[0] != "report":
        # Only the second model was asked, and it costs what the first did.
        assert asked(place) - finished < 1.1 * finished


def test_a_check_goes_on(place):
    words = [each.format(place) for each in COMMANDS["check"]]
    half = f"half{place}"
    Path(f"{half}.py").write_text(HALTING.format(place).replace("calls = 1", "calls = 9"))
    few = (*words[2:], "c.parquet", "--batch-size", "50", "--max-gamma", "9")
    done = run("check", f"{half}:halting", *few)
    assert "--resume c.partial.parquet" in done.output.replace("\n", "")
    done = run("check", f"{place}:answer", *few, "--resume", "c.partial.parquet")
    assert done.exit_code == 0, done.output
    assert not Path("c.partial.parquet").exists()


@pytest.mark.finding("security A10")
def test_names_are_no_markup_and_no_control_codes(place):
    Path("odd.py").write_text(
        "import numpy as np\n"
        "def answer(x):\n    return np.stack([x[:, 0], x[:, 1] ** 2], axis=1)\n"
        "answer.__name__ = '[/x]\\x1b[2J[bold]'\n"
    )
    sys.modules.pop("odd", None)
    for command in ("gamma", "search", "nstep", "clever", "spade"):
        words = [each.format("odd") for each in COMMANDS[command][:-1]]
        done = run(*words)
        assert done.exit_code == 0, done.exception
        assert "[/x]␛[2J[bold]" in done.output.replace("\n", "")
        assert "\x1b[2J" not in done.output


def test_everything_printed_goes_through_one_door():
    folder = Path(ah.__file__).parent / "cli"
    doors = [each.name for each in folder.glob("*.py") if "rich.markup" in each.read_text()]
    assert doors == ["show.py"]


@pytest.mark.finding("coverage slips: CLEVER without gradients")
def test_clever_says_first_what_it_will_cost(place):
    words = [each.format(place) for each in COMMANDS["clever"][:-1]]
    done = run(*words, "--count", "5", "--blocks", "10", "--block-size", "4")
    queries = 5 * (1 + 40 * 2 * 3)
    assert f"{queries:,} queries" in done.output.splitlines()[0]
    assert queries <= asked(place) <= 3 * queries, "climbs come on top"


@pytest.mark.finding("code 0.5", "newcomer 1: --version, python -m anharmonic")
def test_which_version_this_is():
    assert run("--version").output == f"anharmonic {ah.__version__}\n"
    command = [sys.executable, "-m", "anharmonic", "--version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert told.stdout == f"anharmonic {ah.__version__}\n"
