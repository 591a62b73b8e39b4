"""Models behind HTTP: the Open Inference Protocol v2 of KServe, MLServer and Triton."""

from __future__ import annotations

import atexit
import os
import time
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Final

from anharmonic._core.arrays import to_numpy
from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array
from anharmonic.errors import RemoteError, SettingsError
from anharmonic.models.address import Address, parse_address
from anharmonic.models.outputs_offered import ModelOutputs, raw_outputs
from anharmonic.models.tensors import Json, decode, encode

if TYPE_CHECKING:
    import httpx

__all__ = ["remote_outputs"]

RETRIES: Final = 2
RETRIED: Final = (429, 502, 503)
TOKEN: Final = "ANHARMONIC_TOKEN"
ADVICE: Final = {
    401: f"put a valid token in the environment variable {TOKEN}",
    403: f"put a token with access to this model in the environment variable {TOKEN}",
    404: "check the model's name and version in the address",
    413: "send fewer points in a batch",
    429: "wait, or send fewer points",
}


def remote_outputs(url: str, timeout: float) -> ModelOutputs:
    """A model at `http(s)://HOST:PORT/v2/models/NAME`; nothing is sent until it is called."""
    if not timeout > 0:
        raise SettingsError(f"timeout={timeout} leaves no time to answer: use seconds above 0.")
    _httpx()
    address = parse_address(url)
    scores, either = Remote(address, timeout, False), Remote(address, timeout, True)
    functions = raw_outputs(scores)
    return ModelOutputs(
        address.model, functions, place=to_numpy, batch_size=1024, scores_or_labels=either
    )


@dataclass(frozen=True, eq=False)
class Remote:
    """One POST per call; `labels` says whether a response of labels alone will do."""

    address: Address
    timeout: float
    labels: bool

    def __call__(self, points: Array) -> Array:
        points = to_numpy(points)
        body = encode(points, self.inputs, self.address.output)
        response = self._send("POST", self.address.infer, body)
        if not response.is_success:
            raise self._error(self._refused(response))
        try:
            return decode(response.json(), len(points), self.address.output, self.labels)
        except RemoteError as error:
            raise self._error(self._clean(str(error))) from error
        except ValueError as error:
            if isinstance(error, SettingsError):
                raise
            raise self._error(
                "the answer is not JSON: check that the address is a v2 inference endpoint."
            ) from error

    @cached_property
    def inputs(self) -> list[Json]:
        """What the server says it takes; nothing where it does not say."""
        response = self._send("GET", self.address.metadata, None)
        try:
            tensors = response.json()["inputs"] if response.is_success else []
        except (ValueError, KeyError, TypeError):
            return []
        return [tensor for tensor in tensors or [] if isinstance(tensor, dict)]

    def _send(self, method: str, url: str, body: Json | None) -> httpx.Response:
        httpx = _httpx()
        token = os.environ.get(TOKEN, "").strip()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        for left in range(RETRIES, -1, -1):
            try:
                response = _client(os.getpid()).request(
                    method,
                    url,
                    json=body,
                    headers=headers,
                    auth=self.address.user,
                    timeout=self.timeout,
                )
            except httpx.TimeoutException as error:
                raise self._error(
                    f"no answer within {self.timeout:g} s: raise timeout=, or send fewer "
                    "points in a batch."
                ) from error
            except (httpx.ConnectError, httpx.RemoteProtocolError) as error:
                if not left:
                    raise self._error(
                        f"{self._clean(str(error))}: check that the server is running."
                    ) from error
                time.sleep(_pause(left))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self._error(f"{self._clean(str(error))}: check the address.") from error
            else:
                if response.status_code not in RETRIED or not left:
                    return response
                wait = response.headers.get("Retry-After", "")
                time.sleep(min(float(wait), self.timeout) if wait.isdigit() else _pause(left))
        raise AssertionError("the last attempt returns or raises")

    def _refused(self, response: httpx.Response) -> str:
        """The server's own words, trimmed, and what to do about them."""
        code = response.status_code
        if 300 <= code < 400:
            return f"the server redirects ({code}): use the address it redirects to."
        try:
            reason = response.json()["error"]
        except (ValueError, KeyError, TypeError):
            reason = response.text
        words = self._clean(" ".join(str(reason).split()))
        trimmed = words if len(words) <= 300 else f"{words[:300]}…"
        return f"the server answered {code} ({trimmed}): {ADVICE.get(code, 'see its log')}."

    def _clean(self, text: str) -> str:
        """What others wrote, without the credentials they may have echoed."""
        for secret in (*self.address.secrets, os.environ.get(TOKEN, "").strip()):
            text = text.replace(secret, "***") if secret else text
        return text

    def _error(self, message: str) -> RemoteError:
        return RemoteError(f"{self.address.shown}: {message}")


def _pause(left: int) -> float:
    """Exponential backoff: 0.1 s before the first retry, then twice as long."""
    return 0.1 * 2.0 ** (RETRIES - left)


def _httpx() -> ModuleType:
    return needs("httpx", "remote")


@lru_cache(maxsize=1)
def _client(process: int) -> httpx.Client:
    """The process's own client: connections must not be shared with a forked child."""
    client: httpx.Client = _httpx().Client()
    atexit.register(client.close)
    return client
