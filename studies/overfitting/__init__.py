"""Does gamma, which needs no labels, rank models by how much they overfit?"""
