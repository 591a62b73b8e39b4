"""Seams found by reflection: adapters, watched channels, perturbations, extras, random streams."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import anharmonic as ah
from anharmonic._core import streams
from anharmonic.llm.perturb import changes
from anharmonic.models import recognition
from anharmonic.monitor import scorer
from studies import streams as study_streams

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "anharmonic"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def bent(x):
    x = np.asarray(x)
    return np.stack([np.sin(3 * x[:, 0]), x[:, 1]], axis=1)


def _onnx(x, y):
    from onnxruntime import InferenceSession
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression

    graph = to_onnx(LogisticRegression().fit(x, y), x[:1].astype("f4"), options={"zipmap": False})
    return InferenceSession(graph.SerializeToString())


def _torch(x, y):
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def _estimator(module, name, **arguments):
    def fit(x, y):
        kind = getattr(pytest.importorskip(module), name)
        return kind(**arguments).fit(x, y)

    return fit


MODELS = {
    "sklearn": _estimator("sklearn.linear_model", "LogisticRegression"),
    "xgboost": _estimator("xgboost", "XGBClassifier", n_estimators=5, n_jobs=1),
    "lightgbm": _estimator("lightgbm", "LGBMClassifier", n_estimators=5, verbose=-1, n_jobs=1),
    "catboost": _estimator(
        "catboost", "CatBoostClassifier", iterations=5, verbose=0, allow_writing_files=False
    ),
    "onnxruntime": _onnx,
    "torch": _torch,
}
ELSEWHERE = {"mlflow": "tests/models/test_mlflow.py"}
"""Adapters whose models need a store of their own."""


def test_every_adapter_has_its_case():
    assert set(recognition.ADAPTERS) == set(MODELS) | set(ELSEWHERE)
    assert all((ROOT / path).is_file() for path in ELSEWHERE.values())


@pytest.mark.parametrize("library", MODELS)
def test_an_adapter_makes_a_function_of_rows(library):
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 3))
    model = ah.as_model(MODELS[library](x, (x[:, 0] > 0).astype(int)))
    points = model.place(x[:8])
    outputs = np.asarray(_plain(model(points)), dtype=float).reshape(8, -1)
    assert np.isfinite(outputs).all()
    parts = [_plain(model(points[:3])), _plain(model(points[3:]))]
    again = np.concatenate([np.asarray(part).reshape(-1, outputs.shape[1]) for part in parts])
    np.testing.assert_allclose(again, outputs, rtol=1e-5, atol=1e-6)
    assert model.name
    assert model.kind in ("value", "logit", "probability", "onehot", "label")
    assert ah.gamma(model, x[:4], reference=x).complete


def _plain(outputs):
    return outputs.detach().numpy() if hasattr(outputs, "detach") else outputs


@pytest.mark.parametrize("watched", scorer.NAMES)
def test_what_is_watched_gives_one_number_per_row_the_same_in_any_batch(watched):
    random = np.random.default_rng(0)
    monitor = ah.Monitor(bent, random.normal(size=(400, 2)), watch=watched, seed=0)
    points = random.normal(size=(12, 2))
    whole = monitor.measure(points)[watched]
    assert whole.shape == (12,)
    assert np.isfinite(whole).all()
    single = np.concatenate([monitor.measure(point)[watched] for point in points])
    np.testing.assert_allclose(single, whole, atol=1e-12)


@pytest.mark.parametrize("name", changes.KINDS)
def test_a_perturbation_changes_by_its_seed_alone(name):
    one, same, other = (
        ah.llm.gamma(str, ["who are you?"], embed=_letters, perturb=name, count=3, seed=seed)
        for seed in (0, 0, 1)
    )
    assert one.records[0].trials == same.records[0].trials
    assert len(other.records[0].trials) == len(one.records[0].trials)


def _letters(texts):
    return np.array([[text.count(letter) + 0.1 for letter in "aeiou"] for text in texts])


def test_extras_that_errors_name_are_there():
    """`MissingExtra(library, extra)` and `require(extra)` all over the source."""
    known = set(PROJECT["project"]["optional-dependencies"])
    named = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called, texts = ast.unparse(node.func), node.args
                if called in ("MissingExtra", "needs") and len(texts) > 1:
                    named |= {texts[1].value} if isinstance(texts[1], ast.Constant) else set()
                if called == "require" and isinstance(texts[0], ast.Constant):
                    named.add(texts[0].value)
    assert named
    assert named <= known


def test_random_streams_come_from_a_register():
    """`generator` takes a member of a register, and no number occurs twice in one."""
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "studies").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "generator":
                assert re.fullmatch(r"\w*Stream\.[A-Z_]+", ast.unparse(node.args[1])), path
    for module in (streams, study_streams):
        for name in module.__all__:
            register = getattr(module, name)
            assert len(register) == len({int(member) for member in register.__members__.values()})


def test_the_top_of_the_package_is_small_and_studies_are_not_in_it():
    entries = [path for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 26
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["src/anharmonic"]


def test_settings_are_read_as_attributes():
    found = [
        f"{path.name}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"\bsettings(\[[\"\']|\.get\()", line) and "llm/clients" not in str(path)
    ]
    # The two lines that warn of the old way name it.
    assert [line for line in found if not line.startswith("settings.py")] == []
