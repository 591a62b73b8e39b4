"""What the service can meet, and the HTTP answer it gives.

ServiceError
├── StoreUnavailable     503: the database cannot be reached, is full or is locked
├── StoreDamaged  503: the database answers, and what it holds cannot be read
├── WriteConflict         (inside) another service wrote first: read where things stand, try again
├── Overloaded    429: more waits than may
├── ModelUnavailable     503: the model does not answer in time
└── BadRequest       4xx: the request cannot be taken
    └── Unkeepable    422: the database takes others, and not these values
"""

from __future__ import annotations

from anharmonic.errors import AnharmonicError

__all__ = [
    *("ModelUnavailable", "WriteConflict", "Overloaded", "BadRequest", "ServiceError"),
    *("StoreUnavailable", "StoreDamaged", "Unkeepable"),
]


class ServiceError(AnharmonicError):
    """Something a client is told: a status, a kind of problem, when to try again."""

    status = 500
    kind = "internal"
    retry_after: int | None = None
    public: str | None = None
    """What clients are told where the message is for those who run the service."""


class StoreUnavailable(ServiceError):
    """Nothing can be kept now, so nothing is acknowledged."""

    status = 503
    kind = "storage"
    retry_after = 2
    public = "the store does not answer: try again"


class StoreDamaged(ServiceError):
    """What the store holds cannot be read: trying again does not help, restoring a copy does."""

    status = 503
    kind = "storage"
    public = "the store cannot be read: see the service's log"


class WriteConflict(ServiceError):
    """Another writer was first."""

    status = 503
    kind = "storage"
    retry_after = 1


class Overloaded(ServiceError):
    """More is waiting than may wait."""

    status = 429
    kind = "overload"
    retry_after = 1


class ModelUnavailable(ServiceError):
    """The model is asked and does not answer."""

    status = 503
    kind = "model"
    retry_after = 5


class BadRequest(ServiceError):
    """The request itself is at fault."""

    def __init__(self, message: str, status: int = 422, kind: str = "invalid") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class Unkeepable(BadRequest):
    """The store cannot hold a value of this request; it may hold those of others."""
