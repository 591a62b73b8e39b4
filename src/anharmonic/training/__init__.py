"""What joins a training loop: attacks, training under attack, penalties, scorers, hooks.

Importing this imports no framework; using a part of it does.
"""

from anharmonic.training.attacks import Attack, accuracy, attack_distance, correct, robust_accuracy
from anharmonic.training.logs import GammaLog, lightning_callback
from anharmonic.training.loops import Epoch, train
from anharmonic.training.networks import lenet5, stacked
from anharmonic.training.objectives import Adversarial, Batch, plain, spade_radii
from anharmonic.training.penalties import Penalised, gamma_penalty
from anharmonic.training.selection import GammaScorer, gamma_scorer, steadiest_within_one_error

__all__ = [
    "Adversarial",
    "Attack",
    "Batch",
    "Epoch",
    "GammaLog",
    "GammaScorer",
    "Penalised",
    "accuracy",
    "attack_distance",
    "correct",
    "gamma_penalty",
    "gamma_scorer",
    "lenet5",
    "lightning_callback",
    "plain",
    "robust_accuracy",
    "spade_radii",
    "stacked",
    "steadiest_within_one_error",
    "train",
]
