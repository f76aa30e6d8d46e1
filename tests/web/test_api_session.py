"""Who is asked, and what a server says about itself."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from queuectl import __version__
from tests.support.dashboard import Server
from tests.support.http import ok, problem


def test_the_session_tells_where_it_is(server: Server, api: httpx.Client) -> None:
    session = ok(api.get("/session"))
    assert session["scope"] == "admin"
    assert session["version"] == __version__
    assert session["engine"] == "sqlite"
    assert session["read_only"] is False
    assert session["store"]
    assert urlsplit(session["store"]).password is None


def test_a_link_works_once(own_server: Server) -> None:
    server = own_server
    with httpx.Client(base_url=server.url) as client:
        assert ok(client.post("/api/v1/session", json={"code": server.code}))["scope"] == "admin"
        assert ok(client.get("/api/v1/session"))["scope"] == "admin"
        ok(client.delete("/api/v1/session", headers={"X-Queuectl": "1"}), 204)
        problem(client.get("/api/v1/session"), 401, "unauthorized")
        problem(client.post("/api/v1/session", json={"code": server.code}), 401, "unauthorized")
