r"""Train every arm and seed as one stack of networks, attack them, and keep what came out.

The real run wants a GPU; it needs torch, numpy and scipy, the digits, and node scores made
beforehand (`python -m studies.spade_training.nodes`):

    python -m studies.spade_training.measuring --data MNIST --nodes nodes.npz \
        --out results --device cuda --seconds 90

A file is written after every piece. `--seconds` is what training may take: fewer epochs are made
where they would take longer. `--table --seeds 10` trains the arms of Table 3 alone, over more
seeds.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic.training import Adversarial, Attack, Penalised, lenet5, stacked, train
from anharmonic.training.objectives import Objective
from studies.mnist import Digits, read_mnist
from studies.page import Tell, silent
from studies.spade_training.arms import (
    ATTACKED,
    FULL,
    PENALISED,
    REDUCED,
    TABLE_3,
    Plan,
    radii_of,
)
from studies.spade_training.costs import step_costs
from studies.spade_training.evaluation import evaluate, keep

__all__ = ["measured"]


def measured(
    data: Path,
    nodes: Any,
    out: Path | None = None,
    plan: Plan = REDUCED,
    device: str = "cpu",
    seconds: float | None = None,
    seed: int = 0,
    tell: Tell = silent,
    table: bool = False,
) -> dict[str, Any]:
    """All arms and seeds: hits by arm, attack and seed, gamma, and what steps cost.

    `nodes` (seeds, images) are node scores of the training images, from networks trained
    plainly. `table` leaves out the arms that Table 3 does not have.
    """
    digits, test = (
        part.first(count)
        for part, count in zip(read_mnist(data), (plan.images, plan.tested), strict=True)
    )
    found: dict[str, Any] = {
        "plan": asdict(plan),
        "seed": seed,
        "machine": _machine(device),
        "arms": {},
        "costs": step_costs(plan.batch_size, plan.steps, plan.penalty_radius, seed),
    }
    for objective, arms in _objectives(plan, nodes, seed, table):
        names = [(arm, own) for arm in arms for own in range(plan.seeds)]
        tell(f"training {len(names)} networks: {', '.join(arms)}")
        run = _Run(objective, names, digits, plan, device, seed)
        modules, about = run.trained(seconds)
        found["arms"] |= {arm: {**about, "hits": {}} for arm in arms}
        keep(found, out)
        evaluate(found, modules, names, test, plan, out, seconds, tell)
        _weights(modules, names, out)
    return found


def _machine(device: str) -> str:
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else "processors alone"
    return f"{name}, torch {torch.__version__.split('+')[0]}, {date.today()}"


def _objectives(
    plan: Plan, nodes: Any, seed: int, table: bool
) -> list[tuple[Objective, list[str]]]:
    """What each stack of networks is trained with, and the arms in it."""
    radii = np.stack(
        [
            radii_of(arm, plan.images, seed + own, np.asarray(nodes)[own][: plan.images])
            for arm in (TABLE_3 if table else ATTACKED)
            for own in range(plan.seeds)
        ]
    )
    warm = int(0.4 * plan.epochs * (plan.images // plan.batch_size))
    # Rows that are misclassified already are attacked like all others, in every arm.
    attacked = Adversarial(Attack(0.0, steps=plan.steps), radii, warm)
    if table:
        return [(attacked, list(TABLE_3))]
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
            # Patches were 30 times slower on the GPU they were tried on.
            tried = (False,) if self.device == "cuda" else (False, True)
            ways = {patches: self._step_seconds(patches) for patches in tried}
            patches = min(ways, key=lambda way: ways[way])
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
    reader.add_argument("--seeds", type=int, default=FULL.seeds)
    reader.add_argument("--table", action="store_true", help="the arms of Table 3 alone")
    given = reader.parse_args()
    if given.device == "cuda":
        import torch

        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
    with np.load(given.nodes) as file:
        nodes = np.stack([file[name] for name in file.files])
    plan = REDUCED if given.reduced else replace(FULL, restarted=given.restarted)
    plan = replace(plan, seeds=given.seeds)
    begun = time.perf_counter()

    def tell(line: str) -> None:
        print(f"{time.perf_counter() - begun:7.1f} s  {line}", flush=True)

    found = measured(
        given.data,
        nodes,
        given.out,
        plan,
        given.device,
        given.seconds,
        tell=tell,
        table=given.table,
    )
    for arm, about in found["arms"].items():
        shares = {
            name: round(100 * float(np.mean(each["hits"])) / each["count"], 2)
            for name, each in about["hits"].items()
        }
        print(arm, shares, f"{about['epochs']} epochs, {about['step_seconds'] * 1e3:.1f} ms a step")
    tell("done")


if __name__ == "__main__":
    main()
