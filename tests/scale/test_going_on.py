"""Whether another start belongs to a run: the same model, the same data, the same arguments."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anharmonic as ah
from anharmonic.errors import MeasurementStopped, SettingsError
from anharmonic.measures.streaming import running
from anharmonic.measures.streaming.answers import same_answers
from anharmonic.sources import dataset as datasets
from anharmonic.sources import files
from tests.scale.generated import parquet_folder, table, wavy

GIVEN = {"radius": 0.3, "scale": [1.0] * 4, "ball": "auto pairs"}


@pytest.fixture
def source(tmp_path):
    parquet_folder(tmp_path / "in", files=2, rows=300)
    return files(tmp_path / "in", drop=["id"])


def of(stored):
    return pa.concat_tables(list(stored.batches()))


def small(monkeypatch, rows=128):
    monkeypatch.setattr(running, "rows_per_shard", lambda block, *_: max(1, rows // block) * block)


class Scaled:
    """A model that cannot be known by what it holds: `noise` makes it answer anew each time."""

    def __init__(self, factor, noise=0.0):
        self.factor, self.noise = factor, noise
        self.drawn = np.random.default_rng()

    def __call__(self, rows):
        answers = self.factor * wavy(rows)
        return answers + self.noise * self.drawn.normal(size=answers.shape)


def test_another_function_is_another_model(tmp_path, source):
    ah.gamma(lambda x: np.sin(x["f0"]), source, out=tmp_path / "out", **GIVEN)
    for model in (lambda x: 9 * x["f0"] ** 2, lambda x: np.sin(x["f0"] + 0)):
        with pytest.raises(SettingsError, match="another model"):
            ah.gamma(model, source, out=tmp_path / "out", **GIVEN)
    again = ah.gamma(lambda x: np.sin(x["f0"]), source, out=tmp_path / "out", **GIVEN)
    assert len(again) == 600


def test_a_file_that_is_trained_anew_is_another_model(tmp_path, source):
    onnx = pytest.importorskip("skl2onnx")
    from sklearn.linear_model import LogisticRegression

    rows = table(500).to_pandas().to_numpy()
    path = tmp_path / "model.onnx"

    def train(penalty):
        model = LogisticRegression(C=penalty).fit(rows, rows[:, 0] > 0)
        path.write_bytes(onnx.to_onnx(model, rows[:1].astype(np.float32)).SerializeToString())

    train(1.0)
    ah.gamma(str(path), source, output="label", out=tmp_path / "out", **GIVEN)
    ah.gamma(str(path), source, output="label", out=tmp_path / "out", **GIVEN)
    # Its labels are the same at all rows that are tried.
    train(1.001)
    with pytest.raises(SettingsError, match="its file, code or weights have changed"):
        ah.gamma(str(path), source, output="label", out=tmp_path / "out", **GIVEN)


def test_answers_tell_models_apart_that_hold_the_same(tmp_path, source):
    """What changes when it is asked has no hash: here a generator."""
    ah.gamma(Scaled(1.0, 1e-300), source, out=tmp_path / "out", noise="ignore", **GIVEN)
    manifest = json.loads((tmp_path / "out" / "run.json").read_text())
    assert manifest["model"] is None
    assert np.shape(manifest["answers"]) == (48, 2)
    with pytest.raises(SettingsError, match=r"another model \(its answers differ\)"):
        ah.gamma(Scaled(1.001, 1e-300), source, out=tmp_path / "out", noise="ignore", **GIVEN)
    ah.gamma(Scaled(1.0, 1e-300), source, out=tmp_path / "out", noise="ignore", **GIVEN)


def test_a_noisy_model_is_still_the_same(tmp_path, source):
    ah.gamma(Scaled(1.0, 0.1), source, out=tmp_path / "out", **GIVEN)
    ah.gamma(Scaled(1.0, 0.1), source, out=tmp_path / "out", **GIVEN)
    with pytest.raises(SettingsError, match="its answers differ"):
        ah.gamma(Scaled(2.0, 0.1), source, out=tmp_path / "out", **GIVEN)


def test_noise_is_told_from_change():
    random = np.random.default_rng(0)
    truth = random.normal(size=(48, 3))

    def asked(shift=0.0, size=1.0):
        return (truth + shift + size * random.normal(size=truth.shape)).tolist()

    refused = sum(not same_answers(asked(), asked(), asked, known=False) for _ in range(500))
    assert refused == 0
    assert not any(same_answers(asked(6.0), asked(), lambda: asked(6.0), False) for _ in range(50))
    exact, other = truth.tolist(), (truth + 1e-6).tolist()
    assert same_answers(exact, exact, asked, known=False)
    assert not same_answers(exact, other, lambda: exact, known=True)
    # In single precision the last digits are a machine's own.
    single = truth.astype(np.float32)
    near = (single * np.float32(1 + 1e-6)).astype(np.float64).tolist()
    assert same_answers(single.astype(np.float64).tolist(), near, lambda: exact, known=False)
    gap = [[float("nan")] * 3, *exact[1:]]
    assert same_answers(gap, gap, asked, known=False)
    assert not same_answers(gap, exact, asked, known=True)


def test_data_that_are_written_anew_are_other_data(tmp_path, source):
    ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    rows = pq.read_table(tmp_path / "in" / "part-0.parquet")
    pq.write_table(rows.set_column(0, "f0", rows["f1"]), tmp_path / "in" / "part-0.parquet")
    with pytest.raises(SettingsError, match="another source"):
        ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)


def test_text_files_that_are_written_anew_are_other_data(tmp_path):
    rows = table(50).to_pandas()
    rows.to_csv(tmp_path / "rows.csv", index=False)
    source = files(tmp_path / "rows.csv")
    ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    assert not (tmp_path / "out" / "staged").exists()
    (rows * 3).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(SettingsError, match="another source"):
        ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)


def test_a_ball_of_ones_own_is_known_by_its_directions(tmp_path, source):
    given = {"radius": 0.3, "scale": [1.0] * 4, "out": tmp_path / "out"}
    corners = np.eye(4)
    ah.gamma(wavy, source, ball=ah.balls.fixed(corners), **given)
    ah.gamma(wavy, source, ball=ah.balls.fixed(corners.copy()), **given)
    with pytest.raises(SettingsError, match=r"another ball \(what it does has changed\)"):
        ah.gamma(wavy, source, ball=ah.balls.fixed(-corners), **given)


def test_rows_that_fail_in_the_sample_do_not_make_another_model(tmp_path, source):
    """The first start looks for rows that are answered; later ones know the ball already."""

    def picky(rows):
        x = np.asarray(rows, dtype=float)
        if (x[:, 0] > 2).any():
            raise RuntimeError("no rows beyond 2")
        return wavy(x)

    first = ah.gamma(picky, source, out=tmp_path / "out", **GIVEN)
    (tmp_path / "out" / "summary.json").unlink()
    again = ah.gamma(picky, source, out=tmp_path / "out", **GIVEN)
    assert first.set_aside > 0
    assert (again.mean, again.queries, again.set_aside) == (
        first.mean,
        first.queries,
        first.set_aside,
    )


def test_a_store_that_is_away_leaves_its_parts_to_the_next_start(tmp_path, source, monkeypatch):
    small(monkeypatch)
    whole = ah.gamma(wavy, source, out=tmp_path / "whole", **GIVEN)
    monkeypatch.setattr("time.sleep", lambda _: None)
    rows, away = datasets.Dataset.rows, True

    def unreadable(self, run, batch):
        if away and run.file == 1:
            raise OSError("connection reset")
        return rows(self, run, batch)

    def check(filesystem, path, **_):
        if away:
            raise OSError("connection reset")

    monkeypatch.setattr(datasets.Dataset, "rows", unreadable)
    monkeypatch.setattr(datasets, "check_readable", check)
    with pytest.raises(
        MeasurementStopped, match=r"parts are not measured, because part-1\.parquet"
    ):
        ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    kept = sorted(part.name for part in (tmp_path / "out" / "scores").iterdir())
    assert kept
    assert all(name.startswith("000000-") for name in kept)
    assert not (tmp_path / "out" / "set_aside").exists()
    away = False
    again = ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    assert of(again).equals(of(whole))
    assert (again.mean, again.set_aside) == (whole.mean, 0)


def test_a_glitch_costs_nothing(tmp_path, source, monkeypatch):
    whole = ah.gamma(wavy, source, out=tmp_path / "whole", **GIVEN)
    rows, calls = datasets.Dataset.rows, itertools.count()

    def once(self, run, batch):
        if next(calls) == 0:
            raise OSError("a packet was lost")
        return rows(self, run, batch)

    monkeypatch.setattr(datasets.Dataset, "rows", once)
    stored = ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    assert of(stored).equals(of(whole))
    assert stored.set_aside == 0


def test_no_memory_is_no_damage(tmp_path, source, monkeypatch):
    def full(self, run, batch):
        raise pa.ArrowMemoryError("malloc failed")

    monkeypatch.setattr(datasets.Dataset, "rows", full)
    with pytest.raises(MeasurementStopped, match=r"no memory left .* fewer workers"):
        ah.gamma(wavy, source, out=tmp_path / "out", **GIVEN)
    assert not (tmp_path / "out" / "scores").exists()


def test_what_a_killed_start_has_staged_is_cleared(tmp_path):
    table(40).to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    left = tmp_path / "out" / "staged" / "0123"
    left.mkdir(parents=True)
    (left / "000000.parquet").write_bytes(b"half")
    ah.gamma(wavy, files(tmp_path / "rows.csv"), out=tmp_path / "out", **GIVEN)
    assert not (tmp_path / "out" / "staged").exists()


def test_starts_in_a_store_without_locks_stage_apart(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    table(40).to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    store = fsspec.filesystem("memory")
    store.pipe("/shared/staged/other-start/000000.parquet", b"its input")
    source = files(tmp_path / "rows.csv")
    stored = ah.gamma(wavy, source, out="memory://shared", **GIVEN)
    assert len(stored) == 40
    assert store.cat("/shared/staged/other-start/000000.parquet") == b"its input"
    assert store.ls("/shared/staged", detail=False) == ["/shared/staged/other-start"]
    assert len(ah.load("memory://shared")) == 40
    with pytest.raises(SettingsError, match="another radius"):
        ah.gamma(wavy, source, out="memory://shared", **{**GIVEN, "radius": 0.2})


def test_a_plan_is_no_run(tmp_path, source):
    ah.plan(source, tmp_path / "plan", radius=0.3)
    with pytest.raises(SettingsError, match="holds a plan"):
        ah.gamma(wavy, source, out=tmp_path / "plan", **GIVEN)
