"""Measure one network further: `python -m studies.images.further lite0 --photos DIR --out FOLDER`.

Every piece is kept when it is done, and one that is known is not done again: a run that was stopped
goes on. On a GPU all of it takes some two minutes, on a core some hours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.margins import labels_of, margins_of, of_classes
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic.measures.search import Climb, adversarial_search, prepare
from anharmonic.measures.stability.surroundings import Surroundings, surroundings, walked
from anharmonic.models import as_model
from studies.images.further.adversaries import moved_photos
from studies.images.further.colours import crops
from studies.images.measurements import Measurements
from studies.images.measuring import RADIUS, STEPS
from studies.page import Tell, silent
from studies.streams import ImageStream

__all__ = ["FULL", "SIZES", "STRENGTHS", "Effort", "measured_further"]

SIZES = (25, 50, 100, 200)
STRENGTHS = (2, 8)
"""Grey levels that PGD may move each pixel by."""
DENSE = 400.0
"""The length of dense steps around adversarial inputs: four grey levels per pixel of 10,000."""
WALKS = 20
LONG = 100
HALVINGS = 5


class Effort(NamedTuple):
    """How many photos each piece takes, and how many steps PGD."""

    ascents: int = 199
    long_walks: int = 20
    sized: int = 199
    attacked: int = 199
    attack_steps: int = 20
    colours: int = 1


FULL = Effort()


@dataclass
class FurtherMeasuring:
    """One network on its way: `model` answers, `network` has gradients."""

    model: Any
    network: Any
    photos: Floats
    effort: Effort
    found: Measurements
    seed: int
    batch: int | None = None

    def _steps(self, **more: Any) -> dict[str, Any]:
        return {
            "radius": RADIUS,
            "bounds": (0.0, 255.0),
            "grid": 1.0,
            "scale": None,
            "output": "logit",
            "batch_size": self.batch,
            "seed": self.seed,
        } | more

    def _logits(self, images: Array) -> Floats:
        model = as_model(self.model, output="logit")
        size = self.batch or 32
        return np.concatenate(
            [
                np.asarray(to_numpy(model(model.place(images[low : low + size]))), dtype=float)
                for low in range(0, len(images), size)
            ]
        )

    def _some(self, count: int) -> Integers:
        """Rows drawn once, so that a smaller effort takes some of a larger one's."""
        order = generator(self.seed, ImageStream.MOVED_PHOTOS).permutation(len(self.photos))
        return np.sort(order[:count])

    def centres(self) -> int:
        outputs = self._logits(self.photos)
        labels = labels_of(outputs)
        self.found.arrays |= {
            "label": labels,
            "margin": margins_of(outputs, labels),
            "logit": of_classes(outputs, labels),
            "mean logit": outputs.mean(axis=1),
        }
        return len(outputs)

    def ascent(self) -> int:
        """Gamma ascent of 25 steps that goes on after flips: where the first class's logit ends."""
        rows = self._some(self.effort.ascents)
        done = adversarial_search(
            self.model, self.photos[rows], climb="gamma", steps=STEPS, stop=False, **self._steps()
        )
        ends = np.asarray(done.ends).reshape(self.photos[rows].shape)
        before, after = self._logits(self.photos[rows]), self._logits(ends)
        labels = labels_of(before)
        self.found.arrays |= {
            "ascent/rows": rows,
            "ascent/change": of_classes(after, labels) - of_classes(before, labels),
            "ascent/gammas": done.gammas,
            "ascent/flips": done.flips,
        }
        return int(done.queries.sum()) + 2 * len(rows)

    def around_ascent(self) -> int:
        """Gamma at the photos themselves, from as many neighbours as a step of the ascent has."""
        chooser, _ = prepare(self.model, self.photos, "margin", **self._steps(directions=WALKS))
        return self._keep("onehot", surroundings(chooser))

    def long_walks(self, climb: Climb) -> int:
        """A hundred steps that go on after flips: the class after each (photos, 101)."""
        rows = self._some(self.effort.long_walks)
        done = adversarial_search(
            self.model, self.photos[rows], climb=climb, steps=LONG, stop=False, **self._steps()
        )
        self.found.arrays[f"long {climb}/labels"] = done.labels
        return int(done.queries.sum())

    def sized(self, size: int) -> int:
        """Random walks on the photos at another size; as many steps, and as large a share."""
        images = resized(self.photos[self._some(self.effort.sized)], size)
        queries = 0
        share = max(1, round(STEPS * size**2 / self.photos.shape[1] ** 2))
        for steps in dict.fromkeys((STEPS, share)):
            seen = self._walked(images, steps)
            queries += self._keep(f"size {size}, {steps} steps", seen)
        return queries

    def _walked(self, images: Array, steps: int, model: Any = None) -> Surroundings:
        chooser, _ = prepare(model or self.model, images, "random", **self._steps(ball="onehot"))
        return walked(chooser, steps, WALKS)

    def _keep(self, name: str, seen: Surroundings) -> int:
        self.found.arrays |= {
            f"{name}/changes": seen.changes,
            f"{name}/own": seen.own,
            f"{name}/margin": seen.margins,
            f"{name}/logit": of_classes(seen.outputs, seen.labels),
        }
        return seen.queries

    def coloured(self) -> int:
        """The same crops in colour and in grey, a whole pixel or one channel of it at a step."""
        images = crops(100, generator(self.seed, ImageStream.MOVED_PHOTOS, 1))
        grey = np.repeat(np.round(images @ [0.299, 0.587, 0.114])[..., None], 3, axis=3)
        queries = self._keep("one channel, colour", self._walked(images, STEPS))
        for name, photos in (("colour", images), ("grey", grey)):
            parts = [
                self._walked(np.zeros((1, 100, 100)) + 128, STEPS, partial(self._shifted, photo))
                for photo in photos
            ]
            queries += sum(part.queries for part in parts)
            for what in ("changes", "own", "margins"):
                joined = np.concatenate([getattr(part, what) for part in parts])
                self.found.arrays[
                    f"{name}/{what.removesuffix('s') if what == 'margins' else what}"
                ] = joined
        return queries

    def _shifted(self, photo: Floats, steps: Array) -> Floats:
        """Logits of one photo whose pixels are shifted by steps about 128, all channels alike."""
        shift = np.asarray(to_numpy(steps), dtype=np.float64) - 128
        return self._logits(np.clip(photo + shift[..., None], 0, 255).astype(np.float32))

    def attacked(self, strength: int, barely: bool = False) -> int:
        """Photos moved by PGD, their classes, and what is around them.

        `barely` goes back towards the photo as far as the class stays changed.
        """
        rows = self._some(self.effort.attacked)
        photos = self.photos[rows]
        if strength:
            labels = labels_of(self._logits(photos))
            photos = moved_photos(
                self.network, photos, labels, strength, self.effort.attack_steps, self.seed
            )
            if barely:
                photos = self._brought_back(photos, self.photos[rows], labels)
        after = labels_of(self._logits(photos))
        name = f"attacked {strength}" + (", barely" if barely else "")
        self.found.arrays[f"{name}/rows"] = rows
        self.found.arrays[f"{name}/label"] = after
        queries = self._keep(f"{name}/walks", self._walked(photos, STEPS))
        dense = self._steps(ball="dense pairs", directions=WALKS, radius=DENSE)
        chooser, _ = prepare(self.model, photos, "margin", **dense)
        queries += self._keep(f"{name}/dense", surroundings(chooser))
        passes = 2 * self.effort.attack_steps + 1 if strength else 0
        return queries + len(rows) * (passes + 1 + (HALVINGS if barely else 0))

    def _brought_back(self, moved: Floats, photos: Floats, labels: Integers) -> Floats:
        """Between a moved photo and the photo, by halving: the nearest that has another class."""
        low, high = np.zeros(len(photos)), np.ones(len(photos))
        best = moved.copy()
        for _ in range(HALVINGS):
            share = (low + high) / 2
            between = np.round(photos + share[:, None, None] * (moved - photos)).astype(np.float32)
            changed = labels_of(self._logits(between)) != labels
            best[changed] = between[changed]
            low, high = np.where(changed, low, share), np.where(changed, share, high)
        return best


