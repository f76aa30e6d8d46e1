"""A TCP proxy before a database server that knows a COMMIT when it sees one, to make outcomes unknown.

One thread does everything; whoever turns a knob has it done there, and waits until it is. So a client in the
same process must not wait in C without letting go of the interpreter. Connections are without TLS and
compression (the proxy declines both), or it would see nothing.

What it knows as a COMMIT: a simple query whose last statement is one, or the Execute of a statement that is
one (PostgreSQL); a COM_QUERY that is one (MySQL). A statement that commits by itself is none.
"""

from __future__ import annotations

import ipaddress
import queue
import re
import selectors
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_CHUNK = 1 << 16
_ENOUGH = 1 << 20  # waiting to be sent: read no more until it went

_NEW_TRANSACTION = re.compile(r"\s*(?:begin\b|start\s|rollback\s*;?\s*$)", re.IGNORECASE)

# Where a proxy may listen: the machine itself, and the wires of tests.support.machines.
_OURS = ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("10.213.0.0/16")

Which = int | Callable[[list[str]], bool] | None


class _Postgres:
    """One session of the PostgreSQL protocol, version 3."""

    COMMIT = re.compile(r"(?:.*;)?\s*commit\b[a-z\s]*;?\s*|\s*end\b[a-z\s]*;?\s*", re.IGNORECASE | re.DOTALL)
    _DECLINED = 80877103, 80877104  # SSLRequest, GSSENCRequest
    _SYNC = b"S\0\0\0\4"

    def __init__(self) -> None:
        self._started = False
        self._statements: dict[bytes, str] = {}
        self._portals: dict[bytes, str] = {}
        # What will be answered by a ReadyForQuery, which is the end of an answer, oldest first.
        self._asked: deque[bytes] = deque()

    @property
    def quiet(self) -> bool:
        """Whether all that was asked is answered."""
        return not self._asked

    def from_client(self, inbox: bytearray) -> bytes | None:
        return _take(inbox, self._size(inbox, typed=self._started))

    def from_server(self, inbox: bytearray) -> bytes | None:
        return _take(inbox, self._size(inbox, typed=True))

    def declined(self, message: bytes) -> bytes:
        """The answer to what must not reach the server."""
        return b"" if self._started or struct.unpack_from("!i", message, 4)[0] not in self._DECLINED else b"N"

    def asked(self, message: bytes) -> str | None:
        """Note what the client said; the SQL that it makes the server execute, if any."""
        if not self._started:
            self._started = True
            self._asked.append(b"")
            return None
        kind, body = message[:1], message[5:]
        if kind in b"QSF":
            self._asked.append(kind)
        if kind == b"Q":
            return _text(body)
        if kind == b"P":
            name, sql, _ = body.split(b"\0", 2)
            self._statements[name] = _text(sql)
        elif kind == b"B":
            portal, name, _ = body.split(b"\0", 2)
            self._portals[portal] = self._statements.get(name, "")
        elif kind == b"E":
            return self._portals.get(body.split(b"\0", 1)[0])
        return None

    def last(self, message: bytes) -> bytes:
        """The message as the last of this session: it will be answered, whatever the client says next."""
        if message[:1] == b"Q":
            return message
        self._asked.append(b"S")
        return message + self._SYNC

    def heard(self, message: bytes) -> bytes:
        """Note what the server said; what the client shall hear of it."""
        kind = message[:1]
        if self._asked and (kind == b"Z" or (kind == b"G" and self._asked[0] == b"S")):
            # G: the server takes a COPY now, and so ignores the Sync that came right behind it.
            self._asked.popleft()
        return message

    @staticmethod
    def _size(inbox: bytearray, *, typed: bool) -> int | None:
        at = 1 if typed else 0
        return None if len(inbox) < at + 4 else at + int(struct.unpack_from("!i", inbox, at)[0])


