"""Image classifiers: the pixels people see in, what the network was trained on inside."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import anharmonic as ah
from anharmonic.errors import ModelError, NotAModel, PointsError, SettingsError, UntrustedFile
from anharmonic.images import IMAGENET, Preprocessing, classifier
from anharmonic.images.network import prepared

RANDOM = torch.Generator().manual_seed(0)
GREY = 255 * torch.rand((3, 20, 30), generator=RANDOM)
COLOUR = 255 * torch.rand((3, 20, 30, 3), generator=RANDOM)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A small ResNet and a small vision transformer as transformers saves them."""
    from transformers import (
        ResNetConfig,
        ResNetForImageClassification,
        ViTConfig,
        ViTForImageClassification,
        ViTImageProcessor,
    )

    torch.manual_seed(0)
    names = {0: "cat", 1: "dog", 2: "eel"}
    labels = {"id2label": names, "label2id": {name: number for number, name in names.items()}}
    residual = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8], depths=[1, 1], layer_type="basic", **labels
    )
    attention = ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=8,
        **labels,
    )
    place = tmp_path_factory.mktemp("saved")
    ResNetForImageClassification(residual).save_pretrained(place / "resnet")
    ViTForImageClassification(attention).save_pretrained(place / "vit")
    for name in ("resnet", "vit"):
        ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(place / name)
    return place


def test_pixels_are_scaled_by_channel():
    how = Preprocessing(None, (0.5, 0.25, 0.0), (0.5, 0.25, 2.0))
    done = prepared(torch.full((1, 2, 2, 3), 255.0), how)
    assert done.shape == (1, 3, 2, 2)
    assert done[0, :, 0, 0].tolist() == [1.0, 3.0, 0.5]


def test_grey_becomes_three_equal_channels_and_colour_becomes_grey():
    three = prepared(GREY, Preprocessing(None, (0.0,) * 3, (1.0,) * 3))
    assert three.shape == (3, 3, 20, 30)
    assert torch.equal(three[:, 0], three[:, 2])
    one = prepared(torch.full((2, 4, 4, 3), 51.0), Preprocessing(None, (0.0,), (1.0,)))
    assert one.shape == (2, 1, 4, 4)
    assert torch.allclose(one, torch.tensor(0.2))


def test_channels_first_or_last_and_reversed():
    how = Preprocessing((8, 8))
    last, first = prepared(COLOUR, how), prepared(COLOUR.permute(0, 3, 1, 2), how)
    assert torch.equal(last, first)
    bare = Preprocessing(None, (0.0,) * 3, (1.0,) * 3)
    turned = Preprocessing(None, (0.0,) * 3, (1.0,) * 3, reverse=True)
    assert torch.equal(prepared(COLOUR, turned), prepared(COLOUR, bare).flip(1))


def test_it_has_gradients():
    pixels = GREY.clone().requires_grad_()
    prepared(pixels, IMAGENET).sum().backward()
    assert (pixels.grad > 0).all()


@pytest.mark.parametrize("name", ["resnet", "vit"])
def test_a_saved_transformers_model_knows_its_classes_and_preprocessing(folders, name):
    model = classifier(folders / name)
    assert model.preprocessing == Preprocessing((32, 32), (0.5,) * 3, (0.5,) * 3)
    asked = ah.as_model(model, output="label")
    labels = asked(GREY.numpy())
    assert labels.shape == (3,)
    scores = ah.gamma(model, GREY.numpy(), radius=5.0, scale=None)
    assert list(scores.settings.classes) == ["cat", "dog", "eel"]
    assert scores.settings.dimension == 600
    assert scores.mean > 0
    assert not model.network.training


def test_what_transformers_itself_prepares_is_what_we_prepare(folders):
    from transformers import AutoImageProcessor

    theirs = AutoImageProcessor.from_pretrained(folders / "vit")
    images = COLOUR.numpy().astype(np.uint8)
    expected = theirs(list(images), return_tensors="pt")["pixel_values"]
    ours = prepared(
        torch.as_tensor(images, dtype=torch.float32), classifier(folders / "vit").preprocessing
    )
    # They round to whole grey levels after resizing.
    assert (expected - ours).abs().max() < 2.5 / 127.5
    assert (expected - ours).abs().mean() < 0.5 / 127.5


def test_onnx_answers_as_torch_does(tmp_path):
    torch.manual_seed(1)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2)
    ).eval()
    how = Preprocessing((8, 8))
    onnx_file(network, tmp_path / "net.onnx")
    by_onnx = classifier(tmp_path / "net.onnx", how)
    by_torch = classifier(network, how)
    with torch.no_grad():
        np.testing.assert_allclose(by_onnx(GREY.numpy()), by_torch(GREY).numpy(), atol=1e-5)
    one = ah.gamma(by_onnx, GREY.numpy(), radius=5.0, scale=None)
    other = ah.gamma(by_torch, GREY.numpy(), radius=5.0, scale=None)
    np.testing.assert_allclose(one.values, other.values, atol=1e-4)


def test_another_number_of_classes_is_refused_kindly(folders, tmp_path):
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2)
    ).eval()
    onnx_file(network, tmp_path / "net.onnx")
    for source in (network, tmp_path / "net.onnx", folders / "vit"):
        how = Preprocessing((32, 32) if source == folders / "vit" else (8, 8))
        model = classifier(source, how, classes=("cat", "dog", "eel", "fox"))
        with pytest.raises(ModelError, match="classes= names 4: give one name for each"):
            ah.gamma(model, GREY.numpy(), radius=5.0, scale=None)
    single = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 1))
    two = classifier(single, Preprocessing((8, 8)), classes=("no", "yes"))
    assert two(GREY).shape == (3, 1)


def onnx_file(network, path):
    """A convolution, a ReLU and a linear layer as ONNX, written by hand: no exporter needed."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = {name: value.detach().numpy() for name, value in network.state_dict().items()}
    nodes = [
        helper.make_node("Conv", ["x", "0.weight", "0.bias"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("Gemm", ["f", "3.weight", "3.bias"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda folder: classifier(3), NotAModel, "no image classifier"),
        (lambda folder: classifier(folder / "nothing.onnx"), NotAModel, "no file"),
        (lambda folder: classifier(str(folder)), NotAModel, "save_pretrained"),
        (lambda folder: Preprocessing(mean=(0.5,)), SettingsError, "each channel"),
        (lambda folder: Preprocessing(deviation=(0.1, 0.0, 0.1)), SettingsError, "above 0"),
        (lambda folder: prepared(torch.zeros(2, 5), IMAGENET), PointsError, "no images"),
        (lambda folder: prepared(torch.zeros(2, 5, 6, 7), IMAGENET), PointsError, "no images"),
    ],
)
def test_mistakes_say_what_to_do(make, error, words, tmp_path):
    with pytest.raises(error, match=words):
        make(tmp_path)


def test_garbage_is_no_onnx_model(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    with pytest.raises(NotAModel, match="cannot be read"):
        classifier(tmp_path / "bad.onnx")


def test_weights_that_are_pickles_need_trust(folders, tmp_path):
    model = classifier(folders / "resnet").network
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    for name in ("config.json", "preprocessor_config.json"):
        (tmp_path / name).write_bytes((folders / "resnet" / name).read_bytes())
    with pytest.raises((NotAModel, UntrustedFile), match="trust"):
        classifier(tmp_path)
