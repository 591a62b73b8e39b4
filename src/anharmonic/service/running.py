"""Run a service until it is told to stop."""

from __future__ import annotations

import logging

from anharmonic.service.api import Service

__all__ = ["run"]

STOPPING_SECONDS = 5


def run(service: Service) -> None:
    """Serve on the settings' address, in this process and thread."""
    import uvicorn

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    limits = service.settings.limits
    uvicorn.run(
        service.app,  # type: ignore[arg-type]
        host=service.settings.host,
        port=service.settings.port,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        log_level="warning",
        limit_concurrency=4 * limits.batch_points,
        timeout_graceful_shutdown=STOPPING_SECONDS,
        backlog=1024,
    )
