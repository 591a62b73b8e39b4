"""What every server of this package needs at its door, whatever it serves.

`connections` bounds how many there are and how long a request's head may take, `origins` tells
web pages of elsewhere from everybody else, `paths` refuses those that mean another place than
they say, `seldom` keeps a flood out of the log.
"""

from anharmonic.serve.http.connections import Crowd, open_files, patient_protocol
from anharmonic.serve.http.origins import foreign, local_host
from anharmonic.serve.http.paths import straight
from anharmonic.serve.http.seldom import Seldom

__all__ = [
    "Crowd",
    "Seldom",
    "foreign",
    "local_host",
    "open_files",
    "patient_protocol",
    "straight",
]
