"""A report's size, how long it takes to write and how long to open.

Two models on 1,000,000 points of 30 features, and four on 569. Writing is timed in a process
of its own, imports and packing plotly.js included. Opening is timed in Chromium, from the
request until everything on the first screen is drawn, a new window each round; when the text is
readable and when the last picture further down is drawn are shown too, and so is the processor
time of the page. Bars: < 5 MB, written in < 10 s, opened in < 2 s.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 5
WRITE = """
import sys, time
import numpy as np
from anharmonic.scores import Scores
count, features, models, path = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
random = np.random.default_rng(0)
points = random.normal(size=(count, features))
settings = {"kind": "value", "radius": 0.1, "points": count, "seed": 0}
scores = {}
for index in range(models):
    values = np.abs(random.normal(size=count)) * (1 + index)
    errors, turns = np.full(count, 0.01), np.full(count, 4)
    scores[f"model {index}"] = Scores(
        "gamma", values, errors, values**2, values, values, turns, 49 * count, settings
    )
start = time.perf_counter()
from anharmonic import report
report.write(path, scores, points=points)
print(time.perf_counter() - start)
"""
OPENED = """() => {
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const { opened, milliseconds } = document.documentElement.dataset;
  return [paint.startTime, Number(opened), Number(milliseconds)];
}"""


def written(count: int, features: int, models: int, path: Path) -> float:
    """Seconds to write a report."""
    numbers = [str(count), str(features), str(models), str(path)]
    done = subprocess.run(
        [sys.executable, "-c", WRITE, *numbers],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return float(done.stdout)


def opened(browser: Any, path: Path) -> tuple[float, float, float, float]:
    """Seconds until text, the first screen and all pictures are drawn, and of processor time."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn=all]", state="attached")
    text, screen, pictures = page.evaluate(OPENED)
    counters = tools.send("Performance.getMetrics")["metrics"]
    busy = next(each["value"] for each in counters if each["name"] == "TaskDuration")
    page.context.close()
    return text / 1000, screen / 1000, pictures / 1000, busy


def verdict(name: str, value: float, bar: float, unit: str) -> bool:
    print(f"  {name}: {value:.2f} {unit}; bar: < {bar:g}: {'met' if value < bar else 'MISSED'}")
    return value < bar


def main() -> bool:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        print("report: no chromium to open one with: MISSED")
        return False
    good = True
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for count, models in ((1_000_000, 2), (569, 4)):
            page = Path(folder) / "report.html"
            seconds = written(count, 30, models, page)
            print(f"report: {models} models, {count:,} points × 30 features", flush=True)
            good &= verdict("size", page.stat().st_size / 1e6, 5, "MB")
            good &= verdict("written", seconds, 10, "s")
            times = np.array([opened(browser, page) for _ in range(ROUNDS)])
            text, screen, pictures, busy = np.median(times, axis=0)
            spread = f"{times[:, 1].min():.2f}–{times[:, 1].max():.2f} s"
            print(f"  text readable: {text:.2f} s; all pictures drawn: {pictures:.2f} s")
            print(f"  processor time: {busy:.2f} s; spread of opening: {spread}")
            good &= verdict("opened, the first screen complete", screen, 2, "s")
        browser.close()
    return good


if __name__ == "__main__":
    raise SystemExit(not main())
