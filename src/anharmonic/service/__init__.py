"""A monitor as a service: points over HTTP, a database, metrics, alarms, a page.

Bodies come in by the `door` past the `security` guard, `intake` reads them in any of four
formats, the `pipeline` puts what waits together, `watching` feeds the monitor and writes all of
it to the `store` in one transaction. `api` has the routes, `health` knows whether points would be
taken, `live` what the page shows.
"""

from anharmonic.service.api import Service
from anharmonic.service.export import export
from anharmonic.service.retention import Retention
from anharmonic.service.running import run
from anharmonic.service.settings import Limits, Settings
from anharmonic.service.store import Store
from anharmonic.service.watching import Watch

__all__ = ["Limits", "Retention", "Service", "Settings", "Store", "Watch", "export", "run"]
