"""Measure how robust, overfit and explainable any model is, as a black box, without labels.

>>> import anharmonic as ah
>>> import numpy as np
>>> points = np.random.default_rng(0).normal(size=(100, 2))
>>> ah.gamma(lambda x: np.sin(3 * x[:, 0]), points, radius=0.2).queries <= 64 * 100
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anharmonic import (
        balls,
        baselines,
        card,
        errors,
        gate,
        images,
        llm,
        monitor,
        plots,
        regions,
        report,
        spectral,
        stability,
        tracking,
        training,
        workers,
    )
    from anharmonic.ascent import adversarial_search
    from anharmonic.comparison import compare, sweep
    from anharmonic.errors import AnharmonicError
    from anharmonic.explanation import contributions, explain
    from anharmonic.lipschitz import CleverScores, clever
    from anharmonic.meanvalue import gamma
    from anharmonic.models import as_model
    from anharmonic.monitor import Monitor
    from anharmonic.offline import collect, plan
    from anharmonic.repetition import measured_like
    from anharmonic.scores import Scores
    from anharmonic.spectral import SpadeScores, spade
    from anharmonic.stability import GammaMap, nstep_robustness
    from anharmonic.walks import Search

__version__ = "0.1.0"

__all__ = [
    "AnharmonicError",
    "CleverScores",
    "GammaMap",
    "Monitor",
    "Scores",
    "Search",
    "SpadeScores",
    "adversarial_search",
    "as_model",
    "balls",
    "baselines",
    "card",
    "clever",
    "collect",
    "compare",
    "contributions",
    "errors",
    "explain",
    "gamma",
    "gate",
    "images",
    "llm",
    "measured_like",
    "monitor",
    "nstep_robustness",
    "plan",
    "plots",
    "regions",
    "report",
    "spade",
    "spectral",
    "stability",
    "sweep",
    "tracking",
    "training",
    "workers",
]

_HOMES = {
    "AnharmonicError": "errors",
    "CleverScores": "lipschitz",
    "GammaMap": "stability",
    "Monitor": "monitor",
    "Scores": "scores",
    "Search": "walks",
    "SpadeScores": "spectral",
    "adversarial_search": "ascent",
    "as_model": "models",
    "clever": "lipschitz",
    "collect": "offline",
    "compare": "comparison",
    "contributions": "explanation",
    "explain": "explanation",
    "gamma": "meanvalue",
    "measured_like": "repetition",
    "nstep_robustness": "stability",
    "plan": "offline",
    "spade": "spectral",
    "sweep": "comparison",
}
"""The rooms of names that are no rooms themselves."""


def __getattr__(name: str) -> Any:
    """A room is entered when it is first asked for, so that importing the package is quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = import_module(f"{__name__}.{_HOMES.get(name, name)}")
    found = globals()[name] = getattr(room, name) if name in _HOMES else room
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
