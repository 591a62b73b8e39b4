"""What every HTTP server of this package shares, whatever it serves.

`connections` bounds how many there are and how long a request's head may take, `origins`
recognises requests made by web pages of other origins, `paths` refuses paths that another server
might read differently, `log_throttle` keeps a flood of requests out of the log.
"""

from anharmonic.serve.http.connections import ConnectionLimiter, bounded_protocol, open_files
from anharmonic.serve.http.log_throttle import LogThrottle
from anharmonic.serve.http.origins import is_cross_origin, is_local_host
from anharmonic.serve.http.paths import is_plain_path

__all__ = [
    "ConnectionLimiter",
    "LogThrottle",
    "bounded_protocol",
    "is_cross_origin",
    "is_local_host",
    "is_plain_path",
    "open_files",
]
