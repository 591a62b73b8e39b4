"""Decisions that hang by a thread: which, why, and what would change them.

pip install 'anharmonic[sklearn]' && python examples/fragile_decisions.py
"""

from __future__ import annotations

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import anharmonic as ah


def main() -> None:
    rows, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    train, new = rows[:400], rows[400:480]
    model = RandomForestClassifier(50, random_state=0).fit(train, labels[:400])

    # How likely is each decision to change after ten random steps? Twenty queries per row.
    chances = ah.nstep_robustness(
        model, new, reference=train, steps=10, kind="sway", directions=20, seed=0
    )
    fragile = chances.worst(3)
    print("decisions that last least:", [int(new.index[row]) for row in fragile])

    # Cheaper, and often as good: how sure the model says it is.
    confidence = ah.baselines.confidence(model, new)
    print("least confident:          ", [int(new.index[row]) for row in confidence.worst(3)])

    why = ah.explain(model, new.iloc[int(fragile[0])], reference=train, seed=0)
    print(why)
    for name, _, share in why.parts(3):
        print(f"  of the deviation: {share:+.4f} by {name}")


if __name__ == "__main__":
    main()
