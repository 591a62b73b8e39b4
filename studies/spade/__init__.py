"""SPADE of networks of different robustness, trained on handwritten digits."""
