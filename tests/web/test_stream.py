"""Live events: what others do arrives, nothing is missed or doubled, nobody holds up anybody."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from queuectl.testing import wait_until
from tests.support.dashboard import Server
from tests.support.engines import SERVERS, engines, fresh_store, on_engines
from tests.support.fake_worker import FakeWorker, learned
from tests.support.home import Home
from tests.support.http import ok, problem
from tests.support.proxy import Proxy
from tests.web.events import Events

every_engine = on_engines(long=SERVERS)  # servers tell of changes in ways of their own

SLOW = "i=0; while [ $i -lt 40 ]; do echo out-$i-äöü€😀; echo err-$i >&2; i=$((i+1)); sleep 0.05; done"


@pytest.fixture
def home(own_home: Home) -> Home:
    return own_home


@pytest.fixture
def server(own_server: Server) -> Server:
    return own_server


@every_engine
def test_changes_of_others_arrive(server: Server, home: Home, api: httpx.Client) -> None:
    with Events(server) as events, Events(server, queue="mail") as mail:
        assert events.wait("stats").data["total"] == 0
        assert events.all[0].name == "stats"
        events.wait("changed")
        mail.wait("stats")
        home.ok("enqueue", "--id", "a", "--", "true")
        assert events.wait("stats", lambda data: data["total"] == 1).data["jobs"]["pending"] == 1
        events.wait("changed")
        home.start()
        events.wait("stats", lambda data: data["jobs"]["completed"] == 1)
        home.ok("enqueue", "--queue", "mail", "--", "true")
        mail.wait("stats", lambda data: data["total"] == 1)
        assert {event.data["total"] for event in mail.all if event.name == "stats"} == {0, 1}


def test_when_all_will_be_done_is_told_with_the_counts(server: Server, api: httpx.Client) -> None:
    with server.queue() as queue:
        fake_worker = FakeWorker(queue)
        minute = learned(queue, "make", 60) / 1000
        queue.enqueue("make", cwd="/srv")
        with Events(server) as events:
            seen = events.wait("stats", lambda data: data["eta_seconds"] is not None).data
            assert seen["eta_seconds"] == pytest.approx(minute, abs=1)
            assert seen["eta"] == {"by": "commands", "known_percent": 100, "not_served": 0, "paused": 0}
            assert ok(api.get("/stats"))["eta_seconds"] == pytest.approx(minute, abs=1)
            queue.enqueue("make", cwd="/srv")
            events.wait("stats", lambda data: data["eta_seconds"] >= 1.9 * minute)
            fake_worker.leave()
            events.wait("stats", lambda data: data["eta_seconds"] is None)


@every_engine
def test_the_output_of_a_running_job_is_whole(server: Server, home: Home, api: httpx.Client) -> None:
    ok(api.post("/jobs", json={"command": SLOW, "id": "slow"}), 201)
    with Events(server, job="slow") as events:
        assert events.wait("job").data["state"] == "pending"
        home.start()
        events.wait("job", lambda data: data["state"] == "processing")
        events.wait("job", lambda data: data["state"] == "completed", timeout=60)
        events.wait("output", lambda data: not data["running"])
        assert sum(event.name == "output" for event in events.all) > 3  # as it came
    assert events.text("stdout") == "".join(f"out-{n}-äöü€😀\n" for n in range(40))
    assert events.text("stderr") == "".join(f"err-{n}\n" for n in range(40))
    assert events.text("stdout") == api.get("/jobs/slow/output", params={"stream": "stdout"}).text
    ends = [event.data["next"] for event in events.all if event.name == "output" and event.data["attempt"]]
    assert ends == sorted(ends)
    assert ends[-1] == len(api.get("/jobs/slow/output").content)


def test_a_character_in_two_pieces_stays_whole(server: Server, home: Home, api: httpx.Client) -> None:
    command = "for n in 1 2 3; do printf '\\342'; sleep 0.4; printf '\\202'; sleep 0.4; printf '\\254'; done"
    ok(api.post("/jobs", json={"command": command + "; printf '\\342\\202'", "id": "a"}), 201)
    with Events(server, job="a") as events:
        home.start()
        events.wait("output", lambda data: data["attempt"] and not data["running"], timeout=60)
    assert events.text() == "€€€\N{REPLACEMENT CHARACTER}"
    with Events(server, job="a", attempt=1, after=4) as late:
        late.wait("output")
    assert late.text() == "€€\N{REPLACEMENT CHARACTER}"  # whole, though its first byte was known


@pytest.mark.long
def test_it_goes_on_where_it_was_cut_off(server: Server, home: Home, api: httpx.Client) -> None:
    ok(api.post("/jobs", json={"command": SLOW, "id": "slow"}), 201)
    text, last, parts = "", None, 0
    home.start()
    while True:
        with Events(server, job="slow", last=last) as events:
            done = events.wait("output", lambda data: data["pieces"] or not data["running"], timeout=60)
        text += events.text("stdout")
        last, parts = events.all[-1].id, parts + 1
        if done.data["attempt"] and not done.data["running"]:
            break
    assert parts > 2
    assert text == "".join(f"out-{n}-äöü€😀\n" for n in range(40))


def test_a_resumed_stream_hears_of_what_it_has_missed(server: Server, home: Home) -> None:
    with Events(server) as keeper:  # somebody looks all the time
        keeper.wait("changed")
        with Events(server) as events:
            last = events.wait("changed").id
        with Events(server, last=last) as events:
            events.wait("stats")
            home.ok("enqueue", "--", "true")
            keeper.wait("changed")
            again = events.wait("changed").id
        assert "reset" not in [event.name for event in events.all]
        home.ok("enqueue", "--", "true")
        keeper.wait("changed")
        with Events(server, last=again) as events:
            events.wait("changed")
        with Events(server, last=events.all[-1].id) as events:
            events.wait("stats")
            keeper.wait("stats", timeout=20)  # some looks later
        assert [event.name for event in events.all if event.name != "stats"] == []


@pytest.mark.long
def test_after_a_restart_everything_is_to_be_fetched_anew(start_server: Callable[..., Server]) -> None:
    first = start_server()
    with Events(first) as events:
        last = events.wait("changed").id
    first.stop()
    second = start_server()
    for id in (last, "nonsense", "-", "ffffffff-999999999999999"):
        with Events(second, last=id) as events:
            events.wait("stats")
            assert events.all[0].name == "reset"


@pytest.mark.long
def test_who_stops_reading_keeps_nobody(server: Server, home: Home, api: httpx.Client) -> None:
    command = "yes 0123456789abcdef | head -c 30000000; echo; echo end"
    ok(api.post("/jobs", json={"command": command, "id": "loud"}), 201)
    with ExitStack() as stack:
        for _ in range(5):
            deaf = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            head = f"GET /api/v1/stream?job=loud HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            deaf.sendall(f"{head}Authorization: Bearer {server.token}\r\n\r\n".encode())
        before = memory_kb(server.process.pid)
        with Events(server, job="loud") as events:
            home.start()
            events.wait("job", lambda data: data["state"] == "completed", timeout=60)
            events.wait("output", lambda data: data["attempt"] and not data["running"], timeout=60)
            assert events.text().endswith("\nend\n")
            ok(api.get("/stats"))
        assert memory_kb(server.process.pid) - before < 60_000


def memory_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("it has ended")


def test_it_ends_with_many_pages_open(server: Server) -> None:
    """No page leaves by itself, so it must end them."""
    with ExitStack() as stack:
        pages = [stack.enter_context(Events(server)) for _ in range(20)]
        for page in pages:
            page.wait("stats")
        server.stop()
        wait_until(lambda: all(page.ended for page in pages), what="the streams to end")


def test_a_store_that_is_replaced(server: Server, home: Home, api: httpx.Client) -> None:
    ok(api.post("/jobs", json={"command": "true"}), 201)
    with Events(server) as events:
        events.wait("stats", lambda data: data["total"] == 1)
        away = home.path.parent / "away"
        away.mkdir()
        for file in home.path.glob("queue.db*"):
            os.rename(file, away / file.name)
        assert events.wait("trouble").data["detail"]
        home.ok("enqueue", "--id", "new", "--", "true")
        home.ok("enqueue", "--", "true")
        events.wait("stats", lambda data: data["total"] == 2)
        events.wait("changed")
        wait_until(lambda: api.get("/jobs/new").status_code == 200, what="the API to use the new store")
        assert ok(api.get("/jobs", params={"count": True}))["total"] == 2


def test_what_cannot_be_asked(server: Server, api: httpx.Client) -> None:
    for params in ({"after": -1}, {"attempt": 0}, {"jobb": "x"}, {"queue": "x" * 300}):
        problem(api.get("/stream", params=params), 422, "invalid_input")
    with Events(server, job="nobody") as events:
        assert events.wait("job").data == {"id": "nobody", "deleted": True}
    answer = api.head("/stream")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.long
@every_engine
def test_while_nothing_happens_nobody_is_told_to_fetch(server: Server, home: Home) -> None:
    """A server does not tell whether it was written to; pages shall not ask it everything each second."""
    with Events(server) as events:
        events.wait("changed")
        began = time.monotonic()
        wait_until(lambda: time.monotonic() - began > 4, what="four seconds to pass")
        assert [event.name for event in events.all].count("changed") <= 2
        home.ok("enqueue", "--", "true")
        events.wait("changed", timeout=10)


@pytest.mark.long
@pytest.mark.parametrize("engine", engines(*SERVERS))
def test_a_server_that_goes_away_and_comes_back(engine: str, tmp_path: Path) -> None:
    with fresh_store(engine) as url:
        assert url is not None
        parts = urlsplit(url)
        upstream = parts.hostname or "127.0.0.1", parts.port or {"postgres": 5432, "mysql": 3306}[engine]
        with Proxy(upstream=upstream, protocol=engine) as proxy:
            account = parts.netloc.rpartition("@")[0]
            through = parts._replace(netloc=f"{account}@{proxy.host}:{proxy.port}").geturl()
            home = Home(tmp_path / "home", url=through)
            server = Server(home)
            api = server.client(base_url=server.api)
            with Events(server) as events:
                events.wait("stats")
                proxy.refuse()
                proxy.cut_all()
                events.wait("trouble", timeout=60)
                answer = api.get("/stats")
                assert answer.status_code == 503
                assert answer.headers["retry-after"] == "1"
                assert answer.json()["code"] == "store_away"
                proxy.refuse(False)
                events.wait("stats", timeout=60)
                events.wait("changed")
                wait_until(lambda: api.get("/stats").status_code == 200, what="the API to answer")
            server.stop()
            home.close()
