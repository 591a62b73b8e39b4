"""Language models: how near the ideal many calls at once come, and whether memory stays flat.

A server on loopback, in a process of its own, answers each call after 500 ms. 100 questions ×
11 answers at concurrency 32 should take 1,100 × 0.5 / 32 s; a sequential run is measured on a
slice in the same script and projected. Memory is the growth of the peak between 2,000 and 20,000
prompts, asked through the same client against a server without latency.
Bars: within 1.1 × the ideal; the peak grows by less than 20 MB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import anharmonic as ah
from anharmonic.llm.clients import Endpoint

LATENCY, QUESTIONS, COUNT, AT_ONCE = 0.5, 100, 10, 32
SLICE = 2
SERVER = """
import asyncio, json, re, sys
latency = float(sys.argv[1])
body = json.dumps({"choices": [{"message": {"content": "an answer"}}]}).encode()
whole = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body
async def line(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            await reader.readexactly(int(re.search(rb"content-length: (\\d+)", head.lower())[1]))
            await asyncio.sleep(latency)
            writer.write(whole)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(line, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
MEMORY = """
import resource, sys
import numpy as np
from anharmonic.llm.clients import Endpoint
from anharmonic.llm.measuring import measure_prompts
from anharmonic.llm.recipe import Recipe
embed = lambda texts: np.ones((len(texts), 384))
prompts = (f"question {n}?" for n in range(int(sys.argv[2])))
with Endpoint(sys.argv[1], "m", concurrency=32) as client:
    done = sum(1 for _ in measure_prompts(client, prompts, Recipe(count=1, repeats=0), embed))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, done)
"""


@contextmanager
def server(latency: float) -> Iterator[str]:
    """A server in a process of its own; gives its address."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(latency)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def same(texts: Any) -> Any:
    return np.ones((len(texts), 384))


def seconds(url: str, questions: int, at_once: int) -> float:
    """How long `gamma` takes, without gamma0: 11 answers a question."""
    prompts = [f"question {number}?" for number in range(questions)]
    with Endpoint(url, "m", concurrency=at_once) as client:
        client.answers([])
        start = time.perf_counter()
        found = ah.llm.gamma(client, prompts, embed=same, count=COUNT, gamma0=False)
        took = time.perf_counter() - start
    assert found.calls == questions * (COUNT + 1)
    return took


def peak(url: str, prompts: int) -> float:
    """The peak memory of a process that measures so many prompts, in MB."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, url, str(prompts)],
        capture_output=True,
        text=True,
        check=True,
        timeout=900,
    )
    megabytes, measured = done.stdout.split()
    assert int(measured) == prompts
    return float(megabytes)


def main() -> bool:
    answers = QUESTIONS * (COUNT + 1)
    ideal = answers * LATENCY / AT_ONCE
    with server(LATENCY) as url:
        seconds(url, 3, AT_ONCE)
        took = seconds(url, QUESTIONS, AT_ONCE)
        alone = seconds(url, SLICE, 1) * QUESTIONS / SLICE
    good = took <= 1.1 * ideal
    print(
        f"llm: {answers:,} answers of {LATENCY:g} s at concurrency {AT_ONCE}: {took:.2f} s", end=""
    )
    print(f", ideal {ideal:.2f} s, ratio {took / ideal:.3f}", end="")
    print(f"; bar: ≤ 1.1: {'met' if good else 'MISSED'} (load {os.getloadavg()[0]:.1f})")
    print(f"  one at a time: {alone:.0f} s, projected from {SLICE} questions: {alone / took:.1f} ×")
    with server(0.0) as url:
        few, many = peak(url, 2_000), peak(url, 20_000)
    flat = many - few < 20
    print(f"llm: peak memory {few:.0f} MB for 2,000 prompts, {many:.0f} MB for 20,000", end="")
    print(f"; bar: < 20 MB more: {'met' if flat else 'MISSED'}", flush=True)
    return good and flat


if __name__ == "__main__":
    raise SystemExit(not main())
