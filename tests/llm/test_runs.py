"""Runs from a shell: resumed after a kill, faults in the summary and the exit code, no secrets."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from anharmonic._core.printable import visible
from anharmonic.cli import app
from anharmonic.errors import AnharmonicError, InputError, SettingsError
from anharmonic.llm.cache import Cache
from anharmonic.llm.questions import Question, read_questions
from anharmonic.llm.records import Record
from anharmonic.llm.runs import RunFile
from anharmonic.llm.summaries import read_run
from anharmonic.llm.types import Answer
from tests.llm.servers import Reply, Server

PROGRAM = Path(sys.executable).with_name("anharmonic")
EMBED = """
import numpy as np
def words(texts):
    marks = ("yes", "no", "paris", "rome", "a", "e", "o")
    return np.array([[1.0, *(text.lower().count(mark) for mark in marks)] for text in texts])
def echo(prompt):
    return "yes " + prompt
"""
KEY = "sk-planted-9f8e7d6c5b"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(EMBED)
    lines = [json.dumps({"id": f"q{n}", "prompt": f"question {n}?"}) for n in range(12)]
    (tmp_path / "questions.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def arguments(server, *more):
    return [
        *("llm", "score", "questions.jsonl", "--model", "m", "--url", server.url),
        *("--out", "run.jsonl", "--embed", "mine:words", "--count", "3"),
        *("--perturb", "control", *more),
    ]


def shell(folder, command, code=0, **environment):
    """In a process of its own, as a user runs it."""
    done = subprocess.run(
        [PROGRAM, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", **environment},
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def here(folder, monkeypatch):
    """In this process, which saves the imports; the same checks."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delitem(sys.modules, "mine", raising=False)

    def invoked(command, code=0, **environment):
        done = CliRunner().invoke(app, command, env=environment)
        known = isinstance(done.exception, AnharmonicError)
        said = SimpleNamespace(
            stdout=done.stdout, stderr=done.stderr + (str(done.exception) if known else "")
        )
        assert (1 if known else done.exit_code) == code, said
        return said

    return invoked


def steady(asked, count):
    prompt = asked["messages"][-1]["content"]
    return Reply("yes" if len(prompt) % 2 else "no", after=0.01)


def test_a_run_from_a_shell_and_the_same_again(folder, here):
    with Server(steady) as server:
        done = here(arguments(server))
        for words in ("mean gamma", "gamma0", "excess", "±", "N = 3", "ten answers"):
            assert words in done.stdout
        assert "12 questions, 84 answers" in done.stderr
        assert "calls/s" in done.stderr
        assert len(server.asked) == 84
        before = (folder / "run.jsonl").read_bytes()
        again = json.loads(here(arguments(server, "--json")).stdout)
        assert len(server.asked) == 84
        assert again["questions"] == again["measured"] == 12
        assert (folder / "run.jsonl").read_bytes() == before
        other = here(arguments(server, "--out", "other.jsonl", "--perturb", "auto", "--limit", "2"))
        assert "resample" in other.stdout
        assert "probably trustworthy" not in other.stdout
        assert "fit your own" in other.stdout
        assert len(server.asked) == 84 + 14
        server.asked.clear()
        (folder / "run.jsonl").unlink()
        fresh = json.loads(here(arguments(server, "--json")).stdout)
        assert not server.asked
        assert fresh["cached"] == 84
        assert fresh["gamma"] == again["gamma"]


def test_a_limit_on_gamma(here):
    def touchy(asked, count):
        return Reply("yes" if asked["messages"][-1]["content"].endswith("?") else "no no no")

    with Server(touchy) as server:
        done = here(arguments(server, "--max-gamma", "0.1"), code=100)
        assert "surely above 0.1" in done.stderr
        here(arguments(server, "--max-gamma", "1.5"))


