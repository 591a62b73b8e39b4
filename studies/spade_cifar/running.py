r"""Train and attack every network of the study, in pieces that resume.

    python -m studies.spade_cifar.running --data parts --state state --device cuda --seconds 540

Every network leaves three files in `state` when it is done, and is not trained again: what it got
right (networks/KEY.json), its logits of the test pictures (logits/KEY.npy) and, for some, its
weights (weights/KEY.npz). A network that would not be done in `--seconds` is not begun. `--more 2`
adds two seeds of the two arms that differ in SPADE's choice alone; `--eager` leaves out compiling.
`--reduced` trains fifteen narrow networks for Table 1 on a processor, an hour on a core.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic.errors import TrainingStopped
from studies.spade_cifar.arms import ARMS, GREY, TABLES, Network
from studies.spade_cifar.attacking import Attacker
from studies.spade_cifar.data import Cifar, read_cifar
from studies.spade_cifar.networks import CLASSES, seeded
from studies.spade_cifar.nodes import nodes_file, train_logits_file
from studies.spade_cifar.plans import FULL, REDUCED, TINY, Plan
from studies.spade_cifar.training import Course, Data, Trainer, logits_of, softened

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Run"]

UNKNOWN = 60.0
"""Seconds that a network is given before one of its kind has been timed."""
SLOWER = 4
"""Rates that are tried where the loss runs away, each a third of the one before."""
TEMPERATURE = 100.0
"""Of defensive distillation (Papernot et al., 2017)."""


class Run:
    """A state folder and what is on the device."""

    def __init__(
        self,
        data: tuple[Cifar, Cifar],
        state: Path,
        plan: Plan = FULL,
        device: str = "cpu",
        tell: Callable[[str], None] = print,
    ) -> None:
        self.plan, self.state, self.device, self.tell = plan, state, device, tell
        train, test = data[0].first(plan.images), data[1].first(plan.tested)
        self.train, self.test = (self._placed(part) for part in (train, test))
        self.trainers: dict[tuple[str, int], Trainer] = {}
        self.attackers: dict[str, Attacker] = {}
        self.spent: dict[tuple[str, int, str], float] = {}
        self.scoring: subprocess.Popen[bytes] | None = None
        for folder in ("networks", "logits", "weights", "train"):
            (state / folder).mkdir(parents=True, exist_ok=True)

    def _placed(self, pictures: Cifar) -> Data:
        import torch

        return Data(
            torch.from_numpy(np.array(pictures.images)).to(self.device),
            torch.from_numpy(pictures.labels).to(self.device),
        )

    def done(self, network: Network) -> bool:
        return (self.state / "networks" / f"{network.key}.json").exists()

    def all(self, data: Path, seconds: float = float("inf")) -> bool:
        """Every network in turn, while there is time; whether all of them are done."""
        begun = time.perf_counter()
        networks = self.plan.networks()
        try:
            for network in networks:
                if "4" in self.plan.tables and (network.table != "1" or network.radius):
                    self.score_nodes(data)
                if self.done(network):
                    continue
                expected = self.spent.get(_kind(network), UNKNOWN)
                if time.perf_counter() - begun + expected > seconds:
                    self.tell(f"stopping before {network.key}: it may take {expected:.0f} s")
                    break
                self.one(network)
        finally:
            if self.scoring is not None:
                self.scoring.wait()
        return all(self.done(network) for network in networks)

    def score_nodes(self, data: Path) -> None:
        """Begin to score the training pictures beside the training, where that is left to do."""
        if self.scoring is not None and self.scoring.poll() is None:
            return
        seeds = [int(file.stem) for file in (self.state / "train").glob("*.npy")]
        if all(nodes_file(self.state, seed).exists() for seed in seeds):
            return
        if self.scoring is not None and self.scoring.returncode:
            raise TrainingStopped("node scores could not be made: see the error above")
        asked = [sys.executable, "-m", "studies.spade_cifar.nodes", "--data", str(data)]
        asked += ["--state", str(self.state), "--neighbours", str(self.plan.neighbours)]
        self.scoring = subprocess.Popen(asked)

    def _nodes(self, network: Network) -> Any:
        """Node scores of the network's seed, waited for where they are on their way."""
        if network.table != "4" or ARMS[network.name].rule != "guided":
            return None
        file = nodes_file(self.state, network.seed)
        if not file.exists() and self.scoring is not None:
            self.tell("waiting for node scores")
            self.scoring.wait()
        return np.load(file)

    def one(self, network: Network) -> dict[str, Any]:
        """Train one network, attack it, and keep what came out."""
        nodes = self._nodes(network)
        begun = time.perf_counter()
        trainer, loss = self._trained(network, nodes)
        trained = time.perf_counter() - begun
        found = asdict(network) | {
            "epochs": self.plan.course.epochs,
            "images": self.plan.images,
            "width": self.plan.width,
            "steps": network.steps,
            "loss": loss,
            "hits": self._hits(network, trainer),
            "seconds": [trained, 0.0],
            "machine": _machine(self.device),
        }
        logits = logits_of(trainer.module, self.test.images).cpu().numpy()
        _save(self.state / "logits" / f"{network.key}.npy", logits)
        if network.table == "1" and not network.radius:
            known = logits_of(trainer.module, self.train.images).cpu().numpy()
            _save(train_logits_file(self.state, network.seed), known)
        first = network.seed == 0 and (network.table != "4" or network.name == "vanilla, 8")
        if first:
            self._keep_weights(network, trainer)
        spent = time.perf_counter() - begun
        found["seconds"][1] = spent - trained
        self.spent[_kind(network)] = spent
        with whole_file(self.state / "networks" / f"{network.key}.json") as temporary:
            Path(temporary).write_text(json.dumps(found), encoding="utf-8")
        self.tell(f"{network.key}: {spent:.1f} s, loss {loss:.3f}, {found['hits']}")
        return found

    def _trainer(self, architecture: str, shares: int = 0) -> Trainer:
        if (architecture, shares) not in self.trainers:
            module = seeded(self.plan.make(architecture), 0)
            # Compiling takes longer than it saves where a kind has few networks.
            compiled = self.plan.compiled and architecture == "ResNet-18"
            size = self.plan.course.batch_size
            self.trainers[architecture, shares] = Trainer(
                module, size, self.device, shares, compiled
            )
        return self.trainers[architecture, shares]

    def _trained(self, network: Network, nodes: Any) -> tuple[Trainer, float]:
        import torch

        course, rows = self.plan.course, len(self.train.labels)
        radii = np.full(rows, network.radius)
        spare = False
        if network.table == "4":
            arm = ARMS[network.name]
            radii, spare = arm.radii(rows, network.seed, nodes), arm.spare
        if not network.architecture.startswith("ResNet"):
            course = replace(course, rate=self.plan.plain_rate)
        weights = seeded(self.plan.make(network.architecture), network.seed).state_dict()
        trainer, data = self._trainer(network.architecture), self.train
        each = torch.from_numpy(radii / GREY).float().to(self.device)
        options: dict[str, Any] = {"steps": network.steps, "seed": network.seed, "spare": spare}
        if network.name == "distilled CNN":
            course = replace(course, temperature=TEMPERATURE)
            self._steady(trainer, weights, data, each, course, options)
            taught = softened(logits_of(trainer.module, data.images), TEMPERATURE)
            trainer, data = self._trainer(network.architecture, CLASSES), Data(data.images, taught)
        return trainer, self._steady(trainer, weights, data, each, course, options)

    def _steady(
        self,
        trainer: Trainer,
        weights: dict[str, Tensor],
        data: Data,
        radii: Tensor,
        course: Course,
        options: dict[str, Any],
    ) -> float:
        """Train; where the loss runs away, begin again with a third of the rate."""
        for _ in range(SLOWER):
            loss = trainer.train(weights, data, radii, course=course, **options)
            if np.isfinite(loss):
                return loss
            course = replace(course, rate=course.rate / 3)
            self.tell(f"the loss ran away: again with a rate of {course.rate:.2g}")
        raise TrainingStopped(f"the loss runs away even with a rate of {3 * course.rate:.2g}")

    def _hits(self, network: Network, trainer: Trainer) -> dict[str, list[int]]:
        """Clean hits among all, and under attack among the first; [count, clean, by radius …]."""
        right = logits_of(trainer.module, self.test.images).argmax(1) == self.test.labels
        hits = {"clean": [len(right), int(right.sum())]}
        if not network.architecture.startswith("ResNet"):
            return hits
        if network.architecture not in self.attackers:
            self.attackers[network.architecture] = Attacker(trainer)
        attacker, plan = self.attackers[network.architecture], self.plan
        asked = [("few", plan.few, plan.attacked)]
        if network.table == "4":
            asked.append(("many", plan.many, plan.restarted))
        for name, assault, count in asked:
            part: tuple[Tensor, Tensor] = self.test.images[:count], self.test.labels[:count]
            hits[name] = [len(part[0]), *attacker.hits(*part, assault, seed=1)]
        return hits

    def _keep_weights(self, network: Network, trainer: Trainer) -> None:
        held = {
            name: weight.detach().cpu().numpy().astype(np.float16)
            for name, weight in trainer.module.state_dict().items()
            if weight.is_floating_point()
        }
        with (
            whole_file(self.state / "weights" / f"{network.key}.npz") as temporary,
            open(temporary, "wb") as file,
        ):
            np.savez(file, **held)


