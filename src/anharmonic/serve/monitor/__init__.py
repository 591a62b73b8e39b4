"""A monitor as a service: points over HTTP, a database, metrics, alarms, a dashboard.

A request's body is read by the ASGI layer of `serve.http`, behind its access control. `ingest`
parses it, in any of four formats, `pipeline` batches what is queued, `stored_monitor` feeds the
monitor and writes everything to the `store` in one transaction. `api` has the routes, `health`
says whether points would be taken now, `snapshots` is what the dashboard shows.
"""

from anharmonic.serve.monitor.api import Service
from anharmonic.serve.monitor.export import export
from anharmonic.serve.monitor.retention import Retention
from anharmonic.serve.monitor.server import run
from anharmonic.serve.monitor.settings import Limits, Settings
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.stored_monitor import StoredMonitor

__all__ = [
    "Limits",
    "Retention",
    "Service",
    "Settings",
    "Store",
    "StoredMonitor",
    "Watch",
    "export",
    "run",
]

Watch = StoredMonitor
"""The name of `StoredMonitor` in 0.1.0."""
