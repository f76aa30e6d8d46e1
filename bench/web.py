"""The dashboard: how soon it answers with a million jobs, what open pages cost, how much it weighs."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench import filling
from bench.home import PYTHON
from bench.places import POSTGRES, SQLITE, Place, found, fresh_place, not_measured
from bench.processes import own_mb, resident_mb
from bench.table import Result, median
from bench.targets import at_most, quantile, stated

JOBS, QUICK_JOBS = 1_000_000, 50_000
PAGES = 50
_STATIC = Path(__file__).parents[1] / "src/queuectl/web/static"

SEARCH = "/api/v1/jobs?search=bench100000123&limit=50&state=scheduled"  # among a seventh of all
# What an operator looks at: the first page, one in the middle, the states, a search, one queue.
ASKED = (
    "/api/v1/stats",
    "/api/v1/jobs?limit=50&reverse=true",
    "/api/v1/jobs?state=pending&limit=50",
    "/api/v1/jobs?state=completed&limit=50&reverse=true&sort=finished",
    "/api/v1/jobs?state=dead&limit=50&count=true",
    "/api/v1/jobs?queue=default&limit=50&count=true",
    SEARCH,
    "/api/v1/queues",
    "/api/v1/history?range=24h",
)


class Served:
    """A dashboard process, and a connection to it that is kept."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, token: str) -> None:
        self.process = process
        self.port = urlsplit(url).port or 0
        self.headers = {"Authorization": f"Bearer {token}"}
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ms(self, path: str) -> float:
        began = time.perf_counter()
        self._connection.request("GET", path, headers=self.headers)
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status == 200, f"{path}: {answer.status}"
        return (time.perf_counter() - began) * 1000

    def listen(self) -> socket.socket:
        """An open page, which reads nothing but keeps what it is sent."""
        page = socket.create_connection(("127.0.0.1", self.port))
        lines = [f"{name}: {value}" for name, value in self.headers.items()]
        head = ["GET /api/v1/stream HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *lines, "", ""]
        page.sendall("\r\n".join(head).encode())
        assert page.recv(15).startswith(b"HTTP/1.1 200"), "no stream"
        return page


@contextmanager
def served(place: Place) -> Iterator[Served]:
    process = subprocess.Popen(
        [PYTHON, "-m", "queuectl", "dashboard", "--port", "0", "--json"],
        env=place.env,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        said = _first_document(process.stdout)
        with place.queue() as queue:
            token = (Path(queue.store.location.state_dir) / "dashboard.token").read_text().strip()
        yield Served(process, said["url"], token)
    finally:
        process.terminate()
        process.wait(10)


def _first_document(lines: Iterable[bytes]) -> dict[str, str]:
    text = b""
    for line in lines:
        text += line
        if line.startswith(b"}"):
            return dict(json.loads(text))
    raise RuntimeError("the dashboard has ended without a word")


def measure(*, quick: bool = False) -> list[Result]:
    servers = found((POSTGRES,))
    results = []
    for engine in (SQLITE, POSTGRES):
        if engine == SQLITE or engine in servers:
            results += _answers(engine, servers, QUICK_JOBS if quick else JOBS, rounds=10 if quick else 40)
        else:
            results.append(not_measured(f"answers of the dashboard on {engine}", "no server"))
    return [*results, *_pages(rounds=2 if quick else 5, count=500 if quick else 2_000), _weight()]


def _answers(engine: str, servers: dict[str, str], jobs: int, *, rounds: int) -> list[Result]:
    with fresh_place(engine, servers) as place:
        with place.queue() as queue:
            filling.everything(queue, jobs)
            filling.settle(queue, engine)
        with served(place) as server:
            times: dict[str, list[float]] = {path: [] for path in ASKED}
            for path in ASKED:
                server.ms(path)
            for _ in range(rounds):
                for path, found_times in times.items():
                    found_times.append(server.ms(path))
    searched = times.pop(SEARCH)
    everything = [value for values in times.values() for value in values]
    slowest = max(times, key=lambda path: quantile(times[path], 0.95))
    what = f"with {jobs:,} jobs on {engine}, p95"
    return [
        at_most(f"lists, filters and stats {what}", [quantile(everything, 0.95)], "ms", 50),
        at_most(f"… a search for text {what}", [quantile(searched, 0.95)], "ms", 50),
        stated(f"… the slowest of the others, {slowest}, p95", [quantile(times[slowest], 0.95)], "ms"),
        stated("… their median", [median(everything)], "ms"),
    ]


def _pages(*, rounds: int, count: int) -> list[Result]:
    """In turn with and without open pages, so that what else the machine does is in both."""
    with fresh_place(SQLITE, {}) as place, served(place) as server, ExitStack() as stack:
        server.ms("/api/v1/stats")
        before = resident_mb(server.process.pid)
        alone, watched, grown = [], [], []
        for _ in range(rounds):
            alone.append(_rate(place, count))
            pages = [stack.enter_context(server.listen()) for _ in range(PAGES)]
            watched.append(_rate(place, count))
            grown.append(resident_mb(server.process.pid) - before)
            for page in pages:
                page.close()
        shared = own_mb(server.process.pid)
    slower = median([without / with_ for without, with_ in zip(alone, watched, strict=True)])
    return [
        at_most(f"memory for {PAGES} open pages", [max(grown)], "MB", 60),
        stated("… the dashboard's process in all", [shared], "MB"),
        Result(
            f"commands/s beside {PAGES} open pages",
            watched,
            "/s",
            peer="without any",
            peer_values=alone,
            ratio=1 / slower,
            target="≥ 0.97 ×",
            good=1 / slower >= 0.97,
        ),
    ]


def _rate(place: Place, count: int) -> float:
    with place.queue() as queue, place.workers(concurrency=2):
        began = time.monotonic()
        queue.enqueue_many(["true"] * count)
        assert queue.wait(timeout=300), "not done in time"
        return count / (time.monotonic() - began)


def _weight() -> Result:
    files = [path for path in _STATIC.iterdir() if path.is_file()]
    print(f"  the page is made of {len(files)} files", file=sys.stderr)
    return at_most(
        "weight of the page, all of its files", [sum(path.stat().st_size for path in files) / 1024], "KB", 150
    )
