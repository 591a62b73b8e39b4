"""Before a v2 endpoint: requests go through untouched, and those of one model are scored beside."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote

from starlette.responses import Response

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
"""Written anew on the way."""
SECONDS = 60.0
MOST_COPIES = 64
"""Long bodies that are being read for scoring; what comes meanwhile is not scored."""


class Proxy:
    """Forwards to one upstream; the answer is on its way before anything is scored."""

    def __init__(self, settings: Settings, ingest: Ingest) -> None:
        self.ingest = ingest
        self.upstream = Upstream(str(settings.upstream), SECONDS)
        self.model = (settings.upstream_model or ingest.pipeline.watch.model).split("/")
        self._tokens = [each for each in (settings.ingest_token, settings.read_token) if each]
        self._copies: set[asyncio.Task[None]] = set()
        self._throttle = LogThrottle(3_600.0)

    def close(self) -> None:
        for task in self._copies:
            task.cancel()
        self.upstream.close()

    async def forward(
        self, scope: MutableMapping[str, Any], headers: Headers, body: bytes
    ) -> Response:
        """One request there and its answer back, bytes and status as they are."""
        raw = scope["raw_path"].partition(b"?")[0]
        _check_path(raw, scope["method"])
        query = scope.get("query_string", b"").decode("latin-1")
        path = raw.decode("latin-1")
        target = f"{path}?{query}" if query else path
        passed = [
            pair for pair in end_to_end(scope["headers"], REPLACED) if not self._ours(pair[1])
        ]
        try:
            reply = await self.upstream.ask(scope["method"], target, passed, body)
        except TimeoutError:
            raise ModelUnavailable("the model server did not answer in time") from None
        except UpstreamUnavailable as problem:
            LOG.warning("the model server cannot be reached: %s", problem)
            raise BadRequest("the model server cannot be reached", 502, "upstream") from None
        if reply.status == 200 and scope["method"] == "POST" and self._watched(path):
            self._copy(headers, body)
        return self._response(reply)

    def _ours(self, value: bytes) -> bool:
        """Whether a header carries a token of this service, which is nobody else's to see."""
        text = value.decode("latin-1")
        return any(each in text or each == token_of(text, basic=True) for each in self._tokens)

    def _watched(self, path: str) -> bool:
        """Whether this is a question to the model that the monitor is about."""
        parts = [unquote(each) for each in path.split("/")]
        if parts[2] != "models" or parts[-1] != "infer":
            return False
        asked = parts[3:-1]
        if asked == self.model or asked[:1] == self.model:
            return True
        if self._throttle.due():
            LOG.warning(
                "requests to %.80r go through unscored: this watches %r (--upstream-model)",
                *("/".join(asked), "/".join(self.model)),
            )
        return False

    def _copy(self, headers: Headers, body: bytes) -> None:
        """Have a request scored; the caller never knows."""
        if len(self._copies) >= MOST_COPIES:
            self.ingest.pipeline.metrics.skip("overload", 1)
            return
        task = asyncio.create_task(self._score(headers, body))
        self._copies.add(task)
        task.add_done_callback(self._copies.discard)

    async def _score(self, headers: Headers, body: bytes) -> None:
        """Hand a copy over; what cannot be taken was counted where it was refused."""
        try:
            events = await self.ingest.inferred(headers, body, own_ids=True)
            self.ingest.pipeline.submit(events, patient=True)
        except ServiceError:
            return

    def _response(self, reply: Reply) -> Response:
        response = Passed(reply.body, reply.status)
        response.raw_headers = [
            *end_to_end(reply.headers, REPLACED),
            (b"content-length", str(len(reply.body)).encode()),
        ]
        response.left = lambda: self.upstream.passed_on(reply)
        return response


class Passed(Response):
    """An answer that says when it has left."""

    left: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.left()


def _check_path(raw: bytes, method: str) -> None:
    """Below /v2/ and nowhere else, whatever the server behind makes of dots and codes."""
    if not raw.startswith(b"/v2/") or not is_plain_path(raw):
        raise BadRequest("a path without dots, codes for slashes and empty parts", 400, "path")
    if method == "POST" and raw.startswith(b"/v2/repository/"):
        raise BadRequest("models are loaded and unloaded at the server itself", 403, "path")
