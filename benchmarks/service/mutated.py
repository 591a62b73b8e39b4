"""Requests that were good once: bytes, values, headers and paths changed at random.

What the OpenAPI document describes is in `fuzz`; this is what it does not. Between them go good
requests, each of which must be taken and found again.
"""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

__all__ = ["Found", "mutated"]

SLOW = 5.0
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
ODD = (
    *("1" + "0" * 400, "1e308", "-1e308", "1e999", "NaN", "Infinity", "null", "true", "{}", "[]"),
    *('"\\ud800"', '"\\u0000"', '"x"', '""', "-0", "[[[[1]]]]", '{"a":1}', "[" * 400 + "]" * 400),
    *("9007199254740993", "-1", "999999999", '"' + "x" * 20_000 + '"'),
)
KINDS = (
    JSON,
    ARROW,
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
    "application/octet-stream",
    "text/plain",
    "application/json; charset=utf-16",
    "",
)
PATHS = (
    "/v1/observe",
    "/",
    "/v1/events",
    "/v2/models/bench/infer",
    "/v1/reset",
    "/v1/scores",
    "/v2/models/bench/versions/1/infer",
    "/v1/points/x",
    "/v2/../v1/reset",
    "/%2e%2e/%00",
)
METHODS = (*["POST"] * 16, "GET", "PUT", "DELETE", "HEAD")


@dataclass
class Found:
    """What came of it."""

    count: int = 0
    errors: list[str] = field(default_factory=list)
    slowest: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    good: int = 0
    lost: list[str] = field(default_factory=list)

    @property
    def well(self) -> bool:
        return not self.errors and not self.lost and self.slowest < SLOW

    def __str__(self) -> str:
        return (
            f"{self.count:,} changed requests: {len(self.errors)} answered 5xx or not at all, "
            f"slowest {self.slowest:.2f} s, {len(self.lost)} of {self.good} good ones lost; "
            f"answers {dict(sorted(self.statuses.items()))} {self.errors[:3]}"
        )


def mutated(
    url: str,
    count: int,
    columns: int,
    seed: int = 0,
    good: Callable[[int], tuple[str, dict[str, str], bytes]] | None = None,
) -> Found:
    """Send `count` changed requests to a service; `good` makes those that must be taken."""
    dice, found = random.Random(seed), Found()
    caller = Caller(url)
    bodies = _bodies(columns)
    names = []
    for place in range(count):
        _note(found, caller, *_changed(dice, bodies))
        if place % 20 == 0:
            name, body = f"good-{seed}-{place}", _observed(columns, f"good-{seed}-{place}")
            path, headers, sent = (
                good(place) if good else ("/v1/observe", {"content-type": JSON}, body)
            )
            status = _note(found, caller, "POST", path, headers, sent)
            found.good += 1
            if status != 200:
                found.lost.append(f"{name}: {status}")
            elif good is None:
                names.append(name)
    for name in names:
        if caller.ask("GET", f"/v1/points/{quote(name)}", {}, b"")[0] != 200:
            found.lost.append(name)
    caller.http.close()
    return found


class Caller:
    """One connection, made anew where it breaks."""

    def __init__(self, url: str) -> None:
        self.host = urlsplit(url).netloc
        self.http = http.client.HTTPConnection(self.host, timeout=2 * SLOW)

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str]:
        """Status and text; 0 where none came."""
        for fresh in (False, True):
            try:
                self.http.request(method, path, body, headers)
                answer = self.http.getresponse()
                return answer.status, answer.read().decode(errors="replace")
            except (http.client.HTTPException, OSError, ValueError) as problem:
                self.http.close()
                self.http = http.client.HTTPConnection(self.host, timeout=2 * SLOW)
                if fresh:
                    return 0, repr(problem)
        return 0, ""


def _note(
    found: Found, caller: Caller, method: str, path: str, headers: dict[str, str], body: bytes
) -> int:
    begun = time.monotonic()
    status, said = caller.ask(method, path, headers, body)
    found.slowest = max(found.slowest, time.monotonic() - begun)
    found.count += 1
    found.statuses[status] = found.statuses.get(status, 0) + 1
    if status == 0 or status >= 500:
        found.errors.append(f"{method} {path}: {status} {said[:200]} {body[:200]!r}")
    return status


def _observed(columns: int, name: str) -> bytes:
    return json.dumps({"points": [[0.5] * columns], "ids": [name]}).encode()


def _bodies(columns: int) -> list[tuple[str, bytes]]:
    import pyarrow as pa

    row = [0.25] * columns
    tensor = {"name": "x", "shape": [2, columns], "datatype": "FP64", "data": row * 2}
    event = {"id": "e", "source": "s", "type": "t", "specversion": "1.0"}
    table = pa.table({**{str(place): [0.5, 1.5] for place in range(columns)}, "_id": ["a", "b"]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    documents: list[tuple[str, Any]] = [
        (JSON, {"points": [row, row], "segments": ["a", None], "times": [1.0, 2.0]}),
        (JSON, {"points": [{str(place): 1.0 for place in range(columns)}]}),
        (JSON, {"inputs": [tensor], "id": "r"}),
        (JSON, {"instances": [row]}),
        ("application/cloudevents+json", {**event, "data": {"instances": [row]}}),
        ("application/cloudevents-batch+json", [{**event, "data": {"inputs": [tensor]}}] * 2),
    ]
    return [(ARROW, sink.getvalue().to_pybytes())] + [
        (kind, json.dumps(each).encode()) for kind, each in documents
    ]


def _changed(
    dice: random.Random, bodies: list[tuple[str, bytes]]
) -> tuple[str, str, dict[str, str], bytes]:
    kind, body = dice.choice(bodies)
    for _ in range(dice.randint(0, 3)):
        body = _one_change(dice, body)
    headers = {"content-type": dice.choice(KINDS) if dice.random() < 0.2 else kind}
    if dice.random() < 0.15:
        sizes = ("0", "-1", "x", "10", str(len(body)), "9" * 30)
        headers["inference-header-content-length"] = dice.choice(sizes)
    if dice.random() < 0.1:
        headers |= {"ce-id": "x", "ce-source": "s", "ce-type": "t", "ce-specversion": "1.0"}
    path = dice.choice(PATHS[:4]) if dice.random() < 0.8 else dice.choice(PATHS)
    if dice.random() < 0.1:
        path += f"?{quote(dice.choice(ODD)[:50])}"
    return dice.choice(METHODS), path, headers, body


def _one_change(dice: random.Random, body: bytes) -> bytes:
    if not body:
        return b"x"
    at, way = dice.randrange(len(body)), dice.randrange(5)
    if way == 0:
        return body[:at] + bytes([dice.randrange(256)]) + body[at + 1 :]
    if way == 1:
        return body[:at] + body[at + dice.randint(1, 8) :]
    if way == 2:
        return body[:at] + body[at : at + 20] * dice.randint(2, 50) + body[at:]
    if way == 3:
        return body[: max(1, at)]
    with suppress(ValueError):
        text = body.decode()
        places = [place for place, each in enumerate(text) if each in "[:,"]
        if places:
            at = dice.choice(places) + 1
            stop = next((p for p in range(at, len(text)) if text[p] in ",]}"), len(text))
            return (text[:at] + dice.choice(ODD) + text[stop:]).encode()
    return body[:at] + dice.randbytes(4) + body[at:]
