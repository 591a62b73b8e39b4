"""From what a user hands over to the `Context` that checks start from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.auditing.asking import Answers, Meter, ask_patiently
from anharmonic.auditing.context import Context
from anharmonic.auditing.given import Given
from anharmonic.auditing.planning import Plan
from anharmonic.auditing.sides import Side, Task
from anharmonic.errors import InputError, listed
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
    width = known.numbers.shape[1]
    task, classes, answers = _read(given, [known.numbers] + ([fresh.numbers] if fresh else []))
    first = new if new is not None else reference
    encoded = encode(
        [reference] if new is None else [new, reference], compared_columns(model, first, None)
    )
    reference_labels = _coded(given.reference_labels, task, classes, "reference_labels")
    return Context(
        model=model,
        task=task,
        classes=classes,
        kind=model.kind,
        reference=Side.asked(reference, reference_labels, rows, Answers(answers[0], known.reason)),
        new=None
        if new is None or fresh is None
        else Side.asked(
            new,
            _coded(given.new_labels, task, classes, "labels"),
            chosen,
            Answers(answers[1], fresh.reason),
        ),
        encoded=encoded,
        plan=plan,
        one_probability=answers[0].shape[1] != width,
        seed=seed,
        meter=meter,
    )


def _sample(rows: int, most: int, random: np.random.Generator) -> Integers:
    """Rows to ask at, ascending: all, or as many as may be asked."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(random.choice(rows, most, replace=False))


def _read(given: Given, answers: list[Floats]) -> tuple[Task, tuple[str, ...], list[Floats]]:
    """What the answers are: a column per class, or numbers."""
    labels = [part for part in (given.reference_labels, given.new_labels) if part is not None]
    named = given.model.classes
    width = answers[0].shape[1]
    if named is not None and len(named) == width > 1:
        return "classes", tuple(str(name) for name in named), answers
    levels = sorted({str(label) for part in labels for label in part.tolist()})
    if width > 1:
        names = levels if len(levels) == width else [str(number) for number in range(width)]
        return "classes", tuple(names), answers
    everything = np.concatenate([part[np.isfinite(part)] for part in answers])
    if len(levels) == 2 and everything.min() >= 0 and everything.max() <= 1:
        # One probability: that of the second class.
        return "classes", tuple(levels), [np.hstack([1 - part, part]) for part in answers]
    return "numbers", (), answers


def _coded(
    labels: NDArray[Any] | None, task: Task, classes: tuple[str, ...], name: str
) -> NDArray[Any] | None:
    """Labels as numbers of classes, or as numbers."""
    if labels is None:
        return None
    if task == "numbers":
        try:
            numbers = labels.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"{name} are texts and the model answers numbers: give labels of the same kind"
            ) from None
        if not np.isfinite(numbers).all():
            raise InputError(f"{name} are missing in some rows: leave those rows out")
        return numbers
    number = {text: code for code, text in enumerate(classes)}
    texts = [_text(label) for label in labels.tolist()]
    unknown = sorted(set(texts) - number.keys())
    if unknown:
        raise InputError(
            f"{name} {listed(unknown)} are no classes of the model ({listed(list(number))}): give "
            "labels as the model was fitted to them"
        )
    return np.array([number[text] for text in texts], dtype=np.int64)


def _text(label: object) -> str:
    """A label as classes are written: 1.0 is the class 1 where files have made floats of it."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
