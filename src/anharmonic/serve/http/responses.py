"""HTTP responses: JSON, and problems with a kind, a reason and a time to try again."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from anharmonic.serve.http.problems import ServiceError

__all__ = ["PROBLEMS", "Json", "problem_response"]

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": description, "content": {"application/problem+json": {}}}
    for status, description in (
        (400, "The request cannot be understood."),
        (401, "The token of the role is missing or wrong."),
        (403, "A web page of elsewhere sent this."),
        (413, "More than may be sent at once."),
        (415, "Not a content type that is read here."),
        (422, "The points cannot be taken."),
        (429, "Too many points are waiting; see Retry-After."),
        (503, "The model or the store does not answer; see Retry-After."),
    )
}


class Json(Response):
    """JSON, NaN as null."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return to_json(content)


def problem_response(fault: ServiceError) -> Response:
    """A problem as RFC 9457 writes it."""
    body = {
        "type": f"urn:anharmonic:{fault.kind}",
        "title": fault.kind,
        "status": fault.status,
        "detail": (fault.public or str(fault))[:1000],
    }
    headers = {}
    if fault.retry_after is not None:
        headers["retry-after"] = str(fault.retry_after)
    if fault.status == 401:
        headers["www-authenticate"] = 'Basic realm="anharmonic", charset="UTF-8"'
    return Json(body, fault.status, headers, media_type="application/problem+json")
