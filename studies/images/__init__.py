"""The paper's image experiment on real networks: what predicts that a decision will not last."""