class _MySQL:
    """One session of the MySQL protocol. A client is taken to wait for one answer before it asks again."""

    COMMIT = re.compile(r"\s*commit\b[a-z\s]*;?\s*", re.IGNORECASE)
    _QUERY = 3
    _DECLINED = 0x0820  # CLIENT_SSL, CLIENT_COMPRESS

    def __init__(self) -> None:
        self._greeted = False
        self.quiet = True

    def from_client(self, inbox: bytearray) -> bytes | None:
        return _take(inbox, 4 + int.from_bytes(inbox[:3], "little") if len(inbox) >= 4 else None)

    from_server = from_client

    def declined(self, message: bytes) -> bytes:
        return b""

    def asked(self, message: bytes) -> str | None:
        # A command begins anew with number 0; what else a client sends (a login, data) goes on counting.
        if message[3] != 0:
            return None
        self.quiet = False
        return _text(message[5:]) if message[4:5] == bytes([self._QUERY]) else None

    def last(self, message: bytes) -> bytes:
        return message

    def heard(self, message: bytes) -> bytes:
        self.quiet = True
        if self._greeted or message[4] != 10:  # else it is no greeting, but why there is none
            return message
        self._greeted = True
        greeting = bytearray(message)
        # The version up to its NUL, then the thread's id (4), a salt (8), a filler (1), what the server can.
        at = greeting.index(0, 5) + 1 + 13
        (able,) = struct.unpack_from("<H", greeting, at)
        struct.pack_into("<H", greeting, at, able & ~self._DECLINED)
        return bytes(greeting)


_PROTOCOLS: dict[str, type[_Postgres] | type[_MySQL]] = {"postgres": _Postgres, "mysql": _MySQL}


@dataclass(eq=False)
class _End:
    """One of the two sockets of a link."""

    sock: socket.socket
    inbox: bytearray = field(default_factory=bytearray)
    outbox: bytearray = field(default_factory=bytearray)
    ended: bool = False  # it will say no more
    told: bool = False  # it knows that the other will say no more

    def __post_init__(self) -> None:
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)

    def receive(self) -> None:
        data = self.sock.recv(_CHUNK)
        self.inbox += data
        self.ended = not data

    def send(self) -> None:
        del self.outbox[: self.sock.send(self.outbox)]


@dataclass
class _Trap:
    """What shall happen to some of the COMMITs to come."""

    kind: str  # swallow, cut or delay
    times: int
    which: Which
    event: threading.Event | None = None

    def springs(self, transaction: list[str]) -> bool:
        if callable(self.which) and not self.which(transaction):
            return False
        if isinstance(self.which, int) and self.which > 1:
            self.which -= 1
            return False
        self.times -= 1
        return True


@dataclass(eq=False)
class _Link:
    """A client, its server, and what is between them."""

    client: _End
    server: _End
    session: _Postgres | _MySQL
    transaction: list[str] = field(default_factory=list)
    trap: _Trap | None = None  # it has sprung: the client is neither heard nor answered any more
    held: bytes = b""  # the COMMIT that waits for the trap's event

    @property
    def ends(self) -> tuple[_End, _End]:
        return self.client, self.server

    @property
    def overdue(self) -> bool:
        """Whether the COMMIT that is held may go now."""
        return (
            bool(self.held)
            and self.trap is not None
            and self.trap.event is not None
            and self.trap.event.is_set()
        )

    def pass_on_ends(self) -> bool:
        """Tell each side when the other has ended; whether both have."""
        for one, other in (self.ends, self.ends[::-1]):
            if one.ended and not other.outbox and not other.told:
                other.sock.shutdown(socket.SHUT_WR)
                other.told = True
        return self.client.told and self.server.told


