"""How to do it again: the Python lines that give the same numbers."""

from __future__ import annotations

from anharmonic._core.reductions import NAMES as REDUCTIONS
from anharmonic._core.settings import Settings
from anharmonic.measures.over_data.metric import DataSettings
from anharmonic.measures.over_data.suspicion import SUSPICION
from anharmonic.measures.over_data.weights import Given
from anharmonic.measures.remeasure import ball_asked_for, ball_of
from anharmonic.scores import Scores

__all__ = ["recipe"]

OUTPUTS = ("probability", "logit", "label", "onehot")
MOST_UNITS = 1000
"""Features from which on their units are not written out."""
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
            lines += _alone(scores)
    return "\n".join(lines)


def _alone(scores: Scores) -> list[str]:
    """One model's scores: measured, or over answers that were recorded."""
    settings = scores.settings
    if not isinstance(settings, DataSettings):
        return _call("scores = ah.gamma", "model", scores)
    reference = "reference"
    texts = {name: text for name, text in arguments(settings).items() if name != "ball"}
    if scores.metric == SUSPICION.name:
        function, given = "suspects", "model, rows, labels"
        # Suspects are always the length of a vector.
        del texts["reduction"]
        texts["weights"] = weights_text(settings)
    elif settings.knows("model"):
        function, given = "gamma", "model, rows"
        texts["ball"] = weights_text(settings)
    else:
        function, given = "gamma_data", "inputs, outputs"
        texts = {"weights": weights_text(settings), **texts, "columns": repr([*settings.columns])}
        texts.pop("moving", None)
        reference = "(other_inputs, their_outputs)"
    if settings.referenced:
        texts["reference"] = reference
    about = f"  # {len(scores):,} rows, compared by {len(settings.columns):,} columns"
    return [
        f"scores = ah.{function}(",
        f"    {given},{about}",
        *(f"    {name}={value}," for name, value in texts.items()),
        ")",
    ]


def weights_text(settings: DataSettings) -> str:
    """Weights of other rows as they are written in Python."""
    if settings.weights == Given.name:
        return "…  # the matrix of weights"
    return f"ah.over_data.{ball_of(settings)!r}"


def _call(function: str, model: str, scores: Scores) -> list[str]:
    settings = scores.settings
    columns = settings.columns
    about = (
        f"  # {len(scores):,} points, {len(columns):,} moving columns"
        if settings.moves
        else f"  # {len(scores):,} rows, compared by {len(columns):,} columns"
    )
    return [
        f"{function}(",
        f"    {model},",
        f"    {_points(settings)},{about}",
        *(f"    {name}={value}," for name, value in arguments(settings).items()),
        ")",
    ]


def _points(settings: Settings) -> str:
    """The points, and which of their columns move where others are held still."""
    if not settings.moves:
        return "rows"
    if not settings.still or settings.region != "points":
        return "points"
    return f"ah.regions.points(points, moving={list(settings.columns)!r})"


def arguments(settings: Settings) -> dict[str, str]:
    """Arguments of `gamma` as text, from the settings it left behind."""
    facts = settings.plain()
    texts: dict[str, str] = {}
    for name in ("radius", "rotations", "directions", "seed"):
        if facts.get(name) is not None:
            texts[name] = repr(facts[name])
    if isinstance(settings, DataSettings):
        texts["ball"] = weights_text(settings)
    elif settings.ball:
        texts["ball"] = repr(ball_of(settings) if settings.kinds else ball_asked_for(settings.ball))
    if settings.kinds:
        # Units come from the reference, and so do kinds, but for what nobody could choose.
        texts["reference"] = "reference"
        told = settings.told_kinds()
        own = [name for name, kind in told.items() if kind == "own"]
        orders = {name: kind for name, kind in told.items() if isinstance(kind, list)}
        if orders:
            texts["kinds"] = repr(orders)
        if own:
            texts["kinds"] = f"…  # functions for {', '.join(own)}"
    elif settings.scale:
        long = len(settings.scale) > MOST_UNITS
        texts["scale"] = '"auto"' if long else repr(list(settings.scale))
    if settings.still:
        texts["moving"] = repr(list(settings.columns))
    if settings.output is not None:
        # A function's name cannot be typed: the reader has to put the function there.
        named = isinstance(settings.output, int) or settings.output in OUTPUTS
        texts["output"] = repr(settings.output) if named else f"…  # {settings.output}"
    if settings.reduction is not None:
        named = isinstance(settings.reduction, int) or settings.reduction in REDUCTIONS
        texts["reduction"] = repr(settings.reduction) if named else f"…  # {settings.reduction}"
    for name in ("bounds", "budget", "tolerance"):
        if facts.get(name) is not None:
            texts[name] = repr(facts[name])
    return texts
