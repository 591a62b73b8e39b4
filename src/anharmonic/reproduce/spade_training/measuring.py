r"""Train every arm and seed as one stack of networks, attack them, and keep what came out.

The real run wants a GPU; it needs torch, numpy and scipy, the digits, and node scores made
beforehand (`python -m anharmonic.reproduce.spade_training.nodes`):

    python -m anharmonic.reproduce.spade_training.measuring --data MNIST --nodes nodes.npz \
        --out results --device cuda --seconds 90

A file is written after every piece. `--seconds` is what training may take: fewer epochs are made
where they would take longer.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic.files import whole_file
from anharmonic.reproduce.mnist import Digits, read_mnist
from anharmonic.reproduce.page import Tell, silent
from anharmonic.reproduce.spade_training.arms import (
    ATTACKED,
    FULL,
    PENALISED,
    REDUCED,
    Plan,
    radii_of,
)
from anharmonic.training import Adversarial, Attack, Penalised, lenet5, stacked, train
from anharmonic.training.attacks import decided
from anharmonic.training.objectives import Objective

__all__ = ["attacks_of", "measured"]

ROWS_A_CALL = 24_000


def attacks_of(plan: Plan) -> dict[str, Attack]:
    """Attacks by name, the strongest last: steps of 0.01 as in the paper."""
    few, many = plan.few, plan.many
    return {
        f"PGD-{few}, 0.1": Attack(0.1, steps=few, step=0.01),
        f"PGD-{few}, 0.2": Attack(0.2, steps=few, step=0.01),
        f"PGD-{few}": Attack(0.4, steps=few, step=0.01),
        f"PGD-{many}": Attack(0.4, steps=many, step=0.01),
    }


def measured(
    data: Path,
    nodes: Any,
    out: Path | None = None,
    plan: Plan = REDUCED,
    device: str = "cpu",
    seconds: float | None = None,
    seed: int = 0,
    tell: Tell = silent,
) -> dict[str, Any]:
    """All arms and seeds: hits by arm, attack and seed, gamma, and seconds a step.

    `nodes` (seeds, images) are node scores of the training images, from networks trained
    plainly.
    """
    digits, test = (
        part.first(count)
        for part, count in zip(read_mnist(data), (plan.images, plan.tested), strict=True)
    )
    found: dict[str, Any] = {"plan": asdict(plan), "seed": seed, "device": device, "arms": {}}
    for objective, arms in _objectives(plan, nodes, seed):
        names = [(arm, own) for arm in arms for own in range(plan.seeds)]
        tell(f"training {len(names)} networks: {', '.join(arms)}")
        run = _Run(objective, names, digits, plan, device, seed)
        modules, about = run.trained(seconds)
        found["arms"] |= {arm: {**about, "hits": {}} for arm in arms}
        _keep(found, out)
        _evaluate(found, modules, names, test, plan, out, seconds, tell)
        _weights(modules, names, out)
    return found


def _objectives(plan: Plan, nodes: Any, seed: int) -> list[tuple[Objective, list[str]]]:
    """What each stack of networks is trained with, and the arms in it."""
    radii = np.stack(
        [
            radii_of(arm, plan.images, seed + own, np.asarray(nodes)[own][: plan.images])
            for arm in ATTACKED
            for own in range(plan.seeds)
        ]
    )
    warm = int(0.4 * plan.epochs * (plan.images // plan.batch_size))
    # Rows that are misclassified already are attacked like all others, in every arm.
    attacked = Adversarial(Attack(0.0, steps=plan.steps), radii, warm)
    made: list[tuple[Objective, list[str]]] = [(attacked, list(ATTACKED))]
    weights = np.repeat(list(PENALISED.values()), plan.seeds)
    penalised = Penalised(plan.penalty_radius, weights[plan.seeds :])
    return [*made, (penalised, list(PENALISED)[1:]), (_plain, ["plain"])]


def _plain(module: Any, batch: Any) -> Any:
    from anharmonic.training import plain

    return plain(module, batch)


class _Run:
    """One stack of networks and how it is trained."""

    def __init__(
        self,
        objective: Objective,
        names: list[tuple[str, int]],
        digits: Digits,
        plan: Plan,
        device: str,
        seed: int,
    ) -> None:
        self.objective, self.names, self.plan = objective, names, plan
        self.images, self.labels = digits.images[:, None], digits.labels
        self.device, self.seed = device, seed

    def _stack(self, patches: bool) -> Any:
        made = [lenet5(self.seed + own, patches) for _, own in self.names]
        return stacked(made).to(self.device)

    def _step_seconds(self, patches: bool) -> float:
        """What a step takes, from a few of them on a copy."""
        stack, size = self._stack(patches), self.plan.batch_size
        few = self.images[: 3 * size], self.labels[: 3 * size]
        arguments: dict[str, Any] = {"objective": self._tried(), "batch_size": size}
        train(stack, *few, **arguments)
        begun = time.perf_counter()
        steps = train(stack, *few, **arguments)[0].steps
        return (time.perf_counter() - begun) / steps

    def _tried(self) -> Objective:
        """The objective without the warming up, which makes no difference to its time."""
        tried = self.objective
        return replace(tried, warm=0) if isinstance(tried, Adversarial) else tried

    def trained(self, seconds: float | None) -> tuple[Any, dict[str, Any]]:
        """The stack, trained, and what that took."""
        import torch

        plan = self.plan
        patches, epochs = False, plan.epochs
        if seconds is not None:
            ways = {patches: self._step_seconds(patches) for patches in (False, True)}
            patches = ways[True] < ways[False]
            epoch = ways[patches] * (plan.images // plan.batch_size)
            epochs = int(np.clip(seconds / epoch, min(2, epochs), epochs))
        objective = self.objective
        if isinstance(objective, Adversarial):
            objective = replace(objective, warm=objective.warm * epochs // plan.epochs)
        stack = self._stack(patches)
        optimizer = torch.optim.Adam(stack.parameters(), lr=plan.rate)

        def slower(module: Any, ended: Any) -> None:
            share = 0.5 * (1 + np.cos(np.pi * (ended.number + 1) / epochs))
            for group in optimizer.param_groups:
                group["lr"] = plan.rate * max(share, 0.02)

        begun = time.perf_counter()
        history = train(
            stack,
            self.images,
            self.labels,
            objective=objective,
            epochs=epochs,
            batch_size=plan.batch_size,
            optimizer=optimizer,
            seed=self.seed,
            hooks=[slower],
        )
        spent = time.perf_counter() - begun
        steps = sum(each.steps for each in history)
        about = {
            "epochs": epochs,
            "seconds": spent,
            "step_seconds": spent / steps,
            "networks": len(self.names),
            "patches": patches,
            "losses": [list(each.losses) for each in history],
        }
        return stack, about


def _evaluate(
    found: dict[str, Any],
    stack: Any,
    names: list[tuple[str, int]],
    test: Digits,
    plan: Plan,
    out: Path | None,
    seconds: float | None,
    tell: Tell,
) -> None:
    """Count hits of every network under every attack; restarts in half of the seconds."""
    clean = _kept(stack, test, None)
    _note(found, names, "clean", clean)
    attacks = attacks_of(plan)
    for name, attack in attacks.items():
        tell(f"attacking: {name}")
        begun = time.perf_counter()
        _note(found, names, name, clean & _kept(stack, test, attack))
        _keep(found, out)
    count = plan.restarted
    if seconds is not None:
        fit = plan.tested * seconds / (2 * plan.restarts * (time.perf_counter() - begun))
        count = int(np.clip(fit, min(200, count), count))
    few, kept = test.first(count), clean[:, :count]
    strongest, attack = attacks.popitem()
    # Only Table 3 has restarts.
    for turn in range(plan.restarts if names[0][0] in ATTACKED else 0):
        tell(f"attacking {count:,} images: restart {turn + 1} of {plan.restarts}")
        kept = kept & _kept(stack, few, attack, turn + 1)
        _note(found, names, f"{plan.restarts}×{strongest}", kept)
        _keep(found, out)
    _gammas(found, stack, names, test, plan)
    _keep(found, out)


def _kept(stack: Any, test: Digits, attack: Attack | None, turn: int = 0) -> Any:
    """Whether each network gets each image right, (networks, images)."""
    import torch

    device = next(iter(stack.parameters())).device
    images = torch.from_numpy(test.images[:, None]).to(device)
    labels = torch.from_numpy(test.labels).to(device)
    each = max(1, ROWS_A_CALL // stack.copies)
    parts = []
    for begin in range(0, len(images), each):
        few = images[begin : begin + each].repeat(stack.copies, 1, 1, 1)
        truth = labels[begin : begin + each].repeat(stack.copies)
        rows = np.tile(np.arange(begin, begin + len(truth) // stack.copies), stack.copies)
        moved = few if attack is None else attack(stack, few, truth, rows, turn)
        right = (decided(stack, moved) == truth).reshape(stack.copies, -1)
        parts.append(right.cpu().numpy())
    return np.concatenate(parts, axis=1)


def _gammas(
    found: dict[str, Any], stack: Any, names: list[tuple[str, int]], test: Digits, plan: Plan
) -> None:
    """Gamma of each network's logits at test images, at the radius of the penalty."""
    from anharmonic.meanvalue import gamma

    images = test.images[: plan.gamma_points, None]
    for (arm, _), module in zip(names, stack.separate(), strict=True):
        scores = gamma(
            module,
            images,
            radius=plan.penalty_radius,
            ball="random pairs",
            directions=16,
            output="logit",
            scale=None,
            noise="ignore",
        )
        found["arms"][arm].setdefault("gamma", []).append(scores.mean)


