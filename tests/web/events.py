"""A page's stream of events, as a browser would read it."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx

from queuectl.testing import wait_until
from tests.support.dashboard import Server


@dataclass(frozen=True)
class Event:
    id: str
    name: str
    data: Any


class Events:
    """Reads in a thread of its own; `wait` gives the first event that fits, of those not yet looked at."""

    def __init__(self, server: Server, *, last: str | None = None, **params: Any) -> None:
        headers = {"Last-Event-ID": last} if last else {}
        self._client = server.client(base_url=server.api, headers=headers)
        self._params = params
        self.all: list[Event] = []
        self.ended = False
        self._looked = 0
        self._response: httpx.Response | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Events:
        self._thread.start()
        wait_until(lambda: self._response is not None or self.ended, what="the stream to begin")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._client.close()

    def _read(self) -> None:
        try:
            with self._client.stream("GET", "/stream", params=self._params) as response:
                assert response.headers["content-type"].startswith("text/event-stream"), response.read()
                self._response = response
                fields: dict[str, str] = {}
                for line in response.iter_lines():
                    name, _, value = line.partition(": ")
                    if name:
                        fields[name] = value
                    elif "data" in fields:
                        self.all.append(Event(fields["id"], fields["event"], json.loads(fields["data"])))
                        fields = {}
        except (httpx.HTTPError, OSError, RuntimeError):
            pass  # the server has ended, or the test
        finally:
            self.ended = True

    def wait(self, name: str, fits: Any = bool, *, timeout: float = 20) -> Event:
        def find() -> Event | None:
            while self._looked < len(self.all):
                event = self.all[self._looked]
                self._looked += 1
                if event.name == name and fits(event.data):
                    return event
            return None

        found = wait_until(find, timeout=timeout, what=f"{name}, after {[e.name for e in self.all]}")
        assert found is not None
        return found

    def text(self, stream: str | None = None) -> str:
        """All output so far, of both streams or one."""
        pieces = [piece for event in self.all if event.name == "output" for piece in event.data["pieces"]]
        return "".join(piece["text"] for piece in pieces if stream in (None, piece["stream"]))
