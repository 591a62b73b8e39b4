"""Workers of a Ray cluster: a pool of actors behind Ray Data's `map_batches`.

Ray Data shares out the items, holds back what would not fit, starts an actor anew that has died and
gives its items to another. Nothing of that is done here.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from anharmonic._core.extras import needs
from anharmonic.errors import InputError, MeasurementStopped, SettingsError, first_line
from anharmonic.workers.local import Unloadable, check_count

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ray"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ray:  # noqa: N801 - used like the builtin map
    """Actors of a Ray cluster, each with a copy of the model, sent once.

    Parameters
    ----------
    count
        How many actors; as many as the cluster has processors (or GPUs) for if not given.
    address
        Of a cluster: "auto" for the one this machine belongs to, or ray://HOST:10001. If not
        given, one is started on this machine and ended afterwards; a cluster that this process
        is connected to is used as it is.
    cpus, gpus
        What each actor takes. A GPU's actor sees that GPU alone; give the model by name
        (`package.module:function` or a file) so that it is loaded there.
    environment
        Ray's `runtime_env`: packages and files that machines of the cluster lack.

    Examples
    --------
    >>> ray(2, address="auto", gpus=1).gpus
    1
    """

    count: int | None = None
    address: str | None = None
    cpus: float = 1
    gpus: float = 0
    environment: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_count(self.count)

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item], /
    ) -> Iterator[Result]:
        library = needs("ray", "ray")
        listed = list(items)
        if not listed:
            return
        with self._connected(library):
            yield from self._results(library, function, listed)

    def _results(
        self, library: Any, function: Callable[[Item], Result], items: list[Item]
    ) -> Iterator[Result]:
        data = needs("ray.data", "ray")
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        # As the builtin map: results come in the order of the items.
        context.execution_options.preserve_order = True
        try:
            shared = library.put(library.cloudpickle.dumps(function))
        except Exception as problem:  # pickles fail in ways of their own
            raise SettingsError(
                f"this model cannot be sent to another process ({first_line(problem)}): define it "
                "at the top of a module, or use anharmonic.workers.threads"
            ) from problem
        packed = [{"item": pickle.dumps(item)} for item in items]
        count = self._actors(library, len(items))
        answers = data.from_items(packed, override_num_blocks=len(packed)).map_batches(
            _Actor,
            fn_constructor_args=([shared],),
            batch_size=1,
            batch_format="pyarrow",
            zero_copy_batch=True,
            compute=data.ActorPoolStrategy(size=count),
            num_cpus=self.cpus,
            num_gpus=self.gpus or None,
        )
        for batch in answers.iter_batches(batch_size=None, batch_format="pyarrow"):
            for packed_answer in batch["answer"]:
                answer = pickle.loads(packed_answer.as_py())
                if isinstance(answer, _Raised):
                    raise answer.problem
                yield answer

    def _actors(self, library: Any, items: int) -> int:
        """How many actors: as many as asked for or as fit, and no more than there is work for."""
        there = library.cluster_resources()
        kind, each = ("GPU", self.gpus) if self.gpus else ("CPU", self.cpus)
        fitting = int(there.get(kind, 0) // each) if each else os.cpu_count() or 1
        wanted = self.count or max(1, fitting)
        if wanted > fitting:
            raise SettingsError(
                f"{wanted} actors of {each:g} {kind} each do not fit on a cluster with "
                f"{there.get(kind, 0):g}: ask for fewer, or for less for each"
            )
        return min(wanted, items)

    @contextmanager
    def _connected(self, library: Any) -> Iterator[None]:
        """A cluster for as long as the work lasts: the one there is, or one of our own."""
        if library.is_initialized():
            yield
            return
        # Nothing leaves the machine.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        own: dict[str, Any] = {}
        if self.address is None:
            needed = None if self.count is None else max(1, round(self.count * self.cpus))
            own = {"num_cpus": needed, "include_dashboard": False}
        try:
            library.init(
                address=self.address or "local",
                runtime_env=dict(self.environment) or None,
                logging_level="ERROR",
                log_to_driver=False,
                **own,
            )
        except (ConnectionError, RuntimeError, ValueError) as problem:
            raise InputError(
                f"no Ray cluster at {self.address} ({first_line(problem)}): start one with "
                "`ray start --head`, or leave the address out"
            ) from problem
        try:
            yield
        finally:
            library.shutdown()


class _Raised:
    """What a function raised, on its way back to whoever asked."""

    def __init__(self, problem: BaseException) -> None:
        self.problem = problem


class _Actor:
    """One worker: the function is unpacked once, then applied to whatever comes."""

    def __init__(self, shared: list[Any]) -> None:
        import ray

        self.function: Callable[[Any], Any]
        try:
            self.function = pickle.loads(ray.get(shared[0]))
        except Exception as problem:  # Ray would try without end what cannot work
            self.function = Unloadable(problem)

    def __call__(self, batch: pa.Table) -> pa.Table:
        import pyarrow as pa

        answers = [_answer(self.function, item.as_py()) for item in batch["item"]]
        return pa.table({"answer": pa.array(answers, pa.large_binary())})


def _answer(function: Callable[[Any], Any], item: bytes) -> bytes:
    try:
        return pickle.dumps(function(pickle.loads(item)))
    except Exception as problem:
        try:
            return pickle.dumps(_Raised(problem))
        except Exception:  # an error that does not pickle still says what it says
            return pickle.dumps(_Raised(MeasurementStopped(f"a worker failed: {problem!r}")))
