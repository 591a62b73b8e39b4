"""Damaged and hostile files, thousands of them, through everything that reads files.

    python -m benchmarks.mutations [--count 1000] [--seed 0] [LOADER …]

Each file is a good one with bytes flipped, cut, repeated or put in, inside archives too, or a
pickle under a wrong name. It is read and measured in a process of its own that may take 6 GB and
5 seconds. Counted are files that were read, refused in a line (an `AnharmonicError`), ended in a
traceback, crashed the process, hung, or ran code. All but the first two are faults. The readers
of `NATIVE` are C++ of others and crash, which is why they need --trust: without it they must
refuse everything, with it the crashes are counted to be known.
"""

from __future__ import annotations

import argparse
import io
import os
import pickle
import selectors
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

__all__ = ["LOADERS", "NATIVE", "counted", "written"]

DATA: Final = ("csv", "parquet", "npy", "npz")
MODELS: Final = ("onnx", "skops")
NATIVE: Final = ("ubj", "json", "txt", "cbm")
LOADERS: Final = (*DATA, *MODELS, *(f"{name} untrusted" for name in NATIVE))
OUTCOMES: Final = ("read", "refused", "traceback", "crash", "hang", "code")
ZIPPED: Final = ("npz", "skops")
SECONDS, BYTES = 5.0, 6 << 30
EVIL: Final = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.mkdir")
Random = np.random.Generator


class Bomb:
    """What a pickle does to whoever opens it."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, ("exploded",)


def good_files(folder: Path) -> dict[str, bytes]:
    """A small file of every kind."""
    import pandas as pd
    import skops.io
    import xgboost
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    points = np.random.default_rng(0).normal(size=(40, 4))
    labels = points[:, 0] > 0
    frame = pd.DataFrame(points, columns=list("abcd")).assign(city=["x", "y"] * 20)
    frame.to_csv(folder / "good.csv")
    frame.iloc[::-1].to_parquet(folder / "good.parquet")
    np.save(folder / "good.npy", points)
    np.savez_compressed(folder / "good.npz", points=points)
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(points, labels)
    skops.io.dump(fitted, folder / "good.skops")
    graph = to_onnx(fitted, points.astype(np.float32), options={"zipmap": False})
    (folder / "good.onnx").write_bytes(graph.SerializeToString())
    xgb = xgboost.XGBClassifier(n_estimators=3, max_depth=3).fit(points, labels)
    for ending in ("json", "ubj"):
        xgb.save_model(folder / f"good.{ending}")
    _native(folder, points, labels)
    return {name: (folder / f"good.{name}").read_bytes() for name in (*DATA, *MODELS, *NATIVE)}


def _native(folder: Path, points: Any, labels: Any) -> None:
    import catboost
    import lightgbm

    light = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(points, labels)
    light.booster_.save_model(folder / "good.txt")
    cat = catboost.CatBoostClassifier(iterations=3, verbose=False, allow_writing_files=False)
    cat.fit(points, labels).save_model(str(folder / "good.cbm"))


def mutated(content: bytes, random: Random) -> bytes:
    """The content with a few changes of a random kind."""
    data = bytearray(content)
    for _ in range(int(random.integers(1, 5))):
        place = int(random.integers(max(1, len(data))))
        size = int(min(random.geometric(0.05), 4096))
        kind = random.integers(7)
        if kind == 0 and data:
            data[place % len(data)] ^= 1 << int(random.integers(8))
        elif kind == 1:
            data[place : place + size] = random.bytes(size)
        elif kind == 2:
            del data[place : place + size]
        elif kind == 3:
            data[place:place] = data[place : place + size] * int(random.integers(1, 4))
        elif kind == 4:
            data[place : place + 4] = [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"][
                int(random.integers(3))
            ]
        elif kind == 5:
            data[place : place + 1] = b"%d" % (10 ** int(random.integers(1, 20)))
        elif random.random() < 0.2:
            del data[place:]
    return bytes(data)


def _inside(content: bytes, random: Random) -> bytes:
    """An archive with one of its parts changed, and sums that are right."""
    kept = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(kept, "w") as after:
        names = before.namelist()
        chosen = names[int(random.integers(len(names)))]
        for name in names:
            part = before.read(name)
            after.writestr(name, mutated(part, random) if name == chosen else part)
    return kept.getvalue()


def written(folder: Path, loaders: Sequence[str], count: int, seed: int) -> list[tuple[str, Path]]:
    """So many files for each loader."""
    good = good_files(folder)
    bomb = pickle.dumps(Bomb())
    found = []
    for loader in loaders:
        ending = loader.split()[0]
        random = np.random.default_rng([seed, *ending.encode()])
        for number in range(count):
            content = mutated(good[ending], random)
            if ending in ZIPPED and number % 2:
                content = _inside(good[ending], random)
            if number % 50 == 0:
                content = bomb
            path = folder / f"{loader.replace(' ', '-')}-{number}.{ending}"
            path.write_bytes(content)
            found.append((loader, path))
    return found


def counted(files: Sequence[tuple[str, Path]], seconds: float = SECONDS) -> dict[str, Counter[str]]:
    """How reading ended, by loader; every fault is printed with its file."""
    found: dict[str, Counter[str]] = {loader: Counter() for loader, _ in files}
    done = 0
    while done < len(files):
        for outcome in _outcomes(files[done:], seconds):
            loader, path = files[done]
            found[loader][outcome.split(" ")[0]] += 1
            if outcome.split(" ")[0] not in ("read", "refused"):
                print(f"{path.name}: {outcome}", file=sys.stderr)
            done += 1
    return found


def _outcomes(files: Sequence[tuple[str, Path]], seconds: float) -> Iterator[str]:
    """What became of files in turn, until the process that reads them ends."""
    command = [sys.executable, "-m", "benchmarks.mutations", "--worker"]
    with (
        tempfile.TemporaryDirectory() as elsewhere,
        tempfile.TemporaryFile("w+") as listed,
        selectors.DefaultSelector() as waiting,
    ):
        listed.write("".join(f"{loader}\t{path}\n" for loader, path in files))
        listed.seek(0)
        path = os.pathsep.join([os.getcwd(), *filter(None, sys.path)])
        with subprocess.Popen(
            command,
            stdin=listed,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=elsewhere,
            env={**os.environ, "PYTHONPATH": path},
        ) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == b"ready\n"
            waiting.register(worker.stdout, selectors.EVENT_READ)
            for _ in files:
                # Without a buffer of ours, what is waited for is what is read next.
                line = worker.stdout.readline() if waiting.select(seconds) else None
                if not line:
                    worker.kill()
                    yield "hang" if line is None else f"crash {worker.wait()}"
                    return
                yield line.decode().rstrip()


def _work() -> None:
    """Read the files that standard input names, and say what became of each."""
    import resource
    import warnings

    import anharmonic as ah

    said = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    heard: list[str] = []
    sys.addaudithook(lambda event, _: heard.append(event) if event in EVIL else None)
    points = np.random.default_rng(1).normal(size=(12, 4))
    _warmed(points)
    said.write("ready\n")
    for line in sys.stdin:
        loader, _, path = line.rstrip("\n").partition("\t")
        heard.clear()
        try:
            _measured(loader, Path(path), points)
            outcome = "read"
        except ah.AnharmonicError:
            outcome = "refused"
        except BaseException as problem:
            outcome = f"traceback {type(problem).__name__}: {problem}".replace("\n", " ")[:200]
        # A model that was trusted may do what it likes.
        if heard and not loader.endswith(" trusted"):
            outcome = f"code {heard}"
        said.write(f"{outcome}\n")


def _warmed(points: Any) -> None:
    """Libraries import much when they are first used, which is not the file's doing."""
    import lightgbm  # noqa: F401
    import onnxruntime  # noqa: F401
    import pyarrow.parquet
    import skops.io
    import xgboost  # noqa: F401
    from sklearn.linear_model import LogisticRegression

    import anharmonic as ah

    fitted = LogisticRegression().fit(points, points[:, 0] > 0)
    ah.gamma(skops.io.loads(skops.io.dumps(fitted)), points)
    pyarrow.table({"a": [1.0]}).to_pandas()