def resized(photos: Floats, size: int) -> Floats:
    """Grey photos (photos, height, width) at another size, in whole levels."""
    import torch
    from torch.nn.functional import interpolate

    if photos.shape[1] == size:
        return photos
    tensor = torch.as_tensor(photos, dtype=torch.float32)[:, None]
    small = interpolate(tensor, (size, size), mode="bilinear", antialias=True)[:, 0]
    return np.asarray(small.round().clamp(0, 255).numpy(), dtype=np.float64)


def measured_further(
    work: FurtherMeasuring,
    keep: Callable[[Measurements], object] = lambda found: None,
    tell: Tell = silent,
) -> Measurements:
    """Every piece that is not known yet, what costs most last."""
    import time

    effort = work.effort
    pieces: dict[str, Callable[[], int]] = {"photos": work.centres}
    for strength in (0, *STRENGTHS) if effort.attacked else ():
        pieces[f"attacked {strength}"] = partial(work.attacked, strength)
    if effort.attacked:
        strongest = STRENGTHS[-1]
        pieces[f"attacked {strongest}, barely"] = partial(work.attacked, strongest, True)
    for size in SIZES if effort.sized else ():
        pieces[f"size {size}"] = partial(work.sized, size)
    if effort.colours:
        pieces["colours"] = work.coloured
    climbs: tuple[Climb, ...] = ("random", "margin", "gamma")
    for climb in climbs if effort.long_walks else ():
        pieces[f"long {climb}"] = partial(work.long_walks, climb)
    if effort.ascents:
        pieces["onehot"] = work.around_ascent
        pieces["ascent"] = work.ascent
    for name, piece in pieces.items():
        if name in work.found.facts["pieces"]:
            continue
        begun = time.perf_counter()
        queries = piece()
        seconds = round(time.perf_counter() - begun, 2)
        work.found.facts["pieces"][name] = {"queries": queries, "seconds": seconds}
        keep(work.found)
        tell(f"{work.found.network}: {name}: {queries:,} queries in {seconds:.0f} s")
    return work.found
