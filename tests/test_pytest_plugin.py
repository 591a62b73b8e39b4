"""The pytest plugin, in projects of its own: it passes, fails with reasons, costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
PROJECT = """
import numpy as np
import pandas as pd
import anharmonic as ah

POINTS = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 3)), columns=["a", "b", "c"])

def smooth(table):
    return np.sin(table["a"].to_numpy())

def rough(table):
    return np.sin(3 * table["a"].to_numpy())
"""


@pytest.fixture
def project(pytester):
    """A project that turns warnings into errors, as this one does."""
    pytester.makeini("[pytest]\nfilterwarnings = error\n")

    def run(body, *arguments):
        pytester.makepyfile(PROJECT + body)
        # Under the name of the entry point, so that it is the same plugin where it is installed.
        return pytester.runpytest_subprocess("-p", "pytest_anharmonic", *arguments)

    return run


def test_a_smooth_model_passes_and_the_scores_come_back(project):
    done = project("""
def test_smooth(assert_harmonic):
    scores = assert_harmonic(smooth, POINTS, below=0.2, radius=0.3, rotations=6, seed=2)
    assert scores.settings.rotations == 6
    assert isinstance(scores, ah.Scores)
""")
    done.assert_outcomes(passed=1)


def test_a_rough_one_fails_with_the_sentence_and_the_worst_rows(project):
    done = project("""
def test_rough(assert_harmonic):
    assert_harmonic(rough, POINTS, below=0.02, radius=0.3)
""")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "mean gamma 0.* ± 0.* is surely above 0.02 (at least 0.* at 95% confidence)",
            "<gamma * over 100 points, * queries, radius 0.3; moved a, b, c; held none>",
            "largest:",
            "  row *: 0.* ± 0.* at a=*, b=*, c=*",
        ]
    )
    assert "pytest_anharmonic.py" not in done.stdout.str()  # no traceback through the plugin


def test_a_baseline_from_a_file_lends_its_settings(project):
    done = project("""
def test_both(assert_harmonic, tmp_path):
    old = assert_harmonic(smooth, POINTS, below=9, radius=0.4, seed=3)
    assert_harmonic(smooth, POINTS, baseline=old.save(tmp_path / "old.parquet"))
    new = assert_harmonic(smooth, POINTS, baseline=old, margin=0.1)
    assert new.settings.radius == 0.4
    assert_harmonic(rough, POINTS, below=9, baseline=str(tmp_path / "old.parquet"))
""")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["mean gamma * is surely above the baseline *paired point by point"])


def test_no_criterion_is_a_mistake(project):
    done = project("""
def test_nothing(assert_harmonic):
    assert_harmonic(smooth, POINTS)
""")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*SettingsError: give below=*"])


def test_images_and_wide_points_are_shown_in_part(project):
    done = project("""
def test_image(assert_harmonic):
    images = np.random.default_rng(0).normal(size=(20, 4, 4))
    assert_harmonic(lambda x: (x**2).sum(axis=(1, 2)), images, below=0.001, radius=0.1)
""")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["  row *5=*, …"])


@pytest.mark.slow
def test_installed_named_and_in_a_conftest_it_is_still_one_plugin(project, pytester, monkeypatch):
    about = pytester.mkdir("site") / "installed-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[pytest11]\npytest_anharmonic = pytest_anharmonic\n")
    monkeypatch.setenv("PYTHONPATH", str(about.parent), prepend=os.pathsep)
    pytester.makeconftest('pytest_plugins = ["pytest_anharmonic"]')
    done = project("def test_it(assert_harmonic): pass")
    done.assert_outcomes(passed=1)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    (pytester.path / "conftest.py").unlink()
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_loading_it_imports_neither_numpy_nor_the_package():
    code = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import pytest_anharmonic\n"
        "assert set(sys.modules) - before == {'pytest_anharmonic'}, set(sys.modules) - before\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_entry_point_has_its_modules_name():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (name, module), *others = project["project"]["entry-points"]["pytest11"].items()
    assert (name, others) == (module, [])
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert (ROOT / "src" / shipped[f"src/{module}.py"]).is_file()