def _note(found: dict[str, Any], names: list[tuple[str, int]], attack: str, kept: Any) -> None:
    for arm in dict.fromkeys(arm for arm, _ in names):
        rows = [at for at, (name, _) in enumerate(names) if name == arm]
        found["arms"][arm]["hits"][attack] = {
            "hits": kept[rows].sum(axis=1).tolist(),
            "count": kept.shape[1],
        }


def _keep(found: dict[str, Any], out: Path | None) -> None:
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        with whole_file(out / "results.json") as temporary:
            Path(temporary).write_text(json.dumps(found), encoding="utf-8")


def _weights(stack: Any, names: list[tuple[str, int]], out: Path | None) -> None:
    """The first network of some arms, for those who measure it further."""
    if out is None:
        return
    for (arm, own), module in zip(names, stack.separate(), strict=True):
        if own == 0 and arm in ("plain", "PGD 0.3"):
            held = {name: weight.cpu().numpy() for name, weight in module.state_dict().items()}
            path = out / f"{arm.replace(' ', '-')}.npz"
            with whole_file(path) as temporary, open(temporary, "wb") as file:
                np.savez(file, **held)


def main() -> None:
    """The real run."""
    reader = argparse.ArgumentParser(description="Train and attack every arm.")
    reader.add_argument("--data", type=Path, required=True)
    reader.add_argument("--nodes", type=Path, required=True)
    reader.add_argument("--out", type=Path, required=True)
    reader.add_argument("--device", default="cpu")
    reader.add_argument("--seconds", type=float)
    reader.add_argument("--restarted", type=int, default=FULL.restarted)
    reader.add_argument("--reduced", action="store_true")
    given = reader.parse_args()
    if given.device == "cuda":
        import torch

        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
    with np.load(given.nodes) as file:
        nodes = np.stack([file[name] for name in file.files])
    plan = REDUCED if given.reduced else replace(FULL, restarted=given.restarted)
    begun = time.perf_counter()

    def tell(line: str) -> None:
        print(f"{time.perf_counter() - begun:7.1f} s  {line}", flush=True)

    found = measured(given.data, nodes, given.out, plan, given.device, given.seconds, tell=tell)
    for arm, about in found["arms"].items():
        shares = {
            name: round(100 * float(np.mean(each["hits"])) / each["count"], 2)
            for name, each in about["hits"].items()
        }
        print(arm, shares, f"{about['epochs']} epochs, {about['step_seconds'] * 1e3:.1f} ms a step")
    tell("done")


if __name__ == "__main__":
    main()
