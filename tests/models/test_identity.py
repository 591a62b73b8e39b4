"""What a model is, as a hash: the same in any process, another for any change that counts."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anharmonic import balls
from anharmonic.models import as_model
from anharmonic.models.identity import identity
from anharmonic.models.named import load_by_name

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(100, 3))
LABELS = (POINTS[:, 0] > 0).astype(int)

MADE = """
import functools
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from anharmonic.models import as_model
from anharmonic.models.identity import identity
import torch

x = np.random.default_rng(0).normal(size=(100, 3))
y = (x[:, 0] > 0).astype(int)
torch.manual_seed(0)


class Words:
    def __init__(self):
        self.known = {"red", "green", "blue", "grey"}
        self.me = self

    def predict(self, rows):
        return rows[:, 0] * len(self.known)


weights = np.arange(3.0)
models = {
    "linear": make_pipeline(LogisticRegression()).fit(x, y),
    "forest": RandomForestClassifier(10, random_state=0).fit(x, y),
    "torch": torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)),
    "class": Words(),
    "partial": functools.partial(lambda rows, factor: rows @ weights * factor, factor=2),
    "set": lambda rows: rows[:, 0] * (len("red") in {3, 5, "a", "b", "c"}),
}
for name, model in models.items():
    print(name, identity(as_model(model)))
"""


def test_it_is_the_same_in_another_process():
    """As a pickle is not: of sets, tensors, and texts that are one object or two."""
    pytest.importorskip("torch")
    command = [sys.executable, "-W", "ignore", "-c", MADE]
    started = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin", "PYTHONPATH": ":".join(sys.path)},
        )
        for seed in ("1", "2")
    ]
    one, other = (process.communicate()[0].splitlines() for process in started)
    assert one == other
    assert len({line.split()[1] for line in one}) == len(one) == 6


def test_other_weights_are_another_model():
    one, same, other = (
        make_pipeline(StandardScaler(), LogisticRegression(C=c)).fit(POINTS, LABELS)
        for c in (1.0, 1.0, 1.01)
    )
    assert identity(as_model(one)) == identity(as_model(same)) != identity(as_model(other))
    assert identity(as_model(one, output="label")) != identity(as_model(one))
    forest = RandomForestClassifier(3, random_state=0).fit(POINTS, LABELS)
    before = identity(forest)
    forest.estimators_[1].tree_.threshold[0] += 1e-12
    assert identity(forest) != before


def test_tensors_of_any_precision():
    torch = pytest.importorskip("torch")
    for kind in (torch.float32, torch.bfloat16, torch.bool, torch.int8):
        one = torch.ones(3, 2, dtype=kind)
        other = one.clone()
        assert identity(one) == identity(other)
        other[1, 1] = 0
        assert identity(one) != identity(other)
    assert identity(torch.ones(2, 3)) != identity(torch.ones(3, 2))
    assert identity(torch.empty(0)) == identity(torch.empty(0))


SCALE = 3.0


def helped(rows):
    return SCALE * rows[:, 0]


def outer(rows):
    return helped(rows) + 1


def test_code_is_what_it_does(monkeypatch):
    def factor(number):
        return lambda rows: rows * number

    assert identity(factor(2)) == identity(factor(2)) != identity(factor(3))
    assert identity(lambda x, k=1: x * k) != identity(lambda x, k=2: x * k)
    # Where it stands does not count; what it calls does.
    before = identity(outer)
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    assert identity(outer) != before
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert identity(outer) == before
    monkeypatch.setitem(globals(), "helped", lambda rows: -rows[:, 0])
    assert identity(outer) != before


def test_a_named_model_is_its_file(tmp_path):
    onnx = pytest.importorskip("skl2onnx")
    path = tmp_path / "model.onnx"
    hashes = []
    for c in (1.0, 100.0):
        model = LogisticRegression(C=c).fit(POINTS, LABELS)
        content = onnx.to_onnx(model, POINTS[:1].astype(np.float32)).SerializeToString()
        path.write_bytes(content)
        hashes += [identity(load_by_name(str(path))), identity(load_by_name(str(path)))]
        (tmp_path / f"moved-{c}.onnx").write_bytes(content)
        assert identity(load_by_name(str(tmp_path / f"moved-{c}.onnx"))) == hashes[-1]
    assert hashes[0] == hashes[1] != hashes[2] == hashes[3]
    assert identity(load_by_name(str(path), "label")) != hashes[3]


def test_balls_and_other_arguments():
    corners = np.eye(3)
    assert identity(balls.fixed(corners)) == identity(balls.fixed(corners.copy()))
    assert identity(balls.fixed(corners)) != identity(balls.fixed(-corners))


def test_what_cannot_be_walked_is_known_by_what_it_is():
    assert identity(threading.Lock()) == identity(threading.Lock()) != identity(object())
    dates = np.array(["2024-01-01"], dtype="datetime64[D]")
    assert identity(dates) != identity(dates + 1)
    assert identity(np.array([], dtype="U1")) is not None
    deep: list[object] = []
    for _ in range(10**5):
        deep = [deep]
    assert identity(deep) is None
