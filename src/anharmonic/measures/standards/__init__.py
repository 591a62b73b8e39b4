"""Other standards than harmonic to hold a model against: a file each, and one measure for all."""

from anharmonic.measures.standards.affine import Affine
from anharmonic.measures.standards.biharmonic import Biharmonic
from anharmonic.measures.standards.convex import Convex
from anharmonic.measures.standards.harmonic import Harmonic
from anharmonic.measures.standards.lipschitz import Lipschitz
from anharmonic.measures.standards.measuring import deviation
from anharmonic.measures.standards.monotone import Monotone
from anharmonic.measures.standards.standard import Around, Standard, register_standard, standards

__all__ = [
    "Affine",
    "Around",
    "Biharmonic",
    "Convex",
    "Harmonic",
    "Lipschitz",
    "Monotone",
    "Standard",
    "deviation",
    "register_standard",
    "standards",
]
