"""The core feature of one extra, with nothing else installed: `python features.py sklearn`.

`python features.py sklearn --without` runs in an environment that lacks it: the error must name
this very extra, so that one `pip install` is enough.

Every function uses the core and its own extra only. It raises where something does not work.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

import anharmonic as ah

# y = x·w in 101 bytes: float32, two inputs, two outputs.
GRAPH = base64.b64decode(
    "CAgSADpZChEKAXgKAXcSAXkiBk1hdE11bBIBZyobCAIIAhABIhAAAIA/AACAvwAAAD8AAAC/QgF3WhEKAXgSDAoKCAES"
    "BgoACgIIAmIRCgF5EgwKCggBEgYKAAoCCAJCBAoAEA0="
)
RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(60, 2))
LABELS = (POINTS.sum(axis=1) > 0).astype(int)
FOLDER = Path(tempfile.mkdtemp(prefix="anharmonic-extra-"))


def wave(x):
    return np.sin(3 * np.asarray(x)[:, 0])


def scores():
    return ah.gamma(wave, POINTS)


@contextmanager
def serving(answer):
    """A server on loopback: `answer(path, body)` makes JSON."""

    class Handler(BaseHTTPRequestHandler):
        def reply(self, body):
            told = json.dumps(answer(self.path, body)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def do_GET(self):
            self.reply(None)

        def do_POST(self):
            self.reply(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def command(*words, code=0):
    """The command line, as a user types it."""
    done = subprocess.run(
        [sys.executable, "-m", "anharmonic", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=FOLDER,
    )
    if done.returncode != code:
        raise SystemExit(f"{words} ended with {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout


def points_file():
    np.save(FOLDER / "points.npy", POINTS)
    return FOLDER / "points.npy"


def sklearn():
    import pandas as pd
    import skops.io
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    colours = np.where(LABELS, "red", "blue").astype(object)
    table = pd.DataFrame({"size": POINTS[:, 0], "weight": POINTS[:, 1], "colour": colours})
    table.loc[3, "size"] = np.nan
    prepare = ColumnTransformer(
        [
            ("numbers", SimpleImputer(), ["size", "weight"]),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        ]
    )
    model = make_pipeline(prepare, RandomForestClassifier(10, random_state=0)).fit(table, LABELS)
    assert ah.gamma(model, table[:20], reference=table).mean > 0
    skops.io.dump(model, FOLDER / "model.skops")
    table.to_csv(FOLDER / "table.csv", index=False)
    command("gamma", FOLDER / "model.skops", "--trust", "--data", FOLDER / "table.csv", "--json")
    assert len(ah.suspects(model, table, LABELS)) == len(table)


def without_sklearn():
    (FOLDER / "model.skops").write_bytes(b"")
    ah.as_model(FOLDER / "model.skops")


def torch():
    import torch

    torch.manual_seed(0)
    layers = torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
    network = torch.nn.Sequential(*layers)
    points = POINTS.astype("float32")
    assert ah.gamma(network, points).mean > 0
    assert ah.clever(network, points[:3], radius=1.0, blocks=10, block_size=4).values.min() > 0
    history = ah.training.train(network, points, LABELS, epochs=2, batch_size=16)
    assert len(history) == 2


def onnx():
    path = FOLDER / "model.onnx"
    path.write_bytes(GRAPH)
    assert ah.gamma(path, POINTS, output="logit").mean < 1e-5
    command("gamma", path, "--data", points_file(), "--json")


def xgboost():
    import xgboost

    matrix = xgboost.DMatrix(POINTS, LABELS)
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, matrix, 5)
    assert ah.gamma(booster, POINTS).mean > 0
    booster.save_model(FOLDER / "model.ubj")
    assert ah.gamma(ah.as_model(FOLDER / "model.ubj", trust=True), POINTS).mean > 0


def without_xgboost():
    (FOLDER / "model.ubj").write_bytes(b"x")
    ah.as_model(FOLDER / "model.ubj", trust=True)


def lightgbm():
    import lightgbm

    data = lightgbm.Dataset(POINTS, LABELS, params={"verbose": -1, "min_data_in_leaf": 3})
    settings = {"objective": "binary", "verbose": -1, "min_data_in_leaf": 3, "num_threads": 1}
    booster = lightgbm.train(settings, data, 5)
    assert ah.gamma(booster, POINTS).mean > 0
    booster.save_model(FOLDER / "model.txt")
    assert ah.gamma(ah.as_model(FOLDER / "model.txt", trust=True), POINTS).mean > 0


def lightgbm_with_sklearn():
    """The estimator, in the scikit-learn that the other extra brings."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=5, verbose=-1, min_child_samples=3).fit(POINTS, LABELS)
    assert ah.gamma(model, POINTS).mean > 0


