"""Parts of a run made of turns that are written down, and what an accumulator made of them."""

from __future__ import annotations

import numpy as np

from anharmonic.measures.gamma.accumulator import Accumulator
from anharmonic.measures.gamma.deviation import Changes, TaskResult

NONE = np.empty(0, dtype=np.int64)


def part_of(rows, turns, **more):
    """A part whose turns deviate as given: numbers (rows, turns)."""
    turns = np.asarray(turns, dtype=float)
    mean = turns.mean(axis=1, keepdims=True)
    squares = np.sum((turns - mean) ** 2, axis=1)
    count = turns.shape[1]
    noise = squares / (count - 1) if count > 1 else np.zeros(len(turns))
    changes = Changes(np.zeros(len(turns)), np.zeros(len(turns), int), np.zeros(len(turns), int))
    fields = {"changes": changes, "queries": 0, "clipped": 0, "bad": NONE, **more}
    centres = fields.pop("centres", np.zeros((len(turns), 1)))
    return TaskResult(np.asarray(rows), count, mean, centres, squares, noise, **fields)


def spread_out(turns, spreads, queries=0):
    """Points that had so many turns, of which one deviates by these standard deviations."""
    accumulator = Accumulator(len(turns), "norm")
    turns, spreads = np.asarray(turns), np.asarray(spreads, dtype=float)
    accumulator.turns = turns
    accumulator.deviations = np.ones((len(turns), 1))
    accumulator.centres = np.zeros((len(turns), 1))
    accumulator.squares = spreads**2 * (turns - 1)
    accumulator.queries = queries
    return accumulator
