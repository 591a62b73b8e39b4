"""Run a service until it is told to stop."""

from __future__ import annotations

import logging
import sys
from typing import Any

from anharmonic.serve.http import ConnectionLimiter, bounded_protocol, open_files
from anharmonic.serve.monitor.api import Service

__all__ = ["configured", "run"]

STOPPING_SECONDS = 5
SWITCH_SECONDS = 0.0001


def configured(service: Service) -> Any:
    """uvicorn, as this service needs it."""
    import uvicorn

    limits = service.settings.limits
    limiter = ConnectionLimiter(open_files(limits.connections))
    return uvicorn.Config(
        service.app,
        host=service.settings.host,
        port=service.settings.port,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        log_level="warning",
        http=bounded_protocol(limiter, limits.head_seconds),
        ws="none",
        timeout_graceful_shutdown=STOPPING_SECONDS,
        backlog=1024,
    )


def run(service: Service) -> None:
    """Serve on the settings' address, in this process and thread, until told to stop."""
    import uvicorn

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # Its own lines about every request to a webhook say nothing.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    # Requests must not wait long for a thread that measures: Python lets it run 5 ms at a time.
    sys.setswitchinterval(SWITCH_SECONDS)
    uvicorn.Server(configured(service)).run()
