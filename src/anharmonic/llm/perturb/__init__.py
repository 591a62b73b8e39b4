"""The ball of a language model: small changes of a prompt, and how even they are.

Each is one function `(prompt, rng) -> prompt`; `names()` lists them, other packages' included.
"""

from anharmonic.llm.perturb.changes import (
    KINDS,
    PAPER,
    Change,
    Kind,
    Perturbed,
    case,
    control,
    control_nul,
    named,
    names,
    perturbed,
    resample,
    settled,
    typos,
    unicode,
    whitespace,
    zero_width,
)
from anharmonic.llm.perturb.evenness import Isotropy, isotropy
from anharmonic.llm.perturb.words import synonyms

__all__ = [
    "KINDS",
    "PAPER",
    "Change",
    "Isotropy",
    "Kind",
    "Perturbed",
    "case",
    "control",
    "control_nul",
    "isotropy",
    "named",
    "names",
    "perturbed",
    "resample",
    "settled",
    "synonyms",
    "typos",
    "unicode",
    "whitespace",
    "zero_width",
]
