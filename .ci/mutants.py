"""Sampled mutants: small changes to the code that some test should notice.

`python .ci/mutants.py [--each 20] [--seed 0] [NAME …]` (make mutants). The changes are those of
cosmic-ray; the sampling and the running are here, because cosmic-ray's sessions hold every mutant
of a module (thousands) and start an interpreter for each, which takes longer than most tests. Here
a process that has imported the libraries forks once per mutant, and a copy of the tree is changed,
never the checkout. Places are drawn first and then one change at each, so that an operator with
eleven replacements does not count eleven times. Changes to annotations alone change nothing that
runs, and are left out.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/anharmonic")
TARGETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "gamma": (
        ("measures/gamma",),
        (
            *("tests/gamma", "tests/test_exact.py", "tests/test_bad_input.py"),
            *("tests/test_statistics.py", "tests/test_reproducible.py", "tests/test_batching.py"),
            *("tests/findings/intervals", "tests/findings/runs", "tests/test_properties.py"),
            *("tests/test_offline.py", "tests/test_labelled.py"),
        ),
    ),
    "statistics": (
        ("_core/statistics.py", "_core/uncertainty.py", "_core/estimate.py"),
        (
            *("tests/test_statistics.py", "tests/test_scores.py", "tests/test_gate.py"),
            *("tests/test_exact.py", "tests/test_comparison.py", "tests/findings/intervals"),
        ),
    ),
    "balls": (
        ("balls.py", "_core/directions.py", "_core/rotations.py"),
        (
            *("tests/test_exact.py", "tests/conformance/test_balls.py", "tests/test_properties.py"),
            *("tests/test_statistics.py", "tests/findings/geometry", "tests/test_bad_input.py"),
        ),
    ),
    "spade": (("measures/spectral",), ("tests/spade", "tests/findings/clever/test_spade.py")),
    "detector": (
        (
            *("monitor/detector.py", "monitor/bets.py", "monitor/bounds.py"),
            *("monitor/shiryaev_roberts.py", "monitor/rank_bets.py", "monitor/rank_evidence.py"),
            *("monitor/evidence_tracker.py", "monitor/alarms.py"),
        ),
        ("tests/detector", "tests/monitor", "tests/findings/monitor"),
    ),
}
"""What is changed, and the tests that should notice."""

LIBRARIES = (
    *("numpy", "scipy.stats", "scipy.sparse.linalg", "sklearn.ensemble", "pandas", "pyarrow"),
    *("pyarrow.parquet", "pytest", "narwhals", "typer", "rich"),
)


@dataclass
class Mutant:
    """A change at one place, and what became of it."""

    part: str
    path: str
    line: int
    operator: str
    occurrence: int
    before: str = ""
    after: str = ""
    outcome: str = ""
    seconds: float = 0.0


def places(part: str, seed: int) -> Iterator[Mutant]:
    """One change at each place of a part's files, in an order drawn by the seed."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    found: dict[tuple[str, tuple[int, int]], list[Mutant]] = {}
    for name in TARGETS[part][0]:
        whole = ROOT / SOURCE / name
        for path in sorted(whole.rglob("*.py")) if whole.is_dir() else [whole]:
            nodes = list(ast_nodes(get_ast(path.read_text())))
            # Two operators take names of variables, which a sample cannot choose.
            for operator in (name for name in operator_names() if "Variable" not in name):
                kind, seen = get_operator(operator)(), 0
                for node in nodes:
                    for begin, _ in kind.mutation_positions(node):
                        where = path.relative_to(ROOT).as_posix()
                        mutant = Mutant(part, where, begin[0], operator, seen)
                        found.setdefault((where, begin), []).append(mutant)
                        seen += 1
    draw = random.Random(f"{part} {seed}")
    drawn = sorted(found)
    draw.shuffle(drawn)
    for place in drawn:
        yield draw.choice(found[place])


