"""Findings about comparing, explaining and training."""
