"""Before a v2 endpoint: requests go through untouched, and are scored beside."""

from __future__ import annotations

import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from anharmonic.service.answers import answered
from anharmonic.service.faults import ModelAway, Refused, ServiceError
from anharmonic.service.intake import Intake

__all__ = ["Proxy"]

LOG = logging.getLogger("anharmonic.service")
HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te"),
        *("trailer", "transfer-encoding", "upgrade", "host", "content-length"),
    )
)
SECONDS = 60.0


class Proxy:
    """Forwards to one upstream; the answer is on its way before anything is scored."""

    def __init__(self, upstream: str, intake: Intake) -> None:
        import httpx

        self.intake = intake
        self.upstream = upstream.rstrip("/")
        limits = httpx.Limits(max_connections=256, max_keepalive_connections=64)
        self.client = httpx.AsyncClient(timeout=SECONDS, limits=limits, trust_env=False)

    async def close(self) -> None:
        await self.client.aclose()

    async def forward(self, request: Request) -> Response:
        """One request there and its answer back, bytes and status as they are."""
        import httpx

        body = await request.body()
        headers = [(n, v) for n, v in request.headers.raw if n.decode("latin-1") not in HOP_BY_HOP]
        raw = request.scope.get("raw_path", request.url.path.encode()).decode("latin-1")
        query = request.scope.get("query_string", b"").decode("latin-1")
        target = f"{self.upstream}{raw.partition('?')[0]}" + (f"?{query}" if query else "")
        try:
            sent = self.client.build_request(request.method, target, headers=headers, content=body)
            answer = await self.client.send(sent, stream=True)
            content = b"".join([part async for part in answer.aiter_raw()])
            await answer.aclose()
        except httpx.TimeoutException:
            return answered(ModelAway("the model server did not answer in time"))
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            LOG.warning("the model server cannot be reached: %s", problem)
            return answered(Refused("the model server cannot be reached", 502, "upstream"))
        if answer.status_code == 200 and request.method == "POST" and raw.endswith("/infer"):
            self._score(request, body)
        response = Response(content, answer.status_code)
        response.raw_headers = [
            *((n.lower(), v) for n, v in answer.headers.raw if n.lower() not in _LEFT_OUT),
            (b"content-length", str(len(content)).encode()),
        ]
        return response

    def _score(self, request: Request, body: bytes) -> None:
        """Hand a copy over; what cannot be taken is counted, and the caller never knows."""
        headers: dict[str, Any] = {name.lower(): value for name, value in request.headers.items()}
        try:
            events = self.intake.events_of_inference(headers, body, own_ids=True)
            self.intake.pipeline.submit(events).add_done_callback(_looked)
        except Refused as fault:
            self.intake.pipeline.metrics.skip(fault.kind, 1)
        except ServiceError:
            return


_LEFT_OUT = frozenset(name.encode() for name in HOP_BY_HOP)


def _looked(answer: Any) -> None:
    if not answer.cancelled():
        answer.exception()
