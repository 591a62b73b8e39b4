"""MLflow models: by their address, from a folder, or loaded already.

What a flavour keeps as data (ONNX, skops) is read as such. Everything else runs code when it
is loaded and is only loaded with trust, natively where that gives probabilities.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.extras import needs
from anharmonic._core.frames import as_table
from anharmonic._core.protocols import Array
from anharmonic.errors import (
    ModelError,
    NotAModel,
    PointsError,
    UntrustedFile,
    first_line,
)
from anharmonic.models.files import load
from anharmonic.models.inputs import Inputs
from anharmonic.models.outputs_offered import ModelOutputs, raw_outputs

if TYPE_CHECKING:
    import pandas
    from mlflow.pyfunc import PyFuncModel
    from mlflow.types import Schema

__all__ = ["is_mlflow", "load_mlflow", "mlflow_module", "pyfunc_outputs"]

ADDRESSES: Final = ("models:/", "runs:/", "mlflow-artifacts:/", "mlflow:/", "mlflow:.")
NATIVE: Final = ("sklearn", "xgboost", "lightgbm", "catboost", "pytorch")
"""Flavours whose own objects offer more than pyfunc's `predict`."""

Flavours = Mapping[str, Mapping[str, object]]
"""The settings of each flavour that a model was logged in."""


def mlflow_module() -> ModuleType:
    """MLflow, which reports its use over the network unless forbidden before it is imported.

    Nothing leaves the machine because of us; who has set the variable, or imported MLflow
    already, has decided for themselves.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    return needs("mlflow", "mlflow")


def is_mlflow(source: str | Path) -> bool:
    """Whether this is an MLflow address, or a folder that holds a model of MLflow's.

    >>> is_mlflow("models:/wine/1"), is_mlflow("mlflow:./saved"), is_mlflow("mlflow:something")
    (True, True, False)
    """
    if isinstance(source, str) and source.startswith(ADDRESSES):
        return True
    return (Path(source).expanduser() / "MLmodel").is_file()


def load_mlflow(source: str | Path, trust: bool) -> object:
    """The model at an address or in a folder, as its flavour's own object where it has one."""
    folder, flavours = _local_copy(str(source))
    data_file = _data_file(folder, flavours)
    if data_file is not None:
        return load(data_file, trust)
    if not trust:
        raise UntrustedFile(
            f"{source} is an MLflow model ({', '.join(flavours)}), and loading it runs whatever "
            "code it contains: if you made it or trust who did, say so with trust=True (--trust), "
            "or log the model as ONNX or with serialization_format='skops'."
        )
    native = next((flavour for flavour in NATIVE if flavour in flavours), None)
    try:
        if native is not None:
            model: object = import_module(f"mlflow.{native}").load_model(str(folder))
            return model
        pyfunc = Pyfunc(str(folder))
        _ = pyfunc.model  # loaded here, so that what fails is said about the address
        return pyfunc
    except Exception as error:  # loading runs the model's own code, which may raise anything
        raise NotAModel(
            f"{source} cannot be loaded ({type(error).__name__}: {first_line(error)}): install "
            "what the model was logged with."
        ) from error


def pyfunc_outputs(model: object) -> ModelOutputs:
    """A pyfunc model that is loaded already: its `predict`, taken as values or logits."""
    if not (hasattr(model, "predict") and hasattr(model, "metadata")):
        raise NotAModel(
            f"A {type(model).__name__} is no loaded MLflow model: log it, and pass its address."
        )
    pyfunc = Pyfunc(model)
    return ModelOutputs("pyfunc", raw_outputs(pyfunc), inputs=pyfunc.inputs)


