"""Smoothed models: what they gain in steadiness and what they cost, measured and certified.

`python -m benchmarks.fixes smoothing --data FOLDER`. Tables: models before and after smoothing at
twice the distance between nearest rows, 64 queries per row, both chosen on other sets. Certified:
Gaussian noise, models trained with it and without, on tables of numbers and on MNIST.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.fixes.refitting import refit
from anharmonic.fixes.rows import Data
from anharmonic.fixes.smoothing import QUERIES, smoothed
from anharmonic.fixes.steadying import smooth_at, unsteadiness
from anharmonic.models import as_model
from benchmarks.fixes.kept import Kept
from benchmarks.fixes.sets import encoder, read_set
from studies.mnist import Digits, read_mnist

__all__ = ["report"]

TRAINED, TESTED, STEADY = 1000, 1000, 200
FACTOR = 2.0
RADII = (0.0, 0.25, 0.5, 0.75, 1.0)
SIGMAS = (0.25, 0.5)
CERTIFIED, SAMPLES = 300, 1000
MNIST_TRAINED, EPOCHS = 12_000, 5
ATTACKED = (0.5, 1.0, 2.0)
NUMBERS = ("breast cancer", "forty features", "electricity")


def report(sets: tuple[str, ...], seeds: int, data: Path, kept: Kept) -> dict[str, bool]:
    """Three tables; there is no bar but that they are published."""
    tables = [name for name in sets if name != "mnist"]
    if tables:
        _print_tables(tables, seeds, data, kept)
    _print_certified([name for name in sets if name in NUMBERS], data, kept)
    if "mnist" in sets:
        _print_mnist(data, kept)
    return {}


def _estimators(rows: Any, seed: int) -> dict[str, Any]:
    from sklearn import ensemble, neural_network, tree
    from sklearn.pipeline import make_pipeline

    models = {
        "tree": tree.DecisionTreeClassifier(random_state=seed),
        "boosted": ensemble.HistGradientBoostingClassifier(random_state=seed),
        "network": neural_network.MLPClassifier((64, 64), max_iter=300, random_state=seed),
    }
    return {name: make_pipeline(encoder(rows), model) for name, model in models.items()}


def _split(whole: Data, seed: int) -> tuple[Data, Data]:
    order = np.random.default_rng((seed, 5)).permutation(len(whole))
    trained = min(TRAINED, len(whole) // 2)
    return whole.take(order[:trained]), whole.take(order[trained:][:TESTED])


def _print_tables(sets: list[str], seeds: int, data: Path, kept: Kept) -> None:
    """Accuracy and steadiness before and after."""
    print(f"{'set':16s}{'model':10s}{'accuracy':>18s}{'decided otherwise nearby':>28s}"
          f"{'queries/row':>13s}{'time':>8s}")  # fmt: skip
    every: list[list[float]] = []
    for name in sets:
        whole = Data(*read_set(name, data))
        for family in _estimators(whole.rows, 0):
            found = [
                kept.measured(
                    f"smoothing {name}, {family}, seed {seed}", partial(_line, whole, family, seed)
                )
                for seed in range(seeds)
            ]
            every += found
            _print_line(name, family, np.array(found))
    _print_line("mean", "", np.array(every))
    changes = np.array(every)
    steadier = np.mean(changes[:, 3] < changes[:, 2])
    better = np.mean(changes[:, 1] >= changes[:, 0])
    print(f"steadier in {steadier:.0%} of cases, at least as accurate in {better:.0%}")


def _print_line(name: str, family: str, lines: Floats) -> None:
    before, after, rough, smooth, queries, slower = lines.mean(axis=0)
    print(f"{name:16s}{family:10s}{before:8.3f} → {after:.3f}{rough:18.3f} → {smooth:.3f}"
          f"{queries:13.0f}{slower:7.0f}×", flush=True)  # fmt: skip


def _line(whole: Data, family: str, seed: int) -> tuple[float, ...]:
    train, test = _split(whole, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = refit(_estimators(whole.rows, seed)[family], train)
        made = smooth_at(model, train.rows, FACTOR, seed)
        true, seconds = [], []
        for each in (model, made):
            # Once before, so that both are warm.
            each.predict(test.rows)
            begun = time.perf_counter()
            answers = np.asarray(each.predict(test.rows))
            seconds.append(time.perf_counter() - begun)
            true.append(float((answers == test.labels).mean()))
        some = test.take(np.arange(min(STEADY, len(test))))
        unsteady = [
            float(
                unsteadiness(
                    each, some.rows, train.rows, made.radius / FACTOR, classes=True, seed=seed + 1
                ).values.mean()
            )
            for each in (model, made)
        ]
    return (*true, *unsteady, float(made.queries), seconds[1] / seconds[0])


class Rates(NamedTuple):
    """Shares of rows that are right: plainly, and certified at each radius; and abstentions."""

    plain: float
    certified: list[float]
    abstained: float


def _print_certified(sets: list[str], data: Path, kept: Kept) -> None:
    """Certified accuracy at radii, in standard deviations of the columns."""
    if not sets:
        return
    print(f"\ncertified accuracy at L2 radii in units of each column's standard deviation; "
          f"{SAMPLES} samples per row, error rate 0.001 per row")  # fmt: skip
    _print_head()
    for name in sets:
        for sigma in SIGMAS:
            for noisy in (False, True):
                trained = "noise" if noisy else "rows alone"
                found = kept.measured(
                    f"certified {name}, {trained}, sigma {sigma}",
                    partial(_certified_table, name, sigma, noisy, data),
                )
                _print_rates(name, trained, sigma, Rates(*found))


def _certified_table(name: str, sigma: float, noisy: bool, data: Path) -> Rates:
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    train, test = _split(Data(*read_set(name, data)), 0)
    scaler = StandardScaler().fit(np.asarray(train.rows, float))
    rows = scaler.transform(np.asarray(train.rows, float))
    asked = scaler.transform(np.asarray(test.rows, float))[:CERTIFIED]
    copies = np.tile(rows, (10, 1))
    copies += sigma * noisy * np.random.default_rng(0).normal(size=copies.shape)
    network = MLPClassifier((64, 64), max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(copies, np.tile(train.labels, 10))
    made = smoothed(network, reference=rows, sigma=sigma, scale=None)
    certified = made.certify(asked, samples=SAMPLES)
    true = test.labels[:CERTIFIED]
    return Rates(
        float((network.predict(asked) == true).mean()),
        [certified.accuracy(true, radius).value for radius in RADII],
        float(certified.abstained.mean()),
    )


def _print_head() -> None:
    print(f"{'set':16s}{'trained with':>14s}{'sigma':>7s}{'plain':>8s}"
          + "".join(f"{radius:8.2f}" for radius in RADII) + f"{'abstained':>11s}")  # fmt: skip


def _print_rates(name: str, trained: str, sigma: float, rates: Rates) -> None:
    print(f"{name:16s}{trained:>14s}{sigma:7.2f}{rates.plain:8.3f}"
          + "".join(f"{rate:8.3f}" for rate in rates.certified)
          + f"{rates.abstained:11.1%}", flush=True)  # fmt: skip


def _print_mnist(data: Path, kept: Kept) -> None:
    """LeNet-5 with noise and without: certified radii, and what an attack of that length does."""
    print("\nMNIST, LeNet-5: certified accuracy at L2 radii, grey levels from 0 to 1")
    _print_head()
    attacked: list[str] = []
    for sigma in SIGMAS:
        for trained, noise in (("images alone", 0.0), ("noise", sigma)):
            rates, attacks = kept.measured(
                f"certified mnist, {trained}, sigma {sigma}",
                partial(_certified_digits, noise, sigma, data),
            )
            _print_rates("mnist", trained, sigma, Rates(*rates))
            attacked += [
                f"{trained:>14s}{sigma:7.2f}{radius:9.1f}{before:10.3f}{after:10.3f}"
                for radius, (before, after) in zip(ATTACKED, attacks, strict=True)
            ]
    print("\nmeasured accuracy under PGD (20 steps, L2) against the network itself; the smoothed "
          f"model ({QUERIES} queries per image) gets the same images")  # fmt: skip
    print(f"{'trained with':>14s}{'sigma':>7s}{'radius':>9s}{'network':>10s}{'smoothed':>10s}")
    print("\n".join(attacked))


def _certified_digits(
    noise: float, sigma: float, data: Path
) -> tuple[Rates, list[tuple[float, float]]]:
    """Of a network that was trained with so much noise: rates, and accuracies under each attack."""
    from anharmonic.training import Attack

    digits, tests = read_mnist(data / "mnist")
    asked, true = tests.images[:CERTIFIED, None], tests.labels[:CERTIFIED]
    network = _network(digits.first(MNIST_TRAINED), noise)
    made = smoothed(
        network, reference=digits.images[:1000, None], sigma=sigma, output="probability"
    )
    certified = made.certify(asked, samples=SAMPLES)
    plain = as_model(network, output="label")
    rates = Rates(
        float((np.asarray(plain(asked)) == true).mean()),
        [certified.accuracy(true, radius).value for radius in RADII],
        float(certified.abstained.mean()),
    )
    attacks = []
    for radius in ATTACKED:
        moved = Attack(radius=radius, norm=2, steps=20)(network, asked, true)
        points = moved.detach().numpy()
        attacks.append(
            (
                float((np.asarray(plain(points)) == true).mean()),
                float((np.asarray(made.predict(points)) == true).mean()),
            )
        )
    return rates, attacks


def _network(digits: Digits, sigma: float) -> Any:
    """LeNet-5 trained with fresh noise in every epoch."""
    import torch

    from anharmonic.training import lenet5, train

    images, labels = torch.as_tensor(digits.images[:, None]), torch.as_tensor(digits.labels)
    network = lenet5(0)
    for epoch in range(EPOCHS):
        noise = torch.randn(images.shape, generator=torch.Generator().manual_seed(epoch))
        train(network, images + sigma * noise, labels, epochs=1, seed=epoch)
    return network
