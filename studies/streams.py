"""The studies' own random streams: one register per study, as each is a run of its own."""

from __future__ import annotations

from enum import IntEnum, unique

__all__ = [
    "DimensionStream",
    "ExplainableStream",
    "FraudStream",
    "ImageStream",
    "LanguageStudyStream",
    "OverDataStream",
    "OverfittingStream",
    "PaperStream",
    "SpadeStream",
    "TablesStream",
]


@unique
class PaperStream(IntEnum):
    """Functions, boundary, radius, Dirichlet and electricity."""

    FUNCTION_POINTS = 40
    COVERAGE = 41
    BOX_POINTS = 42
    RADIUS_NOISE = 43
    DIRICHLET_POINTS = 44
    ELECTRICITY = 75


@unique
class OverfittingStream(IntEnum):
    """Gamma against the true gap."""

    NOISY_LABELS = 31
    MEASURED_POINTS = 32
    RANDOM_STEPS = 33


@unique
class ImageStream(IntEnum):
    """Decisions about photos."""

    PHOTO_ORDER = 41
    PHOTO_BOOTSTRAP = 43
    NESTED_FOLDS = 44
    MOVED_PHOTOS = 45
    HALVES = 46


@unique
class SpadeStream(IntEnum):
    """SPADE-guided training and CLEVER."""

    TRAINING_ARMS = 31
    CHANCE_SAMPLE = 41
    TRAINING_COSTS = 43
    RANDOM_EDGES = 44
    THEORY_EDGES = 45
    THEORY_POINTS = 46
    THEORY_DIRECTIONS = 47
    CLEVER_SAMPLE = 48


@unique
class LanguageStudyStream(IntEnum):
    """Answers of language models."""

    QUESTION_ORDER = 81
    PROMPT_ORDER = 82
    QUESTION_BOOTSTRAP = 83
    ABLATION_SAMPLE = 84
    CHOICE_HALVES = 85
    ENSEMBLE_FOLDS = 86
    ENSEMBLE_BOOTSTRAP = 87
    MADE_QUESTIONS = 88
    ASCENT_QUESTIONS = 89


@unique
class OverDataStream(IntEnum):
    """What the study of gamma over the data draws."""

    SPLIT = 91
    FLIPS = 92
    MEASURED_POINTS = 93
    FOLDS = 94
    SET_BOOTSTRAP = 95


@unique
class TablesStream(IntEnum):
    """What the study of mixed tables draws."""

    SPLIT = 101
    MEASURED_POINTS = 102
    SET_BOOTSTRAP = 103
    REMEASURED = 104


@unique
class ExplainableStream(IntEnum):
    """What the study of explanations draws."""

    ROWS = 121
    DRAWS = 122
    SET_BOOTSTRAP = 123


@unique
class FraudStream(IntEnum):
    """What the study of rare positives draws."""

    SPLIT = 131
    POINTS = 132
    SET_BOOTSTRAP = 133


@unique
class DimensionStream(IntEnum):
    """What the study of weakness against dimension draws."""

    NOISE = 141
    DIRECTIONS = 142
