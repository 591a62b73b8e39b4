"""A monitor as a service: points over HTTP, a database, metrics, alarms, a page.

Bodies come in by the `door` past the `security` guard, `ingest` reads them in any of four
formats, the `pipeline` puts what waits together, `watching` feeds the monitor and writes all of
it to the `store` in one transaction. `api` has the routes, `health` knows whether points would be
taken, `live` what the page shows.
"""

from anharmonic.serve.monitor.api import Service
from anharmonic.serve.monitor.export import export
from anharmonic.serve.monitor.retention import Retention
from anharmonic.serve.monitor.server import run
from anharmonic.serve.monitor.settings import Limits, Settings
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.stored_monitor import StoredMonitor

__all__ = ["Limits", "Retention", "Service", "Settings", "Store", "StoredMonitor", "export", "run"]