def _kind(network: Network) -> tuple[str, int, str]:
    """Networks of a kind take the same time."""
    return network.architecture, network.steps, network.table


def _machine(device: str) -> str:
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else "processors alone"
    return f"{name}, torch {torch.__version__.split('+')[0]}, {date.today()}"


def _save(path: Path, array: Any) -> None:
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        np.save(file, array.astype(np.float32))


def main() -> None:
    """Go on with a state folder for some seconds."""
    reader = argparse.ArgumentParser(description="Train and attack the networks of the study.")
    reader.add_argument("--data", type=Path, required=True)
    reader.add_argument("--state", type=Path, required=True)
    reader.add_argument("--device", default="cpu")
    reader.add_argument("--seconds", type=float, default=float("inf"))
    reader.add_argument("--tiny", action="store_true", help="a trial of minutes, for a processor")
    reader.add_argument("--reduced", action="store_true", help="Table 1 in small, for a processor")
    reader.add_argument("--more", type=int, default=0, help="seeds of two arms of Table 4")
    reader.add_argument("--eager", action="store_true", help="compile nothing")
    reader.add_argument("--epochs", type=int, help="instead of the plan's")
    reader.add_argument("--tables", nargs="+", choices=TABLES, help="instead of the plan's")
    given = reader.parse_args()
    begun = time.perf_counter()

    def tell(line: str) -> None:
        print(f"{time.perf_counter() - begun:7.1f} s  {line}", flush=True)

    if given.device == "cuda":
        import torch

        torch.backends.cudnn.benchmark = True
        # Decisions and logits are in float32; training casts to bfloat16 itself.
        torch.backends.cudnn.allow_tf32 = False
    plan = REDUCED if given.reduced else TINY if given.tiny else FULL
    plan = replace(plan, more=given.more, compiled=plan.compiled and not given.eager)
    if given.epochs is not None:
        plan = replace(plan, course=replace(plan.course, epochs=given.epochs))
    if given.tables is not None:
        plan = replace(plan, tables=tuple(given.tables))
    run = Run(read_cifar(given.data), given.state, plan, given.device, tell)
    tell("pictures are on the device")
    finished = run.all(given.data, given.seconds - (time.perf_counter() - begun))
    tell("all done" if finished else "to be gone on with")


if __name__ == "__main__":
    main()
