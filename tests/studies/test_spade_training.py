"""The SPADE training and CLEVER studies at a tiny size, on digits of our own."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anharmonic.errors import InputError
from studies.spade_clever import Size, spade_clever
from studies.spade_training.arms import ATTACKED, PENALISED, TABLE_3, Plan, radii_of
from studies.spade_training.measuring import measured
from studies.spade_training.study import spade_training, training_page

DOCS = Path(__file__).parents[2] / "docs" / "reproduce"
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


def write_digits(folder: Path, part: str, images: Any, labels: Any) -> None:
    """Images (rows, 28, 28) of whole grey levels and their labels, as idx files."""
    for name, array in (("images-idx3", images), ("labels-idx1", labels)):
        head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
        (folder / f"{part}-{name}-ubyte").write_bytes(head + array.astype(np.uint8).tobytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """Blurred blobs at a place for each class."""
    random, made = np.random.default_rng(0), tmp_path_factory.mktemp("digits")
    for part, count in (("train", 120), ("t10k", 80)):
        labels = np.arange(count) % 10
        images = random.integers(0, 60, size=(count, 28, 28))
        for image, label in zip(images, labels, strict=True):
            row, column = divmod(int(label), 4)
            image[3 + 8 * row : 9 + 8 * row, 1 + 7 * column : 6 + 7 * column] += 180
        write_digits(made, part, images, labels)
    return made


def test_radii_follow_their_arm() -> None:
    nodes = np.arange(100.0)
    radii = {arm: radii_of(arm, 100, 0, nodes) for arm in ATTACKED}
    assert (radii["vanilla"] == 0.4).all()
    assert (radii["PGD 0.3"] == 0.3).all()
    assert (radii["SPADE-guided"] == np.where(nodes >= 25, 0.4, 0.2)).all()
    assert (radii["random, 75%"] == 0.4).sum() == 75
    assert 30 < (radii["random"] == 0.4).sum() < 70


@pytest.mark.slow
def test_the_study_trains_every_arm_and_makes_a_page(folder: Path, tmp_path: Path) -> None:
    page = spade_training(folder, plan=TINY)
    rows = page.rows()
    assert len(rows) == 4 * 4 + 5 * 4 + 2
    assert rows["Table 3: SPADE-guided, 2×PGD-3"].queries == 6 * 2 * 2 * (3 + 1)
    assert rows["A gamma penalty: gamma penalty: a step, in plain ones"].measured.value > 1
    assert page.write(tmp_path).read_text(encoding="utf-8").startswith("# Training with SPADE")


def saved() -> dict[str, Any]:
    """A run's results, made up: SPADE's arm the best."""

    def arm(hits: list[int]) -> dict[str, Any]:
        names = ("clean", "PGD-50, 0.1", "PGD-50, 0.2", "PGD-50", "PGD-100", "20×PGD-100")
        return {
            "epochs": 3,
            "gamma": [0.1, 0.11, 0.12],
            "hits": {
                name: {"hits": [950, 951, 949] if name == "clean" else hits, "count": 1000}
                for name in names
            },
        }

    hits = {"SPADE-guided": [880, 890, 885], "random": [830, 835, 832], "vanilla": [700, 720, 690]}
    plan = vars(Plan(images=60_000, tested=1000, restarted=1000, epochs=3))
    arms = {name: arm(hits.get(name, [800, 801, 799])) for name in (*ATTACKED, *PENALISED)}
    costs = {"gamma penalty": [3.0, 0.1]}
    return {"plan": plan, "seed": 0, "machine": "a GPU", "arms": arms, "costs": costs}


def test_saved_results_are_not_trained_again(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "spade-training.json").write_text(json.dumps(saved()), encoding="utf-8")
    page = spade_training(tmp_path)
    assert page.rows()["Table 3: SPADE-guided, 20×PGD-100"].measured.value == pytest.approx(88.5)
    assert "order is found" in page.verdict[0]
    assert "(as claimed)" in page.verdict[1]
    (tmp_path / "spade-training.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="delete it"):
        spade_training(tmp_path)


def test_a_run_of_the_table_alone_takes_its_place(folder: Path, tmp_path: Path) -> None:
    """More seeds for Table 3 stand in the results beside the other arms."""
    plan = replace(TINY, seeds=3)
    nodes = np.random.default_rng(0).random((3, 60))
    alone = measured(folder, nodes, tmp_path, plan, table=True)
    assert set(alone["arms"]) == set(TABLE_3)
    assert json.loads((tmp_path / "results.json").read_text())["arms"] == alone["arms"]
    page = training_page(saved() | {"table": alone})
    assert "3 seeds" in page.markdown()
    assert page.rows()["Table 3: random, PGD-3"].queries == 12 * 3 * (3 + 1)
    assert page.rows()["A gamma penalty: plain: clean"].queries == 3000


def test_an_order_that_does_not_hold_is_said_not_to() -> None:
    found = saved()
    found["arms"]["vanilla"]["hits"]["20×PGD-100"]["hits"] = [990, 991, 992]
    verdict = training_page(found).verdict
    assert "order is not found" in verdict[0]
    assert "(not as claimed)" in verdict[2]
    found["arms"]["vanilla"]["hits"]["20×PGD-100"]["hits"] = [700, 990, 860]
    assert "the interval holds 0" in training_page(found).verdict[2]


def test_the_published_page_is_what_the_published_results_say() -> None:
    page = spade_training(DOCS / "results")
    assert page.markdown() == (DOCS / "spade-training.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_guided_clever_makes_a_page(folder: Path) -> None:
    size = Size(images=100, tested=60, chance=11, blocks=10, block_size=2)
    page = spade_clever(folder, size=size)
    assert len(page.rows()) == 20
    assert all(row.measured.value > 0 for row in page.rows().values())


@pytest.mark.slow
def test_a_small_run_on_real_digits_finds_what_holds_at_any_size(tmp_path: Path) -> None:
    """Table 3 on scikit-learn's digits over three seeds: seven minutes.

    The paper's order is printed with its intervals and not asserted: it is not found here, nor in
    the real run. What is found in both: the more images are attacked with 0.4, the more robust.
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    grey = np.kron(np.minimum(data.images * 16, 255), np.ones((3, 3)))
    images = np.pad(grey, ((0, 0), (2, 2), (2, 2)))
    write_digits(tmp_path, "train", images[:1300], data.target[:1300])
    write_digits(tmp_path, "t10k", images[1300:], data.target[1300:])
    plan = Plan(
        images=1200,
        tested=150,
        restarted=100,
        epochs=25,
        batch_size=50,
        steps=4,
        few=20,
        many=40,
        restarts=2,
        gamma_points=40,
    )
    page = spade_training(tmp_path, plan=plan)
    print(*page.verdict, sep="\n")
    rows = {name: row.measured for name, row in page.rows().items()}
    strongest = {}
    for arm in ("random", "random, 75%", "SPADE-guided", "vanilla"):
        assert rows[f"Table 3: {arm}, clean"].value > 50  # a network of one answer has 10
        strongest[arm] = rows[f"Table 3: {arm}, 2×PGD-40"]
        assert np.isfinite(strongest[arm].error)
    by_share = [strongest[arm].value for arm in ("random", "random, 75%", "vanilla")]
    assert by_share == sorted(by_share)
    assert strongest["vanilla"].value > strongest["random"].value + 5
    found = {arm: rows[f"A gamma penalty: {arm}: gamma"] for arm in PENALISED}
    assert found["gamma penalty 1"].value < 0.5 * found["plain"].value
    plain, attacked = (
        rows[f"A gamma penalty: {arm}: PGD-20, 0.2"].value for arm in ("plain", "PGD 0.2")
    )
    assert attacked > plain + 5