def test_a_killed_run_goes_on_and_pays_nothing_twice(folder):
    with Server(lambda *_: Reply("yes", after=0.05)) as server:
        command = arguments(server, "--max-concurrency", "4")
        victim = subprocess.Popen(
            [PROGRAM, *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while len(server.answered) < 40:
            assert victim.poll() is None
            time.sleep(0.005)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        server.rest()
        with Cache(folder / "run.cache.sqlite") as cache:
            known = len(cache)
        asked_before = len(server.asked)
        assert 30 <= known < 84
        shell(folder, command)
        asked_again = len(server.asked) - asked_before
    assert asked_again == 84 - known
    # Only what was under way when it was killed may have been asked twice.
    assert asked_before - known <= 4
    found = read_run(folder / "run.jsonl")
    assert found.ids == tuple(f"q{n}" for n in range(12))
    assert found.missing == 0


def test_a_torn_last_line_is_measured_again(folder, here):
    with Server(steady) as server:
        here(arguments(server))
        run = folder / "run.jsonl"
        whole = run.read_bytes()
        run.write_bytes(whole[:-100])
        assert len(read_run(run)) == 11
        here(arguments(server))
        assert run.read_bytes() == whole


def test_refusals_are_in_the_summary_and_the_exit_code(folder, here):
    def picky(asked, count):
        bad = any(ord(each) < 32 for each in asked["messages"][-1]["content"])
        return Reply("no control characters", status=400) if bad else Reply("yes")

    with Server(picky) as server:
        done = here(arguments(server), code=100)
        assert "36 answers were refused and 0 failed" in done.stderr
        told = json.loads(here(arguments(server, "--json"), code=100).stdout)
        assert told["passed"] is False
        assert told["refused"] == 36
        assert told["measured"] == 0
        here(arguments(server, "--allow-missing", "0.5"))
        done = here(arguments(server, "--max-gamma", "0.5"), code=100)
        assert "at least two questions" in done.stderr
    line = json.loads((folder / "run.jsonl").read_text().splitlines()[1])
    assert line["problems"] == ["400: no control characters"]
    assert line["gamma"] is None


def test_failures_are_asked_again_when_told(folder, here):
    def failing(asked, count):
        bad = "question 3?" in asked["messages"][-1]["content"] and len(server.asked) < 120
        return Reply("oops", status=500) if bad else Reply("yes")

    with Server(failing) as server:
        done = here(arguments(server, "--retries", "0"), code=100)
        assert "7 failed" in done.stderr
        here(arguments(server), code=100)
        server.behaviour = steady
        here(arguments(server, "--retry-errors"))
        assert len(server.asked) == 84 + 7
    found = read_run(folder / "run.jsonl")
    assert (len(found), found.missing) == (12, 0)


def test_a_budget_stops_a_run_that_goes_on_later(folder, here):
    with Server(steady) as server:
        done = here(arguments(server, "--budget", "30", "--price", "1,2"), code=100)
        assert "budget is spent" in done.stderr
        assert "at most about" in done.stderr
        assert len(server.asked) == 30
        here(arguments(server))
        assert len(server.asked) == 84


def test_no_questions_are_no_run(folder, here):
    (folder / "questions.jsonl").write_text("")
    with Server(steady) as server:
        assert "holds no questions" in here(arguments(server), code=1).stderr


def test_another_recipe_is_another_run(folder, here):
    with Server(steady) as server:
        here(arguments(server))
        done = here(arguments(server, "--seed", "1"), code=1)
        assert "another recipe (seed 0, now 1):" in done.stderr
        (folder / "questions.jsonl").write_text('{"id": "q3", "prompt": "changed?"}\n')
        assert "another question" in here(arguments(server), code=1).stderr
        (folder / "other.txt").write_text("hello\n")
        with pytest.raises(InputError, match="not written by"):
            RunFile.open(folder / "other.txt", {})


def test_two_runs_cannot_write_one_file(tmp_path):
    path = tmp_path / "run.jsonl"
    header = {"model": "m", "client": "m", "embed": "e", "recipe": {}}
    with RunFile.open(path, header), pytest.raises(InputError, match="another run"):
        RunFile.open(path, header)
    with pytest.raises(InputError, match="cannot be written"):
        RunFile.open(tmp_path / "nowhere" / "run.jsonl", header)
    other = header | {"model": "n"}
    with RunFile.open(path, other) as begun:  # nothing had been measured
        begun.append(Question("q", "why?"), Record("why?", Answer("so")))
    with pytest.raises(SettingsError, match="another model"):
        RunFile.open(path, header)
    with RunFile.open(path, other) as again:
        assert not again.due(Question("q", "why?"), retry_errors=False)


def test_no_secret_is_ever_written(folder, here, caplog):
    """A server that echoes the key everywhere it can: in errors, answers and refusals."""
    caplog.set_level(logging.DEBUG)

    def echoing(asked, count):
        prompt = asked["messages"][-1]["content"]
        if "question 1?" in prompt:
            return Reply(f"bad key {KEY}", status=500)
        if "question 2?" in prompt:
            return Reply(f"will not, {KEY}", status=400)
        return Reply(f"yes {KEY}")

    with Server(echoing) as server:
        command = arguments(server, "--retries", "1", "--key", "PLANTED")
        done = here(command, code=100, PLANTED=KEY)
        assert all(f"authorization: bearer {KEY}" in head.lower() for head in server.headers)
        server.behaviour = lambda *_: Reply(f"Incorrect key: {KEY}", status=401)
        (folder / "run.jsonl").unlink()
        (folder / "run.cache.sqlite").unlink()
        fatal = here(command, code=1, PLANTED=KEY)
        assert "environment variable PLANTED" in fatal.stderr
        server.behaviour = echoing
        here(command, code=100, PLANTED=KEY)
        asked = ("--model", "m", "--url", server.url, "--key", "PLANTED", "--embed", "mine:words")
        short = ("--steps", "1", "--count", "2", "--page", "search.html")
        climbed = here(["llm", "search", "question 3?", *asked, *short], PLANTED=KEY)
    board = here(["llm", "leaderboard", "run.jsonl", "--out", "board.html"], PLANTED=KEY)
    said = (each for one in (done, fatal, climbed, board) for each in (one.stdout, one.stderr))
    for text in (*said, caplog.text):
        assert KEY not in text
    for name in ("search.html", "board.html"):
        assert "</html>" in (folder / name).read_text()
    assert "yes" in (folder / "search.html").read_text()
    assert "httpx" in caplog.text
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) >= 4
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path


def test_the_key_for_openai_goes_nowhere_else(folder, here):
    with Server(steady) as server:
        here(arguments(server, "--limit", "1"), OPENAI_API_KEY=KEY)
        assert not any("authorization" in head.lower() for head in server.headers)


def test_questions_from_every_kind_of_file(tmp_path):
    rows = [{"ID": "a", "Question": 'why, "you"?', "Category": "x"}, {"ID": "b", "Question": "é?"}]
    (tmp_path / "q.csv").write_text('ID,Question,Category\na,"why, ""you""?",x\nb,é?,\n')
    (tmp_path / "q.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "q.parquet")
    expected = [Question("a", 'why, "you"?', "x"), Question("b", "é?", "")]
    for name in ("q.csv", "q.jsonl", "q.parquet"):
        assert list(read_questions(tmp_path / name)) == expected
        assert list(read_questions(tmp_path / name, limit=1)) == expected[:1]
    with pytest.raises(InputError, match="no text in answer"):
        list(read_questions(tmp_path / "q.csv", column="answer"))
    with pytest.raises(InputError, match="no file"):
        list(read_questions(tmp_path / "none.csv"))
    (tmp_path / "bad.jsonl").write_text('{"prompt": "a"}\n{nonsense\n')
    with pytest.raises(InputError, match="cannot be read"):
        list(read_questions(tmp_path / "bad.jsonl"))
    (tmp_path / "twice.jsonl").write_text('{"id": 1, "prompt": "a"}\n{"id": 1, "prompt": "b"}\n')
    with pytest.raises(InputError, match="twice"):
        list(read_questions(tmp_path / "twice.jsonl"))
    (tmp_path / "marked.jsonl").write_bytes(b'\xef\xbb\xbf{"prompt": "a"}')
    assert [each.prompt for each in read_questions(tmp_path / "marked.jsonl")] == ["a"]


def test_a_function_and_calibration(folder, here):
    here(
        [
            *(
                "llm",
                "score",
                "questions.jsonl",
                "--model",
                "mine:echo",
                "--out",
                "r.jsonl",
            ),
            *("--embed", "mine:words", "--count", "2", "--perturb", "typos", "--no-gamma0"),
        ],
    )
    found = read_run(folder / "r.jsonl")
    middle = sorted(found.values)[5]
    labels = "id,correct\n" + "".join(
        f"{name},{int(value <= middle)}\n"
        for name, value in zip(found.ids, found.values, strict=True)
    )
    (folder / "labels.csv").write_text(labels)
    command = ["llm", "calibrate", "r.jsonl", "labels.csv", "--out", "b.json", "--json"]
    made = json.loads(here(command).stdout)
    assert made["auroc"] == 1.0
    assert made["bands"]["low"] == pytest.approx(middle)
    assert json.loads((folder / "b.json").read_text())["low"] == pytest.approx(middle)


def test_what_does_not_print_is_shown():
    assert visible("a\tb\x7f\x85\u200d\xa0ok") == "a␉b␡⟨U+0085⟩⟨U+200D⟩⟨U+00A0⟩ok"
    assert visible("a\n\x1b[2J", lines=True) == "a\n␛[2J"
