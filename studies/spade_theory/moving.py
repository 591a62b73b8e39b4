"""Is a model weak along the edges with the largest scores? And do node scores follow slopes?

Steps of equal length from the same points: along the edge, along another edge of the same point, in
a random direction, and along the gradient, which a black box does not show.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic.measures.spectral import SpadeScores
from studies.streams import SpadeStream

__all__ = ["DIRECTIONS", "NodeSlopes", "Steps", "along_edges", "answers", "node_slopes"]

DIRECTIONS = ("its edge", "another edge", "random", "gradient")
SHORT = 0.05
"""Of the edge's length: near enough for a slope."""
REACH = (0.25, 0.5)
"""Shares of the edge's length at which decisions are looked at."""


class Steps(NamedTuple):
    """For one set of points and each direction: slopes, and the share of changed decisions."""

    slopes: dict[str, list[float]]
    """Change of the logits per length of the step, one for each point."""
    changed: dict[str, list[list[int]]]
    """Whether the decision is another, (points, reaches)."""


def along_edges(
    module: Any, images: Any, scores: SpadeScores, count: int, seed: int = 0
) -> dict[str, Steps]:
    """Steps from the ends of the `count` top edges, and of as many random ones.

    `images` (points, channels, height, width) from 0 to 1 are the rows that were scored.
    """
    order = np.argsort(-scores.edge_values, kind="stable")
    random = generator(seed, SpadeStream.THEORY_EDGES)
    chance = random.choice(order[count:], count, replace=False)
    found = {}
    for name, chosen in (("top edges", order[:count]), ("random edges", chance)):
        edges = scores.edges[chosen]
        # Both ways: from each end towards the other.
        both = np.concatenate([edges, edges[:, ::-1]])
        found[name] = _steps(module, images, scores, both, random)
    return found


def _steps(
    module: Any, images: Any, scores: SpadeScores, edges: Integers, random: np.random.Generator
) -> Steps:
    import torch

    here, there = edges.T
    points = torch.as_tensor(images[here])
    gaps = torch.as_tensor(images[there]) - points
    lengths = _norms(gaps)
    others = torch.as_tensor(images[_other_neighbours(scores, edges, random)]) - points
    dense = torch.from_numpy(random.normal(size=tuple(points.shape)).astype(np.float32))
    directions = {
        "its edge": gaps,
        "another edge": others,
        "random": dense,
        "gradient": _margin_gradient(module, points),
    }
    before = answers(module, points)
    slopes, changed = {}, {}
    for name, direction in directions.items():
        unit = direction / _norms(direction).clamp_min(1e-12)
        after = answers(module, points + SHORT * lengths * unit)
        step = SHORT * lengths.flatten()
        slopes[name] = ((after - before).norm(dim=1) / step).tolist()
        decided = [
            (answers(module, points + reach * lengths * unit).argmax(1) != before.argmax(1))
            .long()
            .tolist()
            for reach in REACH
        ]
        changed[name] = [list(each) for each in zip(*decided, strict=True)]
    return Steps(slopes, changed)


def _norms(points: Any) -> Any:
    """Lengths, shaped so that they multiply points."""
    return points.flatten(1).norm(dim=1)[:, None, None, None]


def _other_neighbours(
    scores: SpadeScores, edges: Integers, random: np.random.Generator
) -> Integers:
    """For each edge (from, to) another neighbour of `from` in the input graph, by chance."""
    both = np.concatenate([scores.edges, scores.edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(len(scores) + 1))
    chosen = []
    for here, there in edges.tolist():
        own = both[starts[here] : starts[here + 1], 1]
        chosen.append(random.choice(own[own != there]))
    return np.array(chosen)


def answers(module: Any, points: Any) -> Any:
    """Logits at points (rows, channels, height, width), on the processor."""
    import torch

    device = next(iter(module.parameters())).device
    with torch.no_grad():
        parts = [module(part.to(device)).cpu() for part in torch.split(points, 500)]
    return torch.cat(parts)


def _margin_gradient(module: Any, points: Any) -> Any:
    """Less the gradient of the margin between the two largest logits: the way to the boundary."""
    import torch

    device = next(iter(module.parameters())).device
    slopes = []
    for part in torch.split(points, 500):
        moving = part.to(device).requires_grad_()
        first, second = module(moving).topk(2, dim=1).values.T
        slopes.append(-torch.autograd.grad((first - second).sum(), moving)[0].cpu())
    return torch.cat(slopes)


class NodeSlopes(NamedTuple):
    """Of some points: how steep the model is there, and how near its boundary."""

    jacobian: Floats
    """Frobenius norm of all logits' gradients."""
    gradient: Floats
    """Norm of the margin's gradient."""
    margin: Floats
    """Between the two largest logits."""


def node_slopes(module: Any, images: Any) -> NodeSlopes:
    """At images (points, channels, height, width) from 0 to 1; a backward pass per class."""
    import torch

    device = next(iter(module.parameters())).device
    parts: list[list[Any]] = [[], [], []]
    for part in torch.split(torch.as_tensor(images), 250):
        points = part.to(device).requires_grad_()
        logits = module(points)
        squares = torch.zeros(len(points), device=device)
        for column in range(logits.shape[1]):
            (slope,) = torch.autograd.grad(logits[:, column].sum(), points, retain_graph=True)
            squares += slope.flatten(1).square().sum(1)
        first, second = logits.topk(2, dim=1).values.T
        (slope,) = torch.autograd.grad((first - second).sum(), points)
        found = squares.sqrt(), slope.flatten(1).norm(dim=1), (first - second).detach()
        for held, values in zip(parts, found, strict=True):
            held.append(values.detach().cpu().numpy())
    return NodeSlopes(*(np.concatenate(held).astype(np.float64) for held in parts))
