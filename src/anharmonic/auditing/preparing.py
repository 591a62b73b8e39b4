"""From what a user hands over to the `Context` that checks start from."""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.auditing.asking import Answers, Meter, ask_patiently
from anharmonic.auditing.context import Context
from anharmonic.auditing.given import Given
from anharmonic.auditing.planning import Plan
from anharmonic.auditing.reading import coded, read_answers
from anharmonic.auditing.sides import Side
from anharmonic.measures.over_data.asking import compared_columns
from anharmonic.measures.over_data.encoding import encode

__all__ = ["prepare"]


def prepare(given: Given, plan: Plan, seed: int, meter: Meter) -> Context:
    """Ask the model at a sample of both sides, and read columns and labels."""
    model, new, reference = given.model, given.new, given.reference
    rows = _sample(len(reference), plan.reference_rows, generator(seed, Stream.AUDIT_REFERENCE))
    known = ask_patiently(model, reference, rows, meter)
    chosen = np.empty(0, np.int64)
    fresh: Answers | None = None
    if new is not None:
        chosen = _sample(len(new), plan.new_rows, generator(seed, Stream.AUDIT_NEW))
        fresh = ask_patiently(model, new, chosen, meter)
    numbers = [known.numbers] + ([fresh.numbers] if fresh else [])
    reading = read_answers(given, numbers)
    answers = [reading.read(part) for part in numbers]
    first = new if new is not None else reference
    encoded = encode(
        [reference] if new is None else [new, reference], compared_columns(model, first, None)
    )
    reference_labels = coded(given.reference_labels, reading, "reference_labels")
    return Context(
        model=model,
        reading=reading,
        raw=np.concatenate([part[np.isfinite(part).all(axis=1)] for part in numbers]),
        kind=model.kind,
        reference=Side.asked(reference, reference_labels, rows, Answers(answers[0], known.reason)),
        new=None
        if new is None or fresh is None
        else Side.asked(
            new,
            coded(given.new_labels, reading, "labels"),
            chosen,
            Answers(answers[1], fresh.reason),
        ),
        encoded=encoded,
        plan=plan,
        seed=seed,
        meter=meter,
    )


def _sample(rows: int, most: int, random: np.random.Generator) -> Integers:
    """Rows to ask at, ascending: all, or as many as may be asked."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(random.choice(rows, most, replace=False))
