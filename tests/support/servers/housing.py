"""Where a private server lives: a directory that its user can reach, a port, a user who is not root."""

from __future__ import annotations

import errno
import os
import pwd
import random
import socket
import tempfile
from pathlib import Path

# Below the ports that the kernel gives to clients (from 32768 on). A client that calls a stopped
# server on one of those again and again may be given that very port, and so reach itself.
_PORTS = range(15_000, 32_000)


def server_user(wished: str) -> str:
    """Whom the server runs as; empty for ourselves. Servers refuse to run as root."""
    if os.geteuid() != 0:
        return ""
    known = {entry.pw_name for entry in pwd.getpwall()}
    return wished if wished in known else "nobody"


def temporary_root() -> Path:
    """The folder for temporary files, or /tmp if only root may enter the configured one."""
    configured = Path(tempfile.gettempdir()).resolve()
    if os.geteuid() != 0 or all(path.stat().st_mode & 0o001 for path in (configured, *configured.parents)):
        return configured
    return Path("/tmp")


def make_directory(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"queuectl-{name}-", dir=temporary_root()))


def give(path: Path, *, user: str) -> None:
    """Let the server's user own it."""
    if user:
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def free_port(addresses: list[str]) -> int:
    """A port that nobody has on these addresses. It may be gone when it is used: then ask again."""
    for port in random.sample(_PORTS, 200):
        if all(_is_free(address, port) for address in addresses):
            return port
    raise OSError(f"no free port on {', '.join(addresses)}")


def _is_free(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        try:
            probe.bind(("" if address == "*" else address, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise  # the address itself is wrong: no port will do
            return False
    return True
