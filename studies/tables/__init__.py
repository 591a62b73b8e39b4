"""Gamma in tables with categories, whole numbers and missing cells: does it pay to move them?"""
