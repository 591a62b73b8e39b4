"""Run a service with uvicorn."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from anharmonic.serve.http import ConnectionLimiter, bounded_protocol, open_files
from anharmonic.serve.monitor.api import Service

if TYPE_CHECKING:
    import uvicorn

__all__ = ["run", "uvicorn_config"]

STOPPING_SECONDS = 5
SWITCH_SECONDS = 0.0001


def uvicorn_config(service: Service) -> uvicorn.Config:
    """The configuration of uvicorn for a service, with its limits on connections."""
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
    """Serve on the settings' address, in this process and thread, until it is interrupted.

    Parameters
    ----------
    service
        Is started and stopped here; its store is closed at the end.
    """
    import uvicorn

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # It would log a line per request to the webhook.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    # The event loop must not wait long for the thread that measures: by default Python lets a
    # thread hold the GIL for 5 ms.
    sys.setswitchinterval(SWITCH_SECONDS)
    uvicorn.Server(uvicorn_config(service)).run()
