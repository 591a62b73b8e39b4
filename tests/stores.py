"""A real MLflow tracking store of its own, in SQLite, for as long as a test needs it."""

from __future__ import annotations

import logging
import os
import warnings
from contextlib import contextmanager
from importlib import import_module

from anharmonic.models.mlflow import mlflow_module


@contextmanager
def mlflow_store(folder):
    """MLflow itself, tracking to a database and artifacts under `folder`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow = mlflow_module()
        for flavour in ("onnx", "pyfunc", "sklearn"):
            import_module(f"mlflow.{flavour}")

        logging.getLogger("mlflow").setLevel(logging.ERROR)
        before = mlflow.get_tracking_uri()
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        experiment = mlflow.create_experiment("tests", (folder / "artifacts").as_uri())
    # Not set_experiment: MLflow has no way to take that back, and other tests have other stores.
    os.environ["MLFLOW_EXPERIMENT_ID"] = experiment
    try:
        yield mlflow
    finally:
        while mlflow.active_run():
            mlflow.end_run()
        del os.environ["MLFLOW_EXPERIMENT_ID"]
        mlflow.set_tracking_uri(before)
