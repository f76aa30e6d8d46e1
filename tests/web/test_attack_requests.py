"""Requests from other sites, under other names, with hostile contents: nothing happens, nothing is told."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.dashboard import Server
from tests.support.http import ok, problem
from tests.web.attack import count_jobs, head, raw, statuses

JOBS = "/api/v1/jobs"
DOOR = "/api/v1/session"


@pytest.fixture
def browser(dashboard: Server) -> Iterator[httpx.Client]:
    """Somebody who is logged in, without what only the page sends."""
    with dashboard.client(None) as client:
        ok(client.post(DOOR, json={"token": dashboard.token}))
        yield client


# --- C2: the name -----------------------------------------------------------------------------------

BAD_HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "localhost.evil.example:{port}",
    "evil-localhost:{port}",
    "localhost.:{port}",
    "127.0.0.1.:{port}",
    "127.1:{port}",
    "2130706433:{port}",
    "0x7f.1:{port}",
    "0177.0.0.1:{port}",
    "user@127.0.0.1:{port}",
    "127.0.0.1:{port}@evil.example",
    "evil.example#@127.0.0.1:{port}",
    "127.0.0.1:{port}#",
    "127.0.0.1:{port}/",
    "127.0.0.1:{port}?x",
    "127.0.0.1:{port},evil.example",
    "127.0.0.1:{port} evil.example",
    "127.0.0.1\t:{port}",
    "127.0.0.1",
    "127.0.0.1:",
    "127.0.0.1:80",
    "127.0.0.1:0{port}0",
    "127.0.0.1:-1",
    "127.0.0.1:99999999",
    "localhost",
    ":{port}",
    "[::1:{port}",
    "::1:{port}",
    "[::1]evil:{port}",
    "[evil.example]:{port}",
    "[::1%25lo]:{port}",
    "http://127.0.0.1:{port}",
    "\\127.0.0.1:{port}",
    "queue.example.evil.example",
    "queue.example.",
    "queue.example:1",
    "xqueue.example",
    "",
]
GOOD_HOSTS = ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}", "192.0.2.7:{port}"]
GOOD_HOSTS += ["queue.example", "QUEUE.EXAMPLE:{port}"]


def get(server: Server, *hosts: str, target: str = JOBS) -> bytes:
    lines = [f"GET {target} HTTP/1.1", *(f"Host: {host}" for host in hosts)]
    lines += [f"Authorization: Bearer {server.token}", "Connection: close", "", ""]
    return raw(server, "\r\n".join(lines).encode())


def test_another_name_is_refused(dashboard: Server) -> None:
    for host in BAD_HOSTS:
        for target in (JOBS, "/", "/static/app.js"):
            answer = get(dashboard, host.replace("{port}", str(dashboard.port)), target=target)
            assert statuses(answer) in ([421], [400]), (host, target, answer)
            assert b"evil" not in answer


def test_our_own_names(dashboard: Server) -> None:
    for host in GOOD_HOSTS:
        assert statuses(get(dashboard, host.replace("{port}", str(dashboard.port)))) == [200], host


def test_no_host_or_two(dashboard: Server) -> None:
    ours = f"127.0.0.1:{dashboard.port}"
    assert statuses(get(dashboard)) in ([400], [421])
    assert statuses(get(dashboard, ours, "evil.example")) in ([400], [421])
    assert statuses(get(dashboard, ours, ours)) in ([400], [421])
    assert statuses(raw(dashboard, b"GET / HTTP/1.0\r\n\r\n")) == [421]


TARGETS = (
    "http://evil.example/",
    "http://127.0.0.1:{port}/api/v1/jobs",
    "//evil.example/",
    "*",
    "evil.example:443",
    "http://evil.example/static/app.js",
)


def test_other_forms_of_a_target_lead_nowhere(dashboard: Server) -> None:
    for target in TARGETS:
        answer = get(
            dashboard, f"127.0.0.1:{dashboard.port}", target=target.replace("{port}", str(dashboard.port))
        )
        assert statuses(answer) in ([400], [404], [421]), (target, answer)
        assert b"evil" not in answer
        assert b"\nlocation:" not in answer.lower()


# --- C3: other sites --------------------------------------------------------------------------------

BODY = '{"command": "echo forged"}'


FORMS: tuple[tuple[dict[str, str], int], ...] = (
    ({"Content-Type": "text/plain"}, 415),
    ({"Content-Type": "text/plain;application/json"}, 415),
    ({"Content-Type": "application/jsonp"}, 415),
    ({"Content-Type": "application/json-patch+json"}, 415),
    ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
    ({}, 415),
    ({"Content-Type": "application/json"}, 403),  # X-Queuectl is missing
    ({"Content-Type": "application/json", "X-Queuectl": "0"}, 403),
    ({"Content-Type": "application/json", "X-Queuectl": "1, 1"}, 403),
)


def test_what_a_form_of_another_site_can_send(dashboard: Server, browser: httpx.Client) -> None:
    before = count_jobs(dashboard)
    answers = [browser.post(JOBS, content=BODY, headers=headers).status_code for headers, _ in FORMS]
    assert answers == [status for _, status in FORMS]
    assert count_jobs(dashboard) == before


OF_OTHER_SITES: tuple[dict[str, str], ...] = (
    {"Origin": "null"},
    {"Origin": "http://evil.example"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "http://localhost:{port}"},  # the same machine by another name is another origin
    {"Origin": "http://127.0.0.1:{port}.evil.example"},
    {"Origin": "http://evil@127.0.0.1:{port}"},
    {"Origin": "http://127.0.0.1:{port}/"},
    {"Origin": "http://["},
    {"Origin": ""},
    {"Origin": "file://"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "SAME-ORIGIN, cross-site"},
    {"Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Origin": "http://127.0.0.1:{port}"},
)


def test_requests_of_other_sites(dashboard: Server, browser: httpx.Client) -> None:
    page = {"X-Queuectl": "1", "Content-Type": "application/json"}
    before = count_jobs(dashboard)
    owner = dashboard.client()
    for headers in OF_OTHER_SITES:
        sent = {name: value.replace("{port}", str(dashboard.port)) for name, value in headers.items()}
        for answer in (
            browser.post(JOBS, content=BODY, headers={**page, **sent}),
            browser.delete(f"{JOBS}/x", headers={**page, **sent}),
            browser.post(DOOR, json={"token": dashboard.token}, headers=sent),
            *(browser.get(path, headers=sent) for path in (JOBS, "/metrics", "/api/v1/stream")),
            owner.get(JOBS, headers=sent),
        ):
            problem(answer, 403, "forbidden")
    assert count_jobs(dashboard) == before


def test_the_page_itself_may_do_it_and_a_link_may_open_it(server: Server, browser: httpx.Client) -> None:
    page = {"X-Queuectl": "1", "Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    ok(browser.post(JOBS, json={"command": "true"}, headers=page), 201)
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert browser.get("/", headers=link).status_code == 200
    assert browser.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403  # <img>, <script>


def test_two_origins_are_one_too_many(dashboard: Server, browser: httpx.Client) -> None:
    double = [("Origin", dashboard.url), ("Origin", "http://evil.example")]
    problem(browser.get(JOBS, headers=double), 403, "forbidden")


# --- C4 to C7: what stands on every answer ----------------------------------------------------------


def test_headers_of_protection_are_on_everything(dashboard: Server) -> None:
    client, anonymous = dashboard.client(), dashboard.client(None)
    answers = {
        "page": client.get("/"),
        "static": anonymous.get("/static/app.js"),
        "no file": anonymous.get("/static/nosuch"),
        "json": client.get(JOBS),
        "metrics": client.get("/metrics"),
        "401": anonymous.get(JOBS),
        "404": client.get(f"{JOBS}/nosuch"),
        "405": client.put(JOBS, json={}),
        "415": client.post(JOBS, content="x"),
        "421": client.get("/", headers={"Host": "evil.example"}),
        "422": client.get(JOBS, params={"limit": "x"}),
        "403": client.get(JOBS, headers={"Origin": "null"}),
    }
    for name, answer in answers.items():
        headers = answer.headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, name
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == ("no-cache" if name in ("page", "static") else "no-store"), name
        assert "server" not in headers
        assert not [one for one in headers if one.lower().startswith("access-control")]


def test_no_other_origin_is_ever_allowed(dashboard: Server, browser: httpx.Client) -> None:
    ask = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, x-queuectl, authorization",
    }
    for path in (JOBS, DOOR, "/", "/static/app.js"):
        for origin in ("http://evil.example", dashboard.url, "null"):
            answer = browser.options(path, headers={**ask, "Origin": origin})
            assert answer.status_code >= 400
            assert not [one for one in answer.headers if one.startswith("access-control")]


MARKUP = "<script>alert(1)</script>"


WITH_MARKUP = (
    f"/{MARKUP}",
    f"/static/{MARKUP}",
    f"{JOBS}/{MARKUP}",
    f"{JOBS}?limit={MARKUP}",
    f"{JOBS}?sort={MARKUP}",
    f"{JOBS}?state={MARKUP}",
    f"{JOBS}?callback={MARKUP}",
    f"{JOBS}?since={MARKUP}",
    f"{JOBS}?cursor={MARKUP}",
    f"{JOBS}?cause={MARKUP}",
    f"/api/v1/queues/{MARKUP}",
    f"/api/v1/schedules/{MARKUP}",
    f"/api/v1/history?range={MARKUP}",
    f"{JOBS}/{MARKUP}/output",
    f"/api/v1/{MARKUP}",
)


def test_nothing_comes_back_as_a_page(dashboard: Server) -> None:
    for client in (dashboard.client(), dashboard.client(None)):
        for path in WITH_MARKUP:
            answer = client.get(path)
            kind = answer.headers["content-type"]
            assert kind in ("application/json", "application/problem+json"), (path, kind, answer.text)
            assert answer.status_code < 500, path
    odd = dashboard.client().post(JOBS, json={MARKUP: 1})
    problem(odd, 422, "invalid_input")


def test_output_is_never_shown_as_a_page(server: Server) -> None:
    id = ok(server.client().post(JOBS, json={"command": f"echo '{MARKUP}'"}), 201)["id"]
    answer = server.client().get(f"{JOBS}/{id}/output")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"


# --- C16, C18: hostile values -----------------------------------------------------------------------

FILTERS = ("state", "queue", "tag", "search", "since", "before", "held", "cause", "cursor", "sort")
HOSTILE = [
    "' OR '1'='1",
    "'; DROP TABLE jobs; --",
    '" OR 1=1 --',
    "1) UNION SELECT sql FROM sqlite_master --",
    "%",
    "_",
    "%%%%%%",
    "\\",
    "\\'",
    "$$; SELECT pg_sleep(5)",
    "`id`",
    "$(id)",
    "{}",
    "{0}",
    "%s",
    ":1",
    "?1",
    "--all",
    "-1",
    "\x00",
    "a\x00b",
    "\ufeff",
    "\ud7ff\U0010ffff",
    "a" * 5_000,
    "9" * 400,
    "NaN",
    "../../etc/passwd",
]


def test_hostile_filters_find_nothing_and_break_nothing(server: Server) -> None:
    with server.queue() as queue:
        queue.enqueue("echo precious", id="precious", tags=["t"])
    with server.client() as client:
        for value in HOSTILE:
            for name in FILTERS:
                answer = client.get(JOBS, params={name: value})
                assert answer.status_code in (200, 422), (name, value, answer.text)
                if answer.status_code == 200 and name != "search":
                    assert answer.json()["jobs"] == [], (name, value)
            for name in ("limit", "reverse", "count"):
                assert client.get(JOBS, params={name: value}).status_code in (200, 422), (name, value)
            found = client.get(JOBS, params={"search": value})
            if found.status_code == 200:  # % and _ are characters like others
                assert all(value.lower() in job["command"].lower() for job in found.json()["jobs"]), value
            for name in ("queue", "tag", "search", "since", "state"):
                filter = {name: [value] if name == "state" else value}
                body = {"action": "delete", "filter": filter, "dry_run": True}
                answer = client.post(f"{JOBS}/actions", json=body)
                assert answer.status_code in (200, 422), (name, value, answer.text)
    assert count_jobs(server) == 1
    ok(server.client().get(f"{JOBS}/precious"))


def test_only_known_orders(dashboard: Server) -> None:
    with dashboard.client() as client:
        for sort in ("seq", "command", "created,id", "created DESC", "(SELECT 1)", "rowid", ""):
            problem(client.get(JOBS, params={"sort": sort}), 422, "invalid_input")


def test_ids_that_would_be_options_or_paths(dashboard: Server) -> None:
    before = count_jobs(dashboard)
    with dashboard.client() as client:
        for id in ("-x", "--all", "../x", "a/b", "a\0", "", ".", "x" * 200, "ü", "a b", "a\nb", "%2e"):
            problem(client.post(JOBS, json={"id": id, "command": "true"}), 422, "invalid_input")
    assert count_jobs(dashboard) == before


# --- C29, C32: files and numbers --------------------------------------------------------------------

TRAVERSALS = [
    "../guard.py",
    "..%2fguard.py",
    "..%2Fguard.py",
    "%2e%2e/guard.py",
    "%2e%2e%2fguard.py",
    "..%5cguard.py",
    "....//guard.py",
    "..%252fguard.py",
    "%252e%252e%252fguard.py",
    "..%c0%afguard.py",
    "..;/guard.py",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "//etc/passwd",
    "file:///etc/passwd",
    "app.js%00",
    "app.js%00.css",
    "%00",
    "",
    ".",
    "..",
    "./app.js",
    "APP.JS",
    "app.js/",
    "app.js/..%2f..%2fguard.py",
    "..%2fstatic%2fapp.js",
    "~root",
    "app.js.map",
    ".git",
    "__pycache__",
    "../../../../../../../etc/passwd",
    "..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
]


def test_only_the_files_of_the_page_are_served(dashboard: Server) -> None:
    for name in TRAVERSALS:
        answer = raw(dashboard, head(dashboard, f"GET /static/{name} HTTP/1.1"))
        assert statuses(answer) in ([404], [307]), (name, answer)
        assert b"root:" not in answer
        assert b"class Guard" not in answer


def test_no_path_leads_out_of_the_output(dashboard: Server) -> None:
    for id in TRAVERSALS:
        if id in ("", ".", ".."):
            continue
        for rest in ("", "/output", "/output/pieces", "/explain"):
            answer = raw(dashboard, head(dashboard, f"GET {JOBS}/{id}{rest} HTTP/1.1"))
            assert statuses(answer)[0] in (404, 422, 307, 400), (id, rest, answer)
            assert b"root:" not in answer


def test_metrics_tell_numbers_and_no_contents(server: Server) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    with server.queue() as queue:
        queue.enqueue_many(
            {"command": "echo canary-command", "id": f"canary-id-{n}", "queue": f"q{n}"} for n in range(400)
        )
        queue.enqueue("true", env={"X": "canary-env"}, tags=["canary-tag"])
    problem(server.client(None).get("/metrics"), 401, "unauthorized")
    with server.client() as client:
        for n in range(50):
            client.get(f"/api/v1/canary-path-{n}")
        text = client.get("/metrics").text
    families = list(text_string_to_metric_families(text))
    assert families
    assert "canary" not in text
    assert server.token not in text
    queues = {s.labels["queue"] for f in families for s in f.samples if "queue" in s.labels}
    assert 2 <= len(queues) <= 201, len(queues)
    assert sum(len(family.samples) for family in families) < 20_000
