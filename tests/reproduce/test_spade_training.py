"""The SPADE training and CLEVER studies at a tiny size, on digits of our own."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anharmonic.errors import InputError
from anharmonic.reproduce.spade_clever import Size, spade_clever
from anharmonic.reproduce.spade_training.arms import ATTACKED, PENALISED, Plan, radii_of
from anharmonic.reproduce.spade_training.study import spade_training, training_page

TINY = Plan(
    images=60,
    tested=12,
    restarted=6,
    epochs=1,
    seeds=2,
    batch_size=20,
    steps=2,
    few=2,
    many=3,
    restarts=2,
    gamma_points=4,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """Blurred blobs at a place for each class, as idx files."""
    random, made = np.random.default_rng(0), tmp_path_factory.mktemp("digits")
    for part, count in (("train", 120), ("t10k", 80)):
        labels = np.arange(count) % 10
        images = random.integers(0, 60, size=(count, 28, 28))
        for image, label in zip(images, labels, strict=True):
            row, column = divmod(int(label), 4)
            image[3 + 8 * row : 9 + 8 * row, 1 + 7 * column : 6 + 7 * column] += 180
        for name, array, axes in (("images-idx3", images, 3), ("labels-idx1", labels, 1)):
            head = struct.pack(f">BBBB{axes}I", 0, 0, 8, axes, *array.shape)
            (made / f"{part}-{name}-ubyte").write_bytes(head + array.astype(np.uint8).tobytes())
    return made


def test_radii_follow_their_arm() -> None:
    nodes = np.arange(100.0)
    radii = {arm: radii_of(arm, 100, 0, nodes) for arm in ATTACKED}
    assert (radii["vanilla"] == 0.4).all()
    assert (radii["PGD 0.3"] == 0.3).all()
    assert (radii["SPADE-guided"] == np.where(nodes >= 25, 0.4, 0.2)).all()
    assert (radii["random, 75%"] == 0.4).sum() == 75
    assert 30 < (radii["random"] == 0.4).sum() < 70


def test_the_study_trains_every_arm_and_makes_a_page(folder: Path, tmp_path: Path) -> None:
    page = spade_training(folder, plan=TINY)
    rows = page.rows()
    assert len(rows) == 16 + 5 * 5
    assert rows["Table 3: SPADE-guided, 2×PGD-3"].queries == 12
    assert page.write(tmp_path).read_text(encoding="utf-8").startswith("# Training with SPADE")


def saved() -> dict[str, Any]:
    """A run's results, made up: SPADE's arm the best."""

    def arm(hits: list[int]) -> dict[str, Any]:
        names = ("clean", "PGD-50, 0.1", "PGD-50, 0.2", "PGD-50", "PGD-100", "20×PGD-100")
        return {
            "epochs": 3,
            "step_seconds": 0.02,
            "networks": 3,
            "gamma": [0.1, 0.11, 0.12],
            "hits": {name: {"hits": hits, "count": 1000} for name in names},
        }

    hits = {"SPADE-guided": [880, 890, 885], "random": [830, 835, 832], "vanilla": [700, 720, 690]}
    plan = vars(Plan(images=60_000, tested=1000, restarted=1000, epochs=3))
    arms = {name: arm(hits.get(name, [800, 801, 799])) for name in (*ATTACKED, *PENALISED)}
    return {"plan": plan, "seed": 0, "device": "cuda", "arms": arms}


def test_saved_results_are_not_trained_again(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "spade-training.json").write_text(json.dumps(saved()), encoding="utf-8")
    page = spade_training(tmp_path)
    assert page.rows()["Table 3: SPADE-guided, 20×PGD-100"].measured.value == pytest.approx(88.5)
    assert "as claimed" in page.verdict[0]
    (tmp_path / "spade-training.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="delete it"):
        spade_training(tmp_path)


def test_an_order_that_does_not_hold_is_said_not_to() -> None:
    found = saved()
    found["arms"]["vanilla"]["hits"]["20×PGD-100"]["hits"] = [990, 991, 992]
    verdict = training_page(found).verdict
    assert "not as claimed" in verdict[1]


def test_guided_clever_makes_a_page(folder: Path) -> None:
    size = Size(images=100, tested=80, chance=12, blocks=12, block_size=4)
    page = spade_clever(folder, size=size)
    assert len(page.rows()) == 20
    assert all(row.measured.value > 0 for row in page.rows().values())
