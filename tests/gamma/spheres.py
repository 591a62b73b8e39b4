"""Spheres around a few points, with a ball and a model of the test's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anharmonic.measures.gamma.choosing import first_sphere
from anharmonic.measures.setup.settling import settle


class Recorded:
    """A model that keeps the rows of each of its calls."""

    def __init__(self, function):
        self.function, self.calls = function, []

    def __call__(self, x):
        self.calls.append(np.array(x))
        return self.function(x)

    @property
    def rows(self):
        return sum(map(len, self.calls))


def settled(function, points, radius=0.5, **setup):
    return settle(function, np.asarray(points, dtype=float), radius=radius, scale=None, **setup)


def sphere_of(function, points, ball=None, radius=0.5, reduction=None, **more):
    """`more` that a sphere has replaces its own; the rest is for `settle`."""
    own = {name: more.pop(name) for name in ("noisy", "chunk", "listed") if name in more}
    sphere = first_sphere(settled(function, points, radius, **more), reduction)
    return replace(sphere, ball=sphere.ball if ball is None else ball, **own)
