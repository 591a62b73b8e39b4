"""Everything a release is: build, check, test what was built, list what is in it.

`python .ci/release.py [--tests PATH …]` (make release) leaves in `dist/` a wheel, an sdist, a
bill of materials of the service image (CycloneDX), the licences, and the sums of all of them.
Nothing is uploaded: `twine upload dist/*.whl dist/*.tar.gz` does that, by a person.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BIN = Path(sys.executable).parent
QUICK = (
    *("tests/test_exact.py", "tests/test_statistics.py", "tests/test_scores.py", "tests/doctor"),
    *("tests/test_public_names.py", "tests/conformance/test_results.py", "tests/spade"),
)
"""Tests that are run from the sdist against the wheel: minutes. `--tests tests` runs all."""

IN_WHEEL = ("anharmonic/py.typed", "anharmonic/__init__.pyi", "pytest_anharmonic.py")
NOT_IN_WHEEL = ("tests/", "studies/", "benchmarks/", "docs/", "__pycache__", ".ipynb")
IN_SDIST = (
    *("README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "pyproject.toml", "Makefile"),
    *(
        "tests/test_exact.py",
        "studies/boundary.py",
        "docs/index.md",
        "deploy/Dockerfile",
        ".ci/audit.py",
    ),
)
LARGEST = 5_000_000
"""Bytes of a wheel: ours has a third, and a data file that slipped in would show."""


def build() -> tuple[Path, Path]:
    """A wheel made from the sdist, as pip would make it; the same bytes for the same commit."""
    shutil.rmtree(DIST, ignore_errors=True)
    made = _run("git", "log", "-1", "--format=%ct").stdout.strip()
    _run(sys.executable, "-m", "build", "--outdir", DIST, ROOT, SOURCE_DATE_EPOCH=made)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path, version: str) -> list[str]:
    """What is wrong with what was packed."""
    problems = []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(about).decode())
    if metadata["Version"] != version:
        problems.append(f"the wheel is {metadata['Version']}, the package {version}")
    if "LICENSE" not in (metadata.get_all("License-File") or []):
        problems.append("the wheel has no licence")
    problems += [f"the wheel lacks {name}" for name in IN_WHEEL if name not in names]
    problems += [
        f"the wheel has {name}" for name in names if any(part in name for part in NOT_IN_WHEEL)
    ]
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    problems += [f"the wheel lacks {name}" for name in sorted(source - set(names))]
    if wheel.stat().st_size > LARGEST:
        problems.append(f"the wheel has {wheel.stat().st_size:,} bytes")
    with tarfile.open(sdist) as archive:
        packed = [name.partition("/")[2] for name in archive.getnames()]
    problems += [
        f"the sdist lacks {name}"
        for name in IN_SDIST
        if not any(one.startswith(name) for one in packed)
    ]
    return problems


def test_sdist(wheel: Path, sdist: Path, tests: list[str]) -> None:
    """Run tests as they are in the sdist, against the wheel and not this checkout."""
    with tempfile.TemporaryDirectory(prefix="anharmonic-release-") as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        unpacked = next(path for path in Path(folder).iterdir() if path.is_dir())
        shutil.rmtree(unpacked / "src")
        environment = Path(folder) / "environment"
        # Packages of the tests are this environment's; the wheel lies before them on the path.
        venv.create(environment, with_pip=True, system_site_packages=False)
        python = environment / "bin" / "python"
        site = _run(python, "-c", "import site; print(site.getsitepackages()[0])").stdout.strip()
        _run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
        shared = _run(sys.executable, "-c", "import site; print(site.getsitepackages()[0])")
        path = os.pathsep.join([site, str(unpacked), shared.stdout.strip()])
        where = _run(python, "-c", "import anharmonic; print(anharmonic.__file__)", PYTHONPATH=path)
        assert site in where.stdout, f"the tests would look at {where.stdout}"
        _run(
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *tests,
            at=unpacked,
            PYTHONPATH=path,
        )


def list_materials(version: str) -> None:
    """What the service image consists of, as CycloneDX, and all licences."""
    bill = DIST / f"anharmonic-{version}-service.cdx.json"
    lock = ROOT / "requirements" / "service.txt"
    words = ["requirements", lock, "--output-format", "JSON", "--output-file", bill]
    _run(BIN / "cyclonedx-py", *words, "--pyproject", ROOT / "pyproject.toml")
    write_version(bill, version)
    _run(sys.executable, ROOT / ".ci" / "licences.py", "--write", DIST / "LICENCES.md")


def write_version(bill: Path, version: str) -> None:
    """Say of which version a bill of materials is, which pyproject.toml does not."""
    told = json.loads(bill.read_text())
    told["metadata"]["component"]["version"] = version
    bill.write_text(json.dumps(told, indent=2) + "\n")


def write_sums() -> None:
    """SHA-256 of everything in `dist/`."""
    files = sorted(path for path in DIST.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (DIST / "SHA256SUMS").write_text("".join(lines))


def _run(*words: object, at: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=at,
        env=environment | variables,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(
            f"{words[0]} {words[1:4]} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return done


def main() -> int:
    """All steps, each said when it is done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", nargs="*", default=list(QUICK))
    chosen = parser.parse_args()
    version = _run(
        sys.executable,
        "-c",
        "import anharmonic; print(anharmonic.__version__)",
        PYTHONPATH=str(ROOT / "src"),
    ).stdout.strip()
    if f"## {version}" not in (ROOT / "CHANGELOG.md").read_text():
        print(f"CHANGELOG.md has no section {version}")
        return 1
    wheel, sdist = build()
    print(f"built {wheel.name} ({wheel.stat().st_size:,} bytes) and {sdist.name}")
    _run(BIN / "twine", "check", "--strict", wheel, sdist)
    print("twine: the descriptions can be shown")
    problems = check_contents(wheel, sdist, version)
    if problems:
        print("\n".join(problems))
        return 1
    print("the wheel holds the package and nothing else")
    test_sdist(wheel, sdist, chosen.tests)
    print(f"tests from the sdist pass against the wheel: {' '.join(chosen.tests)}")
    list_materials(version)
    write_sums()
    print(f"dist/ is ready: {', '.join(sorted(path.name for path in DIST.iterdir()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
