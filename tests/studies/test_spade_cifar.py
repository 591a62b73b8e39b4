"""SPADE on CIFAR-10 at a tiny size, on pictures of our own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anharmonic.errors import InputError
from anharmonic.training import Attack
from studies.mnist import Digits
from studies.page import prose
from studies.spade.study import spade_cifar_tables
from studies.spade_cifar.arms import ARMS, Network, every_network
from studies.spade_cifar.attacking import Assault, Attacker
from studies.spade_cifar.clever import measure, spade_clever_networks, trained_on_digits
from studies.spade_cifar.data import Cifar, pack, read_cifar
from studies.spade_cifar.networks import ARCHITECTURES, convnet, mlp, resnet, seeded
from studies.spade_cifar.nodes import node_scores
from studies.spade_cifar.plans import REDUCED, TINY
from studies.spade_cifar.results import collect_arms, measure_tables
from studies.spade_cifar.running import Run
from studies.spade_cifar.study import spade_cifar_training, training_page
from studies.spade_cifar.training import Course, Data, Trainer, ascend, logits_of, shifted
from studies.spade_clever import Size
from studies.spade_training.nodes import logits_of as logits_of_images


def pictures(count: int, seed: int = 0) -> Cifar:
    """Noise with a colour for each class."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 10
    colours = np.random.default_rng(7).integers(0, 175, size=(10, 3))
    images = random.integers(0, 80, size=(count, 32, 32, 3)) + colours[labels][:, None, None]
    return Cifar(images.astype(np.uint8), labels)


def small() -> Any:
    return resnet((1, 1, 1, 1), width=4)


def placed(some: Cifar) -> Data:
    return Data(torch.from_numpy(some.images), torch.from_numpy(some.labels))


def test_packed_pictures_are_the_same_pictures(tmp_path: Path) -> None:
    train, test = pictures(230), pictures(120, 1)
    assert len(pack(train, test, tmp_path, parts=2)) == 2
    for read, given in zip(read_cifar(tmp_path), (train, test), strict=True):
        np.testing.assert_array_equal(read.images, given.images)
        np.testing.assert_array_equal(read.labels, given.labels)
    (tmp_path / "part-1.webp").unlink()
    with pytest.raises(InputError, match="part-1"):
        read_cifar(tmp_path)


def test_the_package_s_lines_are_pictures(tmp_path: Path) -> None:
    from PIL import Image

    some = pictures(20)
    for number in range(1, 6):
        lines = some.images[4 * number - 4 : 4 * number].reshape(4, 1024, 3)
        Image.fromarray(lines).save(tmp_path / f"data_batch_{number}.png")
    Image.fromarray(some.images[:3].reshape(3, 1024, 3)).save(tmp_path / "test_batch.png")
    (tmp_path / "train_lables.json").write_text(json.dumps(some.labels.tolist()))
    (tmp_path / "test_lables.json").write_text(json.dumps(some.labels[:3].tolist()))
    train, test = read_cifar(tmp_path)
    np.testing.assert_array_equal(train.images, some.images)
    np.testing.assert_array_equal(test.images, some.images[:3])
    (tmp_path / "test_lables.json").write_text("[1]")
    with pytest.raises(InputError, match="3 test pictures and 1 labels"):
        read_cifar(tmp_path)


def test_networks_have_their_layers_and_weights_of_their_seed() -> None:
    def layers(module: Any) -> int:
        kinds = (torch.nn.Conv2d, torch.nn.Linear)
        return sum(isinstance(each, kinds) for each in module.modules())

    # Beside the layers that names count there are three convolutions on shortcuts.
    assert layers(resnet(width=4)) == 18 + 3
    assert layers(resnet((3, 4, 6, 3), width=4)) == 34 + 3
    assert layers(convnet()) == layers(convnet((1, 28, 28))) == 7
    for make, shape in ((mlp, (3, 32, 32)), (convnet, (3, 32, 32)), (small, (3, 32, 32))):
        one, two, other = (seeded(make, seed).eval() for seed in (0, 0, 1))
        points = torch.rand(2, *shape)
        assert one(points).shape == (2, 10)
        assert torch.equal(one(points), two(points))
        assert not torch.equal(one(points), other(points))


def test_points_move_as_the_library_s_attack_moves_them() -> None:
    module, some = seeded(small, 0).eval(), placed(pictures(6))
    points = some.images.permute(0, 3, 1, 2).float() / 255
    radii = torch.tensor([0.0, 0.01, 0.02, 0.03, 0.05, 0.1])
    whole = Attack(radii, steps=5, start=False)(module, points, some.labels)
    mine = ascend(module, points, points, some.labels, radii, 2.5 * radii / 5, 5)
    torch.testing.assert_close(mine, whole, atol=1e-6, rtol=0)


