"""Settings of gamma of language models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anharmonic._core.settings import Settings

__all__ = ["LanguageSettings"]


@dataclass(frozen=True, kw_only=True)
class LanguageSettings(Settings):
    """How answers were asked for and compared with each other.

    Parameters
    ----------
    perturb, count, repeats
        How prompts were changed, how many other answers there are, and how often the same
        prompt was asked again.
    unit
        Of gamma: "sqrt1mcos" or "angle".
    parameters, resample_temperature
        How the model was to answer, and at which temperature where it was asked again.
    stopped
        What ended the run early, such as "budget".
    steps
        Of a search, the most steps.
    """

    perturb: str = ""
    count: int = 0
    repeats: int = 0
    unit: str = "sqrt1mcos"
    parameters: Mapping[str, object] = field(default_factory=dict)
    resample_temperature: float = 1.0
    stopped: str | None = None
    steps: int = 0