class Proxy:
    """`with Proxy(upstream=("127.0.0.1", 5432), protocol="postgres") as proxy:` then connect to `proxy.port`.

    Of several traps for COMMITs the first that wants one gets it. `which` chooses among those to come: a
    number counts them (1 is the next), a function is given the transaction's statements, COMMIT included.
    """

    def __init__(self, *, upstream: tuple[str, int], protocol: str, listen: str = "127.0.0.1") -> None:
        if not any(ipaddress.ip_address(listen) in network for network in _OURS):
            raise ValueError(f"not an address for tests alone: {listen}")
        self.upstream = upstream
        self.statements_seen = 0
        self.commits_seen = 0
        self.swallowed = 0
        self.delayed = 0  # those that the server has answered after their event
        self._protocol = _PROTOCOLS[protocol]
        self._traps: list[_Trap] = []
        self._links: list[_Link] = []
        self._frozen = self._closing = False
        self._orders: queue.SimpleQueue[tuple[Callable[[], object], Future[None]]] = queue.SimpleQueue()
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()
        # Bound all the time, so that nobody else gets the port while we refuse.
        self._claim = _bound((listen, 0))
        self.host, self.port = self._claim.getsockname()
        self._listener: socket.socket | None = None
        self._refuse(False)
        self._thread = threading.Thread(target=self._run, name=f"proxy-{protocol}", daemon=True)
        self._thread.start()

    @classmethod
    def before(cls, url: str) -> Proxy:
        """One before the server of this URL; see `way`."""
        parts = urlsplit(url)
        protocol = "postgres" if parts.scheme.startswith("postgres") else "mysql"
        default = 5432 if protocol == "postgres" else 3306
        return cls(upstream=(parts.hostname or "127.0.0.1", parts.port or default), protocol=protocol)

    def way(self, url: str) -> str:
        """The URL by way of the proxy."""
        parts = urlsplit(url)
        user = parts.netloc.rpartition("@")[0]
        return parts._replace(netloc=f"{user}@{self.host}:{self.port}").geturl()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def connections(self) -> int:
        """How many are open, counting those whose COMMIT is held."""
        return len(self._links)

    def swallow_commit(self, times: int = 1, which: Which = None) -> None:
        """Have the server answer the COMMIT, then cut the connection: it is committed, and nobody knows.

        What the client sent behind the COMMIT without waiting does not reach the server.
        """
        self._trap(_Trap("swallow", times, which))

    def cut_before_commit(self, times: int = 1, which: Which = None) -> None:
        """Cut the connection instead of forwarding the COMMIT: it will never be committed."""
        self._trap(_Trap("cut", times, which))

    def delay_commit(self, event: threading.Event, times: int = 1, which: Which = None) -> None:
        """Cut the client off at once; the server gets the COMMIT when the event is set."""
        self._trap(_Trap("delay", times, which, event))

    def pass_commits(self) -> None:
        """Take away the traps that nothing has gone into."""
        self._order(self._traps.clear)

    def cut_all(self) -> None:
        """Reset all connections. A COMMIT that is held is lost with its own."""
        self._order(self._cut_all)

    def refuse(self, on: bool = True) -> None:
        """Refuse new connections, or take them again at the same port; those there are go on."""
        self._order(lambda: self._refuse(on))

    def freeze(self, on: bool = True) -> None:
        """Pass nothing, as if all cables were pulled; new connections are made, but nobody answers."""
        self._order(lambda: setattr(self, "_frozen", on))

    def close(self) -> None:
        """End everything. A COMMIT that is held is lost."""
        if self._thread.is_alive():
            self._order(lambda: setattr(self, "_closing", True))
        self._thread.join()

    def _trap(self, trap: _Trap) -> None:
        if trap.times < 1:
            raise ValueError(f"a trap for {trap.times} COMMITs")
        self._order(lambda: self._traps.append(trap))

    def _order(self, action: Callable[[], object]) -> None:
        if not self._thread.is_alive():
            raise RuntimeError("the proxy is closed")
        done: Future[None] = Future()
        self._orders.put((action, done))
        self._ring.send(b"!")
        done.result(timeout=10)

    # From here on everything runs in the proxy's own thread.

    def _run(self) -> None:
        self._selector.register(self._bell, _READ)
        try:
            while not self._closing:
                self._turn()
        finally:
            self._refuse(True)
            self._cut_all()
            self._selector.close()
            for sock in (self._bell, self._ring, self._claim):
                sock.close()

    def _turn(self) -> None:
        self._watch_all()
        holding = any(link.held for link in self._links)
        for key, mask in self._selector.select(0.005 if holding else None):
            if key.fileobj is self._bell:
                self._obey()
                return  # what was ready may be closed by now
            if key.fileobj is self._listener:
                self._accept()
            elif key.data in self._links:
                self._serve(key.data, key.fileobj, mask)
        if not self._frozen:
            for link in [link for link in self._links if link.overdue]:
                link.server.outbox += link.held
                link.held = b""

    def _watch_all(self) -> None:
        if self._listener is not None:
            self._watch(self._listener, 0 if self._frozen else _READ)
        for link in self._links:
            for end, other in (link.ends, link.ends[::-1]):
                deaf = end.ended or len(other.outbox) > _ENOUGH or (link.trap and end is link.client)
                wanted = (0 if deaf else _READ) | (_WRITE if end.outbox else 0)
                self._watch(end.sock, 0 if self._frozen else wanted, link)

    def _watch(self, sock: socket.socket, wanted: int, link: _Link | None = None) -> None:
        known = sock.fileno() >= 0 and sock in self._selector.get_map()
        if known and not wanted:
            self._selector.unregister(sock)
        elif known:
            self._selector.modify(sock, wanted, link)
        elif wanted:
            self._selector.register(sock, wanted, link)

    def _obey(self) -> None:
        self._bell.recv(_CHUNK)
        while not self._orders.empty():
            action, done = self._orders.get()
            try:
                action()
            except BaseException as error:  # belongs to whoever gave the order
                done.set_exception(error)
            else:
                done.set_result(None)

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            client, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # it went away again
            return
        try:
            server = socket.create_connection(self.upstream, timeout=5)
        except OSError:
            _reset(client)
        else:
            self._links.append(_Link(_End(client), _End(server), self._protocol()))

    def _serve(self, link: _Link, ready: object, mask: int) -> None:
        end = link.client if ready is link.client.sock else link.server
        try:
            if mask & _READ:
                end.receive()
            if mask & _WRITE and end.outbox:
                end.send()
            self._advance(link)
        except OSError:  # one side broke: so shall the other
            self._drop(link)

    def _advance(self, link: _Link) -> None:
        while link.trap is None and (message := link.session.from_client(link.client.inbox)):
            self._from_client(link, message)
        while message := link.session.from_server(link.server.inbox):
            heard = link.session.heard(message)
            if link.trap is None:
                link.client.outbox += heard
        if link.trap is not None:
            self._finish(link, link.trap)
        elif link.pass_on_ends():
            self._drop(link)

    def _from_client(self, link: _Link, message: bytes) -> None:
        declined = link.session.declined(message)
        if declined:
            link.client.outbox += declined
            return
        sql = link.session.asked(message)
        self.statements_seen += sql is not None
        if sql is not None and self._springs(link, sql):
            self._into_trap(link, message)
        else:
            link.server.outbox += message

    def _into_trap(self, link: _Link, message: bytes) -> None:
        assert link.trap is not None
        link.client.outbox.clear()  # with nothing to send it is not watched, and cannot break the link
        if link.trap.kind == "swallow":
            link.server.outbox += link.session.last(message)
        elif link.trap.kind == "delay":
            link.held = link.session.last(message)
            self._watch(link.client.sock, 0)
            _reset(link.client.sock)

    def _springs(self, link: _Link, sql: str) -> bool:
        """Whether the statement is a COMMIT that goes into a trap; the link remembers which."""
        if _NEW_TRANSACTION.match(sql):
            link.transaction.clear()
        link.transaction.append(sql)
        if not link.session.COMMIT.fullmatch(sql):
            return False
        self.commits_seen += 1
        link.trap = next((trap for trap in self._traps if trap.springs(link.transaction)), None)
        self._traps = [trap for trap in self._traps if trap.times > 0]
        link.transaction = []
        return link.trap is not None

    def _finish(self, link: _Link, trap: _Trap) -> None:
        if not link.held and not link.server.outbox and (trap.kind == "cut" or link.session.quiet):
            self.swallowed += trap.kind == "swallow"
            self.delayed += trap.kind == "delay"
            self._drop(link)
        elif link.server.ended:
            self._drop(link)

    def _drop(self, link: _Link) -> None:
        self._links.remove(link)
        for end in link.ends:
            self._watch(end.sock, 0)
            _reset(end.sock)

    def _cut_all(self) -> None:
        for link in list(self._links):
            self._drop(link)
        while self._listener is not None:
            try:
                client, _ = self._listener.accept()
            except BlockingIOError:
                return
            _reset(client)

    def _refuse(self, on: bool) -> None:
        if on and self._listener is not None:
            self._watch(self._listener, 0)
            self._listener.close()
            self._listener = None
        elif not on and self._listener is None:
            self._listener = _bound((self.host, self.port))
            self._listener.listen()
            self._listener.setblocking(False)


def _bound(address: tuple[str, int]) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(address)
    return sock


def _take(inbox: bytearray, size: int | None) -> bytes | None:
    """The first message, if all of it is there."""
    if size is None or len(inbox) < size:
        return None
    message = bytes(inbox[:size])
    del inbox[:size]
    return message


def _text(sql: bytes) -> str:
    return sql.rstrip(b"\0").decode(errors="replace")


def _reset(sock: socket.socket) -> None:
    """Close as a crashed machine would: without a goodbye, and without waiting."""
    if sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
