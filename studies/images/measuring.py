"""Measure one network on some photos: what surrounds each, and which walks change its class.

Everything a page needs goes into one file, piece by piece, so that it can run where there is a
GPU and little else. See `python -m studies.images --help`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.margins import labels_of, margins_of, of_classes, probabilities_of
from anharmonic._core.protocols import Integers
from anharmonic._core.randomness import generator
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.search import Climb, StepArguments, adversarial_search, prepare
from anharmonic.measures.stability.surroundings import Surroundings, surroundings, walked
from anharmonic.models import as_model
from studies.images.measurements import CLIMBS, NOT_WALKED, Measurements
from studies.page import Tell, silent
from studies.streams import ImageStream

__all__ = ["BUDGETS", "FULL", "RADIUS", "REDUCED", "STEPS", "Effort", "measured"]

RADIUS, STEPS = 100.0, 25
BUDGETS = (4, 20, 200)
BALLS = ("onehot", "onehot pairs", "dense pairs")
WALKS = ((25, "onehot"), (100, "onehot"), (100, "dense"))
"""Lengths and balls of the random walks whose ends are asked for."""


class Effort(NamedTuple):
    """How much is asked: neighbours of each kind, seeds of each walk, gamma's ball, at a time."""

    neighbours: int = 200
    seeds: int = 3
    directions: int = 20
    gamma_directions: int = 20
    photos_at_once: int = 15
    gamma_seconds: float = float("inf")

    @property
    def budgets(self) -> tuple[int, ...]:
        return tuple(budget for budget in BUDGETS if budget <= self.neighbours)


FULL = Effort()
REDUCED = Effort(
    neighbours=20, seeds=1, directions=5, gamma_directions=3, photos_at_once=2, gamma_seconds=45
)
"""What a laptop can do in minutes."""


@dataclass
class Measuring:
    """One network on its way to measurements."""

    model: Any
    photos: Any
    effort: Effort
    found: Measurements
    keep: Callable[[Measurements], object]
    tell: Tell
    seed: int
    batch: int | None

    @property
    def steps(self) -> StepArguments:
        """The paper's settings."""
        return {
            "radius": RADIUS,
            "bounds": (0.0, 255.0),
            "grid": 1.0,
            "scale": None,
            "output": "logit",
            "batch_size": self.batch,
        }

    def piece(self, name: str, work: Callable[[], int]) -> None:
        """Do a piece of work that says its queries, time it, and keep what is known by now.

        A piece that is known already is not done again.
        """
        if name in self.found.facts["pieces"]:
            return
        self.tell(f"{self.found.network}: {name} …")
        begun = time.perf_counter()
        queries = work()
        seconds = time.perf_counter() - begun
        self.found.facts["pieces"][name] = {"queries": queries, "seconds": round(seconds, 2)}
        self.keep(self.found)
        self.tell(f"{self.found.network}: {name}: {queries:,} queries in {seconds:.1f} s")

    def _answers(self) -> Any:
        """Logits at the photos themselves, (photos, classes)."""
        model = as_model(self.model, output="logit")
        size = self.batch or 32
        parts = [
            to_numpy(model(model.place(self.photos[low : low + size])))
            for low in range(0, len(self.photos), size)
        ]
        return np.concatenate(parts)

    def top_five(self) -> int:
        self.found.arrays["top"] = np.argsort(-self._answers(), axis=1, kind="stable")[:, :5]
        return len(self.photos)

    def centres(self) -> int:
        outputs = self._answers()
        labels = labels_of(outputs)
        self.found.arrays |= {
            "label": labels,
            "margin": margins_of(outputs, labels),
            "logit": of_classes(outputs, labels),
            "probability": of_classes(probabilities_of(outputs, "logit"), labels),
        }
        return len(self.photos)

    def _around(self, name: str, seen: Surroundings) -> int:
        self.found.arrays |= {f"{name}/changes": seen.changes, f"{name}/own": seen.own}
        return seen.queries

    def neighbours(self, ball: str) -> int:
        arguments = self.steps | {
            "ball": ball,
            "directions": self.effort.neighbours,
            "seed": self.seed,
        }
        chooser, _ = prepare(self.model, self.photos, "margin", **arguments)
        return self._around(ball, surroundings(chooser))

    def walks(self, steps: int, ball: str) -> int:
        chooser, _ = prepare(
            self.model, self.photos, "random", **self.steps | {"ball": ball, "seed": self.seed}
        )
        return self._around(f"walks {steps} {ball}", walked(chooser, steps, self.effort.neighbours))

    def automatic(self, budget: int) -> int:
        scores = gamma(
            self.model,
            self.photos,
            radius=RADIUS,
            bounds=(0.0, 255.0),
            scale=None,
            output="logit",
            reduction="predicted",
            directions=budget,
            rotations=1,
            noise="ignore",
            seed=self.seed,
            batch_size=self.batch,
        )
        self.found.arrays[f"auto {budget}"] = scores.values
        self.found.facts["auto"] = scores.settings.ball
        return int(scores.queries)

    def search(self, climb: Climb, number: int, rows: Integers) -> int:
        """Walk from some photos with one seed, and note first flips."""
        if not len(rows):
            return 0
        directions = self.effort.gamma_directions if climb == "gamma" else self.effort.directions
        done = adversarial_search(
            self.model,
            self.photos[rows],
            climb=climb,
            steps=STEPS,
            **self.steps | {"directions": directions, "seed": 1000 * self.seed + number},
        )
        self.found.arrays[f"{climb}/flips"][number, rows] = done.flips
        self.found.arrays[f"{climb}/queries"][number, rows] = done.queries
        return int(done.queries.sum())

    def gamma_block(self, rows: Integers) -> int:
        """Two seeds, and a third where they disagree: the majority of three needs no more."""
        flips = self.found.arrays["gamma/flips"]
        queries = sum(self.search("gamma", number, rows) for number in range(self.effort.seeds)[:2])
        if self.effort.seeds > 2:
            once = (flips[:2, rows] >= 0).sum(axis=0) == 1
            queries += self.search("gamma", 2, rows[once])
        return queries


