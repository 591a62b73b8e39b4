"""Model cards: what is there stays, byte for byte; what we add can be read, and added again."""

from __future__ import annotations

import json
import socket
import sys

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard

import anharmonic as ah
from anharmonic.errors import InputError, MissingExtra
from anharmonic.report.card import END, START, add_to_card
from tests.command import run

POINTS = np.random.default_rng(0).normal(size=(60, 3))
FRONT = """---
# who may use it
license:   mit      # really
language: [en, 'de']
tags:
    - "tabular"
    - größe
widget:
- text: >
    folded
    text
---
"""
OTHERS = """---
license: apache-2.0
model-index:
- name: theirs
  extra: kept
  results:
  - task: {type: image-classification, name: Images}
    dataset: {type: beans, name: Beans, split: test}
    metrics:
    - {type: accuracy, value: 0.91, verified: true, verifyToken: abc}
    - {type: gamma, value: 7, args: {of: something else}}
    source: {name: Board, url: 'https://example.org'}
# a remark about the library
library_name: timm
---
# Theirs
"""
BODY = "# Größe 😀\n\nText with trailing spaces   \n\n\n| a | b |\n|---|---|\n"


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("a card needs no network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


@pytest.fixture(scope="module")
def scores():
    return ah.gamma(lambda x: np.sin(x[:, 0]), POINTS)


def results_of(text, name=None):
    front = yaml.safe_load(text.split("---")[1])
    entries = {each["name"]: each["results"] for each in front["model-index"]}
    return entries[name] if name else next(iter(entries.values()))


@pytest.mark.parametrize("front", ["", FRONT, "---\n---\n", "---\nlicense: mit\n---\n"])
@pytest.mark.parametrize("body", [BODY, "# T", "", "\n\n# T\n\n"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_is_there_stays_and_a_second_run_changes_nothing(
    tmp_path, scores, front, body, ending, mark
):
    path = tmp_path / "README.md"
    before = (mark + front + body).replace("\n", ending)
    path.write_bytes(before.encode())
    text = add_to_card(path, {"wine": scores})
    assert path.read_bytes() == text.encode()
    head = (mark + front).replace("\n", ending)
    if front:
        assert text.startswith(head[: -len("---" + ending)])
    assert body.replace("\n", ending) in text
    if "\r\n" in before:
        assert "\n" not in text.replace("\r\n", "")
    assert text.count(START) == text.count(END) == 1
    parsed = ModelCard(text.removeprefix("\ufeff"))
    assert parsed.data.eval_results[0].metric_value == scores.mean
    assert add_to_card(path, {"wine": scores}) == text
    assert path.read_bytes() == text.encode()


def test_the_results_of_others_are_kept(tmp_path, scores):
    path = tmp_path / "README.md"
    path.write_text(OTHERS)
    text = add_to_card(path, {"wine": scores, "beans": scores})
    before, after = yaml.safe_load(OTHERS.split("---")[1]), yaml.safe_load(text.split("---")[1])
    theirs = after["model-index"][0]
    assert (theirs["name"], theirs["extra"]) == ("theirs", "kept")
    assert theirs["results"][0] == before["model-index"][0]["results"][0]
    assert [each["dataset"]["name"] for each in theirs["results"]] == ["Beans", "wine", "beans"]
    assert theirs["results"][1]["task"]["type"] == "image-classification"
    assert "# a remark about the library\nlibrary_name: timm\n---\n# Theirs\n" in text
    assert add_to_card(path, {"wine": scores, "beans": scores}) == text
    only = add_to_card(path, {"wine": scores}, model="ours", task="other")
    assert len(results_of(only, "theirs")) == 1
    assert results_of(only, "ours")[0]["task"] == {"type": "other"}
    assert "beans" not in only.split("anharmonic: start")[1]


def test_the_metadata_hold_the_error_and_the_settings(tmp_path, scores):
    text = add_to_card(tmp_path / "README.md", {"wine": scores})
    metric = results_of(text)[0]["metrics"][0]
    assert (metric["type"], metric["value"]) == ("gamma", scores.mean)
    assert metric["args"]["error"] == scores.error
    assert metric["args"]["queries"] == scores.queries
    for name in ("radius", "ball", "rotations", "seed", "kind", "reduction", "fingerprint"):
        assert metric["args"][name] == getattr(scores.settings, name)


def test_people_see_errors_queries_and_a_command_that_repeats_it(tmp_path, scores):
    text = add_to_card(tmp_path / "README.md", {"wine": scores})
    row = next(line for line in text.splitlines() if line.startswith("| wine |"))
    assert "±" in row
    assert f"{scores.queries:,}" in row
    command = next(line for line in text.splitlines() if line.startswith("anharmonic gamma"))
    (tmp_path / "mine.py").write_text("import numpy as np\ndef f(x): return np.sin(x[:, 0])\n")
    np.save(tmp_path / "points.npy", POINTS)
    words = command.replace("MODEL", "mine:f").replace("DATA", "points.npy").split()
    run(tmp_path, *words[1:])
    np.testing.assert_array_equal(ah.Scores.load(tmp_path / "wine.parquet").values, scores.values)


def test_odd_names_break_neither_table_nor_yaml(tmp_path, scores):
    name = "a|b <!-- anharmonic: end --> `x`\n'y': größe 😀"
    path = tmp_path / "README.md"
    text = add_to_card(path, {name: scores}, model="<b>: #1")
    assert results_of(text)[0]["dataset"]["name"] == name
    row = next(line for line in text.splitlines() if line.startswith("| a"))
    assert row.replace("\\|", "").count("|") == 8
    assert add_to_card(path, {name: scores}) == text


def test_a_card_object_is_updated(scores):
    card = ModelCard(FRONT + BODY)
    text = add_to_card(card, {"wine": scores})
    assert START in card.text
    assert card.data.eval_results[0].metric_type == "gamma"
    assert card.data.license == "mit"
    assert BODY in text


def test_another_file_leaves_the_card_alone(tmp_path, scores):
    (tmp_path / "README.md").write_text(BODY)
    add_to_card(tmp_path / "README.md", {"wine": scores}, out=tmp_path / "new.md")
    assert (tmp_path / "README.md").read_text() == BODY
    assert START in (tmp_path / "new.md").read_text()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"---\na: [1\n---\n", "no YAML"),
        (b"---\n- a\n---\n", "no list of keys"),
        (b"---\n{a: 1}\n---\n", "in braces"),
        (b"---\nmodel-index: 3\n---\n", "no list of models"),
        (f"# T\n{END}\n".encode(), "not the other"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_a_card_that_cannot_be_mended_is_left_alone(tmp_path, scores, content, words):
    path = tmp_path / "README.md"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        add_to_card(path, {"wine": scores})
    assert path.read_bytes() == content


def test_there_must_be_finished_scores(tmp_path, scores, monkeypatch):
    with pytest.raises(InputError, match="no scores"):
        add_to_card(tmp_path / "README.md", {})
    one = ah.gamma(lambda x: np.sin(x[:, 0]), POINTS[:1], scale=None, radius=0.1)
    text = add_to_card(tmp_path / "README.md", {"one": one})
    assert "error" not in results_of(text)[0]["metrics"][0]["args"]
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"anharmonic\[card\]"):
        add_to_card(tmp_path / "other.md", {"wine": scores})
    assert not (tmp_path / "other.md").exists()


def test_from_a_shell(tmp_path, scores):
    scores.save(tmp_path / "wine.parquet")
    done = run(tmp_path, "card", "README.md", "wine=wine.parquet", "--model", "m", "--json")
    assert json.loads(done.stdout)["datasets"]["wine"]["mean"] == scores.mean
    text = (tmp_path / "README.md").read_text()
    run(tmp_path, "card", "README.md", "wine=wine.parquet", "more=wine.parquet", "--out", "b.md")
    assert (tmp_path / "README.md").read_text() == text
    assert "| more |" in (tmp_path / "b.md").read_text()
    assert "a name" in run(tmp_path, "card", "README.md", "wine.parquet", code=1).stderr
    missing = run(tmp_path, "card", "README.md", "wine=none.parquet", code=1).stderr
    assert "there is no file none.parquet" in missing
