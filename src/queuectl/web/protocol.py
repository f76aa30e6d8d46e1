"""HTTP as uvicorn speaks it, but strict, and with the patience and the number of connections bounded."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from queuectl.web.problems import MEDIA_TYPE

MOST_CONNECTIONS = 512
MOST_OF_ONE = 256  # of one client, which may be a proxy
MOST_OF_HEAD = 32 * 1024  # bytes

_END_OF_HEAD = re.compile(rb"\n\r?\n")
# A line that ends with a bare LF, a CR without LF, or one that goes on in the next line.
_AMBIGUOUS = re.compile(rb"(?<!\r)\n|\r(?!\n)|\n[ \t]")


class Strict(h11.Connection):
    """h11 without its last kindnesses: what a proxy in front could read in another way is refused."""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            self._check_head(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if b"content-length" in names and b"transfer-encoding" in names:
                raise h11.RemoteProtocolError("two lengths")
            if event.http_version not in (b"1.0", b"1.1"):
                raise h11.RemoteProtocolError("another version")
            if b"transfer-encoding" in names and event.http_version == b"1.0":
                raise h11.RemoteProtocolError("chunks are of HTTP/1.1")
        return event

    def _check_head(self, waiting: bytes) -> None:
        end = _END_OF_HEAD.search(waiting)
        if end is None:
            return
        if end.end() > MOST_OF_HEAD:  # h11 has a limit only for one that has not come wholly
            raise h11.RemoteProtocolError("too long")
        if _AMBIGUOUS.search(waiting, 0, end.end()):
            raise h11.RemoteProtocolError("ambiguous lines")


class Bounded(H11Protocol):
    """Slow ones are cut off. When there are too many, who keeps us waiting makes room for who comes."""

    head_s = 10.0  # for the head of a request
    write_s = 30.0  # for a part of an answer to be taken

    _open = 0
    _by_client: dict[str, dict[Bounded, None]] = {}  # noqa: RUF012  # shared: that is the point. Oldest first

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = Strict(h11.SERVER, MOST_OF_HEAD)
        self._head: asyncio.TimerHandle | None = None
        self._write: asyncio.TimerHandle | None = None
        self._key = ""

    # --- how many -----------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._key = self.client[0] if self.client else ""
        if not _make_room_for(self._key):
            transport.abort()
        Bounded._open += 1
        Bounded._by_client.setdefault(self._key, {})[self] = None
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        _cancel(self._head)
        _cancel(self._write)
        super().connection_lost(exc)

    def _forget(self) -> None:
        mine = Bounded._by_client.get(self._key, {})
        if self in mine:
            del mine[self]
            Bounded._open -= 1
            if not mine:
                Bounded._by_client.pop(self._key, None)

    @property
    def keeps_us_waiting(self) -> bool:
        """For its request, or for its taking of the answer; the rest are waiting for us."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) or self.flow.write_paused

    @property
    def is_of_a_stranger(self) -> bool:
        """No token was shown, or it was not looked at yet."""
        return not self.scope or self.scope.get("state", {}).get("grant") is None

    def shutdown(self) -> None:
        """At the end nobody is waited for who keeps us waiting."""
        if self.cycle is not None and not self.cycle.response_complete and self.keeps_us_waiting:
            self.transport.abort()
        else:
            super().shutdown()

    def make_room(self) -> None:
        self._forget()
        self.transport.abort()

    # --- how slow -----------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        mine = Bounded._by_client.get(self._key, {})
        if self in mine:  # who has just asked for something is the last to make room
            del mine[self]
            mine[self] = None
        super().on_response_complete()
        self._watch_head()

    def _watch_head(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            _cancel(self._head)
            self._head = None
        elif self._head is None:
            self._wait_for_head()

    def _wait_for_head(self) -> None:
        self._head = self.loop.call_later(self.head_s, self._give_up)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write is None:
            self._write = self.loop.call_later(self.write_s, self._give_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._write)
        self._write = None

    def _give_up(self) -> None:
        self.transport.abort()

    # --- what cannot be read ------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """As every other error; and none at all where an answer has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(
                {
                    "type": "urn:queuectl:problem:malformed",
                    "title": "The request cannot be read",
                    "status": 400,
                    "code": "malformed",
                    "detail": "this is not HTTP as we speak it",
                    "hint": None,
                }
            ).encode()
            headers = [
                ("content-type", MEDIA_TYPE),
                ("content-length", str(len(body))),
                ("x-content-type-options", "nosniff"),
                ("cache-control", "no-store"),
                ("connection", "close"),
            ]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
            if self.cycle is not None and not self.cycle.response_complete:
                self.cycle.disconnected = True  # whoever still waits for the rest of it gets none
                self.cycle.message_event.set()
        self.transport.close()


def _make_room_for(client: str) -> bool:
    """False: there is none, for all of the others are known here and wait for us."""
    mine = Bounded._by_client.get(client, {})
    if len(mine) >= MOST_OF_ONE and not _make_room(mine):
        return False
    if Bounded._open < MOST_CONNECTIONS:
        return True
    # Best where there are most: nobody can drive out the others.
    return any(_make_room(among) for among in sorted(Bounded._by_client.values(), key=len, reverse=True))


def _make_room(among: dict[Bounded, None]) -> bool:
    """The one that has kept us waiting for longest goes; else the oldest request of a stranger."""
    going = next((one for one in among if one.keeps_us_waiting), None)
    going = going or next((one for one in among if one.is_of_a_stranger), None)
    if going is not None:
        going.make_room()
    return going is not None


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
