"""What it takes to add something, shown by adding it in a copy of the package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEASURE = '''
"""Roughness: the spread of the answers around a point."""

from typing import Unpack

import numpy as np

from anharmonic import balls
from anharmonic._core.metrics import Metric, register
from anharmonic._core.settings import Settings
from anharmonic.measures.setup.batching import answers
from anharmonic.measures.setup.settling import SetupArguments, settle, takes_setup
from anharmonic.measures.setup.sphere import Segment, Sphere, neighbourhood
from anharmonic.scores import Scores

ROUGHNESS = register(Metric("roughness"))


@takes_setup
def roughness(model: object, points: object, **setup: Unpack[SetupArguments]) -> Scores:
    """The standard deviation of the first output over 16 neighbours."""
    settled = settle(model, points, **setup)
    rows = np.arange(len(settled.region))
    sphere = Sphere.of(settled, balls.random(settled.region.dimension, 16))
    asked, _ = neighbourhood(sphere, rows, [Segment(0, 0, 16)], 1)
    outputs = answers(sphere.caller, asked, rows)[..., 0]
    values = outputs[:, 1:].std(axis=1)
    return Scores("roughness", values, values / 4, values**2, values, outputs[:, 0],
                  np.full(len(rows), 16), outputs.size, settled.describe(Settings))
'''


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src" / "anharmonic"


def run(copy, code):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(copy.parent), "PATH": "/usr/bin", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def changed(copy):
    """Files of the copy that differ from the package's."""
    source = ROOT / "src" / "anharmonic"
    return [
        path.relative_to(copy).as_posix()
        for path in copy.rglob("*.py*")
        if path.suffix in (".py", ".pyi")
        and (
            not (source / path.relative_to(copy)).exists()
            or path.read_bytes() != (source / path.relative_to(copy)).read_bytes()
        )
    ]


def edit(path, old, new):
    text = path.read_text()
    assert old in text, f"{path.name} has changed: mend this test"
    path.write_text(text.replace(old, new, 1))


def test_an_option_that_all_measures_share_takes_two_files(copy):
    settling, groups = copy / "measures/setup/settling.py", copy / "cli/groups.py"
    edit(
        settling, "    seed: int\n\n\nDEFAULTS", "    seed: int\n    patience: float\n\n\nDEFAULTS"
    )
    edit(settling, '    "seed": 0,\n}', '    "seed": 0,\n    "patience": 1.0,\n}')
    edit(
        settling,
        "    adapted = as_model(",
        '    if arguments["patience"] <= 0:\n'
        '        raise SettingsError("patience is positive")\n'
        "    adapted = as_model(",
    )
    edit(
        groups,
        "    def arguments(self) -> parsing.Arguments:\n"
        '        """What was said, as arguments of any measure."""\n'
        "        return parsing.given(seed=self.seed, batch_size=self.batch_size)",
        '    patience: Annotated[float | None, typer.Option(help="Seconds.")] = None\n\n'
        "    def arguments(self) -> parsing.Arguments:\n"
        '        """What was said, as arguments of any measure."""\n'
        "        return parsing.given(\n"
        "            seed=self.seed, batch_size=self.batch_size, patience=self.patience\n"
        "        )",
    )
    assert len(changed(copy)) == 2
    said = run(
        copy,
        """
import inspect, numpy as np, pathlib, tempfile, os
import anharmonic as ah
from typer.testing import CliRunner
from anharmonic.cli import app
points = np.random.default_rng(0).normal(size=(10, 2))
wave = lambda x: np.sin(x[:, :2])
for measure in (
    *(ah.gamma, ah.clever, ah.adversarial_search, ah.contributions, ah.compare, ah.sweep, ah.plan),
    *(ah.explain, ah.nstep_robustness, ah.stability.class_table, ah.stability.observed_flips),
    ah.baselines.flip_rate,
):
    assert "patience" in inspect.signature(measure).parameters
for call in (
    lambda p: ah.gamma(wave, points, patience=p),
    lambda p: ah.clever(wave, points, patience=p, blocks=10, block_size=2),
    lambda p: ah.adversarial_search(wave, points, patience=p, steps=1),
    lambda p: ah.nstep_robustness(wave, points, patience=p),
    lambda p: ah.contributions(wave, points, patience=p),
    lambda p: ah.compare({"a": wave, "b": wave}, points, patience=p),
    lambda p: ah.baselines.margin(wave, points, patience=p),
):
    call(2.0)
    try:
        call(-1.0)
    except ah.AnharmonicError:
        continue
    raise SystemExit("not taken")
for command in "gamma check compare sweep report search nstep explain clever".split():
    told = CliRunner().invoke(app, [command, "--help"]).stdout
    assert "--patience" in told, command
print("ok")
""",
    )
    assert said.strip() == "ok"


def test_a_measure_takes_two_files(copy):
    (copy / "measures/roughness.py").write_text(MEASURE)
    edit(
        copy / "__init__.pyi",
        "from .measures.search import",
        "from .measures.roughness import roughness as roughness\nfrom .measures.search import",
    )
    assert len(changed(copy)) == 2
    said = run(
        copy,
        """
import pathlib, tempfile, numpy as np
import anharmonic as ah
from anharmonic._core.metrics import registered
points = np.random.default_rng(0).normal(size=(10, 2))
scores = ah.roughness(lambda x: np.sin(x[:, 0]), points, radius=0.3)
with tempfile.TemporaryDirectory() as folder:
    again = ah.load(scores.save(pathlib.Path(folder) / "r.parquet"))
assert repr(again) == repr(scores), (again, scores)
assert "roughness" in registered() and scores.worst(2).shape == (2,)
found = ah.compare({"a": np.sin, "b": np.tanh}, points, measure=ah.roughness)
assert found.metric == "roughness"
print(scores.about.name)
""",
    )
    assert said.strip() == "roughness"
