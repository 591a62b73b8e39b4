"""Pictures: Scores in, a plotly figure out.

Every function takes Scores and returns a `plotly.graph_objects.Figure`: show it, change it,
or `save` it as PNG, SVG, HTML or JSON without a network. Needs `anharmonic[plots]`.

>>> import numpy as np
>>> from anharmonic.measures.gamma.measure import gamma
>>> points = np.random.default_rng(0).normal(size=(100, 2))
>>> figure = distribution(gamma(lambda x: np.sin(x[:, 0]), points, radius=0.2))
>>> len(figure.data)
1
"""

from anharmonic.plots.components import projection
from anharmonic.plots.curves import distribution, radius_curve
from anharmonic.plots.explained import explanation
from anharmonic.plots.files import save
from anharmonic.plots.flips import flip_curve
from anharmonic.plots.frontier import frontier
from anharmonic.plots.gammamaps import gamma_map
from anharmonic.plots.maps import decision_regions
from anharmonic.plots.moved import moved_columns
from anharmonic.plots.points import contributions, worst_points
from anharmonic.plots.spade import fragile_points, node_distribution, spade_curve, top_eigenvalues
from anharmonic.plots.streams import evidence_curve, score_curve
from anharmonic.plots.strips import search_strip

__all__ = [
    "contributions",
    "decision_regions",
    "distribution",
    "evidence_curve",
    "explanation",
    "flip_curve",
    "fragile_points",
    "frontier",
    "gamma_map",
    "moved_columns",
    "node_distribution",
    "projection",
    "radius_curve",
    "save",
    "score_curve",
    "search_strip",
    "spade_curve",
    "top_eigenvalues",
    "worst_points",
]
