"""Measure how robust, overfit and explainable any model is, as a black box, without labels.

>>> import anharmonic as ah
>>> import numpy as np
>>> points = np.random.default_rng(0).normal(size=(100, 2))
>>> ah.gamma(lambda x: np.sin(3 * x[:, 0]), points, radius=0.2).queries <= 64 * 100
True
"""

import lazy_loader

from anharmonic._core import moved

__version__ = "0.1.0"

# The public names are those of `__init__.pyi`; each is imported when it is first used.
__getattr__, _names, __all__ = lazy_loader.attach_stub(__name__, __file__)
moved.redirect()


def __dir__() -> list[str]:
    return [*_names(), "__version__"]
