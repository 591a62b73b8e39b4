"""`make audit`: what does not fit, has a known vulnerability or was not looked at fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.project.programs import CI, program

AUDIT = CI / "audit.py"


def audit(*words: object, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The program, with packages that lie in a folder."""
    before = [] if path is None else [str(path)]
    joined = os.pathsep.join([*before, os.environ.get("PYTHONPATH", "")])
    # Whatever pip-audit asks for, a proxy that does not answer keeps from it.
    alone = {"HTTPS_PROXY": "http://127.0.0.1:9", "PIP_INDEX_URL": "http://127.0.0.1:9"}
    return subprocess.run(
        [sys.executable, AUDIT, *map(str, words)],
        env={**os.environ, "PYTHONPATH": joined, **alone},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Look in a file whether holed 2.3 is in it: the code, and what is said."""
    module = program("audit", monkeypatch)
    monkeypatch.setattr(module, "installed", lambda: {"holed-package": "2.3", "sound": "1.0"})

    def run(path: Path, days: int = 30) -> tuple[int, str]:
        return module.look_in_file(path, days), capsys.readouterr().out

    return run


def install(folder: Path, name: str, version: str, needs: str = "") -> None:
    """A package by its metadata alone."""
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    more = f"Requires-Dist: {needs}\n" if needs else ""
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}"
    )


def advisory(package: str, *events: dict[str, str], days: int = 1, **more: Any) -> dict[str, Any]:
    modified = datetime.now(UTC) - timedelta(days=days)
    return {
        "id": f"OSV-{package}",
        "modified": modified.isoformat().replace("+00:00", "Z"),
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": package},
                "ranges": [{"type": "ECOSYSTEM", "events": list(events)}],
            }
        ],
        **more,
    }


@pytest.fixture
def database(tmp_path: Path) -> Any:
    def write(*records: dict[str, Any]) -> Path:
        path = tmp_path / "advisories.json"
        path.write_text(json.dumps(records))
        return path

    return write


@pytest.mark.parametrize(
    ("name", "code", "said"), [("a-stranger", 0, "not of this project"), ("rich", 1, "broken")]
)
def test_what_lacks_a_package_is_said(tmp_path: Path, name: str, code: int, said: str) -> None:
    install(tmp_path, name, "99.0", "nothing-of-this-name")
    done = audit("--offline", path=tmp_path)
    assert f"{said}: {name} 99.0 requires nothing-of-this-name" in done.stdout
    assert done.returncode == code


def test_what_is_installed_is_looked_up(tmp_path: Path, database: Any) -> None:
    install(tmp_path, "Holed_Package", "2.3")
    path = database(advisory("holed-package", {"introduced": "2.0"}, {"fixed": "2.4"}))
    done = audit("--database", path, path=tmp_path)
    assert "holed-package 2.3: OSV-holed-package, fixed in 2.4" in done.stdout
    assert "1 of " in done.stdout
    assert done.returncode == 1


def test_no_file_and_no_network_is_a_failure_to_look() -> None:
    if (AUDIT.parent / "advisories.json").exists():
        pytest.skip("advisories are kept here: make audit needs no network")
    done = audit()
    assert "NOT AUDITED" in done.stdout
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (advisory("holed_package", {"introduced": "2.0"}, {"fixed": "2.4"}), 1),
        (advisory("holed-package", {"introduced": "0"}, {"last_affected": "2.3"}), 1),
        (advisory("holed-package", {"fixed": "1.1"}, {"introduced": "0"}, {"introduced": "2"}), 1),
        (advisory("holed-package", {"introduced": "0"}, {"fixed": "2.3"}), 0),
        (advisory("holed-package", {"introduced": "2.4"}), 0),
        (advisory("holed-package", {"introduced": "0"}, {"last_affected": "2.2.9"}), 0),
        (advisory("holed-package", {"introduced": "0"}, withdrawn="2026-01-01T00:00:00Z"), 0),
        (advisory("another", {"introduced": "0"}), 0),
    ],
)
def test_versions_in_a_range_are_found_and_no_others(
    database: Any, look: Any, record: dict[str, Any], code: int
) -> None:
    found, said = look(database(record))
    assert found == code
    assert f"{code} of 2 packages" in said


def test_listed_versions_and_zips_are_read(tmp_path: Path, look: Any) -> None:
    record = advisory("holed-package")
    record["affected"][0]["versions"] = ["2.2", "2.3"]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("OSV-holed.json", json.dumps(record))
    code, said = look(tmp_path / "all.zip")
    assert code == 1
    assert "fixed in no version yet" in said


@pytest.mark.parametrize(
    "content", ["", "[]", "{", None], ids=["empty", "none", "broken", "absent"]
)
def test_a_file_that_tells_nothing_is_a_failure_to_look(
    tmp_path: Path, look: Any, content: str | None
) -> None:
    path = tmp_path / "advisories.json"
    if content is not None:
        path.write_text(content)
    code, said = look(path)
    assert code == 2
    assert "NOT AUDITED" in said


def test_an_old_file_is_a_failure_to_look(database: Any, look: Any) -> None:
    path = database(advisory("sound", {"introduced": "2"}, days=45))
    code, said = look(path)
    assert code == 2
    assert "45 days old" in said
    assert look(path, 60)[0] == 0
