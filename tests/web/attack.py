"""What an attacker has: raw bytes on a socket, and a server that stays for many tests."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from queuectl.store.messages import JobFilter
from tests.support.dashboard import Server
from tests.support.home import Home


@contextmanager
def serving(directory: Path, *args: str, env: dict[str, str] | None = None) -> Iterator[Server]:
    """A server for many tests, which must end well and without having complained."""
    home = Home(directory / "home")
    try:
        server = Server(home, *args, env=env)
        yield server
        server.stop()
        assert server.stderr == ""
    finally:
        home.close()


def connect(server: Server, *, timeout: float = 60, address: str = "") -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout, (address, 0) if address else None)


def raw(server: Server, data: bytes, *, address: str = "") -> bytes:
    """Everything that comes back until the server closes; b"" where it only closes."""
    with connect(server, address=address) as peer:
        try:
            peer.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it did not want the rest
        return until_closed(peer)


def until_closed(peer: socket.socket) -> bytes:
    found = b""
    try:
        while more := peer.recv(65_536):
            found += more
    except ConnectionResetError:
        pass
    return found


def statuses(answer: bytes) -> list[int]:
    """Of all the answers that came over one connection."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


def head(server: Server, request: str, *lines: str, close: bool = True) -> bytes:
    """A request's head as it goes over the wire, with the right Host and token."""
    wanted = [request, f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {server.token}", *lines]
    if close:
        wanted.append("Connection: close")
    return ("\r\n".join(wanted) + "\r\n\r\n").encode("latin-1")


def count_jobs(server: Server) -> int:
    with server.queue() as queue:
        return queue.store.count(JobFilter())


def peak_kb(pid: int) -> int:
    """The most that a process has had in memory since `forget_peak`."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", text)
    assert found is not None
    return int(found[1])


def forget_peak(pid: int) -> int:
    """What it has in memory now counts as its peak; what came before is forgotten."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak_kb(pid)


def mode(path: str | os.PathLike[str]) -> int:
    return os.lstat(path).st_mode & 0o7777
