"""The model asked once per row, and gamma over what it answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np

from anharmonic._core.columns import shown
from anharmonic._core.progress import Progress
from anharmonic._core.protocols import Model
from anharmonic._core.reductions import Reduction
from anharmonic.errors import SettingsError
from anharmonic.measures.over_data.measure import score_answers
from anharmonic.measures.over_data.recorded import Answered
from anharmonic.measures.over_data.weights import Weights, chosen_weights
from anharmonic.measures.setup.batching import answers, caller_for
from anharmonic.measures.setup.scale import read_columns
from anharmonic.measures.setup.settling import DEFAULTS, SetupArguments, name_of
from anharmonic.models import as_model
from anharmonic.models.labels import codes
from anharmonic.regions import Region, unmoved
from anharmonic.scores import Scores

__all__ = [
    "BALL",
    "ask_rows",
    "compared_columns",
    "decided",
    "gamma_over_rows",
    "names_rows",
    "refuse_given",
    "refuse_radius",
    "weights_of_ball",
]

BALL = "data"


def names_rows(ball: object) -> bool:
    """Whether a `ball` is one of rows: "data", or that with the name of weights behind it.

    >>> names_rows("data"), names_rows("data neighbours"), names_rows("cube")
    (True, True, False)
    """
    return isinstance(ball, str) and ball.split(" ")[0] == BALL


def refuse_given(why: str, *, beside: str = 'ball="data"', **given: bool) -> None:
    """Refuse arguments that mean nothing `beside` another, if any was given."""
    named = [name for name, is_given in given.items() if is_given]
    if named:
        raise SettingsError(f"{', '.join(named)} cannot be given with {beside}: {why}")


def refuse_radius(arguments: SetupArguments) -> None:
    """Refuse what says how far rows are moved."""
    refuse_given(
        "rows are as far apart as they are",
        radius=arguments["radius"] != "auto",
        scale=not isinstance(arguments["scale"], str),
        bounds=arguments["bounds"] is not None,
    )


def gamma_over_rows(
    model: object,
    rows: object,
    *,
    ball: object = BALL,
    reduction: Reduction | None = None,
    progress: Progress = None,
    **setup: Unpack[SetupArguments],
) -> Scores:
    """Gamma over the data: the model is asked once per row; see `gamma` and `gamma_data`."""
    arguments = DEFAULTS | setup
    refuse_radius(arguments)
    weights = weights_of_ball(ball)
    adapted = decided(model, arguments["output"])
    region = unmoved(rows)
    batch_size = arguments["batch_size"]
    columns = compared_columns(adapted, region, arguments["moving"])
    asked = ask_rows(adapted, region, batch_size)
    reference = arguments["reference"]
    known = None if reference is None else ask_rows(adapted, unmoved(reference), batch_size)
    return score_answers(
        asked,
        known,
        kind=adapted.kind,
        weights=weights,
        columns=columns,
        reduction=reduction,
        seed=arguments["seed"],
        progress=progress,
        facts={
            **_facts(adapted),
            "output": None if arguments["output"] is None else name_of(arguments["output"]),
        },
    )


def compared_columns(
    model: Model, region: Region, moving: Sequence[str | int] | None
) -> list[str] | None:
    """The columns that make rows alike: those given, or those the model reads, where it knows."""
    if moving is not None:
        columns = [str(name) for name in moving]
        unknown = [name for name in columns if name not in region.names]
        if unknown:
            raise SettingsError(
                f"there is no column {shown(unknown)} to compare rows by: there are "
                f"{shown(region.names)}"
            )
        return columns
    read = read_columns(region, [model])
    return None if read is None else [name for name in region.names if name in read]


def decided(model: object, output: object) -> Model:
    """The model asked for what it was told to give, or a classifier for its decisions.

    Rows next to one another differ in probabilities without any harm; in the study decisions told
    more than probabilities did, of models and of rows.
    """
    adapted = as_model(model, output=output)
    if getattr(adapted, "chosen", False) or adapted.classes is None or len(adapted.classes) < 2:
        return adapted
    return as_model(model, output="onehot")


def weights_of_ball(ball: object) -> Weights:
    """The weights that a ball of rows names: "auto" where there is no name behind "data"."""
    return chosen_weights(
        (ball.removeprefix(BALL).strip() or "auto") if isinstance(ball, str) else ball
    )


def _facts(model: Model) -> Mapping[str, object]:
    """What the settings say of the model."""
    return {
        "model": model.name,
        "classes": None if model.classes is None else [str(name) for name in model.classes],
        "codes": codes(model.classes) if model.classes and model.kind == "label" else None,
    }


def ask_rows(model: Model, region: Region, batch_size: int | None) -> Answered:
    """The model's answers at rows as they are, one query each."""
    caller, _ = caller_for(model, region, batch_size)
    nothing = region.values if caller.device is None else model.place(region.values)
    numbers = answers(caller, nothing[:, None], np.arange(len(region)))
    return Answered(region, numbers[:, 0], queries=len(region))
