"""Write `requirements/*.txt`: every package by version and hash, for any platform and Python.

`python .ci/lock.py` (make lock) asks the package index what is newest now; `--check` only says
whether the files hold all that pyproject.toml asks for, and needs no network.

torch and what its CUDA build brings are left out: each machine has its own build. Install it first.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "requirements"
LOCKS = {
    "service": ("service", "postgres", "sklearn", "onnx", "lightgbm"),
    "test": ("test", "release"),
    "docs": ("docs",),
}
"""Files, and the extras that they hold."""

TORCH = re.compile(r"^(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)$")
PINNED = re.compile(r"^([\w.-]+)(?:\[[\w,]+\])?==([^ ;\\]+)", re.M)


def compile_lock(name: str, left_out: tuple[str, ...] = ()) -> None:
    """Write one file."""
    extras = [word for extra in LOCKS[name] for word in ("--extra", extra)]
    omitted = [word for package in left_out for word in ("--no-emit-package", package)]
    command = ["uv", "pip", "compile", "--quiet", "--upgrade", "--universal", "--generate-hashes"]
    command += ["--python-version", "3.11", "--custom-compile-command", "make lock"]
    command += [*extras, *omitted, "--output-file", str(FOLDER / f"{name}.txt"), "pyproject.toml"]
    subprocess.run(command, cwd=ROOT, check=True)


def write() -> None:
    """Write every file, and then those with torch again without it."""
    FOLDER.mkdir(exist_ok=True)
    for name in LOCKS:
        compile_lock(name)
        omitted = tuple(package for package in pins(name) if TORCH.match(package))
        if omitted:
            compile_lock(name, omitted)
        print(f"requirements/{name}.txt: {len(pins(name))} packages")
    (FOLDER / "build.in").write_text("hatchling\n")
    command = ["uv", "pip", "compile", "--quiet", "--upgrade", "--universal", "--generate-hashes"]
    command += ["--python-version", "3.11", "--custom-compile-command", "make lock"]
    command += ["--output-file", "requirements/build.txt", "requirements/build.in"]
    subprocess.run(command, cwd=ROOT, check=True)


def pins(name: str) -> dict[str, str]:
    """Packages and versions of one file."""
    return dict(PINNED.findall((FOLDER / f"{name}.txt").read_text()))


def wanted(extras: tuple[str, ...]) -> Iterator[Requirement]:
    """Requirements of the project and of some extras, those of other extras opened."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in project["dependencies"]:
        yield Requirement(line)
    waiting = list(extras)
    while waiting:
        for line in project["optional-dependencies"][waiting.pop()]:
            requirement = Requirement(line)
            if requirement.name == project["name"]:
                waiting += sorted(requirement.extras)
            else:
                yield requirement


def problems() -> Iterator[str]:
    """What is lacking in the files, in words."""
    for name, extras in LOCKS.items():
        kept = pins(name)
        for requirement in wanted(extras):
            package = canonicalize_name(requirement.name)
            if TORCH.match(package):
                continue
            if package not in kept:
                yield f"requirements/{name}.txt lacks {package}"
            elif not requirement.specifier.contains(kept[package], prereleases=True):
                yield f"requirements/{name}.txt has {package} {kept[package]}, not {requirement}"
        blocks = re.split(r"\n(?=[\w.-]+(?:\[[\w,]+\])?==)", (FOLDER / f"{name}.txt").read_text())
        for block in blocks[1:]:
            if "--hash=sha256:" not in block:
                yield f"requirements/{name}.txt has no hash for {block.split()[0]}"


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        write()
    wrong = list(problems())
    print(
        "\n".join([*wrong, "run make lock"]) if wrong else "the lock files hold all that is asked"
    )
    sys.exit(1 if wrong else 0)
