"""Each extra alone in a clean environment: its core feature works, and without it is named.

`python .ci/extras/alone.py [--oldest] [NAME …]` builds the wheel, makes an environment for every
extra, and runs `features.py` there. `--oldest` installs the oldest versions that the bounds in
pyproject.toml allow, so that the bounds are true. It needs uv, which also keeps downloads.

torch is taken as its CPU build where pip finds one (see TORCH); the oldest torch that is tried is
given by --torch.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FEATURES = Path(__file__).with_name("features.py")
HEAVY = {"torch", "images", "lightning", "transformers", "sentences"}
"""Extras with torch."""

NOT_FOR_USERS = ("docs", "release", "studies", "test")

OLD_COMPANY = {"mlflow": ["sqlalchemy==2.0.*"]}
"""What old versions need beside them, and do not say themselves."""

COMBINED = {"lightgbm_with_sklearn": "lightgbm,sklearn"}
"""Features that need two extras."""


def main() -> int:
    """Try the extras that were named, or all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for name in project["optional-dependencies"] if name not in NOT_FOR_USERS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["bare", *extras, *COMBINED])
    parser.add_argument("--oldest", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch", default="", help="a requirement such as torch==2.13.0")
    parser.add_argument("--without-torch", action="store_true", help="leave out what needs torch")
    chosen = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory(prefix="anharmonic-extras-") as folder:
        wheel = _build(Path(folder), chosen.python)
        bare = _environment(Path(folder) / "none", wheel, "", chosen)
        for name in chosen.names:
            if name == "all" or (chosen.without_torch and name in HEAVY):
                continue
            begun = time.perf_counter()
            problem = _try(name, bare, wheel, Path(folder) / name, chosen)
            print(
                f"{name:22} {problem or 'good'}  ({time.perf_counter() - begun:.0f} s)", flush=True
            )
            failed += [name] if problem else []
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all good")
    return bool(failed)


def _build(folder: Path, python: str) -> Path:
    _run("uv", "build", "--quiet", "--wheel", "--python", python, "--out-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


def _environment(folder: Path, wheel: Path, extra: str, chosen: argparse.Namespace) -> Path:
    """An environment with the wheel and one extra, and its Python."""
    _run("uv", "venv", "--quiet", "--python", chosen.python, folder)
    python = folder / "bin" / "python"
    words = [chosen.torch] if extra in HEAVY and chosen.torch else []
    links = os.environ.get("PIP_FIND_LINKS")
    words += ["--find-links", links] if links else []
    install = ("uv", "pip", "install", "--quiet", "--python", python)
    if chosen.oldest:
        # uv calls the requirements of a project's file direct, those of a wheel not.
        named = [word for name in extra.split(",") if name for word in ("--extra", name)]
        oldest = ("--resolution", "lowest-direct")
        words += OLD_COMPANY.get(extra, [])
        _run(*install, "-r", ROOT / "pyproject.toml", *named, *oldest, *words)
        _run(*install, "--no-deps", wheel)
    else:
        _run(*install, f"anharmonic[{extra}] @ {wheel.as_uri()}" if extra else wheel, *words)
    return python


def _try(name: str, bare: Path, wheel: Path, folder: Path, chosen: argparse.Namespace) -> str:
    """What went wrong, or nothing."""
    try:
        if name not in ("bare", *COMBINED):
            # What an extra builds on may be there; it is itself that must be named.
            _run(bare, FEATURES, name, "--without")
        extra = COMBINED.get(name, "" if name == "bare" else name)
        python = _environment(folder, wheel, extra, chosen)
        _run(python, FEATURES, name)
    except RuntimeError as problem:
        return f"FAILED: {problem}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def _run(*words: object) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, env=environment, cwd="/"
    )
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip()[-1200:])


if __name__ == "__main__":
    sys.exit(main())
