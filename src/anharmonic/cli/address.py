"""Whether a server may listen where it is told, asked before anything is measured for it."""

from __future__ import annotations

import os
import socket

from anharmonic.errors import SettingsError, first_line

__all__ = ["require_free"]


def require_free(port: int, host: str = "127.0.0.1") -> None:
    """Say so now where an address is taken, or is not of this machine."""
    try:
        kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as probe:
            if os.name == "posix":
                # A port that was just let go is free, as for the server itself.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as problem:
        about = problem.strerror or first_line(problem)
        raise SettingsError(
            f"{host}:{port} cannot be listened on ({about}): give another --port, or --host"
        ) from problem
