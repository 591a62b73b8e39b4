"""Draw the picture on the first page of the docs: two Wine models, and their gamma beneath.

pip install 'anharmonic[sklearn,docs]' && python examples/wine_picture.py wine.png
"""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap

import anharmonic as ah
from anharmonic._core.statistics import Estimate
from anharmonic.demos.wine import BOX, RADIUS, wine_models, wine_split

STEPS = 180
NAMES = {"GBDT-1": "5 stumps: well fit", "GBDT-2": "200 deep trees: overfit"}
CLASSES = ListedColormap(["#8fb8de", "#f3d79b", "#d98880"])


def main(path: str) -> None:
    train, _, labels, _ = wine_split(seed=0)
    models = wine_models(seed=0)
    region = ah.regions.grid(BOX, STEPS)
    extent = (*BOX[0], *BOX[1])
    style = {"extent": extent, "origin": "lower", "aspect": "auto", "interpolation": "nearest"}
    figure, axes = plt.subplots(
        2, 2, figsize=(9, 6.4), sharex=True, sharey=True, dpi=110, layout="constrained"
    )
    for column, (name, title) in enumerate(NAMES.items()):
        model = models[name].fit(train, labels)
        scores = ah.gamma(model, region, radius=RADIUS, output="onehot")
        decided = model.predict(region.values).reshape(STEPS, STEPS).T
        top, bottom = axes[:, column]
        top.imshow(decided, cmap=CLASSES, **style)
        top.scatter(*train.T, c=labels, cmap=CLASSES, edgecolor="black", linewidth=0.5, s=18)
        top.set_title(title)
        shown = bottom.imshow(
            scores.values.reshape(STEPS, STEPS).T, cmap="magma", vmin=0, vmax=0.5, **style
        )
        bottom.set_title(f"gamma: mean {Estimate(scores.mean, scores.error)}")
        bottom.set_xlabel("flavanoids")
        for axis in axes[:, 0]:
            axis.set_ylabel("od280/od315")
    figure.colorbar(
        shown, ax=axes, shrink=0.5, label="gamma: share of the circle with another label"
    )
    figure.savefig(path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "wine.png")
