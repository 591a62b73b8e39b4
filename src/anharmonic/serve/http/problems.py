"""Errors of a service, and the HTTP status each becomes.

ServiceError
├── StoreUnavailable     503: the database cannot be reached, is full or is locked
├── StoreDamaged         503: the database answers, and what it holds cannot be read
├── WriteConflict        (internal) another service wrote first: read its state, try again
├── Overloaded           429: the queue is full
├── ModelUnavailable     503: the model does not answer in time
└── BadRequest           4xx: the request is at fault
    └── UnstorableValue  422: the database refuses a value of this request
"""

from __future__ import annotations

from anharmonic.errors import AnharmonicError

__all__ = [
    *("ModelUnavailable", "WriteConflict", "Overloaded", "BadRequest", "ServiceError"),
    *("StoreUnavailable", "StoreDamaged", "UnstorableValue"),
]


class ServiceError(AnharmonicError):
    """An error with its HTTP answer: a status, a kind of problem, when to try again."""

    status = 500
    kind = "internal"
    retry_after: int | None = None
    public: str | None = None
    """The text for clients, where the message itself is for those who run the service."""


class StoreUnavailable(ServiceError):
    """Nothing can be written now, so nothing is acknowledged."""

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
    """Another writer committed first."""

    status = 503
    kind = "storage"
    retry_after = 1


class Overloaded(ServiceError):
    """The queue is full."""

    status = 429
    kind = "overload"
    retry_after = 1


class ModelUnavailable(ServiceError):
    """The model was called and does not return."""

    status = 503
    kind = "model"
    retry_after = 5


class BadRequest(ServiceError):
    """The request itself is at fault."""

    def __init__(self, message: str, status: int = 422, kind: str = "invalid") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class UnstorableValue(BadRequest):
    """The store cannot hold a value of this request; it may hold those of others."""
