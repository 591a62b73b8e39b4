"""A reader's test without people: every sentence names the thing, its number, and the next step."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from anharmonic.auditing.checks import CHECKS
from anharmonic.auditing.glossary import GLOSSARY, used_in
from tests.audit.cases import answers_of_people, context_of, numbers, people, smooth

DOCUMENT = Path(__file__).parents[2] / "docs" / "glossary.md"
ROWS, NEW = numbers(500), numbers(300, seed=1)
TRUTH = (ROWS[:, 0] + 0.8 * ROWS[:, 1] > 0).astype(int)
NOISY = np.where(np.random.default_rng(3).random(500) < 0.15, 1 - TRUTH, TRUTH)
FIRST_WORDS = {
    *("Catch", "Compare", "Drop", "Find", "Fit", "Have", "Leave", "Look", "Scale", "Switch"),
    *("Try",),
}
"""What next steps begin with: something to do."""
JARGON = (
    *("gamma", "yardstick", "laplacian", "ball", "simplex", "spade", "clever", "sway", "regret"),
    *("judge", "calibrated", "p-value", "hypothesis", "null", "bonferroni", "holm", "quantile"),
    *("forest", "boosted", "linear model", "nearest row", "fully grown tree", "reference"),
    *("cross-validation", "drift", "dead region", "float16", "bfloat16", "neighbour", "flip"),
    *("new rows", "surest", "loses", "bends", "decision", "suspect", "query", "copies", "epsilon"),
    *("kolmogorov", "permutation", "encoding", "one-hot", "logit", "softmax", "residual"),
)
"""Our own terms and those of statistics: in a sentence each must be one that is explained."""


def planted():
    """Findings of every kind, from rows and models that have the fault."""
    random = np.random.default_rng(0)

    def fails(points):
        if (points[:, 0] > 1.5).any():
            raise ValueError("too much of it")
        return smooth(points)

    def varies(points):
        return smooth(points) + 0.01 * random.normal(size=(len(points), 2))

    def halved(points):
        return smooth(points).astype(np.float16).astype(float)

    def dead(points):
        answers = smooth(points)
        answers[np.abs(points[:, 2]) < 0.4] = [0.4, 0.6]
        return answers

    def odd(points):
        return smooth(np.where(np.asarray(points) % 2 == 1, 1.0, -1.0))

    def parity(points):
        cells = (np.abs(np.asarray(points)) * 7).astype(int)
        return smooth(np.where(cells.sum(axis=1, keepdims=True) % 2, 1.0, -1.0))

    yield from _found(context_of(fails, ROWS, NEW), "failures")
    yield from _found(context_of(varies, ROWS), "repeats")
    yield from _found(context_of(odd, np.round(1e8 * ROWS), np.round(1e8 * NEW)), "repeats")
    yield from _found(context_of(halved, ROWS), "rounding")
    yield from _found(context_of(dead, ROWS, NEW, labels=TRUTH), "dead region")
    frame = people(600)[["age", "town", "income"]]
    new = frame[400:].reset_index(drop=True)
    new.loc[:20, "town"] = "Rom"
    new.loc[:60, "income"] = np.nan
    new["age"] += 40
    table = context_of(answers_of_people, frame[:400], new)
    yield from _found(table, "unseen", "range", "drift")
    leaked = np.column_stack([ROWS, TRUTH])
    leaky = LogisticRegression().fit(leaked, TRUTH)
    yield from _found(context_of(leaky, leaked, labels=TRUTH), "leak")
    number = 3 * ROWS[:, 0]
    swapped = np.where(random.random(500) < 0.15, random.permutation(number), number)
    fitted = Ridge().fit(ROWS, swapped)
    yield from _found(context_of(fitted, ROWS, labels=swapped), "labels")
    copied, copies = ROWS.copy(), NEW.copy()
    copied[-50:], copies[:60] = copied[:50], copied[:60]
    yield from _found(context_of(smooth, copied, NEW), "duplicates")
    yield from _found(context_of(smooth, ROWS, copies), "duplicates")
    tree = DecisionTreeClassifier(random_state=0).fit(ROWS, NOISY)
    truth = (NEW[:, 0] + 0.8 * NEW[:, 1] > 0).astype(int)
    memorised = context_of(tree, ROWS, NEW, labels=NOISY, new_labels=truth, budget=None)
    yield from _found(memorised, "memorising", "labels", "accuracy", "segments", "fragile")
    rough = context_of(parity, ROWS, NEW, labels=TRUTH, new_labels=truth, budget=None)
    yield from _found(rough, "segments", "fragile", "accuracy")


def _found(context, *checks):
    for name in checks:
        yield from CHECKS[name](context).candidates


FINDINGS = list(planted())


def test_every_check_that_can_find_something_is_tried():
    tried = {finding.check for finding in FINDINGS}
    described = {"leaning", "stretching", "attacks"}
    assert tried == set(CHECKS) - described


def title(finding):
    return f"{finding.check} {finding.name} {finding.subject}"


@pytest.mark.parametrize("finding", FINDINGS, ids=title)
def test_a_finding_says_what_how_much_beside_what_and_what_next(finding):
    # The thing itself, by name.
    core = re.sub(r"^the ", "", finding.subject)
    assert core.lower() in finding.what.lower()
    # The number with its interval, as it is written.
    assert str(finding.measured) in finding.what
    assert np.isfinite(finding.measured[:3]).all()
    assert finding.measured.low <= finding.measured.value <= finding.measured.high
    # What it is held against: a sentence of its own that says more than the first.
    assert len(finding.comparison.split()) >= 6
    assert finding.comparison not in finding.what
    # What to do.
    assert finding.next_step.split()[0] in FIRST_WORDS
    for text in (finding.what, finding.comparison, finding.next_step):
        assert text[0].isupper()
        assert text.endswith(".")
        assert "  " not in text
        assert "nan" not in text.split()
        assert "inf" not in re.findall(r"[a-z]+", text)
    assert 0 <= finding.chance <= 1


@pytest.mark.parametrize("finding", FINDINGS, ids=title)
def test_no_word_of_ours_is_left_unexplained(finding):
    text = f"{finding.name}. {finding.what} {finding.comparison} {finding.next_step}".lower()
    # What a user called something, and what a model said, is not ours to explain.
    ours = re.sub(r"column '[^']*'|\(?'\w+'\)?|too much of it", "", text)
    explained = "\n".join(used_in([ours]))
    for word in JARGON:
        if re.search(rf"\b{re.escape(word)}", ours):
            assert used_in([word]), f"{word} is in no glossary"
            assert set(used_in([word])) & set(explained.split("\n"))


def test_the_glossary_is_the_document():
    text = DOCUMENT.read_text()
    for word, meaning in GLOSSARY.items():
        assert f"**{word}**" in text, word
        assert meaning in text, word
    assert len(re.findall(r"^- \*\*", text, re.M)) == len(GLOSSARY)


def test_glossary_words_are_found_in_sentences():
    for word in GLOSSARY:
        assert used_in([f"Here is {word}."]), word
