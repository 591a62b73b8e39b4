"""What measures are built from: arrays, randomness, statistics, files. Nothing here is public."""
