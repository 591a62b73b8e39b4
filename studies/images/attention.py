"""A small vision transformer, trained here: no pretrained one comes with a package registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from anharmonic.images.preprocessing import Preprocessing
from studies.page import Tell, silent

__all__ = ["GREY", "Pictures", "logits_of", "read_cifar", "save", "trained"]

Array = np.ndarray[Any, Any]
SIZE, PATCH = 100, 10
GREY = Preprocessing((SIZE, SIZE), (0.5,) * 3, (0.25,) * 3)
CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)


class Pictures(NamedTuple):
    """Small grey pictures (pictures, height, width) of bytes, and their classes."""

    pixels: Array
    labels: Array


def read_cifar(folder: Path) -> tuple[Pictures, Pictures]:
    """CIFAR-10 made grey, to train on and to test on, from train.npz and test.npz."""
    found = []
    for part in ("train", "test"):
        with np.load(folder / f"{part}.npz") as file:
            found.append(Pictures(file["pixels"], file["labels"]))
    return found[0], found[1]


def network(classes: int = len(CLASSES), width: int = 192, depth: int = 8) -> Any:
    """A ViT of 100 patches with random weights."""
    from transformers import ViTConfig, ViTForImageClassification

    names = dict(enumerate(CLASSES[:classes]))
    config = ViTConfig(
        image_size=SIZE,
        patch_size=PATCH,
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=max(1, width // 64),
        intermediate_size=4 * width,
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    return ViTForImageClassification(config)


class Logits(torch.nn.Module):
    """The logits alone of a transformers classifier."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.network(pixel_values=images).logits
        return logits


def logits_of(network: torch.nn.Module) -> Logits:
    """The same network, answering a tensor."""
    return Logits(network)


def seen(pixels: torch.Tensor) -> torch.Tensor:
    """Bytes (rows, height, width) as the network sees them, (rows, 3, SIZE, SIZE)."""
    large = functional.interpolate(pixels[:, None].float(), (SIZE, SIZE), mode="bilinear")
    return ((large / 255 - GREY.mean[0]) / GREY.deviation[0]).expand(-1, 3, -1, -1)


def trained(
    train: Pictures,
    test: Pictures,
    *,
    epochs: int = 25,
    batch: int = 512,
    seed: int = 0,
    device: str = "cpu",
    tell: Tell = silent,
    width: int = 192,
    depth: int = 8,
) -> tuple[Any, float]:
    """A vision transformer trained on grey pictures, and its share of right answers on others.

    AdamW with a rate that rises for a twentieth of the way and falls as a cosine; pictures are
    mirrored and shifted at random.
    """
    torch.manual_seed(seed)
    model = network(width=width, depth=depth).to(device)
    pixels = torch.as_tensor(train.pixels, device=device)
    labels = torch.as_tensor(train.labels, device=device).long()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    each = -(-len(labels) // batch)
    rate = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, 1e-3, total_steps=epochs * each, pct_start=0.05
    )
    model.train()
    for epoch in range(epochs):
        order = torch.randperm(len(labels), device=device)
        for rows in torch.split(order, batch):
            with torch.autocast(device, torch.bfloat16):
                logits = model(pixel_values=seen(_varied(pixels[rows]))).logits
            loss = functional.cross_entropy(logits.float(), labels[rows], label_smoothing=0.1)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            rate.step()
        if epoch % 5 == 4 or epoch == epochs - 1:
            tell(f"vision transformer: epoch {epoch + 1} of {epochs}, loss {loss.item():.2f}")
    return model.eval(), _accuracy(model, test, device)


def _varied(pixels: torch.Tensor) -> torch.Tensor:
    """Half of the pictures mirrored, each batch shifted by up to four pixels, each on its own."""
    mirrored = torch.rand(len(pixels), 1, 1, device=pixels.device) < 0.5
    pixels = torch.where(mirrored, pixels.flip(-1), pixels)
    many, high, wide = pixels.shape
    padded = functional.pad(pixels, (4, 4, 4, 4))
    down, right = torch.randint(0, 9, (2, many, 1, 1), device=pixels.device)
    rows = down + torch.arange(high, device=pixels.device)[None, :, None]
    columns = right + torch.arange(wide, device=pixels.device)[None, None, :]
    return padded[torch.arange(many, device=pixels.device)[:, None, None], rows, columns]


def _accuracy(model: Any, test: Pictures, device: str) -> float:
    right = 0
    with torch.no_grad():
        for low in range(0, len(test.labels), 500):
            few = torch.as_tensor(test.pixels[low : low + 500], device=device)
            said = model(pixel_values=seen(few)).logits.argmax(1).cpu().numpy()
            right += int((said == test.labels[low : low + 500]).sum())
    return right / len(test.labels)


def save(model: Any, folder: Path) -> None:
    """As transformers saves it, with the preprocessing: `images.classifier(folder)` reads it."""
    # Written by hand: the processor itself wants packages that training does not need.
    how = {
        "image_processor_type": "ViTImageProcessor",
        "size": {"height": SIZE, "width": SIZE},
        "image_mean": GREY.mean,
        "image_std": GREY.deviation,
        "rescale_factor": 1 / GREY.largest,
        **dict.fromkeys(("do_resize", "do_rescale", "do_normalize"), True),
    }
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(how))
