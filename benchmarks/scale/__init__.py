"""Beyond one machine: Ray, many rows, kills, costs; each part says its bars.

    python -m benchmarks.scale speed   # Ray of two actors against one process and bare Ray Data
    python -m benchmarks.scale rows    # 50,000,000 rows: memory and time
    python -m benchmarks.scale kills   # a worker, an actor and the driver, ten times each
    python -m benchmarks.scale cost    # seconds per million points by kind of model

They need the environment of `make scale`. `--size SHARE` makes each smaller.
"""

from __future__ import annotations
