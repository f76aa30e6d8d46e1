"""Clients that are slow, too many, or still there at the end: others are served, and it ends in time."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from queuectl.testing import wait_until
from queuectl.web import protocol
from tests.support.dashboard import NewProcessServer, Server
from tests.support.home import Home
from tests.support.http import ok
from tests.web.attack import connect, forget_peak, head, peak_kb, statuses, until_closed
from tests.web.test_attack_http import JSON

pytestmark = pytest.mark.long

JOBS = "/api/v1/jobs"

# The real command with less patience, so that a test need not have so much.
HASTY = """
import sys
from queuectl.web import guard, protocol
for owner, name in ((protocol.Bounded, "head_s"), (protocol.Bounded, "write_s"), (guard, "_BODY_S")):
    getattr(owner, name)  # it must exist: a bound that has moved would stay as it is
    setattr(owner, name, 1.0)
sys.argv[0] = "queuectl"
from queuectl.cli.main import run
run()
"""


class HastyServer(NewProcessServer):
    """Its process runs the same command with other bounds."""

    program = ("-c", HASTY)


@pytest.fixture
def home(own_home: Home) -> Home:
    return own_home


@pytest.fixture
def server(own_server: Server) -> Server:
    return own_server


@pytest.fixture
def hasty(home: Home) -> Iterator[Server]:
    server = HastyServer(home)
    yield server
    server.stop()


# --- C24: slow --------------------------------------------------------------------------------------


def drip(peer: socket.socket, data: bytes) -> bytes:
    """A byte now and then, until the server has had enough."""
    peer.settimeout(0.1)
    found = b""
    began = time.monotonic()
    for n in range(len(data)):
        try:
            peer.sendall(data[n : n + 1])
            more = peer.recv(65_536)
        except TimeoutError:
            assert time.monotonic() - began < 8, "it is far too patient"
            continue
        except (BrokenPipeError, ConnectionResetError):
            return found
        if not more:
            return found
        found += more
    raise AssertionError("everything was read")


@pytest.mark.parametrize("begin", [b"", b"GET / HTTP/1.1\r\n", b"P"])
def test_a_head_that_drips_is_cut_off(hasty: Server, begin: bytes) -> None:
    with connect(hasty) as peer:
        peer.sendall(begin)
        assert drip(peer, b"X: " + b"y" * 1000) == b""
    ok(hasty.client().get(JOBS))


def test_a_body_that_drips_is_cut_off(hasty: Server) -> None:
    lines = (JSON, "Content-Length: 5000")
    for path in (JOBS, "/api/v1/session"):
        with connect(hasty) as peer:
            peer.sendall(head(hasty, f"POST {path} HTTP/1.1", *lines, close=False))
            assert statuses(drip(peer, b" " * 1000)) == [408]


def test_an_answer_that_came_before_the_body_ends_it_too(hasty: Server) -> None:
    with connect(hasty) as peer:
        lines = (JSON, "Content-Length: 5000")
        peer.sendall(head(hasty, "POST /api/v1/nosuch HTTP/1.1", *lines, close=False))
        assert statuses(drip(peer, b" " * 1000)) == [404]


def test_the_second_head_has_a_limit_too_but_a_stream_has_none(hasty: Server) -> None:
    with connect(hasty) as peer:
        peer.sendall(head(hasty, f"GET {JOBS} HTTP/1.1", close=False))
        assert statuses(drip(peer, b"G" * 1000)) == [200]
    with connect(hasty, timeout=20) as peer:  # behind another request: its patience must not be the head's
        first = head(hasty, f"GET {JOBS} HTTP/1.1", close=False)
        peer.sendall(first + head(hasty, "GET /api/v1/stream HTTP/1.1", close=False))
        seen, began = b"", time.monotonic()
        while time.monotonic() - began < 2.5:
            with hasty.queue() as queue:
                queue.enqueue("true")
            more = peer.recv(65_536)
            assert more, "the stream was cut off"
            seen += more
        assert statuses(seen) == [200, 200]
        assert seen.count(b"event: changed") >= 2


@pytest.mark.parametrize("path", ["/static/app.js", "/api/v1/openapi.json"])
def test_who_does_not_read_is_cut_off(hasty: Server, path: str) -> None:
    """It asks for more and more and takes nothing; that must not cost memory, nor a connection for ever."""
    before = forget_peak(hasty.process.pid)
    with socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(10)
        peer.connect(("127.0.0.1", hasty.port))
        request = head(hasty, f"GET {path} HTTP/1.1", close=False)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            peer.sendall(request * 100_000)
    assert peak_kb(hasty.process.pid) - before < 60_000
    ok(hasty.client().get(JOBS))


def test_a_slow_reader_of_a_stream_costs_little_and_keeps_nobody(hasty: Server) -> None:
    with hasty.queue() as queue:
        for n in range(300):
            queue.enqueue("true", queue=f"{n:03}-{'q' * 50}")
    before = forget_peak(hasty.process.pid)
    with socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        peer.connect(("127.0.0.1", hasty.port))
        peer.sendall(head(hasty, "GET /api/v1/stream HTTP/1.1", close=False))
        with hasty.client() as client:
            for _ in range(40):
                ok(client.post(JOBS, json={"command": "true"}), 201)
    assert peak_kb(hasty.process.pid) - before < 60_000


# --- C24: many --------------------------------------------------------------------------------------


@contextmanager
def crowd(server: Server, count: int, data: bytes) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        found = []
        for _ in range(count):
            peer = stack.enter_context(connect(server))
            try:
                peer.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it had to make room
            found.append(peer)
        yield found


def crowds(server: Server) -> dict[str, bytes]:
    lines = (JSON, "Content-Length: 500")
    return {
        "idle": b"",
        "half a head": b"GET / HTTP/1.1\r\nX: y",
        "half a login": head(server, "POST /api/v1/session HTTP/1.1", *lines, close=False) + b"{",
        "kept alive": head(server, "GET / HTTP/1.1", close=False),
    }


def insisting(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Who is slow to say something may be taken for one of the crowd; asked again, one gets through."""

    def asked() -> httpx.Response | None:
        try:
            return ask()
        except httpx.TransportError:
            return None

    answer = wait_until(asked, timeout=10, what="an answer in spite of the crowd")
    assert answer is not None
    return answer


