"""How to do it again: the Python lines that give the same numbers."""

from __future__ import annotations

from typing import Any

from anharmonic._core.reductions import NAMES as REDUCTIONS
from anharmonic.measures.remeasure import ball_asked_for
from anharmonic.scores import Scores

__all__ = ["recipe"]

OUTPUTS = ("probability", "logit", "label", "onehot")
MOST_UNITS = 1000
Verdicts = dict[str, float] | None


def recipe(
    models: dict[str, Scores], alike: bool, twice: bool = False, verdicts: Verdicts = None
) -> str:
    """Python that measures again, given the models and the points.

    `verdicts` are `compare`'s arguments that are about differences, where they are not its own.
    """
    lines = ["import anharmonic as ah", ""]
    if alike and len(models) > 1:
        first = next(iter(models.values()))
        listed = ", ".join(f"{name!r}: …" for name in models)
        reference = ["    reference=reference,  # the points the models were trained on"]
        *call, end = _call("found = ah.compare", "models", first)
        judged = [f"    {name}={value!r}," for name, value in (verdicts or {}).items()]
        lines += [f"models = {{{listed}}}", *call, *(reference if twice else []), *judged, end]
    else:
        for scores in models.values():
            lines += _call("scores = ah.gamma", "model", scores)
    return "\n".join(lines)


def _call(function: str, model: str, scores: Scores) -> list[str]:
    settings = scores.settings
    columns = settings.get("columns") or []
    about = f"  # {len(scores):,} points, {len(columns):,} moving columns"
    return [
        f"{function}(",
        f"    {model},",
        f"    {_points(settings)},{about}",
        *(f"    {name}={value}," for name, value in arguments(settings).items()),
        ")",
    ]


def _points(settings: dict[str, Any]) -> str:
    """The points, and which of their columns move where others are held still."""
    if not settings.get("still") or settings.get("region") != "points":
        return "points"
    return f"ah.regions.points(points, moving={settings['columns']!r})"


def arguments(settings: dict[str, Any]) -> dict[str, str]:
    """Arguments of `gamma` as text, from the settings it left behind."""
    found: dict[str, str] = {}
    for name in ("radius", "rotations", "directions", "seed"):
        if settings.get(name) is not None:
            found[name] = repr(settings[name])
    if settings.get("ball"):
        found["ball"] = repr(ball_asked_for(settings["ball"]))
    units = settings.get("scale")
    if units is not None:
        found["scale"] = '"auto"' if len(units) > MOST_UNITS else repr(units)
    if settings.get("still"):
        found["moving"] = repr(settings["columns"])
    output = settings.get("output")
    if output is not None:
        known = isinstance(output, int) or output in OUTPUTS
        found["output"] = repr(output) if known else f"…  # {output}"
    reduction = settings.get("reduction")
    if reduction is not None:
        known = isinstance(reduction, int) or reduction in REDUCTIONS
        found["reduction"] = repr(reduction) if known else f"…  # {reduction}"
    for name in ("bounds", "budget", "tolerance"):
        if settings.get(name) is not None:
            found[name] = repr(settings[name])
    return found