def test_shifted_pictures_are_parts_of_padded_ones() -> None:
    some = torch.arange(2 * 40 * 40 * 3).reshape(2, 40, 40, 3) % 251
    moved = shifted(some.to(torch.uint8), torch.tensor([1, 0, 1]), torch.Generator())
    assert moved.shape == (3, 3, 32, 32)
    for picture, row in zip(moved, (1, 0, 1), strict=True):
        candidates = [
            side
            for down in range(9)
            for across in range(9)
            for part in [some[row, down : down + 32, across : across + 32]]
            for side in (part, part.flip(1))
        ]
        back = (255 * picture.permute(1, 2, 0)).round().long()
        assert any(torch.equal(back, each) for each in candidates)


def test_a_spared_or_zero_radius_is_no_attack() -> None:
    data = placed(pictures(40))
    trainer = Trainer(seeded(small, 0), 20)
    weights = {name: value.clone() for name, value in trainer.module.state_dict().items()}

    def trained(radius: float, steps: int, spare: bool = False) -> torch.Tensor:
        radii = torch.full((40,), radius)
        course = Course(epochs=2, rate=0.1)
        trainer.train(weights, data, radii, steps=steps, seed=0, course=course, spare=spare)
        return logits_of(trainer.module, data.images)

    plain, attacked = trained(0.0, 0), trained(0.1, 1)
    torch.testing.assert_close(trained(0.0, 1), plain, atol=1e-4, rtol=0)
    assert not torch.allclose(attacked, plain, atol=1e-2)
    assert not torch.allclose(trained(0.1, 1, spare=True), attacked, atol=1e-2)


@pytest.mark.slow
def test_training_learns() -> None:
    data = placed(pictures(100))
    trainer = Trainer(seeded(small, 0), 20)
    weights = {name: value.clone() for name, value in trainer.module.state_dict().items()}
    course = Course(epochs=24, rate=0.1)
    trainer.train(weights, data, torch.zeros(100), steps=0, seed=0, course=course)
    # A tenth would be right by chance.
    guessed = logits_of(trainer.module, data.images).argmax(1)
    assert (guessed == data.labels).float().mean() > 0.5


@pytest.mark.slow
def test_accuracy_under_attack_falls_with_the_radius_and_with_restarts() -> None:
    data = placed(pictures(60))
    trainer = Trainer(seeded(small, 0), 16)
    radii = torch.zeros(60)
    state = {name: value.clone() for name, value in trainer.module.state_dict().items()}
    trainer.train(state, data, radii, steps=0, seed=0, course=Course(epochs=24, rate=0.1))
    attacker = Attacker(trainer, chunk=2)
    once = attacker.hits(*data, Assault((0.0, 0.01, 0.1), 4, 1), seed=0)
    again = attacker.hits(*data, Assault((0.0, 0.01, 0.1), 4, 3), seed=0)
    assert once[0] == once[1] > 20
    assert once[1] >= once[2] >= once[3] < once[0]
    assert all(more <= less for more, less in zip(again, once, strict=True))


def test_radii_follow_their_arm() -> None:
    nodes = np.arange(100.0)
    radii = {name: arm.radii(100, 0, nodes) for name, arm in ARMS.items()}
    assert (radii["vanilla, 12"] == 12).all()
    assert (radii["SPADE-guided, sparing"] == np.where(nodes >= 10, 14, 12)).all()
    assert (radii["random, 90%"] == 14).sum() == 90
    np.testing.assert_array_equal(radii["random, 90%"], radii["random, 90%, sparing"])
    assert 30 < (radii["random"] == 14).sum() < 70
    keys = [network.key for network in every_network()]
    assert len(set(keys)) == len(keys) == 3 * (1 + 4 + 7 + 2) + 3 + 2 + 4


def test_node_scores_name_torn_pictures() -> None:
    some = pictures(120)
    # Pictures of one colour go to two places by chance: neighbours are torn apart there.
    flat = some.flat()
    smooth = flat @ np.random.default_rng(0).normal(size=(3072, 4))
    torn = smooth.copy()
    torn[some.labels == 3] += 40 * np.random.default_rng(1).choice([-1, 1], size=(12, 1))
    values = node_scores(some, {"torn": torn}, neighbours=8)["torn"]
    assert np.median(values[some.labels == 3]) > np.median(values[some.labels != 3])


@pytest.mark.slow
def test_a_run_stops_in_time_resumes_and_makes_both_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, test = pictures(40), pictures(250, 1)
    data, state = tmp_path / "data", tmp_path / "state"
    pack(train, test, data, parts=1)
    for name in ARCHITECTURES:
        monkeypatch.setitem(ARCHITECTURES, name, small)
    plan = replace(TINY, tested=250, images=40, seeds=1, attacked=10, restarted=10)
    lines: list[str] = []
    begun = Run((train, test), state, plan, tell=lines.append)
    assert not begun.all(data, seconds=0)
    assert "stopping" in lines[-1]
    assert begun.all(data)
    assert len(lines) == 1 + len(every_network(1, 0)) + any("waiting" in line for line in lines)
    again = Run((train, test), state, plan, tell=lines.append)
    before = len(lines)
    assert again.all(data)
    assert len(lines) == before
    found = measure_tables(data, state)
    assert found.trained == (0.0, 0.25, 0.5, 1.0, 2.0, 8.0)
    arms = collect_arms(state)
    assert set(arms["arms"]) == set(ARMS)
    page = training_page(arms)
    assert page.rows()["Table 4: random: 10PGD-50, 8"].queries == 10 * 510


