"""Intervals of single points, and rounding."""
