"""A store that cannot be opened: why, and how far one gets on the way to it.

The driver, the name, the port: whatever can be told without the server is told.
"""

from __future__ import annotations

import os
import socket

from queuectl.address import POSTGRES, Address
from queuectl.errors import StoreAway
from queuectl.store.health import OK, PROBLEM, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuectl.errors import QueuectlError
    from queuectl.paths import Location

    Door = tuple[str, int]  # a host and its port, or the path of a socket and 0

_TIMEOUT = 3.0
_WHY = "without its store queuectl can do nothing"
_PACKAGES = {"postgres": "psycopg", "mysql": "PyMySQL"}
_SOCKETS = ("/var/run/postgresql", "/run/postgresql", "/tmp")


def explain(location: Location, error: QueuectlError) -> list[Finding]:
    """The error itself first, then the way."""
    mend = error.hint or "correct the address: --db, QUEUECTL_DB, or db in config.toml"
    if isinstance(error, StoreAway):
        mend = "start the server, or correct the address: --db, QUEUECTL_DB, or db in config.toml"
    found = [Finding(PROBLEM, "connection", error.message, why=_WHY, mend=mend, fatal=True)]
    if location.shared:
        loaded = driver(location.engine)
        found = [loaded] if loaded.fatal else [*found, loaded]
        found += [knock(*door) for door in doors(Address(location.url))]
    return found


def driver(engine: str) -> Finding:
    from importlib import import_module, metadata

    package = _PACKAGES[engine]
    try:
        import_module(package.lower())
    except ImportError as error:
        mend = f"pip install 'queuectl[{engine}]'"
        what = f"the driver {package} is not installed ({error})"
        return Finding(PROBLEM, "connection", what, why=_WHY, mend=mend, fatal=True)
    return Finding(OK, "connection", f"driver: {package} {metadata.version(package)}")


def doors(address: Address) -> Iterator[Door]:
    """Where the driver knocks: hosts with their ports, or sockets."""
    options = address.options
    if address.engine != POSTGRES:
        path = options.get("unix_socket")
        yield (path, 0) if path else (address.host or "localhost", address.port or 3306)
        return
    hosts = options.get("hostaddr") or options.get("host") or address.host or os.environ.get("PGHOST", "")
    ports = str(options.get("port") or address.port or os.environ.get("PGPORT") or 5432).split(",")
    for number, host in enumerate(hosts.split(",")):
        port = ports[number] if number < len(ports) else ports[0]
        if not port.isdigit():
            continue  # the error has said so
        if host and not host.startswith("/"):
            yield host, int(port)
            continue
        sockets = [f"{directory}/.s.PGSQL.{port}" for directory in ([host] if host else _SOCKETS)]
        yield next(filter(os.path.exists, sockets), sockets[0]), 0


def knock(host: str, port: int) -> Finding:
    """Whether anybody listens there. Nothing is said, so nobody is asked for a password."""
    shown = f"{host}:{port}" if port else host
    try:
        if port:
            socket.create_connection((host, port), timeout=_TIMEOUT).close()
        else:
            _knock_here(host)
    except socket.gaierror as error:
        why = f"the name cannot be looked up ({error.strerror})"
        mend = "correct the address, or the machine's name service"
        return Finding(PROBLEM, "connection", f"there is no host {host}", why=why, mend=mend)
    except OSError as error:
        what = f"{shown} does not answer"
        why = f"{error.strerror or 'no answer within 3 s'}: no server listens there, or a firewall is between"
        mend = "start the server, or correct host and port in the address"
        return Finding(PROBLEM, "connection", what, why=why, mend=mend)
    return Finding(OK, "connection", f"{shown} accepts connections")


def _knock_here(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(_TIMEOUT)
        line.connect(path)
