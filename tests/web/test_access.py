"""Who may do what: every route there is, by every kind of token and session."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, routing

from queuectl.web.app import make_routes
from queuectl.web.guard import PUBLIC
from tests.support.dashboard import Server, another_address
from tests.support.http import ok, problem
from tests.web.attack import count_jobs, serving

DOOR = "/api/v1/session"
PAGE = {"X-Queuectl": "1"}  # what the page always sends


def _routes() -> list[tuple[str, str]]:
    """Every method and path, with something in the place of parameters."""
    found = []
    for route in all_routes(make_routes()):
        path = re.sub(r"\{[^}]*\}", "nosuch", route.path)
        found += [(method, path) for method in sorted(route.methods or ())]
    return found


def all_routes(app: FastAPI) -> list[Any]:
    """Newer versions of FastAPI hold included routers as they are; older ones copy their routes."""
    inside = getattr(routing, "iter_route_contexts", None)
    return list(app.routes if inside is None else inside(app.routes))


ROUTES = _routes()
OPEN = {("GET", "/"), ("GET", "/static/nosuch"), ("POST", DOOR)}
CLOSED = [one for one in ROUTES if one not in OPEN]
CHANGING = [(method, path) for method, path in CLOSED if method != "GET" and path != DOOR]


@pytest.fixture(scope="session")
def reader(dashboard: Server) -> str:
    return dashboard.home.ok("dashboard", "token", "add", "reader", "--read").strip()


def body_for(method: str) -> dict[str, Any]:
    return {} if method == "GET" else {"json": {}}


def test_the_table_of_routes_is_whole() -> None:
    assert len(ROUTES) > 40
    assert set(ROUTES) >= OPEN
    assert {("GET", "/"), ("POST", DOOR)} == PUBLIC
    assert ("POST", "/api/v1/jobs") in CHANGING
    assert ("GET", "/metrics") in CLOSED
    assert {method for method, _ in ROUTES} <= {"GET", "POST", "PUT", "PATCH", "DELETE"}


def test_without_a_token_everything_is_closed(dashboard: Server) -> None:
    with dashboard.client(None) as client:
        for method, path in CLOSED:
            answer = client.request(method, path, **body_for(method))
            assert problem(answer, 401, "unauthorized"), (method, path)
            assert answer.headers["www-authenticate"].startswith("Bearer")
        for path in (
            "/api/v1",
            "/api/v1/nosuch",
            "/docs",
            "/redoc",
            "/openapi.json",
            "/favicon.ico",
            "/x",
        ):
            problem(client.get(path), 401, "unauthorized")
        for path in ("/static/nosuch", "/"):
            assert client.get(path).status_code in (200, 404)
        for method in ("HEAD", "OPTIONS"):
            assert client.request(method, "/").status_code == 401
            assert client.request(method, "/api/v1/jobs").status_code == 401
        for method in ("TRACE", "PROPFIND", "get", "Post"):
            assert client.request(method, "/api/v1/jobs", json={"command": "x"}).status_code == 401


def test_a_read_token_changes_nothing(dashboard: Server, reader: str) -> None:
    before = count_jobs(dashboard)
    with dashboard.client(reader) as client:
        for method, path in CHANGING:
            answer = client.request(method, path, json={"command": "echo no"})
            problem(answer, 403, "forbidden")
        assert ok(client.get(DOOR))["scope"] == "read"
        assert client.get("/metrics").status_code == 200
        ok(client.get("/api/v1/jobs"))
    assert count_jobs(dashboard) == before


def test_a_session_of_a_read_token_changes_nothing(dashboard: Server, reader: str) -> None:
    with dashboard.client(None, headers=PAGE) as client:
        assert ok(client.post(DOOR, json={"token": reader}))["scope"] == "read"
        for method, path in CHANGING:
            problem(client.request(method, path, json={}), 403, "forbidden")


def test_getting_never_changes_anything(server: Server) -> None:
    dashboard = server
    with dashboard.queue() as queue:
        queue.enqueue("echo hi", id="still")
        before = queue.get("still").to_dict()
    with dashboard.client() as client:
        for method, path in CLOSED:
            if path in ("/api/v1/stream",):
                continue  # does not end
            real = path.replace("nosuch", "still")
            answer = client.get(real, params={"action": "cancel", "_method": "DELETE", "method": "POST"})
            assert answer.status_code in (200, 404, 405, 422), (method, path, answer.text)
            overridden = client.get(real, headers={"X-HTTP-Method-Override": "DELETE"})
            assert overridden.status_code in (200, 404, 405, 422), (method, path)
    with dashboard.queue() as queue:
        assert queue.get("still").to_dict() == before


def test_read_only_refuses_all_that_changes(tmp_path: Path) -> None:
    with serving(tmp_path, "--read-only") as server, server.client() as client:
        assert ok(client.get(DOOR))["read_only"] is True
        for method, path in CHANGING:
            problem(client.request(method, path, json={"command": "echo no"}), 403, "forbidden")
        ok(client.get("/api/v1/jobs"))
        assert count_jobs(server) == 0


# --- tokens -----------------------------------------------------------------------------------------


def test_wrong_tokens_look_all_the_same(dashboard: Server) -> None:
    half = dashboard.token[:20]
    wrong = [
        "Bearer",
        f"Bearer {half}",
        f"Basic {dashboard.token}",
        dashboard.token,
        f"Bearer {dashboard.token} x",
        "Bearer é",
    ]
    with dashboard.client(None, address=another_address()) as client:
        answers = [client.get(DOOR, headers=[(b"Authorization", one.encode("latin-1"))]) for one in wrong]
        double = [("Authorization", f"Bearer {dashboard.token}"), ("Authorization", "Bearer x")]
        answers.append(client.get(DOOR, headers=double))
    assert {one.status_code for one in answers} == {401}
    assert len({one.content for one in answers}) == 1
    assert not any(half in one.text for one in answers)


def test_guessing_is_slowed_but_keeps_nobody_out(dashboard: Server) -> None:
    """A made token cannot be guessed, so its owner comes in whatever the attacker beside him does."""
    address = another_address()
    session = dashboard.client(None, headers=PAGE, address=address)
    ok(session.post(DOOR, json={"token": dashboard.token}))
    with dashboard.client(None, address=address) as attacker:
        seen = [attacker.post(DOOR, json={"token": f"guess {n}"}).status_code for n in range(5)]
        for n in range(10):
            headers = {"Authorization": f"Bearer guess{n}"}
            seen.append(attacker.get("/api/v1/jobs", headers=headers).status_code)
        assert seen == [401] * 10 + [429] * 5
        refused = attacker.get("/api/v1/jobs", headers={"Authorization": "Bearer x"})
        problem(refused, 429, "too_many_requests")
        assert refused.headers["retry-after"] == "60"
        problem(attacker.get("/api/v1/jobs"), 401, "unauthorized")
    ok(session.get("/api/v1/jobs"))
    ok(dashboard.client(address=address).get("/api/v1/jobs"))


def test_a_chosen_token_cannot_be_guessed_on(tmp_path: Path) -> None:
    chosen = "correct-horse-battery"
    with serving(tmp_path, env={"QUEUECTL_DASHBOARD_TOKEN": chosen}) as server:
        named = server.home.ok("dashboard", "token", "add", "script").strip()
        session = server.client(None, headers=PAGE)
        ok(session.post(DOOR, json={"token": chosen}))
        with server.client(None) as attacker:
            for _ in range(10):
                problem(attacker.post(DOOR, json={"token": "x"}), 401, "unauthorized")
            problem(attacker.post(DOOR, json={"token": chosen}), 429, "too_many_requests")
            ok(attacker.post(DOOR, json={"code": server.code}))
        ok(session.get("/api/v1/jobs"))
        ok(server.client(named).get("/api/v1/jobs"))


def test_taking_a_token_back_ends_its_sessions(dashboard: Server) -> None:
    token = dashboard.home.ok("dashboard", "token", "add", "sam").strip()
    address = another_address()
    with (
        dashboard.client(None, headers=PAGE, address=address) as browser,
        dashboard.client(token, address=address) as script,
    ):
        ok(browser.post(DOOR, json={"token": token}))
        ok(browser.get("/api/v1/jobs"))
        ok(script.get("/api/v1/jobs"))
        dashboard.home.ok("dashboard", "token", "rm", "sam")
        problem(browser.get("/api/v1/jobs"), 401, "unauthorized")
        problem(script.get("/api/v1/jobs"), 401, "unauthorized")


def test_an_expired_token_is_out(dashboard: Server) -> None:
    token = dashboard.home.ok("dashboard", "token", "add", "brief", "--expires", "1ms").strip()
    # The command has stored it, said it and ended since: longer ago than that.
    problem(dashboard.client(token, address=another_address()).get("/api/v1/jobs"), 401, "unauthorized")


# --- sessions ---------------------------------------------------------------------------------------


def test_the_cookie_is_for_this_page_only(dashboard: Server) -> None:
    with dashboard.client(None) as client:
        answer = client.post(DOOR, json={"token": dashboard.token})
        cookie = answer.headers["set-cookie"]
        name, _, rest = cookie.partition("=")
        assert name == f"queuectl-{dashboard.port}"
        flags = {part.strip().lower() for part in rest.split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/", "max-age=43200"} <= flags
        assert not any(flag.startswith("domain") for flag in flags)
        assert dashboard.token not in cookie
        assert dashboard.token not in answer.text


COOKIES_OF_OTHERS = (
    'a={"json": [1, 2]}; ',
    "b[c]=d; ",
    "=; ;;; , ; x; ",
    "queuectl=1; ",
    'q="unfinished; ',
    "queuectl-{port}=rubbish.rubbish; ",
    "Expires=never; Path=/; ",
)


def test_cookies_of_others_do_not_hide_ours(dashboard: Server) -> None:
    """All servers of a machine share their cookies, whatever their ports."""
    with dashboard.client(None) as client:
        ok(client.post(DOOR, json={"token": dashboard.token}))
        value = client.cookies[f"queuectl-{dashboard.port}"]
    for others in COOKIES_OF_OTHERS:
        sent = others.replace("{port}", str(dashboard.port)) + f"queuectl-{dashboard.port}={value}"
        answer = httpx.get(f"{dashboard.api}/session", headers={"Cookie": sent})
        assert answer.status_code == 200, others


def test_a_cookie_that_is_not_ours_is_none(dashboard: Server) -> None:
    with dashboard.client(None) as client:
        ok(client.post(DOOR, json={"token": dashboard.token}))
        value = client.cookies[f"queuectl-{dashboard.port}"]
    for name, one in (
        (f"queuectl-{dashboard.port + 1}", value),
        ("queuectl", value),
        (f"queuectl-{dashboard.port}", value[:-1]),
        (f"queuectl-{dashboard.port}", value + "x"),
        (f"queuectl-{dashboard.port}", dashboard.token),
        (f"queuectl-{dashboard.port}", ""),
    ):
        answer = httpx.get(f"{dashboard.api}/session", headers={"Cookie": f"{name}={one}"})
        problem(answer, 401, "unauthorized")


def test_a_session_survives_a_restart_but_not_a_rotation(start_server: Callable[..., Server]) -> None:
    first = start_server()
    with first.client(None, headers=PAGE) as browser:
        ok(browser.post(DOOR, json={"code": first.code}))
        value = browser.cookies[f"queuectl-{first.port}"]
    first.stop()
    second = start_server("--port", str(first.port))
    assert second.token == first.token
    cookie = {"Cookie": f"queuectl-{second.port}={value}"}
    ok(httpx.get(f"{second.api}/jobs", headers=cookie))
    with second.client() as script:
        ok(script.get("/api/v1/jobs"))
        second.home.ok("dashboard", "token", "rotate")
        problem(script.get("/api/v1/jobs"), 401, "unauthorized")
    problem(httpx.get(f"{second.api}/jobs", headers=cookie), 401, "unauthorized")
    with second.client(None) as late:  # the link was of the old token
        problem(late.post(DOOR, json={"code": second.code}), 401, "unauthorized")


def test_logging_out(dashboard: Server) -> None:
    with dashboard.client(None, headers=PAGE) as browser:
        ok(browser.post(DOOR, json={"token": dashboard.token}))
        copied = f"queuectl-{dashboard.port}={browser.cookies[f'queuectl-{dashboard.port}']}"
        answer = browser.delete(DOOR)
        ok(answer, 204)
        assert "max-age=0" in answer.headers["set-cookie"].lower()
        problem(browser.get(DOOR), 401, "unauthorized")
    stolen = httpx.get(f"{dashboard.api}/jobs", headers={"Cookie": copied})
    problem(stolen, 401, "unauthorized")


def test_at_the_door(dashboard: Server) -> None:
    with dashboard.client(None) as client:
        problem(client.post(DOOR, json={}), 422, "invalid_input")
        problem(client.post(DOOR, json={"token": dashboard.token, "code": "x"}), 422, "invalid_input")
        problem(client.post(DOOR, json={"token": 5}), 422, "invalid_input")
        problem(client.post(DOOR, json={"token": dashboard.token, "x": 1}), 422, "invalid_input")
        problem(client.post(DOOR, json=[dashboard.token]), 422, "invalid_input")
        problem(
            client.post(DOOR, content=b"{", headers={"Content-Type": "application/json"}), 400, "malformed"
        )
        answer = client.post(DOOR, json={"token": "x" * 20_000})
        problem(answer, 413, "too_large")
        assert "set-cookie" not in answer.headers
