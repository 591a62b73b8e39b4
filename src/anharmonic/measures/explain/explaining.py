"""`explain`: one point, what its neighbours say, which features bend, what would change it."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np

from anharmonic import models
from anharmonic._core.arrays import to_numpy64
from anharmonic._core.estimate import Estimate
from anharmonic._core.margins import by_class, decides, labels_of
from anharmonic.measures.explain.counterfactuals import nearest_counterfactual, value_at
from anharmonic.measures.explain.result import Explanation
from anharmonic.measures.explain.rows import one_row
from anharmonic.measures.explain.shares import contributions
from anharmonic.measures.explain.supporting import support_in_reference
from anharmonic.measures.explain.switches import Switch, find_switches
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.search import Climb, StepArguments, adversarial_search, prepare
from anharmonic.measures.search.step_rule import StepSettings
from anharmonic.measures.setup.batching import answers
from anharmonic.measures.setup.settling import SetupArguments, takes_arguments_of
from anharmonic.measures.setup.sphere import rows_on_device

__all__ = ["explain"]


@takes_arguments_of(adversarial_search, StepArguments)
def explain(
    model: object,
    point: object,
    *,
    steps: int = 50,
    climb: Climb = "margin",
    counterfactual: bool = True,
    limit: int = 100_000,
    supporters: int = 2000,
    **arguments: Unpack[StepArguments],
) -> Explanation:
    """What a point's neighbours say, which features bend the model there, what would change it.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    point
        One row: (n,), (1, …), a table of one row, a row of a table (a pandas Series), a
        dictionary of names and values, or a text. Its scale and radius come from the
        `reference` data, or from `scale` and `radius`.
    steps, climb
        The most steps of the search for another decision, and where they go: as in
        `adversarial_search`.
    counterfactual
        Whether to look for the nearest other decision: what the search reaches, brought closer
        afterwards.
    limit
        Second differences along all n features cost 2n+1 queries and are left out beyond this.
    supporters
        The most rows of the `reference` that are asked for what holds the answer up, one query
        each, drawn at random where there are more; 0 leaves that out.
    arguments
        As in `adversarial_search`; a `grid` holds for the counterfactual only. A `radius` of
        "auto" is a whole distance between nearest neighbours here.

    Examples
    --------
    >>> bowl = lambda x: x[:, 0] ** 2 - 4 * x[:, 1] ** 2
    >>> explanation = explain(bowl, np.array([1.0, 2.0]), radius=0.1, scale=None)
    >>> print(explanation.deviation, explanation.features(1)[0][0])
    0.015 ± 0 1
    """
    region = one_row(point, arguments.get("reference"))
    adapted = models.as_model(model, output=arguments.get("output"))
    # Whatever follows is about the same outputs: the adapted model gives no others.
    arguments = arguments | {"output": None}
    chooser, settings = prepare(adapted, region, climb, **arguments)
    moving, kind = chooser.caller.region, settings.kind
    here = answers(
        chooser.caller, rows_on_device(chooser.caller, np.array([0]))[:, None], np.array([0])
    )
    decided = decides(here.shape[-1], kind)
    settled: SetupArguments = {
        "radius": settings.radius,
        "scale": settings.scale,
        "bounds": settings.bounds,
        "seed": settings.seed,
        "batch_size": arguments.get("batch_size"),
    }
    scores = gamma(adapted, moving, reduction="predicted", rotations=4, **settled)
    deviation = Estimate(float(scores.signed[0]), float(scores.errors[0]))
    queries = 1 + scores.queries
    shares = None
    if 2 * moving.dimension + 1 <= limit:
        shares = contributions(adapted, moving, reduction="predicted", limit=limit, **settled)
        queries += shares.queries
        shares = replace(shares, deviations=np.array([deviation.value]))
    other = None
    if decided and counterfactual:
        other, spent = nearest_counterfactual(
            adapted, region, steps=steps, climb=climb, **arguments
        )
        queries += spent
    output = float(scores.outputs[0])
    law = moving.neighbourhood
    switches: tuple[Switch, ...] = ()
    if law is not None and decided:
        switches, spent = find_switches(chooser, settings)
        queries += spent
    rest = support_in_reference(adapted, region, arguments, supporters)
    queries += 0 if rest is None else rest.queries
    values = to_numpy64(moving.values)[0]
    return Explanation(
        names=moving.columns,
        values=values,
        cells=()
        if law is None
        else tuple(
            value_at(law, column, code, moving) for column, code in enumerate(values.tolist())
        ),
        switches=switches,
        support=rest,
        shape=moving.shape,
        label=_name(int(labels_of(by_class(here, kind))[0, 0]), settings) if decided else None,
        output=output,
        around=Estimate(output - deviation.value, deviation.error),
        deviation=deviation,
        radius=settings.radius,
        contributions=shares,
        counterfactual=other,
        queries=queries,
        settings=settings.with_facts(steps=steps),
    )


def _name(label: int, settings: StepSettings) -> str:
    """A class's name, or its number where it has none."""
    classes = settings.classes
    return str(classes[label]) if classes and label < len(classes) else str(label)
