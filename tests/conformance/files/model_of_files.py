import numpy as np


def bent(x):
    x = np.asarray(x)
    return np.stack([np.sin(3 * x[:, 0]) * (x[:, 0] > 0), x[:, 1]], axis=1)


def talk(prompt):
    return prompt[::-1]


def letters(texts):
    return np.array([[text.count(c) + 0.1 for c in "aeiout"] for text in texts])