def _local_copy(source: str) -> tuple[Path, Flavours]:
    """The model's folder on this machine, and its flavours with their settings."""
    mlflow_module()
    from mlflow.artifacts import download_artifacts
    from mlflow.models import Model

    address = source.removeprefix("mlflow:")
    try:
        local = Path(address).expanduser()
        folder = local if local.is_dir() else Path(download_artifacts(artifact_uri=address))
        return folder, dict(Model.load(str(folder)).flavors)
    except Exception as error:  # stores fail each in its own way
        raise NotAModel(
            f"{source} cannot be found ({first_line(error)}): check the name and version, and "
            "that MLFLOW_TRACKING_URI names the right server or database."
        ) from error


def _data_file(folder: Path, flavours: Flavours) -> Path | None:
    """The file of a flavour that is data and not code, for the readers that know its dangers."""
    sklearn = flavours.get("sklearn", {})
    if "onnx" in flavours:
        name = str(flavours["onnx"].get("data", "model.onnx"))
    elif sklearn.get("serialization_format") == "skops":
        name = str(sklearn["pickled_model"])
    else:
        return None
    file = (folder / name).resolve()
    # What describes a model comes with it, and must not make us open anything else.
    if not file.is_relative_to(folder.resolve()):
        raise NotAModel(f"{folder} names {name}, which lies outside of it: log the model again.")
    return file


@dataclass(frozen=True, eq=False)
class Pyfunc:
    """A pyfunc model, given what its signature describes; a folder is opened on demand."""

    source: str | PyFuncModel

    @cached_property
    def model(self) -> PyFuncModel:
        if not isinstance(self.source, str):
            return self.source
        from mlflow.pyfunc import load_model

        return load_model(self.source)

    @property
    def inputs(self) -> Inputs | None:
        """The columns of the model's signature, where all of them are required."""
        schema = self.model.metadata.get_input_schema()
        if schema is None or schema.is_tensor_spec() or not schema.has_input_names():
            return None
        names = schema.input_names()
        return Inputs(tuple(names)) if names == schema.required_input_names() else None

    def __getstate__(self) -> dict[str, object]:
        # What is loaded may not pickle, and can be loaded again where it is needed.
        return {"source": self.source}

    def __call__(self, points: Array) -> Array:
        from mlflow.exceptions import MlflowException

        schema = self.model.metadata.get_input_schema()
        try:
            return self.model.predict(_described(to_numpy(points), schema))
        except MlflowException as error:
            raise ModelError(
                f"MLflow refuses the points ({first_line(error)}): give the columns of the "
                "model's signature; a column it calls whole numbers cannot move, so hold it still "
                "with moving= (--moving), or log the model with an example of floats."
            ) from error


def _described(points: Array, schema: Schema | None) -> Array | pandas.DataFrame | dict[str, Array]:
    """Points in the names and types of a signature, as far as nothing is lost."""
    if schema is None:
        return points
    if schema.is_tensor_spec():
        array = np.asarray(points).astype(schema.inputs[0].type, copy=False)
        return {schema.inputs[0].name: array} if schema.has_input_names() else array
    table = _table(points, schema.input_names())
    for column in schema.inputs:
        wanted = column.type.to_numpy() if hasattr(column.type, "to_numpy") else np.dtype(object)
        if column.name not in table or getattr(table[column.name].dtype, "kind", "O") != "f":
            continue
        values = table[column.name].to_numpy()
        whole = wanted.kind in "iu" and bool((values == np.round(values)).all())
        if whole or wanted.kind == "f":
            table[column.name] = values.astype(wanted)
    return table


def _table(points: Array, names: list[str]) -> pandas.DataFrame:
    """A pandas DataFrame of its own, with the signature's names where the points have none."""
    import pandas

    table = as_table(points)
    if table is not None:
        return table.to_pandas().copy()
    flat = np.asarray(points).reshape(len(points), -1)
    if flat.shape[1] != len(names):
        raise PointsError(
            f"the points have {flat.shape[1]} columns and the model's signature {len(names)}: "
            f"give {', '.join(map(str, names))}"
        )
    return pandas.DataFrame(flat, columns=names)
