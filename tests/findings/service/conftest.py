"""The service's own databases, here too."""

from tests.serve.conftest import address, postgres

__all__ = ["address", "postgres"]
