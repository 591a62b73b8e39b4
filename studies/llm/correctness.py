"""Which answers are right: by alias where aliases are known, by likeness where they are not."""

from __future__ import annotations

from anharmonic._core.protocols import Floats
from anharmonic.demos.correctness import says_one_of
from anharmonic.llm.types import Embed
from studies.llm.questions import Question

__all__ = ["nearer_to_right", "right"]


def nearer_to_right(answer: Floats, right: Floats, wrong: Floats) -> bool:
    """Whether an answer (D,) is more like some right answer than like any wrong one (N, D).

    A proxy: the embedder judges, and it hears a negation badly.
    """
    return float((right @ answer).max()) > float((wrong @ answer).max())


def right(question: Question, answer: str, embed: Embed) -> bool:
    """By alias; by likeness where the usual wrong answers are known."""
    if not question.wrong:
        return says_one_of(answer, question.right)
    vectors = embed([answer, *question.right, *question.wrong])
    split = 1 + len(question.right)
    return nearer_to_right(vectors[0], vectors[1:split], vectors[split:])
