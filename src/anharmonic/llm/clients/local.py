"""Models on this machine: a Python function, a GGUF file, a Hugging Face pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

from anharmonic.errors import MissingExtra, NotAModel, first_line
from anharmonic.llm.clients.endpoint import Endpoint
from anharmonic.llm.types import Answer, Parameters, Request

__all__ = ["Function", "LocalServer", "Pipeline"]


class Function:
    """A Python function from a prompt to an answer, called in threads.

    What it raises is that answer's error.

    Parameters
    ----------
    function
        From a prompt, or from a `Request` where `whole` is set, to an answer.
    name
        What results call it; its module and name if not given.
    concurrency
        The most calls at once.
    whole
        Whether it takes the whole `Request`, and so can heed a temperature.
    """

    def __init__(
        self,
        function: Callable[[Any], str],
        *,
        name: str | None = None,
        concurrency: int = 1,
        whole: bool = False,
    ) -> None:
        self._function, self._whole, self.concurrency = function, whole, concurrency
        self.samples = whole
        own_name = getattr(function, "__qualname__", type(function).__qualname__)
        self.name = name or f"{getattr(function, '__module__', None) or 'builtins'}:{own_name}"
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="anharmonic-llm")

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """An answer for each request."""
        return [promise.result() for promise in [self.submit(request) for request in requests]]

    def submit(self, request: Request) -> Future[Answer]:
        """Call the function in a thread."""
        return self._threads.submit(self._answer, request)

    def close(self) -> None:
        """Let the threads go, once they have answered."""
        self._threads.shutdown()

    def _answer(self, request: Request) -> Answer:
        try:
            text = self._function(request if self._whole else request.prompt)
        except Exception as problem:
            return Answer(error=f"{type(problem).__name__}: {first_line(problem)}")
        if not isinstance(text, str):
            return Answer(error=f"the function gave {type(text).__name__}, not text")
        return Answer(text) if text.strip() else Answer(error="empty answer")


class LocalServer(Endpoint):
    """A GGUF file behind llama.cpp's own server on loopback (xllamacpp), as an endpoint.

    Parameters
    ----------
    path
        The .gguf file.
    parallel
        Answers at once.
    context
        Tokens of prompt and answer together, for each of them.
    threads
        How many compute one answer, as many as there are idle processors if not given.
    timeout
        Seconds for one answer.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        parallel: int = 1,
        context: int = 2048,
        threads: int | None = None,
        timeout: float = 600.0,
    ) -> None:
        try:
            import xllamacpp
        except ImportError as problem:
            raise MissingExtra("xllamacpp", "gguf") from problem
        file = Path(path)
        if not file.is_file():
            raise NotAModel(f"there is no file {file}: give a .gguf file")
        settings = xllamacpp.CommonParams()
        settings.model.path = str(file)
        # Each slot gets its own share of the context.
        settings.n_ctx, settings.n_parallel = context * parallel, parallel
        settings.n_gpu_layers, settings.verbosity = 0, 0
        settings.cpuparams.n_threads = threads or idle_processors()
        try:
            self._server = xllamacpp.Server(settings)
        except RuntimeError as problem:
            raise NotAModel(
                f"{file} cannot be run ({first_line(problem)}): is it a GGUF model?"
            ) from problem
        url = f"{self._server.listening_address}/v1"
        super().__init__(url, file.stem, concurrency=parallel, timeout=timeout)

    @property
    def name(self) -> str:
        """The file's name: the port differs every time."""
        return f"{self.model}.gguf"


def idle_processors() -> int:
    """Processors that nobody uses at the moment, at least one.

    llama.cpp's threads wait for each other by spinning: more of them than are free take several
    times as long as one alone.
    """
    try:
        mine, busy = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    except (AttributeError, OSError):  # not every system tells
        return 1
    return max(1, int(mine - busy))


class Pipeline:
    """A Hugging Face text-generation pipeline.

    Parameters
    ----------
    source
        The pipeline, or the name or folder of a model for one.
    batch_size
        Prompts per call of the model.
    """

    def __init__(self, source: Any, *, batch_size: int = 8) -> None:
        if isinstance(source, str | os.PathLike):
            try:
                from transformers import pipeline
            except ImportError as problem:
                raise MissingExtra("transformers", "transformers") from problem
            source = pipeline("text-generation", model=str(source))
        self._pipe, self._batch = source, batch_size
        self.name = str(getattr(source.model, "name_or_path", "") or type(source.model).__name__)

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """An answer for each request; neighbours with the same parameters in one call."""
        answers: list[Answer] = []
        for (parameters, seed), alike in groupby(
            requests, key=lambda request: (request.parameters, request.seed)
        ):
            answers += self._generate([request.prompt for request in alike], parameters, seed)
        return answers

    def _generate(
        self, prompts: list[str], parameters: Parameters, seed: int | None
    ) -> list[Answer]:
        sampled = parameters.temperature > 0
        settings: dict[str, Any] = {"do_sample": sampled, "max_new_tokens": parameters.max_tokens}
        if sampled:
            settings["temperature"] = parameters.temperature
            settings["top_p"] = parameters.top_p if parameters.top_p is not None else 1.0
            if seed is not None:
                import torch

                torch.manual_seed(seed)
        inputs = [self._as_chat(prompt, parameters.system) for prompt in prompts]
        outputs = self._pipe(inputs, batch_size=self._batch, return_full_text=False, **settings)
        texts = [output[0]["generated_text"] for output in outputs]
        return [Answer(text) if text.strip() else Answer(error="empty answer") for text in texts]

    def _as_chat(self, prompt: str, system: str | None) -> str:
        """The prompt as the model's chat template has it, or alone."""
        tokenizer = self._pipe.tokenizer
        if not getattr(tokenizer, "chat_template", None):
            return prompt if system is None else f"{system}\n\n{prompt}"
        before = [] if system is None else [{"role": "system", "content": system}]
        return str(
            tokenizer.apply_chat_template(
                [*before, {"role": "user", "content": prompt}],
                tokenize=False,
                add_generation_prompt=True,
            )
        )
