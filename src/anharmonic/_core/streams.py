"""The registers of random streams: every use of randomness has a number of its own.

Two uses with one number and one seed would draw the same numbers. Whatever can meet in one run is
in one register, where a number occurs once. It never changes its meaning, because results that
were published name their seed.
"""

from __future__ import annotations

from enum import IntEnum, unique

__all__ = ["LanguageStream", "RowStream", "Stream", "TrainingStream"]


@unique
class RowStream(IntEnum):
    """What is drawn for each row and turn, by its address: (seed, stream, turn, row, position)."""

    NORMAL_LENGTH = 1
    NORMAL_ANGLE = 2
    SIGN = 3
    PHASE = 4
    INTEGER = 5
    UNIFORM = 7
    TABLE = 8
    TIES = 9


@unique
class Stream(IntEnum):
    """What measures, pictures and monitors draw once per run, on the host."""

    ROTATION = 6
    HULL = 7
    NEAREST_DISTANCE = 8
    PILOT = 9
    PROJECTION_SAMPLE = 11
    OBSERVED_WALKS = 12
    REFERENCE_SAMPLE = 15
    RECALL_SAMPLE = 21
    EIGENVECTOR_START = 22
    EIGENVECTOR_FRESH = 23
    SPADE_BLOCKS = 24
    DISTORTION_CONTROL = 25
    DISTORTION_PAIRS = 26
    AGGREGATES = 27
    ROW_KEYS = 28
    CLUSTER_CENTRES = 29
    BOUND_HALVES = 70
    BET_ORDER = 71
    SCORER_PILOT = 72
    CULPRITS_SAMPLE = 73
    DEPENDENCE = 74
    MEMORISING_SAMPLE = 76
    MEMORISING_ORDER = 77
    ROW_ORDER = 78
    HALF_SAMPLES = 79
    FITTED_ROWS = 80
    TREE_SEEDS = 81
    TABLE_ROWS = 82
    TABLE_CALIBRATION = 83
    TEXT_EDIT = 84
    PLAUSIBILITY = 85
    RANK_TIES = 86
    SOURCE_ROWS = 87
    SOURCE_SAMPLE = 88
    LABEL_CHOICE = 90
    SMOOTHED_ROWS = 95
    FIX_FOLDS = 96
    FIX_HALVES = 97
    FIX_DENSITY = 98
    FIX_STEADY_ROWS = 99
    FIX_RANDOM_LABELS = 100
    LABEL_FOREST = 101
    SUPPORTING_ROWS = 103
    LABEL_ROWS = 104
    AUDIT_REFERENCE = 110
    AUDIT_NEW = 111
    AUDIT_FRAGILE = 112
    AUDIT_LEANING = 113
    AUDIT_HALVES = 114
    AUDIT_FOLDS = 115
    AUDIT_LEVELS = 116


@unique
class TrainingStream(IntEnum):
    """What `training` draws."""

    SCORER_SAMPLE = 10
    BATCH_ORDER = 21


@unique
class LanguageStream(IntEnum):
    """What `llm` draws: prompts and seeds are hashed with the prompt and the turn."""

    PERTURBATION = 8
    SAMPLING_SEED = 9
    BAND_BOOTSTRAP = 10
    RATING_BOOTSTRAP = 11
    AGREEMENT_BOOTSTRAP = 12
    CHAT_SHARE = 13
    MEAN_ANGLE = 14
