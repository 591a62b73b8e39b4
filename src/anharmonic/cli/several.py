"""What commands on several models share: what is behind their worst points."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anharmonic._core.protocols import Model
    from anharmonic.measures.compare import Comparison
    from anharmonic.measures.explain import Contributions
    from anharmonic.regions import Region

__all__ = ["explain_worst"]

WORST = 5
MOST_FEATURES = 1000
"""With more features than this, explaining a few points costs more than measuring many."""


def explain_worst(
    models: dict[str, Model], region: Region, compared: Comparison, reference: object = None
) -> dict[str, Contributions]:
    """What is behind the worst points of every model, where that can be said at little cost."""
    from anharmonic._core.reductions import is_additive
    from anharmonic.measures.explain import worst_contributions

    first = next(iter(compared.scores.values())).settings
    # Where nothing moves, no feature has a share in a deviation.
    if not first.moves or first.dimension > MOST_FEATURES or not is_additive(first.reduction):
        return {}
    return {
        name: worst_contributions(model, region, compared.scores[name], WORST, reference=reference)
        for name, model in models.items()
    }
