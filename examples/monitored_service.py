"""From nothing to an alarm: start the service, send traffic, let it drift, read the alarm.

pip install 'anharmonic[sklearn,service]' && python examples/monitored_service.py
Give --keep to leave the service running and open its page.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

COLUMNS = ["alcohol", "flavanoids", "hue", "proline"]


def bottles(count: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    """Wines like scikit-learn's, and perhaps a sensor for alcohol that is off."""
    wines = load_wine(as_frame=True).data[COLUMNS]
    random = np.random.default_rng(seed)
    drawn = wines.iloc[random.integers(len(wines), size=count)].reset_index(drop=True)
    drawn += random.normal(size=drawn.shape) * 0.1 * wines.std().to_numpy()
    drawn["alcohol"] += shift
    return drawn


def call(address: str, path: str, body: object = None) -> dict:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data)
    request.add_header("content-type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def wait_until_ready(address: str, service: subprocess.Popen) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/readyz", timeout=2)
            return
        except OSError:
            if service.poll() is not None:
                raise SystemExit("the service ended: see above") from None
            time.sleep(0.1)
    raise SystemExit("the service is not ready after a minute")


def send(address: str, rows: pd.DataFrame) -> bool:
    """A batch of what the model is asked; whether an alarm stands."""
    return bool(call(address, "/v1/observe", {"points": rows.to_dict("records")})["alarm"])


def main() -> None:
    wines = load_wine(as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(wines.data[COLUMNS], wines.target)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(model, Path(folder) / "sorter.joblib")
        # Held-out rows from a quiet time, in their own order: not the rows it was trained on.
        bottles(500, seed=1).to_parquet(Path(folder) / "june.parquet")
        words = [
            "serve",
            "sorter.joblib",
            "--trust",
            "--reference",
            "june.parquet",
            "--port",
            str(port),
        ]
        service = subprocess.Popen([sys.executable, "-m", "anharmonic", *words], cwd=folder)
        try:
            wait_until_ready(address, service)
            quiet = send(address, bottles(200, seed=2))
            print("an alarm in quiet traffic:", quiet)
            batches = 0
            while not send(address, bottles(20, seed=10 + batches, shift=1.0)):
                batches += 1
            for alarm in call(address, "/v1/alarms")["alarms"]:
                print(alarm["words"])
            print(f"told after {20 * (batches + 1)} drifted bottles; the page is {address}/")
            if "--keep" in sys.argv:
                service.wait()
        finally:
            service.terminate()
            service.wait(30)


if __name__ == "__main__":
    main()
