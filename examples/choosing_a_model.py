"""Four models with like test scores: which of them has memorised?

pip install 'anharmonic[sklearn]' && python examples/choosing_a_model.py
"""

from __future__ import annotations

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import anharmonic as ah

MODELS = {
    "linear": LogisticRegression(),
    "small forest": RandomForestClassifier(max_depth=3, random_state=0),
    "deep tree": DecisionTreeClassifier(random_state=0),
    "nearest neighbour": KNeighborsClassifier(1),
}


def main() -> None:
    # A tenth of the labels is wrong: there is something to memorise.
    rows, labels = make_classification(
        900, 8, n_informative=4, n_clusters_per_class=1, flip_y=0.2, random_state=3
    )
    train, new = slice(0, 500), slice(500, None)
    for name, model in MODELS.items():
        model.fit(rows[train], labels[train])
        scored = [model.score(rows[part], labels[part]) for part in (train, new)]
        print(f"{name:18} train {scored[0]:.2f}  test {scored[1]:.2f}")

    # One call per row: each answer beside the model's own answers at other rows. No label is used.
    found = ah.compare(MODELS, rows[new], reference=rows[train], ball="data")
    print(found)
    print("steadiest first:", ", ".join(found.ranking))
    for difference in found.differences:
        print(" ", difference)


if __name__ == "__main__":
    main()
