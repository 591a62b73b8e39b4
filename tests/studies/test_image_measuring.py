"""Measuring a network piece by piece: files, resuming, and the readers of weights."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from anharmonic.errors import InputError, SettingsError
from studies.images.keras import read_weights
from studies.images.measurements import NOT_WALKED, Measurements, read_measurements
from studies.images.measuring import Effort, measured
from studies.images.networks import loaded
from studies.images.resnet import STAGES, ResNet50, folded

TINY = Effort(neighbours=6, seeds=2, directions=3, gamma_directions=2, photos_at_once=3)
PHOTOS = np.round(np.random.default_rng(0).uniform(0, 255, (6, 5, 5)))


class Counting:
    """Three linear logits of grey photos, and how many rows were asked for."""

    def __init__(self):
        self.rows = 0
        self.weights = np.random.default_rng(1).normal(size=(25, 3)) / 255

    def __call__(self, pixels):
        self.rows += len(pixels)
        return np.asarray(pixels).reshape(len(pixels), -1) @ self.weights


def test_all_is_measured_and_every_query_counted():
    model, kept = Counting(), []
    found = measured(model, PHOTOS, "tiny", TINY, keep=lambda each: kept.append(len(each.arrays)))
    pieces = found.facts["pieces"]
    assert kept[-1] == len(found.arrays)
    assert len(kept) == len(pieces)
    assert found.arrays["onehot/changes"].shape == (6, 1, 6)
    assert found.arrays["dense pairs/changes"].shape == (6, 2, 3)
    assert found.arrays["walks 25 onehot/own"].shape == (6, 1, 6)
    assert found.arrays["top"].shape == (6, 3)
    np.testing.assert_array_equal(found.arrays["top"][:, 0], found.arrays["label"])
    assert (found.arrays["gamma/flips"] != NOT_WALKED).all()
    counted = sum(piece["queries"] for piece in pieces.values())
    # The automatic ball asks a few points more than once to choose.
    assert counted <= model.rows <= 1.2 * counted


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    whole = measured(Counting(), PHOTOS, "tiny", TINY)

    def fail_late(found):
        found.save(tmp_path)
        if len(found.facts["pieces"]) == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(Counting(), PHOTOS, "tiny", TINY, keep=fail_late)
    (half,) = read_measurements(tmp_path)
    assert len(half.facts["pieces"]) == 7
    model = Counting()
    rest = measured(model, PHOTOS, "tiny", TINY, resume=half)
    assert list(rest.facts["pieces"]) == list(whole.facts["pieces"])
    for name, array in whole.arrays.items():
        np.testing.assert_allclose(rest.arrays[name], array, rtol=1e-5, atol=1e-6, err_msg=name)
    again = Counting()
    measured(again, PHOTOS, "tiny", TINY, resume=rest)
    assert again.rows == 0


def test_no_time_for_the_gamma_ascent():
    found = measured(Counting(), PHOTOS, "tiny", TINY._replace(gamma_seconds=-1))
    assert (found.arrays["gamma/flips"] == NOT_WALKED).all()
    assert (found.arrays["margin/flips"] != NOT_WALKED).all()


def test_files_that_hold_no_measurements(tmp_path):
    with pytest.raises(InputError, match=r"no \.npz"):
        read_measurements(tmp_path)
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="holds no measurements"):
        read_measurements(tmp_path)
    with pytest.raises(InputError, match="9 queries"):
        Measurements({}, {"x/changes": np.zeros((2, 1, 4))}).around("x", 9)
    with pytest.raises(SettingsError, match="choose one of"):
        loaded("alexnet")
    with pytest.raises(SettingsError, match="--weights"):
        loaded("resnet50")


def tfjs(folder, arrays, shards=2):
    """A model as TensorFlow.js keeps it, its bytes cut in shards wherever it falls."""
    content = b"".join(array.astype("<f4").tobytes() for array in arrays.values())
    cuts = np.linspace(0, len(content), shards + 1).astype(int).tolist()
    names = [f"shard{number}" for number in range(shards)]
    for name, low, high in zip(names, cuts, cuts[1:], strict=False):
        (folder / name).write_bytes(content[low:high])
    weights = [
        {"name": name, "shape": list(array.shape), "dtype": "float32"}
        for name, array in arrays.items()
    ]
    manifest = {"weightsManifest": [{"paths": names, "weights": weights}]}
    (folder / "model.json").write_text(json.dumps(manifest))


def test_the_keras_reader(tmp_path):
    random = np.random.default_rng(0)
    arrays = {"a/kernel": random.normal(size=(3, 3, 2, 4)), "a/bias": random.normal(size=4)}
    tfjs(tmp_path, arrays, shards=3)
    found = read_weights(tmp_path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array.astype(np.float32))
    (tmp_path / "shard2").write_bytes(b"")
    with pytest.raises(InputError, match="get it again"):
        read_weights(tmp_path)
    with pytest.raises(InputError, match="tfjs"):
        read_weights(tmp_path / "nowhere")


def test_folding_leaves_a_normalised_convolution_as_it_was():
    """One block's convolution and batch normalisation, by hand and folded."""
    random = np.random.default_rng(0)
    kernel, bias = random.normal(size=(1, 1, 4, 5)), random.normal(size=5)
    norm = {name: random.normal(size=5) for name in ("gamma", "beta", "moving_mean")}
    norm["moving_variance"] = random.uniform(0.5, 2, 5)
    weights = {
        "fc1000/kernel": np.zeros((5, 3)),
        "fc1000/bias": np.zeros(3),
        "res2a_branch2a/kernel": kernel,
        "res2a_branch2a/bias": bias,
    } | {f"bn2a_branch2a/{name}": array for name, array in norm.items()}
    state = folded(weights)
    pixel = random.normal(size=4)
    plain = pixel @ kernel[0, 0] + bias
    scale = norm["gamma"] / np.sqrt(norm["moving_variance"] + 1e-3)
    expected = (plain - norm["moving_mean"]) * scale + norm["beta"]
    got = state["blocks.2a.a.weight"][:, :, 0, 0] @ pixel + state["blocks.2a.a.bias"]
    np.testing.assert_allclose(got, expected)


def test_resnet_has_the_shape_it_is_known_for():
    with torch.device("meta"):
        network = ResNet50()
        assert network(torch.zeros(2, 3, 224, 224)).shape == (2, 1000)
    assert sum(len(letters) for letters in STAGES.values()) == 16
    # 25,557,032 without batch normalisation's 26,560 pairs, with as many biases.
    assert sum(each.numel() for each in network.parameters()) == 25_557_032 - 2 * 26_560 + 26_560