def without_lightgbm():
    (FOLDER / "model.txt").write_bytes(b"x")
    ah.as_model(FOLDER / "model.txt", trust=True)


def catboost():
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False)
    assert ah.gamma(model.fit(POINTS, LABELS), POINTS).mean > 0
    model.save_model(str(FOLDER / "model.cbm"))
    assert ah.gamma(ah.as_model(FOLDER / "model.cbm", trust=True), POINTS).mean > 0


def without_catboost():
    (FOLDER / "model.cbm").write_bytes(b"x")
    ah.as_model(FOLDER / "model.cbm", trust=True)


def v2(path, body):
    """A model `wave` as the Open Inference Protocol describes and answers."""
    if body is None:
        tensor = {"datatype": "FP64", "shape": [-1, 2]}
        inputs, outputs = {"name": "x", **tensor}, {"name": "y", "datatype": "FP64", "shape": [-1]}
        return {"name": "wave", "platform": "none", "inputs": [inputs], "outputs": [outputs]}
    (given,) = body["inputs"]
    rows = np.array(given["data"], dtype=float).reshape(given["shape"])
    told = {"name": "y", "datatype": "FP64", "shape": [len(rows)], "data": wave(rows).tolist()}
    return {"model_name": "wave", "outputs": [told]}


def remote():
    with serving(v2) as address:
        found = ah.gamma(f"{address}/v2/models/wave", POINTS)
    np.testing.assert_allclose(found.values, scores().values)


def images():
    import torch
    from PIL import Image

    for row in range(3):
        pixels = RANDOM.integers(0, 256, size=(12, 12)).astype("uint8")
        Image.fromarray(pixels).save(FOLDER / f"{row}.png")
    read = ah.images.read_images(FOLDER, size=(12, 12), grey=True)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 64, 2))
    model = ah.images.classifier(network, ah.images.Preprocessing(size=(8, 8)))
    assert len(ah.gamma(model, read.pixels, radius=10.0, bounds=(0, 255))) == 3
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    tiny = ViTConfig(image_size=8, patch_size=4, intermediate_size=8, num_labels=2, **sizes)
    ViTForImageClassification(tiny).save_pretrained(FOLDER / "vit")
    ViTImageProcessor(size={"height": 8, "width": 8}).save_pretrained(FOLDER / "vit")
    model = ah.images.classifier(str(FOLDER / "vit"))
    assert len(ah.gamma(model, read.pixels, radius=10.0, bounds=(0, 255))) == 3


def without_images():
    ah.images.classifier(str(FOLDER))


def plots():
    figure = ah.plots.worst_points(scores())
    assert ah.plots.save(figure, FOLDER / "worst.html").stat().st_size > 10_000
    from anharmonic.cli.doctor import machine

    if machine.browser():
        assert ah.plots.save(figure, FOLDER / "worst.png").stat().st_size > 1_000


def without_plots():
    ah.plots.worst_points(scores())


def report():
    page = ah.report.write(FOLDER / "report.html", {"wave": scores()})
    assert page.stat().st_size > 10_000
    (FOLDER / "waves.py").write_text("import numpy as np\ndef f(x): return np.sin(3 * x[:, 0])\n")
    command("report", "a=waves:f", "--data", points_file(), "--out", FOLDER / "page.html")
    assert (FOLDER / "page.html").stat().st_size > 10_000


def without_report():
    ah.report.write(FOLDER / "report.html", {"wave": scores()})


def mlflow():
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{FOLDER}/mlflow.db")
    mlflow.set_experiment("x")
    with mlflow.start_run() as run:
        ah.tracking.log_scores(scores())
    kept = mlflow.MlflowClient().get_run(run.info.run_id)
    assert abs(kept.data.metrics["gamma/mean"] - scores().mean) < 1e-12


