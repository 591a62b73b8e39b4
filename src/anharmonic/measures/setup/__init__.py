"""What every measure starts from: a model, points, units, a radius, and batched calls."""
