"""Five families of models, each at five capacities from too stiff to memorising."""

from __future__ import annotations

from typing import Any

from studies.overfitting.sets import Task

__all__ = ["CAPACITIES", "FAMILIES", "built", "estimator", "parameters"]

DEPTHS = (1, 2, 4, 8, None)
NEIGHBOURS = (40, 20, 10, 4, 1)
KERNELS = ((0.3, 0.1), (1.0, 0.3), (10.0, 1.0), (100.0, 3.0), (1000.0, 10.0))
BOOSTS = ((10, 2, 0.1), (30, 4, 0.1), (100, 8, 0.1), (200, 16, 0.2), (300, 31, 0.5))
LAYERS = ((2,), (8,), (32,), (128,), (256, 256))
FAMILIES = ("tree", "neighbours", "kernel", "boosted", "network")
CAPACITIES = range(5)


def built(family: str, capacity: int, task: Task, features: int, seed: int) -> Any:
    """An unfitted model on standardised features (and answers, where those are numbers)."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    bare = estimator(family, capacity, task == "classification", features, seed)
    model = make_pipeline(StandardScaler(), bare)
    if task == "classification":
        return model
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def estimator(family: str, capacity: int, classes: bool, features: int, seed: int) -> Any:
    from sklearn import ensemble, neighbors, neural_network, svm, tree

    if family == "tree":
        grown = tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor
        return grown(max_depth=DEPTHS[capacity], random_state=seed)
    if family == "neighbours":
        near = neighbors.KNeighborsClassifier if classes else neighbors.KNeighborsRegressor
        return near(NEIGHBOURS[capacity])
    if family == "kernel":
        strength, narrowness = KERNELS[capacity]
        return (svm.SVC if classes else svm.SVR)(C=strength, gamma=narrowness / features)
    if family == "boosted":
        rounds, leaves, rate = BOOSTS[capacity]
        boosted = (
            ensemble.HistGradientBoostingClassifier
            if classes
            else ensemble.HistGradientBoostingRegressor
        )
        return boosted(
            max_iter=rounds,
            max_leaf_nodes=leaves,
            learning_rate=rate,
            min_samples_leaf=2,
            early_stopping=False,
            random_state=seed,
        )
    network = neural_network.MLPClassifier if classes else neural_network.MLPRegressor
    return network(hidden_layer_sizes=LAYERS[capacity], max_iter=500, random_state=seed)


def parameters(family: str, capacity: int, model: Any, trained: int) -> float:
    """How large a fitted model is: leaves, weights, support vectors, points for each answer."""
    fitted = model[-1] if hasattr(model, "steps") else model.regressor_[-1]
    if family == "tree":
        return float(fitted.get_n_leaves())
    if family == "neighbours":
        return trained / NEIGHBOURS[capacity]
    if family == "kernel":
        return float(fitted.support_vectors_.shape[0])
    if family == "boosted":
        rounds, leaves, _ = BOOSTS[capacity]
        return float(rounds * leaves)
    return float(sum(weights.size for weights in (*fitted.coefs_, *fitted.intercepts_)))
