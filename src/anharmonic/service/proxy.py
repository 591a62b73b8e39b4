"""Before a v2 endpoint: requests go through untouched, and are scored beside."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from starlette.responses import Response

from anharmonic.service.faults import ModelAway, Refused, ServiceError
from anharmonic.service.intake import Headers, Intake
from anharmonic.service.upstream import Reply, Upstream, UpstreamAway

__all__ = ["Proxy"]

LOG = logging.getLogger("anharmonic.service")
HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te"),
        *(b"trailer", b"transfer-encoding", b"upgrade", b"host", b"content-length"),
    )
)
SECONDS = 60.0


class Proxy:
    """Forwards to one upstream; the answer is on its way before anything is scored."""

    def __init__(self, upstream: str, intake: Intake) -> None:
        self.intake = intake
        self.upstream = Upstream(upstream, SECONDS)

    def close(self) -> None:
        self.upstream.close()

    async def forward(
        self, scope: MutableMapping[str, Any], headers: Headers, body: bytes
    ) -> Response:
        """One request there and its answer back, bytes and status as they are."""
        query = scope.get("query_string", b"").decode("latin-1")
        path = scope["raw_path"].decode("latin-1").partition("?")[0]
        passed = [pair for pair in scope["headers"] if pair[0] not in HOP_BY_HOP]
        target = f"{path}?{query}" if query else path
        try:
            reply = await self.upstream.ask(scope["method"], target, passed, body)
        except TimeoutError:
            raise ModelAway("the model server did not answer in time") from None
        except UpstreamAway as problem:
            LOG.warning("the model server cannot be reached: %s", problem)
            raise Refused("the model server cannot be reached", 502, "upstream") from None
        if reply.status == 200 and scope["method"] == "POST" and path.endswith("/infer"):
            self._score(headers, body)
        return _response(reply)

    def _score(self, headers: Headers, body: bytes) -> None:
        """Hand a copy over; what cannot be taken is counted, and the caller never knows."""
        try:
            events = self.intake.events_of_inference(headers, body, own_ids=True)
            self.intake.pipeline.submit(events, patient=True)
        except Refused as fault:
            self.intake.pipeline.metrics.skip(fault.kind, 1)
        except ServiceError:
            return


def _response(reply: Reply) -> Response:
    response = Response(reply.body, reply.status)
    kept = [pair for pair in reply.headers if pair[0] not in HOP_BY_HOP]
    response.raw_headers = [*kept, (b"content-length", str(len(reply.body)).encode())]
    return response
