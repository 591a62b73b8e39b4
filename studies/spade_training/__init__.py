"""Training with SPADE's scores and with gamma, against what each is compared with."""
