"""The service's own databases, here too."""

from tests.service.conftest import address, postgres

__all__ = ["address", "postgres"]
