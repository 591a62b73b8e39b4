"""Executors with the builtin `map`'s signature: hand one to any measure as `engine=` or `map=`.

>>> list(threads(2)(abs, [-1, 2, -3]))
[1, 2, 3]

Results come in order, and only a few items are under way at once, so a long run holds
little in memory. Which one: `threads` for models that let go of Python's lock (most that
compute in C, and servers), `processes` for models in pure Python, `ray` for more than one machine,
`map` itself for models that already use every core.
"""

from anharmonic.workers.local import processes, serial, threads
from anharmonic.workers.on_ray import ray

__all__ = ["processes", "ray", "serial", "threads"]