def without_mlflow():
    ah.tracking.log_scores(scores())


def card():
    text = ah.card.add_to_card(FOLDER / "README.md", {"waves": scores()}, model="wave")
    assert "gamma" in text


without_card = card


def lightning():
    import torch
    from lightning.pytorch import LightningModule, Trainer

    class Module(LightningModule):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.layers(x)

        def training_step(self, batch, index):
            return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

        def validation_step(self, batch, index):
            pass

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    points = torch.tensor(POINTS.astype("float32"))
    rows = torch.utils.data.TensorDataset(points, torch.tensor(LABELS))
    loader = torch.utils.data.DataLoader(rows, batch_size=20)
    log = ah.training.GammaLog(points[:10].numpy(), radius=0.3)
    callback = ah.training.lightning_callback(log)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(max_epochs=2, accelerator="cpu", callbacks=[callback], **quiet)
    trainer.fit(Module(), loader, loader)
    assert "gamma" in trainer.callback_metrics


def without_lightning():
    ah.training.lightning_callback(ah.training.GammaLog(POINTS, radius=0.3))


def monitor():
    watched = ah.Monitor(
        wave, RANDOM.normal(size=(300, 2)), watch="gamma", detector=ah.monitor.river("ADWIN")
    )
    watched.update(RANDOM.normal(size=(50, 2)))


without_monitor = monitor


def spade():
    inputs = RANDOM.normal(size=(300, 3))
    found = ah.spade(inputs, np.tanh(inputs), search="hnsw", blocks=0)
    assert found.score >= 1


without_spade = spade


