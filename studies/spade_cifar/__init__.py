"""SPADE on CIFAR-10: Tables 1, 2, 4 and 5 and Fig. 3, with residual networks under PGD training."""
