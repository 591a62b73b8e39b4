"""`anharmonic doctor`: green where all is well, and red for each thing that can be wrong."""

from __future__ import annotations

import json
import sys
from importlib import metadata

import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.cli.doctor import installation, known_answers, machine


@pytest.fixture
def run(monkeypatch):
    """The command without the slow look for accelerators."""

    class NoAccelerators:
        def result(self):
            return [], []

    monkeypatch.setattr(machine, "Accelerators", NoAccelerators)
    return lambda *words: CliRunner().invoke(app, ["doctor", *words])


@pytest.fixture
def versions(monkeypatch):
    """Pretend that some packages are there in other versions, or (None) not at all."""
    real = metadata.version

    def pretend(**changed):
        def version(name):
            if name.replace("-", "_") not in changed:
                return real(name)
            if changed[name.replace("-", "_")] is None:
                raise metadata.PackageNotFoundError(name)
            return changed[name.replace("-", "_")]

        monkeypatch.setattr(metadata, "version", version)

    return pretend


def test_all_is_well_here(run):
    done = run("--json")
    said = json.loads(done.stdout)
    assert said["problems"] == []
    assert done.exit_code == 0
    assert said["good"]
    assert said["anharmonic"]["version"] == ah.__version__
    assert [answer["right"] for answer in said["known_answers"]] == [True] * 10
    assert sum(answer["seconds"] for answer in said["known_answers"]) < 60, "ten on an idle machine"
    assert said["extras"]["sklearn"]["state"] == "ready"


def test_accelerators_are_looked_for():
    devices, problems = machine.Accelerators().result()
    assert problems == []
    assert all(isinstance(device, str) for device in devices)


def test_every_extra_has_a_purpose_and_every_purpose_an_extra():
    provided = set(metadata.metadata("anharmonic").get_all("Provides-Extra"))
    assert set(installation.PURPOSES) | installation.DEVELOPMENT == provided


def test_extras_of_extras_are_opened():
    report = {package.name for package in installation.extras()["report"].packages}
    assert report == {"plotly", "kaleido", "jinja2"}
    everything = {package.name for package in installation.extras()["all"].packages}
    assert report | {"torch", "fastapi", "sentence-transformers"} <= everything
    assert not any(package.name == "anharmonic" for package in installation.core())


def test_an_old_version_is_named_with_the_command_that_mends_it(run, versions):
    versions(scikit_learn="0.1")
    done = run("--json")
    said = json.loads(done.stdout)
    assert done.exit_code == 1
    (problem,) = said["problems"]
    assert "scikit-learn is 0.1" in problem
    assert "pip install --upgrade 'anharmonic[" in problem
    assert said["extras"]["sklearn"]["state"] == "does not fit"


def test_an_old_core_package_is_named_once(run, versions):
    versions(numpy="1.26")
    said = json.loads(run("--json").stdout)
    assert said["problems"] == [
        "numpy is 1.26 and >=2.0 is needed: pip install --upgrade anharmonic"
    ]


def test_what_is_missing_is_wrong_only_if_it_is_needed(run, versions):
    versions(hnswlib=None)
    assert run().exit_code == 0
    done = run("--need", "spade")
    assert done.exit_code == 1
    said = " ".join(done.stdout.split())
    assert "spade lacks hnswlib: pip install --upgrade 'anharmonic[spade]'" in said
    assert "in part" in said


def test_a_stand_in_counts(versions):
    versions(xgboost=None, xgboost_cpu="3.0")
    (package,) = installation.extras()["xgboost"].packages
    assert (package.name, package.fits) == ("xgboost-cpu", True)


def test_a_need_that_does_not_exist_is_refused(run):
    done = run("--need", "serve")
    assert done.exit_code != 0
    assert "no extra serve: there are all, " in str(done.exception)


def test_a_wrong_answer_is_told(run, monkeypatch):
    def wrong(*arguments, **options):
        raise ArithmeticError("a library that computes wrongly")

    monkeypatch.setattr(ah, "clever", wrong)
    done = run()
    assert done.exit_code == 1
    assert "WRONG" in done.stdout
    assert "CLEVER at distance 1" in " ".join(done.stdout.split())


def test_answers_that_are_off_are_not_right():
    outcome = known_answers.Outcome("x", 0.25, 0.2500001, 1e-12, 0.0)
    assert not outcome.right
    assert not known_answers.Outcome("x", 0, float("nan"), 1e-12, 0.0).right
    assert known_answers.Outcome("x", 0.25, 0.25, 0, 0.0).right


def test_libraries_that_do_not_import_are_named(tmp_path, monkeypatch):
    programs = {
        "raises": "raise OSError('libgomp.so.1: no such file')",
        "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "works": "",
    }
    for name, program in programs.items():
        (tmp_path / f"{name}.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(
        machine, "packages_distributions", lambda: {name: [f"The-{name}"] for name in programs}
    )
    said = list(machine.broken_imports(["the-raises", "the-crashes", "the-works"]))
    assert said == [
        "crashes cannot be imported: the process was ended by signal 11",
        "raises cannot be imported: OSError: libgomp.so.1: no such file",
    ]
    assert list(machine.broken_imports(["the-works"])) == []


def test_the_browser_that_is_named_is_taken(monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", sys.executable)
    assert machine.browser() == sys.executable
    monkeypatch.setenv("BROWSER_PATH", "/no/such/browser")
    assert machine.browser() is None
