"""A proxy in front of a v2 server: requests pass unchanged, copies of one model's are scored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from urllib.parse import unquote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from anharmonic.serve.http import LogThrottle, is_plain_path
from anharmonic.serve.http.headers import end_to_end
from anharmonic.serve.http.problems import BadRequest, ModelUnavailable, ServiceError
from anharmonic.serve.http.security import token_of
from anharmonic.serve.monitor.ingest import Headers, Ingest
from anharmonic.serve.monitor.settings import Settings
from anharmonic.serve.monitor.upstream import Reply, Upstream, UpstreamUnavailable

__all__ = ["Proxy"]

LOG = logging.getLogger("anharmonic.serve.monitor")
REPLACED = (b"host", b"content-length")
"""Headers that are written anew."""
SECONDS = 60.0
MOST_COPIES = 64
"""Bodies that are being parsed for scoring; what comes while there are more is not scored."""


class Proxy:
    """Forwards to one upstream server; the answer is sent before anything is scored."""

    def __init__(self, settings: Settings, ingest: Ingest) -> None:
        self.ingest = ingest
        self.upstream = Upstream(str(settings.upstream), SECONDS)
        self.model = (settings.upstream_model or ingest.pipeline.stored_monitor.model).split("/")
        self._tokens = [token for token in (settings.ingest_token, settings.read_token) if token]
        self._copies: set[asyncio.Task[None]] = set()
        self._throttle = LogThrottle(3_600.0)

    def close(self) -> None:
        for task in self._copies:
            task.cancel()
        self.upstream.close()

    async def forward(self, scope: Scope, headers: Headers, body: bytes) -> Response:
        """The upstream server's answer to a request, bytes and status as they are."""
        raw = scope["raw_path"].partition(b"?")[0]
        _check_path(raw, scope["method"])
        query = scope.get("query_string", b"").decode("latin-1")
        path = raw.decode("latin-1")
        target = f"{path}?{query}" if query else path
        passed = [
            pair
            for pair in end_to_end(scope["headers"], REPLACED)
            if not self._carries_token(pair[1])
        ]
        try:
            reply = await self.upstream.request(scope["method"], target, passed, body)
        except TimeoutError:
            raise ModelUnavailable("the model server did not answer in time") from None
        except UpstreamUnavailable as problem:
            LOG.warning("the model server cannot be reached: %s", problem)
            raise BadRequest("the model server cannot be reached", 502, "upstream") from None
        if reply.status == 200 and scope["method"] == "POST" and self._is_watched(path):
            self._score_later(headers, body)
        return self._response(reply)

    def _carries_token(self, value: bytes) -> bool:
        """Whether a header carries a token of this service, which the upstream must not see."""
        text = value.decode("latin-1")
        return any(token in text or token == token_of(text, basic=True) for token in self._tokens)

    def _is_watched(self, path: str) -> bool:
        """Whether this is an inference request to the model that is monitored."""
        parts = [unquote(part) for part in path.split("/")]
        if parts[2] != "models" or parts[-1] != "infer":
            return False
        # NAME, or NAME/versions/V; a monitor of NAME takes those of all its versions.
        model = parts[3:-1]
        if model == self.model or model[:1] == self.model:
            return True
        if self._throttle.due():
            LOG.warning(
                "requests to %.80r go through unscored: this watches %r (--upstream-model)",
                *("/".join(model), "/".join(self.model)),
            )
        return False

    def _score_later(self, headers: Headers, body: bytes) -> None:
        """Score a copy of a request in the background: its answer does not depend on it."""
        if len(self._copies) >= MOST_COPIES:
            self.ingest.pipeline.metrics.skip("overload", 1)
            return
        task = asyncio.create_task(self._score(headers, body))
        self._copies.add(task)
        task.add_done_callback(self._copies.discard)

    async def _score(self, headers: Headers, body: bytes) -> None:
        """Submit a copy; what cannot be taken was counted where it was refused."""
        try:
            events = await self.ingest.parse_inference(headers, body, own_ids=True)
            self.ingest.pipeline.submit(events, patient=True)
        except ServiceError:
            return

    def _response(self, reply: Reply) -> Response:
        release = partial(self.upstream.release, reply)
        response = ForwardedResponse(reply.body, reply.status, release)
        response.raw_headers = [
            *end_to_end(reply.headers, REPLACED),
            (b"content-length", str(len(reply.body)).encode()),
        ]
        return response


class ForwardedResponse(Response):
    """A response that calls `on_sent` when it has been sent, or could not be."""

    def __init__(self, body: bytes, status: int, on_sent: Callable[[], None]) -> None:
        super().__init__(body, status)
        self.on_sent = on_sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.on_sent()


def _check_path(raw: bytes, method: str) -> None:
    """Refuse paths that are, or that the server behind might read as, not below /v2/."""
    if not raw.startswith(b"/v2/") or not is_plain_path(raw):
        raise BadRequest("a path without dots, codes for slashes and empty parts", 400, "path")
    if method == "POST" and raw.startswith(b"/v2/repository/"):
        raise BadRequest("models are loaded and unloaded at the server itself", 403, "path")
