"""What the service can meet, and the HTTP answer it gives.

ServiceError
├── StoreAway     503: the database cannot be reached, is full or is locked
├── Moved         (inside) another service wrote first: read where things stand, try again
├── Overloaded    429: more waits than may
├── ModelAway     503: the model does not answer in time
└── Refused       4xx: the request cannot be taken
"""

from __future__ import annotations

from anharmonic.errors import AnharmonicError

__all__ = ["ModelAway", "Moved", "Overloaded", "Refused", "ServiceError", "StoreAway"]


class ServiceError(AnharmonicError):
    """Something a client is told: a status, a kind of problem, when to try again."""

    status = 500
    kind = "internal"
    retry_after: int | None = None


class StoreAway(ServiceError):
    """Nothing can be kept now, so nothing is acknowledged."""

    status = 503
    kind = "storage"
    retry_after = 2


class Moved(ServiceError):
    """Another writer was first."""

    status = 503
    kind = "storage"
    retry_after = 1


class Overloaded(ServiceError):
    """More is waiting than may wait."""

    status = 429
    kind = "overload"
    retry_after = 1


class ModelAway(ServiceError):
    """The model is asked and does not answer."""

    status = 503
    kind = "model"
    retry_after = 5


class Refused(ServiceError):
    """The request itself is at fault."""

    def __init__(self, message: str, status: int = 422, kind: str = "invalid") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