def measured(
    model: Any,
    photos: Any,
    network: str,
    effort: Effort = FULL,
    *,
    keep: Callable[[Measurements], object] = lambda found: None,
    tell: Tell = silent,
    seed: int = 0,
    batch: int | None = None,
    facts: dict[str, Any] | None = None,
    resume: Measurements | None = None,
) -> Measurements:
    """Everything of one network (a model of grey photos (photos, height, width), 0 to 255).

    `keep` is called after every piece with what is known by then. What costs most comes last:
    the gamma ascent, in blocks of photos in random order, until `effort.gamma_seconds` are over.
    `resume` takes what is known of the same network and photos, and goes on.
    """
    about = {"network": network, "seed": seed, "effort": list(effort), "pieces": {}}
    found = resume or Measurements(about | (facts or {}))
    work = Measuring(model, photos, effort, found, keep, tell, seed, batch)
    every = np.arange(len(photos))
    for climb in CLIMBS:
        for what in ("flips", "queries"):
            nowhere = np.full((effort.seeds, len(photos)), NOT_WALKED)
            found.arrays.setdefault(f"{climb}/{what}", nowhere)
    work.piece("photos", work.centres)
    work.piece("top five", work.top_five)
    for ball in BALLS:
        work.piece(ball, partial(work.neighbours, ball))
    for steps, ball in WALKS:
        work.piece(f"walks {steps} {ball}", partial(work.walks, steps, ball))
    for budget in effort.budgets:
        work.piece(f"auto {budget}", partial(work.automatic, budget))
    cheap: tuple[Climb, ...] = ("margin", "random", "output")
    for climb in cheap:
        for number in range(effort.seeds):
            work.piece(f"{climb}, seed {number}", partial(work.search, climb, number, every))
    _gamma_ascent(work)
    return found


def _gamma_ascent(work: Measuring) -> None:
    """Blocks of photos in random order, as long as another one fits in the time."""
    order = generator(work.seed, ImageStream.PHOTO_ORDER).permutation(len(work.photos))
    count = max(1, round(len(order) / work.effort.photos_at_once))
    begun, slowest = time.perf_counter(), 0.0
    for number, rows in enumerate(np.array_split(order, count)):
        if f"gamma, block {number}" in work.found.facts["pieces"]:
            continue
        left = work.effort.gamma_seconds - (time.perf_counter() - begun)
        if left < slowest:
            work.tell(f"no time left for the gamma ascent of {count - number} blocks of {count}")
            break
        start = time.perf_counter()
        work.piece(f"gamma, block {number}", partial(work.gamma_block, np.sort(rows)))
        slowest = max(slowest, time.perf_counter() - start)
