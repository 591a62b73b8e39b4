"""Image classifiers with their preprocessing declared, and folders of images.

A network wants its own size, channels and scale; the points to move are the pixels people see.
`classifier` puts the preprocessing in front of the network, on its device and differentiable,
so that gamma, searches and gradients all speak of pixels. Needs `anharmonic[images]`.
"""

from anharmonic.images.folders import Images, read_images
from anharmonic.images.loading import classifier
from anharmonic.images.preprocessing import IMAGENET, Preprocessing
from anharmonic.images.rounding import Rounding, rounding

__all__ = [
    "IMAGENET",
    "Images",
    "Preprocessing",
    "Rounding",
    "classifier",
    "read_images",
    "rounding",
]
