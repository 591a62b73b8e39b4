"""From finding to fix: what would make a model better, and a model that is smoothed."""

from anharmonic.fixes.certifying import Certified
from anharmonic.fixes.fixing import fix
from anharmonic.fixes.labelling import choose_to_label, uncertain_rows
from anharmonic.fixes.result import KINDS, Fixes, Proposal
from anharmonic.fixes.smoothing import Smoothed, smoothed

__all__ = [
    "KINDS",
    "Certified",
    "Fixes",
    "Proposal",
    "Smoothed",
    "choose_to_label",
    "fix",
    "smoothed",
    "uncertain_rows",
]