def test_500_connections_keep_nobody_out(home: Home, server: Server) -> None:
    """Neither the owner, from the same address, nor a worker."""
    home.start()
    for name, data in crowds(server).items():
        with crowd(server, 500, data):
            began = time.monotonic()
            with server.client() as client:
                once = {"Idempotency-Key": name}
                stored = insisting(partial(client.post, JOBS, json={"command": "true"}, headers=once))
                id = stored.json()["id"]
                for _ in range(20):
                    ok(insisting(partial(client.get, JOBS)))
            bearer = {"Authorization": f"Bearer {server.token}"}
            for _ in range(5):
                ok(insisting(partial(httpx.get, f"{server.api}/session", headers=bearer)))
            assert time.monotonic() - began < 15, name
            home.wait_for(id, "completed")
    assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < protocol.MOST_CONNECTIONS


def test_pages_are_not_driven_out_by_a_crowd(server: Server) -> None:
    """Who waits for us stays; who keeps us waiting goes."""
    with connect(server, timeout=20) as page:
        page.sendall(head(server, "GET /api/v1/stream HTTP/1.1", close=False))
        assert statuses(page.recv(65_536)) == [200]
        with crowd(server, 400, b"GET"):
            with server.queue() as queue:
                queue.enqueue("true")
            seen = b""
            while b"event: changed" not in seen:
                more = page.recv(65_536)
                assert more
                seen += more


def test_the_count_goes_down_again(server: Server) -> None:
    fds = f"/proc/{server.process.pid}/fd"
    ok(server.client().get(JOBS))
    before = len(os.listdir(fds))
    for _ in range(3):
        with crowd(server, 300, b"GET /"):
            pass
    wait_until(lambda: len(os.listdir(fds)) <= before + 2, what="the connections to be closed")
    with crowd(server, protocol.MOST_OF_ONE - 20, b"") as peers:
        ok(server.client().get(JOBS))
        for peer in peers:  # none had to go
            peer.setblocking(False)
            with pytest.raises(BlockingIOError):
                peer.recv(1)


# --- the end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_at_once_whoever_is_there(start_server: Callable[..., Server], sig: int) -> None:
    server = start_server()
    with ExitStack() as stack:

        def client(data: bytes) -> socket.socket:
            peer = stack.enter_context(connect(server))
            peer.sendall(data)
            return peer

        for data in crowds(server).values():
            client(data)
        streams = [client(head(server, "GET /api/v1/stream HTTP/1.1", close=False)) for _ in range(5)]
        for stream in streams:
            assert statuses(stream.recv(65_536)) == [200]
        began = time.monotonic()
        server.stop(sig, timeout=5)
        assert time.monotonic() - began < 3
        for stream in streams:
            until_closed(stream)
    assert "interrupted" not in server.stderr


def test_it_ends_while_the_store_is_held_by_another(start_server: Callable[..., Server], home: Home) -> None:
    """A request that waits for a lock is not waited for."""
    import apsw

    server = start_server()
    ok(server.client().post(JOBS, json={"command": "true"}), 201)
    other = apsw.Connection(home.address)
    other.execute("BEGIN EXCLUSIVE")
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(server.client().post(JOBS, json={"command": "true"}).status_code)
        except httpx.HTTPError as error:
            answers.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    # It holds a thread once a second request needs another one.
    with server.client() as client:
        wait_until(
            lambda: ok(client.get("/api/v1/config")) and _threads(server.process.pid) > 2,
            what="the request to be under way",
        )
    began = time.monotonic()
    server.stop(timeout=5)
    assert time.monotonic() - began < 3
    other.execute("ROLLBACK")
    other.close()
    asking.join()
    assert answers
    assert answers[0] != 201


def _threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def test_two_signals_are_as_good_as_one(start_server: Callable[..., Server], tmp_path: Path) -> None:
    server = start_server()
    stream = connect(server)
    stream.sendall(head(server, "GET /api/v1/stream HTTP/1.1", close=False))
    assert statuses(stream.recv(65_536)) == [200]
    server.process.send_signal(signal.SIGINT)
    server.stop(signal.SIGINT)
    stream.close()
