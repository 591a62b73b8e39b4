"""gamma: how far a model is from the mean-value property of harmonic functions."""
