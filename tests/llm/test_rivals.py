"""The rivals of gamma: exact answers."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anharmonic.errors import PointsError
from anharmonic.llm import rivals

SOME = ["Rome is the capital", "Rome is the capital", "It is Rome", "Paris"]


def vectors_of(answers):
    letters = np.array([[1.0, *(text.lower().count(each) for each in "aeiou")] for text in answers])
    return letters / np.linalg.norm(letters, axis=1, keepdims=True)


@pytest.mark.parametrize("name", [name for name in rivals.RIVALS if name != "length"])
def test_answers_that_agree_are_doubted_least(name):
    rival = rivals.RIVALS[name]
    alike = ["Rome"] * 4
    assert rival(alike, vectors_of(alike)) == pytest.approx(0, abs=1e-12)
    assert rival(SOME, vectors_of(SOME)) > 0.1


@pytest.mark.parametrize(
    "rival", [rivals.disagreement, rivals.lexical, rivals.pairwise, rivals.selfcheck]
)
def test_a_single_answer_is_refused(rival):
    with pytest.raises(PointsError, match="others"):
        rival(["Rome"], np.ones((1, 2)))


def test_the_order_of_the_others_does_not_matter():
    turned = [SOME[0], *SOME[:0:-1]]
    for rival in rivals.RIVALS.values():
        assert rival(SOME, vectors_of(SOME)) == pytest.approx(rival(turned, vectors_of(turned)))


def test_pairwise_cosine_by_hand():
    angles = np.radians([0, 30, 90])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    cosines = np.cos(np.radians([30, 60, 90]))
    assert rivals.pairwise(["a", "b", "c"], vectors) == pytest.approx(1 - cosines.mean())


def test_semantic_entropy_counts_meanings_not_wordings():
    vectors = np.eye(4)[[0, 0, 1, 2]]
    shares = np.array([2, 1, 1]) / 4
    expected = -np.sum(shares * np.log(shares))
    assert rivals.semantic_entropy(list("abcd"), vectors) == pytest.approx(expected)
    assert rivals.semantic_entropy(list("abcd"), vectors, same=1.1) == 0


def test_semantic_entropy_asks_both_ways_when_given_a_model():
    def entails(one: str, two: str) -> bool:
        return len(one) >= len(two)

    vectors = np.eye(3)
    found = rivals.semantic_entropy(["aa", "bb", "c"], vectors, entails=entails)
    assert found == pytest.approx(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))


def test_selfcheck_by_hand_and_with_a_model():
    answers = ["Rome Italy", "Rome", "Oslo"]
    expected = (np.log(4 / 2) + np.log(4 / 1)) / 2
    assert rivals.selfcheck(answers, np.ones((3, 1))) == pytest.approx(expected)
    judged = rivals.selfcheck(answers, np.ones((3, 1)), contradicts=lambda a, b: float(b == "Oslo"))
    assert judged == 0.5


def test_rouge_by_hand():
    # The longest common subsequence is "the cat the mat".
    one, two = "the cat sat on the mat", "the cat is near the mat"
    assert rivals.lexical([one, two], np.ones((2, 1))) == pytest.approx(1 - 8 / 12)


@given(st.lists(st.sampled_from("abc"), max_size=9), st.lists(st.sampled_from("abc"), max_size=9))
def test_the_common_subsequence_is_that_of_the_definition(one, two):
    @lru_cache
    def slow(i: int, j: int) -> int:
        if not i or not j:
            return 0
        if one[i - 1] == two[j - 1]:
            return slow(i - 1, j - 1) + 1
        return max(slow(i - 1, j), slow(i, j - 1))

    assert rivals._common(one, two) == slow(len(one), len(two))
    matched = sum(
        block.size for block in SequenceMatcher(None, one, two, False).get_matching_blocks()
    )
    assert rivals._common(one, two) >= matched