def _measured(loader: str, path: Path, points: Any) -> None:
    import anharmonic as ah
    from anharmonic._core.files import read_data

    if loader in DATA:
        ah.gamma(_first, read_data(path), rotations=2)
    else:
        ah.gamma(ah.as_model(path, trust=loader.endswith(" trusted")), points, rotations=2)


def _first(points: Any) -> Any:
    """A model of one column, whatever it is."""
    table = points if isinstance(points, np.ndarray) else points.select_dtypes("number").to_numpy()
    return np.asarray(table, dtype=np.float64).reshape(len(table), -1)[:, 0]


def main() -> bool:
    """Print how many files of each kind ended how; whether none ended badly."""
    parser = argparse.ArgumentParser(description="Damaged and hostile files, counted.")
    trusted = [f"{name} trusted" for name in NATIVE]
    parser.add_argument("loaders", nargs="*", help=f"of {', '.join([*LOADERS, *trusted])}")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        _work()
        return True
    with tempfile.TemporaryDirectory() as folder:
        files = written(Path(folder), asked.loaders or LOADERS, asked.count, asked.seed)
        print(f"{'loader':16}" + "".join(f"{name:>11}" for name in OUTCOMES))
        found = counted(files)
        for loader, outcomes in found.items():
            print(f"{loader:16}" + "".join(f"{outcomes[name]:11}" for name in OUTCOMES))
    faults = [sum(each.values()) - each["read"] - each["refused"] for each in found.values()]
    return not any(faults)


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
