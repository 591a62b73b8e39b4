"""Estimates of performance without labels, held against NannyML's."""
