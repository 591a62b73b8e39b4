"""Side by side with rivals, in one run, as ratios with their spread: `make bench`."""
