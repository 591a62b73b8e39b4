"""SPADE from recorded traffic: no model is asked, inputs and outputs are enough.

pip install 'anharmonic[sklearn]' && python examples/spade_from_traffic.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import anharmonic as ah


def main() -> None:
    digits = load_digits()
    train, traffic = digits.data[:1000], digits.data[1000:1500]
    linear = LogisticRegression(max_iter=300).fit(train, digits.target[:1000])
    jumpy = KNeighborsClassifier(1).fit(train, digits.target[:1000])

    # What a log would hold: one row of inputs, one of outputs.
    logged = {"linear": linear.decision_function(traffic), "jumpy": jumpy.predict_proba(traffic)}
    for name, outputs in logged.items():
        noise = 1e-3 * np.random.default_rng(0).normal(size=outputs.shape)  # labels alone are ties
        scores = ah.spade(traffic, outputs + noise, blocks=4, seed=0)
        print(name, scores)

    scores = ah.spade(traffic, logged["linear"], blocks=0)
    rows = ah.spectral.guide(scores, 5)
    print("images the model pulls furthest from their neighbours:", rows.tolist())


if __name__ == "__main__":
    main()
