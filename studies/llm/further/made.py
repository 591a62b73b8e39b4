"""Questions made for the purpose, with known answers: sums, capitals, functions of Python.

Sums and products of small numbers show mistakes that are made every time; capitals are facts that
are known or not; functions of Python's own modules, by the first sentence of their documentation,
stand for a programming set; titles of books that nobody wrote have no right answer at all.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

import numpy as np

from studies.llm.questions import Question

__all__ = ["MADE", "made_questions"]

MADE = ("sums", "products", "capitals", "Python", "books that do not exist")
EACH = 40
MODULES = ("math", "os.path", "random", "statistics", "itertools", "shutil", "textwrap", "bisect")
CAPITALS = {
    "France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Germany": "Berlin", "Japan": "Tokyo",
    "Portugal": "Lisbon", "Greece": "Athens", "Austria": "Vienna", "Poland": "Warsaw",
    "Norway": "Oslo", "Sweden": "Stockholm", "Finland": "Helsinki", "Denmark": "Copenhagen",
    "Ireland": "Dublin", "Hungary": "Budapest", "Egypt": "Cairo", "Kenya": "Nairobi",
    "Peru": "Lima", "Chile": "Santiago", "Cuba": "Havana", "Canada": "Ottawa",
    "Australia": "Canberra", "Turkey": "Ankara", "Brazil": "Brasilia", "Russia": "Moscow",
    "China": "Beijing", "South Korea": "Seoul", "Thailand": "Bangkok", "Iran": "Tehran",
    "Iraq": "Baghdad", "Jordan": "Amman", "Morocco": "Rabat", "Nigeria": "Abuja",
    "Ghana": "Accra", "Ethiopia": "Addis Ababa", "Nepal": "Kathmandu", "Mongolia": "Ulaanbaatar",
    "Iceland": "Reykjavik", "Bulgaria": "Sofia", "Romania": "Bucharest",
}  # fmt: skip
TITLES = ("The {} of {}", "A {} in {}", "The Last {} of {}", "{} and the {}")
THINGS = ("Lantern", "Orchard", "Glass", "Sparrow", "Ferry", "Winter", "Salt", "Mirror", "Quarry")
PLACES = ("Vellmore", "Tarn", "Ostrey", "Calder", "Brisk", "Nemory", "Haldon", "Rooksby", "Ash")


def made_questions(seed: int = 0, each: int = EACH) -> list[Question]:
    """`each` questions of every kind at most, in the order of `MADE`."""
    random = np.random.default_rng(seed)
    made = (_sums(random), _products(random), _capitals(), _functions(), _books(random))
    found = []
    for kind, questions in zip(MADE, made, strict=True):
        chosen = list(dict.fromkeys(questions))
        order = random.permutation(len(chosen))[:each].tolist()
        if kind == MADE[0] and 0 not in order:
            # The paper's own question is always asked.
            order[-1] = 0
        found += [Question(kind, *chosen[at]) for at in sorted(order)]
    return found


Made = Iterator[tuple[str, tuple[str, ...]]]


def _sums(random: np.random.Generator) -> Made:
    yield "What is 2+2?", ("4", "four")
    for _ in range(3 * EACH):
        one, other = (int(number) for number in random.integers(2, 60, size=2))
        yield f"What is {one} + {other}?", (str(one + other),)


def _products(random: np.random.Generator) -> Made:
    for _ in range(3 * EACH):
        one, other = (int(number) for number in random.integers(2, 13, size=2))
        yield f"What is {one} times {other}?", (str(one * other),)


def _capitals() -> Made:
    for country, capital in CAPITALS.items():
        yield f"What is the capital of {country}?", (capital,)


def _functions() -> Made:
    """The first sentence of a function's documentation, without its own name in it."""
    for module in MODULES:
        for name, function in sorted(vars(importlib.import_module(module)).items()):
            text = inspect.getdoc(function) if callable(function) else None
            if not text or name.startswith("_") or not re.fullmatch(r"[a-z_0-9]+", name):
                continue
            sentence = re.split(r"(?<=\.)\s|\n\n", text)[0].replace("\n", " ").strip()
            if (
                name in f"{module} {sentence.lower()}"
                or not 25 <= len(sentence) <= 140
                or "(" in sentence
            ):
                continue
            yield f"Which function of Python's module {module} does this: {sentence}", (name,)


def _books(random: np.random.Generator) -> Made:
    for _ in range(3 * EACH):
        title = str(random.choice(TITLES)).format(random.choice(THINGS), random.choice(PLACES))
        yield f"Who wrote the novel {title}?", ()
