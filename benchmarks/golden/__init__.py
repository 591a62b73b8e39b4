"""What the package gives for a fixed set of calls, so that a change of shape changes no number."""