def chat(path, body):
    said = "Paris" if "France" in body["messages"][-1]["content"] else "Rome"
    return {
        "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }


def llm():
    questions = FOLDER / "questions.jsonl"
    questions.write_text(json.dumps({"id": "a", "prompt": "Capital of France?"}) + "\n")
    with serving(chat) as address:
        told = ("--questions", questions, "--url", f"{address}/v1", "--out", FOLDER / "run.jsonl")
        command("llm", "score", "stand-in", *told)


def without_llm():
    ah.llm.gamma(lambda prompt: prompt, ["Capital of France?"])


def minilm():
    embed = ah.llm.embed.minilm()
    near, far = (
        embed(["a cat sleeps", "a cat is sleeping", "taxes rise"])[1:]
        @ embed(["a cat sleeps"]).ravel()
    )
    assert near > far


def without_minilm():
    ah.llm.embed.minilm()


def gguf():
    """No file of weights is carried along: that the runner says so is as far as this goes."""
    (FOLDER / "model.gguf").write_bytes(b"GGUF")
    try:
        client = ah.llm.as_client(FOLDER / "model.gguf")
        ah.llm.gamma(client, ["Who?"], embed=lambda texts: np.ones((len(texts), 2)))
    except ah.errors.MissingExtra:
        raise
    except ah.AnharmonicError as problem:
        refused = str(problem).lower()
    assert "gguf" in refused
    import xllamacpp

    assert xllamacpp.Server


without_gguf = gguf


def transformers():
    import tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = {word: number for number, word in enumerate(["[UNK]", "who", "are", "you", "[PAD]"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "eos_token": "[PAD]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(FOLDER / "gpt")
    sizes = {"vocab_size": 5, "n_embd": 8, "n_layer": 1, "n_head": 1, "n_positions": 64}
    GPT2LMHeadModel(GPT2Config(**sizes)).save_pretrained(FOLDER / "gpt")
    found = ah.llm.gamma(
        ah.llm.as_client(f"hf:{FOLDER}/gpt"),
        ["who are you"],
        embed=ah.llm.embed.characters(),
        parameters=ah.llm.Parameters(max_tokens=4),
        perturb="typos",
        count=2,
    )
    assert len(found.records) == 1


def without_transformers():
    ah.llm.gamma(ah.llm.as_client("hf:x"), ["who"], embed=lambda texts: np.ones((len(texts), 2)))


def sentences():
    import sentence_transformers

    assert sentence_transformers.SentenceTransformer


def without_sentences():
    ah.llm.embed.sentence_transformer("x")


def service():
    (FOLDER / "waves.py").write_text("import numpy as np\ndef f(x): return np.sin(3 * x[:, 0])\n")
    np.save(FOLDER / "reference.npy", RANDOM.normal(size=(400, 2)))
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["serve", "waves:f", "--reference", "reference.npy", "--store", "monitor.db"]
    process = subprocess.Popen(
        [sys.executable, "-m", "anharmonic", *words, "--port", str(port)], cwd=FOLDER
    )
    try:
        _observe(process, f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(20)


def _observe(process, address):
    import time

    for _ in range(300):
        try:
            urllib.request.urlopen(f"{address}/readyz", timeout=2)
            break
        except OSError:
            assert process.poll() is None, "the service ended"
            time.sleep(0.2)
    body = json.dumps({"points": POINTS[:5].tolist()}).encode()
    asked = urllib.request.Request(f"{address}/v1/observe", body)
    asked.add_header("content-type", "application/json")
    assert json.load(urllib.request.urlopen(asked, timeout=30))["accepted"] == 5
    assert b"gamma" in urllib.request.urlopen(f"{address}/metrics", timeout=10).read()
    assert urllib.request.urlopen(address, timeout=10).status == 200


def without_service():
    from anharmonic.cli.serve import service_package

    service_package()


def postgres():
    """No database is there: that it is looked for, and said not to be, is as far as this goes."""
    from anharmonic.serve.monitor.store import Store

    try:
        Store("postgresql://nobody@127.0.0.1:9/nothing")
    except ah.errors.MissingExtra:
        raise
    except Exception as problem:
        refused = str(problem).lower()
    assert "connect" in refused or "refused" in refused, refused


def without_postgres():
    from anharmonic.cli.serve import service_package

    service_package("postgresql://nobody@127.0.0.1/nothing")


def rows_in(file):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": POINTS[:, 0], "b": POINTS[:, 1]}), file)


def ray():
    rows_in(FOLDER / "rows.parquet")
    source = ah.sources.files(str(FOLDER / "rows.parquet"))
    stored = ah.gamma(wave, source, engine=ah.workers.ray(1), out=str(FOLDER / "on_ray"))
    assert stored.mean == ah.gamma(wave, source, out=str(FOLDER / "here")).mean


def without_ray():
    rows_in(FOLDER / "rows.parquet")
    source = ah.sources.files(str(FOLDER / "rows.parquet"))
    ah.gamma(wave, source, engine=ah.workers.ray(1), out=str(FOLDER / "on_ray"))


def stores():
    import fsspec

    with fsspec.open("memory://rows.parquet", "wb") as file:
        rows_in(file)
    stored = ah.gamma(wave, ah.sources.files("memory://rows.parquet"), out=str(FOLDER / "kept"))
    assert len(stored) == len(POINTS)


def without_stores():
    ah.gamma(wave, ah.sources.files("memory://rows.parquet"), out=str(FOLDER / "kept"))


def bare():
    assert scores().mean > 0
    assert ah.clever(lambda x: np.stack([x[:, 0], -x[:, 0]], 1), POINTS[:2], blocks=10).values.any()
    print(ah.compare({"wave": wave, "flat": lambda x: x[:, 0]}, POINTS, reference=POINTS))
    assert ah.spade(POINTS, np.tanh(POINTS), blocks=0).score >= 1
    command("doctor")


if __name__ == "__main__":
    # Some libraries leave files where they are run.
    os.chdir(FOLDER)
    name = sys.argv[1]
    if sys.argv[2:] != ["--without"]:
        globals()[name]()
        print(f"{name}: works")
    elif f"without_{name}" not in globals() and name not in ("onnx", "remote"):
        print(f"{name}: nothing to ask for without it")
    else:
        named = ""
        try:
            globals().get(f"without_{name}", globals()[name])()
        except ah.errors.MissingExtra as problem:
            print(f"{name}: {problem}")
            named = str(problem).partition("anharmonic[")[2].partition("]")[0]
        # `llm` holds `minilm`, which nobody installs by itself.
        assert named == {"minilm": "llm"}.get(name, name), f"{name} is lacking, {named} is named"
