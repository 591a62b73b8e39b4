"""Images: pixels move within their bounds, in grey levels. How few steps change a digit?

pip install 'anharmonic[sklearn]' && python examples/image_classifier.py
The same works for a torch network or an ONNX file: ah.images.classifier(network).
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import anharmonic as ah

GREY = {"radius": 4.0, "bounds": (0, 16), "grid": 1.0}
"""Steps of four of sixteen grey levels, whole levels only."""


def main() -> None:
    digits = load_digits()
    images = digits.images[1500:1530]
    network = MLPClassifier((32,), max_iter=200, random_state=0, tol=1e-2)
    network.fit(digits.data[:1200] / 16, digits.target[:1200])

    def model(pixels: np.ndarray) -> np.ndarray:
        flat = np.asarray(pixels, dtype=float).reshape(len(pixels), -1) / 16
        return np.log(network.predict_proba(flat) + 1e-12)

    print(ah.gamma(model, images, radius=2.0, scale=None, bounds=(0, 16)))

    aimed = ah.adversarial_search(model, images, climb="margin", steps=10, seed=0, **GREY)
    control = ah.adversarial_search(model, images, climb="random", steps=10, seed=0, **GREY)
    print("towards another class:", aimed)
    print("at random, the control:", control)

    sway = ah.nstep_robustness(model, images, kind="sway", steps=10, seed=0, **GREY)
    print("digits that last least:", sway.worst(5).tolist())


if __name__ == "__main__":
    main()
