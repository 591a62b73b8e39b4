"""One source of the version; locks that hold what is asked; licences; targets that exist."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import anharmonic as ah
from tests.project.programs import ROOT, program


def test_the_version_is_written_once() -> None:
    written = [
        path.relative_to(ROOT).as_posix()
        for path in [*ROOT.glob("*.toml"), *(ROOT / "src").rglob("*.py")]
        if re.search(
            rf'^(__version__|version) = "{re.escape(ah.__version__)}"', path.read_text(), re.M
        )
    ]
    assert written == ["src/anharmonic/__init__.py"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == ah.__version__
    assert f"## {ah.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_locks_hold_all_that_is_asked_with_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = program("lock", monkeypatch)
    assert list(lock.problems()) == []
    assert not any(lock.TORCH.match(name) for name in lock.pins("test"))


def test_a_lock_that_lacks_something_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = program("lock", monkeypatch)
    for path in lock.FOLDER.glob("*.txt"):
        (tmp_path / path.name).write_text(path.read_text())
    service = (tmp_path / "service.txt").read_text()
    without = re.sub(r"^numpy==[^\n]+\n( +[^\n]+\n)+", "", service, flags=re.M)
    old = re.sub(r"^scipy==\S+", "scipy==1.0", without, flags=re.M)
    (tmp_path / "service.txt").write_text(old)
    monkeypatch.setattr(lock, "FOLDER", tmp_path)
    said = " ".join(lock.problems())
    assert "service.txt lacks numpy" in said
    assert "service.txt has scipy 1.0" in said


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("MIT License", True),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", True),
        ("LGPL-3.0-only", True),
        ("GNU General Public License v3 (GPLv3)", False),
        ("AGPL-3.0", False),
        ("Proprietary", False),
        ("UNKNOWN", False),
    ],
)
def test_licences_are_on_a_list(name: str, good: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program("licences", monkeypatch).allowed(name) == good


def test_what_is_packed_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel with a test in it, without its types, of another version: each is told."""
    release = program("release", monkeypatch)
    wheel, sdist = tmp_path / "x.whl", tmp_path / "x.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("anharmonic/tests/test_x.py", "")
        archive.writestr("x.dist-info/METADATA", "Metadata-Version: 2.4\nVersion: 9.9\n")
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(ROOT / "README.md", "x/README.md")
    said = release.check_contents(wheel, sdist, ah.__version__)
    assert f"the wheel is 9.9, the package {ah.__version__}" in said
    assert "the wheel has no licence" in said
    assert "the wheel lacks anharmonic/py.typed" in said
    assert "the wheel has anharmonic/tests/test_x.py" in said
    assert "the sdist lacks tests/test_exact.py" in said
    assert "the sdist lacks README.md" not in said


def test_a_bill_of_materials_says_of_which_version_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bill = tmp_path / "service.cdx.json"
    bill.write_text('{"metadata": {"component": {"name": "anharmonic"}}, "components": []}')
    program("release", monkeypatch).write_version(bill, "9.9")
    told = json.loads(bill.read_text())
    assert told["metadata"]["component"] == {"name": "anharmonic", "version": "9.9"}
    assert told["components"] == []


def test_the_image_is_built_from_the_lock() -> None:
    told = (ROOT / "deploy" / "Dockerfile").read_text()
    assert "--require-hashes -r requirements/service.txt" in told
    assert "--require-hashes -r requirements/build.txt" in told
    for path in re.findall(r"^COPY (?!--from)(.+) \S+$", told, flags=re.M):
        for name in path.split():
            assert (ROOT / name).exists(), name


def test_make_has_the_promised_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    told = subprocess.run(["make", "-pn"], cwd=ROOT, capture_output=True, text=True).stdout
    phony = re.search(r"^\.PHONY: (.+)$", makefile, flags=re.M)
    assert phony is not None
    for target in phony[1].split():
        assert re.search(rf"^{re.escape(target)}:", told, flags=re.M), target
    for target in ("demo", "test", "lint", "audit", "bench", "docs", "release", "lock"):
        assert target in phony[1].split()
