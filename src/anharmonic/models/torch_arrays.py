"""Arrays and sparse matrices on an accelerator, by way of torch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array

if TYPE_CHECKING:
    from scipy.sparse import spmatrix
    from torch import Tensor

__all__ = ["accelerated", "full_precision", "placed", "sparse"]


def accelerated() -> str:
    """The device to compute on: a GPU where torch sees one, else the CPU."""
    needs("torch", "torch")
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def placed(array: Array, device: str) -> Tensor:
    """An array's copy on a device.

    >>> placed(np.arange(3.0), "cpu").sum().item()
    3.0
    """
    import torch

    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


def sparse(matrix: spmatrix, device: str) -> Tensor:
    """A scipy sparse matrix as a CSR tensor on a device."""
    import torch

    rows = matrix.tocsr()
    starts, columns, values = (
        placed(part, device) for part in (rows.indptr, rows.indices, rows.data)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "in beta state"
        return torch.sparse_csr_tensor(starts, columns, values, rows.shape)


@contextmanager
def full_precision() -> Iterator[None]:
    """Products of single precision numbers in single precision, whatever was allowed before."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