@pytest.mark.slow
def test_a_reduced_run_is_narrow_and_has_table_1_alone(tmp_path: Path) -> None:
    assert {(each.table, each.radius) for each in REDUCED.networks()} == {
        ("1", radius) for radius in (0.0, 0.25, 0.5, 1.0, 2.0)
    }
    train, test = pictures(40), pictures(250, 1)
    data, state = tmp_path / "data", tmp_path / "state"
    pack(train, test, data, parts=1)
    plan = replace(REDUCED, images=40, tested=250, attacked=10, seeds=2, width=4)
    plan = replace(plan, course=Course(epochs=1, batch_size=20), few=plan.few._replace(steps=3))
    assert Run((train, test), state, plan, tell=lambda line: None).all(data)
    out = tmp_path / "spade-cifar.json"
    found = measure_tables(data, state, out)
    assert found.trained == (0.0, 0.25, 0.5, 1.0, 2.0)
    page = spade_cifar_tables(tmp_path)
    assert "does not test" in prose(page.verdict[0])
    assert not any(row.paper for row in page.rows().values())
    assert not any("onfirmed" in line for line in page.verdict)


def made_arms(guided: list[int], control: list[int]) -> dict[str, Any]:
    def arm(hits: list[int]) -> dict[str, Any]:
        names = ("clean", "10PGD-50, 2", "10PGD-50, 4", "10PGD-50, 8")
        held = {name: {"hits": hits, "count": 1000} for name in names}
        return {"seeds": list(range(len(hits))), "hits": held}

    others = {name: arm([500, 510, 505]) for name in ARMS}
    arms = others | {
        "SPADE-guided, sparing": arm(guided),
        "random, 90%, sparing": arm(control),
    }
    about = {"machine": "a GPU", "epochs": 3, "seconds": 1.0, "steps": 7, "classes": 10}
    return {"about": about, "arms": arms}


def test_the_verdict_on_table_4_follows_the_seeds(tmp_path: Path) -> None:
    better = training_page(made_arms([600, 611, 605], [500, 511, 505])).verdict
    assert "arm is the best" in better[0]
    assert "told from 0 for clean" in better[4]
    equal = training_page(made_arms([500, 520, 505, 510], [510, 505, 512, 520, 500])).verdict
    assert "no difference is seen" in equal[4]
    with pytest.raises(InputError, match="is no spade-cifar-training"):
        spade_cifar_training(tmp_path)
    few = made_arms([1], [1])
    del few["arms"]["random"]
    (tmp_path / "spade-cifar-training.json").write_text(json.dumps(few))
    with pytest.raises(InputError, match="lacks random"):
        spade_cifar_training(tmp_path)


def test_keys_are_names_of_files() -> None:
    assert Network("4", "vanilla, 8", 2).key == "4-vanilla__8-0-2"


@pytest.mark.slow
def test_a_distilled_network_learns_from_its_teacher_and_guided_bounds_make_a_page(
    tmp_path: Path,
) -> None:
    random = np.random.default_rng(0)
    labels = np.arange(200) % 10
    images = random.uniform(0, 0.2, size=(200, 28, 28)).astype(np.float32)
    images[np.arange(200), 2 * labels] += 0.8
    digits = Digits(images, labels)
    plain, logits = (
        logits_of_images(trained_on_digits(name, digits, epochs=5, batch_size=20), images)
        for name in ("CNN", "distilled CNN")
    )
    assert (logits.argmax(1) == labels).mean() > 0.8
    # Learnt at a temperature, logits are further apart than usual.
    assert np.ptp(logits, axis=1).mean() > 1.5 * np.ptp(plain, axis=1).mean()
    perceptron = trained_on_digits("MLP", digits, epochs=2)
    size = Size(tested=60, chance=11, blocks=10, block_size=2)
    networks = {"MNIST, MLP": lambda: (perceptron, images[:, None], labels)}
    out = tmp_path / "spade-clever-networks.json"
    found = measure(out, networks, size, 0, lambda line: None)
    assert measure(out, {"MNIST, MLP": None}, size, 0, lambda line: None) == json.loads(  # type: ignore[dict-item]
        json.dumps(found)
    )
    page = spade_clever_networks(tmp_path)
    assert page.rows()["MNIST, MLP: 10 of SPADE, 10 neighbours, norm inf"].paper == "0.067"
    assert all(row.measured.value > 0 for row in page.rows().values())
