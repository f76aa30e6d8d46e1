"""Bytes that are no HTTP, or HTTP of two meanings, and bodies that are too much: refused, none executed."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import h11
import pytest

from queuectl.web.protocol import Strict
from tests.support.dashboard import Server, another_address
from tests.support.http import ok, problem
from tests.web.attack import connect, count_jobs, forget_peak, head, peak_kb, raw, statuses, until_closed

JOBS = "/api/v1/jobs"
JSON = "Content-Type: application/json"


@pytest.fixture(autouse=True)
def _still_answers(dashboard: Server) -> Iterator[None]:
    yield
    ok(dashboard.client().get("/api/v1/session"))


# --- C22: smuggling ---------------------------------------------------------------------------------

# HOST, AUTH: the right lines; POST: to make a job, with these.
# SMUGGLED: a whole request that would make a job, hidden in another's body.
CORPUS: dict[str, bytes] = {
    "CL and TE": b"POST\r\nContent-Length: 4\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nSMUGGLED",
    "TE and CL": b"POST\r\nTransfer-Encoding: chunked\r\n"
    b"Content-Length: 400\r\n\r\n0\r\n\r\nSMUGGLED",
    "two lengths": b"POST\r\nContent-Length: 0\r\n"
    b"Content-Length: 100\r\n\r\nSMUGGLED",
    "list of lengths": b"POST\r\nContent-Length: 0, 9\r\n\r\nSMUGGLED",
    "negative length": b"POST\r\nContent-Length: -1\r\n\r\nSMUGGLED",
    "plus length": b"POST\r\nContent-Length: +5\r\n\r\nSMUGGLED",
    "hex length": b"POST\r\nContent-Length: 0x5\r\n\r\nSMUGGLED",
    "length with _": b"POST\r\nContent-Length: 1_0\r\n\r\nSMUGGLED",
    "length 1e1": b"POST\r\nContent-Length: 1e1\r\n\r\nSMUGGLED",
    "empty length": b"POST\r\nContent-Length:\r\n\r\nSMUGGLED",
    "length in Arabic digits": b"POST\r\nContent-Length: \xd9\xa5\r\n\r\nSMUGGLED",
    "blank before the colon": b"POST\r\nContent-Length : 0\r\n\r\nSMUGGLED",
    "obs-fold": b"GET / HTTP/1.1\r\nHOST\r\nX: a\r\n b\r\n\r\nSMUGGLED",
    "obs-fold of TE": b"POST\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"
    b"0\r\n\r\nSMUGGLED",
    "obs-fold in the first line": b"GET / HTTP/1.1\r\n Host: x\r\nHOST\r\n\r\nSMUGGLED",
    "bare LF": b"GET / HTTP/1.1\nHOST\n\nSMUGGLED",
    "one bare LF": b"GET / HTTP/1.1\r\nHOST\nX: y\r\n\r\nSMUGGLED",
    "LF at the end": b"GET / HTTP/1.1\r\nHOST\r\n\nSMUGGLED",
    "bare CR": b"GET / HTTP/1.1\r\nHOST\r\nX: a\rContent-Length: 5\r\n\r\nSMUGGLED",
    "TE xchunked": b"POST\r\nTransfer-Encoding: xchunked\r\n\r\nSMUGGLED",
    "TE identity": b"POST\r\nTransfer-Encoding: identity\r\n\r\nSMUGGLED",
    "TE chunked, identity": b"POST\r\n"
    b"Transfer-Encoding: chunked, identity\r\n\r\nSMUGGLED",
    "TE gzip, chunked": b"POST\r\n"
    b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\nSMUGGLED",
    "two TE": b"POST\r\nTransfer-Encoding: chunked\r\n"
    b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\nSMUGGLED",
    "TE with VT": b"POST\r\nTransfer-Encoding: \x0bchunked\r\n\r\n"
    b"0\r\n\r\nSMUGGLED",
    "TE in HTTP/1.0": b"POST /api/v1/jobs HTTP/1.0\r\nHOST\r\nAUTH\r\nCT\r\nTE\r\n\r\n"
    b"0\r\n\r\nSMUGGLED",
    "chunk size negative": b"POST\r\nTE\r\n\r\n-1\r\n\r\nSMUGGLED",
    "chunk size plus": b"POST\r\nTE\r\n\r\n+0\r\n\r\nSMUGGLED",
    "chunk size 0x": b"POST\r\nTE\r\n\r\n0x0\r\n\r\nSMUGGLED",
    "chunk size huge": b"POST\r\nTE\r\n\r\n"
    + b"f" * 30
    + b"\r\nSMUGGLED",
    "chunk size none": b"POST\r\nTE\r\n\r\n\r\n\r\nSMUGGLED",
    "chunk longer than told": b"POST\r\nTE\r\n\r\n2\r\n{}}}\r\n0\r\n\r\nSMUGGLED",
    "chunk ends with LF": b"POST\r\nTE\r\n\r\n2\r\n{}xx0\r\n\r\nSMUGGLED",
    "chunk extension with LF": b"POST\r\nTE\r\n\r\n2;\n{}\r\n0\r\n\r\nSMUGGLED",
    "NUL in a name": b"GET / HTTP/1.1\r\nHOST\r\nX\x00: y\r\n\r\nSMUGGLED",
    "NUL in a value": b"GET / HTTP/1.1\r\nHOST\r\nX: a\x00b\r\n\r\nSMUGGLED",
    "NUL in the target": b"GET /\x00 HTTP/1.1\r\nHOST\r\n\r\nSMUGGLED",
    "eight bits in the target": b"GET /\xff HTTP/1.1\r\nHOST\r\n\r\nSMUGGLED",
    "no name": b"GET / HTTP/1.1\r\nHOST\r\n: y\r\n\r\nSMUGGLED",
    "no colon": b"GET / HTTP/1.1\r\nHOST\r\nrubbish\r\n\r\nSMUGGLED",
    "blank in a name": b"GET / HTTP/1.1\r\nHOST\r\nX Y: z\r\n\r\nSMUGGLED",
    "HTTP/0.9": b"GET /\r\n\r\nSMUGGLED",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/1.11": b"GET / HTTP/1.11\r\nHOST\r\n\r\nSMUGGLED",
    "HTTP/9.9": b"GET / HTTP/9.9\r\nHOST\r\n\r\nSMUGGLED",
    "http/1.1": b"GET / http/1.1\r\nHOST\r\n\r\nSMUGGLED",
    "no version": b"GET / \r\nHOST\r\n\r\nSMUGGLED",
    "two blanks": b"GET  / HTTP/1.1\r\nHOST\r\n\r\nSMUGGLED",
    "blank in the target": b"GET /a b HTTP/1.1\r\nHOST\r\n\r\nSMUGGLED",
    "tab": b"GET\t/\tHTTP/1.1\r\nHOST\r\n\r\nSMUGGLED",
    "method with a slash": b"G/T / HTTP/1.1\r\nHOST\r\n\r\nSMUGGLED",
    "method of eight bits": b"G\xc9T / HTTP/1.1\r\nHOST\r\n\r\nSMUGGLED",
    "TE quoted": b'POST\r\nTransfer-Encoding: "chunked"\r\n\r\n0\r\n\r\nSMUGGLED',
    "TE chunked twice": b"POST\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\nSMUGGLED",
    "TE with a parameter": b"POST\r\nTransfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\nSMUGGLED",
    "TE with a comma": b"POST\r\nTransfer-Encoding: chunked,\r\n\r\n0\r\n\r\nSMUGGLED",
    "length with a blank inside": b"POST\r\nContent-Length: 0 0\r\n\r\nSMUGGLED",
    "length with a point": b"POST\r\nContent-Length: 0.0\r\n\r\nSMUGGLED",
    "length with a comma": b"POST\r\nContent-Length: 0,\r\n\r\nSMUGGLED",
    "length with VT": b"POST\r\nContent-Length: \x0b0\r\n\r\nSMUGGLED",
    "chunk size with a blank inside": b"POST\r\nTE\r\n\r\n0 0\r\n\r\nSMUGGLED",
    "chunk size and a bare CR": b"POST\r\nTE\r\n\r\n0\rX\r\n\r\nSMUGGLED",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200 + b"\r\n\r\n",
    "huge header": b"GET / HTTP/1.1\r\nHOST\r\nX: " + b"a" * 100_000 + b"\r\n\r\nSMUGGLED",
    "many headers": b"GET / HTTP/1.1\r\nHOST\r\n" + b"X: y\r\n" * 9_000 + b"\r\nSMUGGLED",
    "huge target": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHOST\r\n\r\nSMUGGLED",
    "huge method": b"A" * 100_000 + b" / HTTP/1.1\r\nHOST\r\n\r\nSMUGGLED",
}  # fmt: skip


def written(server: Server, pattern: bytes) -> bytes:
    job = b'{"id": "smuggled", "command": "echo smuggled"}'
    smuggled = b"POST\r\nContent-Length: %d\r\n\r\n%b" % (
        len(job),
        job,
    )
    return (
        pattern.replace(b"SMUGGLED", smuggled)
        .replace(b"POST\r\n", b"POST /api/v1/jobs HTTP/1.1\r\nHOST\r\nAUTH\r\nCT\r\n")
        .replace(b"HOST", b"Host: 127.0.0.1:%d" % server.port)
        .replace(b"AUTH", b"Authorization: Bearer " + server.token.encode())
        .replace(b"\r\nCT\r\n", b"\r\nContent-Type: application/json\r\n")
        .replace(b"\r\nTE\r\n", b"\r\nTransfer-Encoding: chunked\r\n")
    )


def test_the_hidden_request_would_do_something(dashboard: Server) -> None:
    """Else the corpus would prove nothing."""
    before = count_jobs(dashboard)
    answer = b""
    with connect(dashboard) as peer:
        peer.sendall(written(dashboard, b"GET / HTTP/1.1\r\nHOST\r\n\r\nSMUGGLED"))
        while len(statuses(answer)) < 2:
            more = peer.recv(65_536)
            assert more, answer
            answer += more
    assert statuses(answer) == [200, 201]
    assert count_jobs(dashboard) == before + 1
    ok(dashboard.client().delete(f"{JOBS}/smuggled"))


def is_refused(answer: bytes) -> bool:
    return statuses(answer) in ([], [400], [421]) and b"smuggled" not in answer


def test_what_can_be_read_in_two_ways_is_refused_and_closed(dashboard: Server) -> None:
    assert len(CORPUS) >= 60
    before = count_jobs(dashboard)
    # `raw` returns only when the server has closed.
    answers = {name: raw(dashboard, written(dashboard, pattern)) for name, pattern in CORPUS.items()}
    assert {name: answer for name, answer in answers.items() if not is_refused(answer)} == {}
    # What is not read any more may be answered by a reset, which is faster than the answer.
    silent = {name for name, answer in answers.items() if not statuses(answer)}
    assert silent <= {"huge header", "many headers", "huge target", "huge method"}
    assert count_jobs(dashboard) == before


# Some of each kind: lengths, chunks, lines, the first line.
IN_PIECES = (
    "CL and TE",
    "two lengths",
    "obs-fold",
    "bare LF",
    "chunk size plus",
    "NUL in a value",
    "HTTP/0.9",
)
ALL_SMALL = [name for name, pattern in CORPUS.items() if len(pattern) < 20_000]


@pytest.mark.parametrize("names", [IN_PIECES, pytest.param(ALL_SMALL, marks=pytest.mark.long)], ids=len)
def test_in_small_pieces_it_means_the_same(dashboard: Server, names: Sequence[str]) -> None:
    """Whatever arrives byte by byte is judged as if it came at once."""
    before = count_jobs(dashboard)
    for name in names:
        data = written(dashboard, CORPUS[name])
        with connect(dashboard) as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for n in range(0, len(data), 7):
                    peer.sendall(data[n : n + 7])
            except (BrokenPipeError, ConnectionResetError):
                pass
            answer = until_closed(peer)
        assert is_refused(answer), (name, answer)
    assert count_jobs(dashboard) == before


def test_pipelined_requests_are_answered_in_order(dashboard: Server) -> None:
    one = head(dashboard, f"GET {JOBS} HTTP/1.1", close=False)
    other = head(dashboard, "GET /api/v1/nosuch HTTP/1.1", close=False)
    last = head(dashboard, "GET /api/v1/queues HTTP/1.1")
    assert statuses(raw(dashboard, one + other + one + last)) == [200, 404, 200, 200]


def test_an_upgrade_is_not_taken(dashboard: Server) -> None:
    upgrade = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: eA==",
    )
    with connect(dashboard) as peer:
        peer.sendall(head(dashboard, "GET /api/v1/stream2 HTTP/1.1", *upgrade, close=False))
        assert statuses(peer.recv(65_536)) == [404]
    h2c = ("Connection: Upgrade, HTTP2-Settings, close", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    assert statuses(raw(dashboard, head(dashboard, f"GET {JOBS} HTTP/1.1", *h2c))) == [200]


def test_strict_reads_what_everybody_sends() -> None:
    conn = Strict(h11.SERVER)
    conn.receive_data(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\na\nb\r")
    assert isinstance(conn.next_event(), h11.Request)
    assert bytes(conn.next_event().data) == b"a\nb\r"  # a body is not our business


# --- C23: bodies ------------------------------------------------------------------------------------


def post(server: Server, body: bytes, **headers: str) -> Any:
    return server.client().post(JOBS, content=body, headers={"Content-Type": "application/json", **headers})


def test_a_length_that_is_too_much_is_refused_before_it_comes(dashboard: Server) -> None:
    for path in (JOBS, "/api/v1/session", f"{JOBS}/x/cancel"):
        for length in (10**18, 10**9, 16 * 1024 * 1024 + 1):
            lines = (JSON, f"Content-Length: {length}")
            answer = raw(dashboard, head(dashboard, f"POST {path} HTTP/1.1", *lines, close=False))
            assert statuses(answer) == [413], (path, length)
            assert b"connection: close" in answer.lower()


def test_expect_continue_is_not_answered_for_what_is_refused(dashboard: Server) -> None:
    lines = (JSON, "Content-Length: 99999999", "Expect: 100-continue")
    assert statuses(raw(dashboard, head(dashboard, f"POST {JOBS} HTTP/1.1", *lines, close=False))) == [413]
    small = (JSON, "Content-Length: 2", "Expect: 100-continue")
    assert statuses(raw(dashboard, head(dashboard, f"POST {JOBS} HTTP/1.1", *small) + b"{}")) == [100, 422]


@pytest.mark.parametrize(("path", "most"), [(JOBS, 18 << 20), ("/api/v1/session", 4 << 20)])
def test_a_stream_of_chunks_is_cut_off(dashboard: Server, path: str, most: int) -> None:
    """Of 64 MB no more is taken than we may want, and the memory stays where it is."""
    before = forget_peak(dashboard.process.pid)
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    sent = 0
    with connect(dashboard) as peer:
        peer.sendall(
            head(dashboard, f"POST {path} HTTP/1.1", JSON, "Transfer-Encoding: chunked", close=False)
        )
        try:
            for _ in range(1024):
                peer.sendall(chunk)
                sent += len(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = until_closed(peer)
    assert statuses(answer) in ([413], [])  # the reset may be faster than the answer
    assert sent < most + (8 << 20)  # and what lies in the buffers of the two sockets
    assert peak_kb(dashboard.process.pid) - before < 80_000


def test_who_is_refused_need_not_be_read(dashboard: Server) -> None:
    """Without a token 10 MB are 10 MB too many."""
    request = head(dashboard, f"POST {JOBS} HTTP/1.1", JSON, "Content-Length: 10000000", close=False)
    answer = raw(dashboard, request.replace(dashboard.token.encode(), b"wrong"), address=another_address())
    assert statuses(answer) == [401]
    assert b"connection: close" in answer.lower()


def test_compressed_bodies_are_not_taken(dashboard: Server) -> None:
    for encoding in ("gzip", "deflate", "br", "zstd", "identity", "x"):
        problem(post(dashboard, b"{}", **{"Content-Encoding": encoding}), 415, "unsupported_media_type")


BOMBS: dict[str, bytes] = {
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "nested lists": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested just too deeply": b'{"a":' + b"[" * 40 + b"]" * 40 + b"}",
    "nested to the limit of Python": b'{"a":' + b"[" * 900 + b"]" * 900 + b"}",
    "a large integer": b'{"command":"x","priority":' + b"9" * 4_000 + b"}",
    "an integer of 65 bits": b'{"command":"x","priority":36893488147419103232}',
    "a huge exponent": b'{"command":"x","delay":1e999999999}',
    "a huge float": b'{"command":"x","timeout":1e308}',
    "NaN": b'{"command":"x","priority":NaN}',
    "Infinity": b'{"command":"x","timeout":Infinity}',
    "-0": b'{"command":"x","timeout":-0.0}',
    "double keys": b'{"command":"x","command":"y"}',
    "a lone surrogate": b'{"command":"\\ud800"}',
    "a surrogate as key": b'{"\\udfff":1}',
    "NUL": b'{"command":"a\\u0000b"}',
    "no UTF-8": b'{"command":"\xff"}',
    "UTF-16": '{"command":"x"}'.encode("utf-16"),
    "a BOM": b'\xef\xbb\xbf{"command":"x"}',
    "a list": b"[]",
    "null": b"null",
    "half": b'{"command":',
    "two": b'{"command":"x"}{"command":"y"}',
    "comments": b'{"command":"x"} // y',
    "wrong types": b'{"command":{"a":[1]},"tags":{"x":1},"env":[1],"depends_on":7}',
}


def large_bombs() -> dict[str, bytes]:
    many = b",".join(b'"k%d":1' % n for n in range(1_000_000))
    return {
        "a million keys": b"{" + many + b"}",
        "a million keys and a double one at the end": b"{" + many + b',"k999999":2}',
        "nested lists without an end": b"[" * 1_000_000,
        "a huge integer": b'{"command":"x","priority":' + b"9" * 5_000_000 + b"}",
        "a long string": b'{"command":"' + b"a" * 15_000_000 + b'"}',
    }


@pytest.mark.parametrize(
    "bombs", [lambda: BOMBS, pytest.param(large_bombs, marks=pytest.mark.long)], ids=["small", "large"]
)
def test_bombs(dashboard: Server, bombs: Callable[[], dict[str, bytes]]) -> None:
    """For who has a token, and for who has none and comes to the door."""
    before = count_jobs(dashboard)
    kind = {"Content-Type": "application/json"}
    with dashboard.client() as client, dashboard.client(None) as unknown:
        for name, body in bombs().items():
            answer = client.post(JOBS, content=body, headers=kind)
            assert answer.status_code in (400, 413, 422), (name, answer.status_code, answer.text[:300])
            assert answer.headers["content-type"] == "application/problem+json"
            assert len(answer.content) < 2_000
            refused = unknown.post("/api/v1/session", content=body, headers=kind)
            assert refused.status_code in (400, 413, 422), (name, refused.text)
    assert count_jobs(dashboard) == before


def test_bombs_in_other_places(dashboard: Server) -> None:
    with dashboard.client() as client:
        for method, path in (
            ("PATCH", f"{JOBS}/x"),
            ("PUT", "/api/v1/schedules/x"),
            ("PATCH", "/api/v1/queues/x"),
        ):
            for name in (
                "a large integer",
                "an integer of 65 bits",
                "nested lists",
                "a lone surrogate",
                "NUL",
            ):
                content = {"Content-Type": "application/json"}
                answer = client.request(method, path, content=BOMBS[name], headers=content)
                assert answer.status_code in (400, 404, 422), (method, path, name, answer.text)
        body = {"jobs": [{"command": "x", "priority": 2**70}]}
        problem(client.post(f"{JOBS}/batch", content=json.dumps(body), headers=content), 422, "invalid_input")
