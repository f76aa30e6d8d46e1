"""Jobs that come in over HTTP: the trace is the request's, not the server's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.dashboard import Server
from tests.support.home import Home, fresh_home
from tests.tracing.collector import PRODUCER, Collector

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OF_THE_SERVER = {"TRACEPARENT": CALLER.replace("0af7", "ffff")}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with fresh_home(tmp_path_factory.mktemp("http") / "home") as home:
        it = Server(home, env=OF_THE_SERVER)
        yield it
        it.stop()


def enqueued(server: Server, id: str, **headers: str) -> dict[str, str]:
    """The environment of a job that came in with these headers."""
    answer = server.client().post("/api/v1/jobs", json={"id": id, "command": "true"}, headers=headers)
    assert answer.status_code == 201, answer.text
    with server.queue() as queue:
        return queue.get(id).environment()


def test_a_job_belongs_to_the_trace_of_its_request(server: Server) -> None:
    both = {"TRACEPARENT": CALLER, "TRACESTATE": "a=b"}
    assert enqueued(server, "with", traceparent=CALLER, tracestate="a=b") == both
    assert enqueued(server, "without") == {}
    assert enqueued(server, "invalid", traceparent="nonsense", tracestate="a=b") == {}


def test_so_do_many(server: Server) -> None:
    body = {"jobs": ["true", {"command": "true"}]}
    answer = server.client().post("/api/v1/jobs/batch", json=body, headers={"traceparent": CALLER})
    assert answer.status_code == 201, answer.text
    with server.queue() as queue:
        found = [queue.get(id).environment() for id in answer.json()["ids"]]
    assert found == [{"TRACEPARENT": CALLER}] * 2


def test_a_traced_server_sends_a_span_for_each_enqueue(home: Home) -> None:
    with closing(Collector()) as collector:
        server = Server(home, env={**OF_THE_SERVER, **collector.environment})
        try:
            stored = enqueued(server, "job1", traceparent=CALLER)
            (span,) = collector.spans(1)
        finally:
            server.stop()
    assert (span.name, span.kind, span.parent) == ("enqueue default", PRODUCER, CALLER[36:52])
    assert span.is_named_by(stored["TRACEPARENT"])
