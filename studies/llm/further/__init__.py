"""Answers, further: ensembles, kinds of characters, magnitudes, likelihoods, ascents, made sets."""
