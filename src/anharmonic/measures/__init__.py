"""The measures: each takes a model and points, and gives Scores.

`setup` is what they share: a model, points, units and a radius, settled once.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["baselines", "spectral", "stability", "standards"]
)
