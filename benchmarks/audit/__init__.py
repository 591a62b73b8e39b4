"""Planted faults and clean controls: does `audit` find and name what is wrong, and nothing else?"""
