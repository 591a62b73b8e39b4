"""Words of ours in findings and on pages, with what they mean: docs/glossary.md has the same."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["GLOSSARY", "used_in"]

GLOSSARY = {
    "audit": "One run of all checks that fit a model and its data.",
    "bends": (
        "A model bends where its answer differs from the mean of its answers at rows alike; "
        "relative gamma says how much."
    ),
    "boosted model": "Gradient-boosted trees: 60 of 8 leaves, with no tuning.",
    "check": "One question that an audit asks, with its own tests.",
    "chance to flip": (
        "How likely a decision is to change when a row is measured again a little differently: the "
        "share of close neighbours with another decision, drawn towards what all rows have."
    ),
    "CLEVER": "An estimated lower bound on how far an attack must move a row to change its class.",
    "copy": "A row that equals another in every column that is compared.",
    "cross-validation": (
        "Each row is answered by a model that was fitted without it: in five parts, copies in one."
    ),
    "dead region": "Rows that all get one and the same answer although something should vary.",
    "decision": "The class with the largest answer.",
    "drift": "Two sides' rows are distributed differently.",
    "finding": "Something wrong that chance does not explain at the page's rate.",
    "forest": "A random forest of 60 trees with 3 rows per leaf at least.",
    "fully grown tree": "A decision tree that is split until it knows every training label.",
    "gamma": (
        "How far an answer is from the mean of the answers around it; over the data, from what the "
        "answers at other rows say."
    ),
    "half precision": "Numbers of 16 bits (float16, bfloat16): three or two significant digits.",
    "interval": "Where the number lies with 95% confidence.",
    "linear model": "Logistic regression for classes, ridge regression for numbers.",
    "loses": (
        "The mean loss: the share of wrong classes, or the mean squared error. Where new rows have "
        "no labels it is expected, not counted: by the best yardstick's calibrated answers."
    ),
    "neighbour": "A made row close to a real one: every column moves a little, by its kind.",
    "nearest row": "The label of the most similar reference row.",
    "new rows": "The rows that the model meets now: --data, or points.",
    "query": "One row that the model is asked for.",
    "reference": "Rows to compare with, --reference: for an audit or a measure the training rows, "
    "for a monitor rows of a quiet time that the model was not trained on.",
    "relative gamma": (
        "Gamma over the data in units of the answers' spread: 0 where each answer is what other "
        "rows' answers say, about 1 where it cannot be told from them."
    ),
    "severity": "high: act before using the model; medium: look at it soon; low: good to know.",
    "SPADE": "A score of how far a model pulls neighbouring rows apart, to be compared only.",
    "surest": "Where a model's largest probability is largest.",
    "suspect": "A row whose label or answer other rows contradict.",
    "yardstick": (
        "A quick model fitted to the reference's labels, to hold a number against: a linear model, "
        "a tree of depth 3, a boosted model, a forest, a fully grown tree, the nearest row."
    ),
}
"""By word, its meaning in a sentence or two."""

STEMS = {
    "bends": r"bend(s|ing)?",
    "boosted model": r"boosted models?",
    "chance to flip": r"flips?|chance of \d+% or more",
    "copy": r"cop(y|ies)",
    "cross-validation": r"cross-validat(ion|ed)",
    "dead region": r"dead regions?|one and the same answer",
    "decision": r"decisions?|decided",
    "drift": r"drift(s|ed)?",
    "half precision": r"half precision|b?float16",
    "loses": r"loses?|loss",
    "neighbour": r"neighbours?",
    "nearest row": r"nearest row('s label)?",
    "query": r"quer(y|ies)",
    "suspect": r"suspects?",
    "surest": r"surest|surer",
    "yardstick": r"yardsticks?",
}
"""How words look in sentences, where that is not just the word."""


def used_in(texts: Iterable[str]) -> list[str]:
    """The words of ours that occur in some texts, in the order of the alphabet.

    >>> used_in(["A forest bends less.", "new rows drift"])
    ['bends', 'drift', 'forest', 'new rows']
    """
    whole = "\n".join(texts)
    return [
        word
        for word in GLOSSARY
        if re.search(rf"\b({STEMS.get(word, re.escape(word) + 's?')})\b", whole, re.I)
    ]