def changed(mutant: Mutant) -> str | None:
    """The file's text with the change; nothing if it is no Python, or only annotations differ."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    before = (ROOT / mutant.path).read_text()
    after = mutate_code(before, get_operator(mutant.operator)(), mutant.occurrence)
    try:
        if after is None or _runs(before) == _runs(after):
            return None
    except SyntaxError:
        # `**names` of a call is taken for a power.
        return None
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    lines = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
    mutant.before, mutant.after = lines[0].strip(), lines[1].strip()
    return str(after)


def _runs(text: str) -> str:
    """A module without its annotations, which nothing here evaluates."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def tested(folder: Path, tests: list[str], most: float) -> tuple[str, float]:
    """Run tests in a copy of this process: survived, killed or timed out, and for how long."""
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.setsid()
        _become_tests(folder, tests)
    while time.perf_counter() - begun < most:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return "survived" if code == 0 else "killed", time.perf_counter() - begun
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timed out", time.perf_counter() - begun


def _become_tests(folder: Path, tests: list[str]) -> None:
    import pytest

    os.chdir(folder)
    quiet = os.open(folder / "last.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.path[:0] = [str(folder / "src"), str(folder)]
    os.environ["PYTHONPATH"] = f"{folder / 'src'}:{folder}"
    sys.dont_write_bytecode = True
    code = 3
    try:
        words = ["-x", "-q", "-p", "no:cacheprovider", "--durations=0", *tests]
        code = int(pytest.main(words))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def try_part(part: str, each: int, seed: int, folder: Path, limit: float) -> list[Mutant]:
    """As many mutants of one part, each run against its tests."""
    # With the examples in what is changed.
    tests = [*(str(SOURCE / path) for path in TARGETS[part][0]), *TARGETS[part][1]]
    outcome, whole = ("survived", limit) if limit else tested(folder, tests, 1800)
    if outcome != "survived":
        said = (folder / "last.log").read_text()[-3000:]
        raise SystemExit(f"{part}: the tests fail without a change\n{said}")
    most = limit or 3 * whole + 30
    print(f"{part}: at most {most:.0f} s per mutant", flush=True)
    tried: list[Mutant] = []
    for mutant in places(part, seed):
        if len(tried) == each:
            break
        text = changed(mutant)
        if text is None:
            continue
        file = folder / mutant.path
        kept = file.read_text()
        file.write_text(text)
        mutant.outcome, mutant.seconds = tested(folder, tests, most)
        file.write_text(kept)
        tried.append(mutant)
        if mutant.outcome == "survived":
            print(f"  {mutant.path}:{mutant.line}\n    - {mutant.before}\n    + {mutant.after}")
        print(f"  {len(tried)} {mutant.outcome} ({mutant.seconds:.0f} s)", flush=True)
    return tried


def main() -> int:
    """Try mutants of every part that was named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(TARGETS))
    parser.add_argument("--each", type=int, default=20, help="mutants per part")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bar", type=float, default=0.85, help="share that must be killed")
    parser.add_argument(
        "--limit",
        type=float,
        default=0,
        help="seconds per mutant, more than the tests take: what runs out of time counts as "
        "noticed. Skips the run without a change",
    )
    parser.add_argument("--out", type=Path, help="a file for what was tried, as JSON lines")
    chosen = parser.parse_args()
    for name in LIBRARIES:
        importlib.import_module(name)
    tried: list[Mutant] = []
    with tempfile.TemporaryDirectory(prefix="anharmonic-mutants-") as name:
        for part in ("src", "tests", "studies", "benchmarks"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / part, Path(name) / part, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", name)
        for part in chosen.names:
            tried += try_part(part, chosen.each, chosen.seed, Path(name), chosen.limit)
            if chosen.out:
                chosen.out.write_text("".join(json.dumps(asdict(one)) + "\n" for one in tried))
    met = True
    for part in chosen.names:
        ours = [one for one in tried if one.part == part]
        killed = sum(one.outcome != "survived" for one in ours)
        met &= killed >= chosen.bar * len(ours)
        print(f"| {part} | {len(ours)} | {killed} ({killed / len(ours):.0%}) |")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
