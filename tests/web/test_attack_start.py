"""Starting it: what would let strangers in is refused, and secrets are told to nobody."""

from __future__ import annotations

import os
import socket
import ssl
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.support.dashboard import NewProcessServer, Server
from tests.support.home import Home
from tests.support.http import ok, problem
from tests.web.attack import mode

pytestmark = pytest.mark.long

CHOSEN = "a-good-token-0123456789"
PAGE = {"X-Queuectl": "1"}


@pytest.fixture
def kind() -> type[Server]:
    return NewProcessServer


@pytest.fixture
def home(own_home: Home) -> Home:
    return own_home


@pytest.fixture
def server(own_server: Server) -> Server:
    return own_server


@pytest.fixture
def token_file(tmp_path: Path) -> str:
    path = tmp_path / "token"
    path.write_text(CHOSEN + "\n")
    return str(path)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    words += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert]
    subprocess.run(words, check=True, capture_output=True)
    return cert, key


def refused(home: Home, *words: str, env: dict[str, str] | None = None, code: int = 4) -> str:
    result = home.q("dashboard", "--port", "0", *words, env=env)
    assert result.returncode == code, (result.returncode, result.stderr)
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "127.0.0.1.example"])
def test_what_others_can_reach_needs_a_token_and_tls(home: Home, token_file: str, host: str) -> None:
    assert "token" in refused(home, "--host", host)
    assert "TLS" in refused(home, "--host", host, "--token-file", token_file)
    assert "TLS" in refused(home, "--host", host, env={"QUEUECTL_DASHBOARD_TOKEN": CHOSEN})


def test_with_tls(start_server: Callable[..., Server], token_file: str, certificate: tuple[str, str]) -> None:
    cert, key = certificate
    server = start_server(
        "--host", "0.0.0.0", "--token-file", token_file, "--tls-cert", cert, "--tls-key", key
    )
    assert server.url.startswith("https://")
    trust = ssl.create_default_context(cafile=cert)
    with httpx.Client(base_url=f"https://localhost:{server.port}", verify=trust, headers=PAGE) as client:
        answer = client.post("/api/v1/session", json={"token": CHOSEN})
        ok(answer)
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"__Host-queuectl-{server.port}=")
        assert "secure" in [part.strip().lower() for part in cookie.split(";")]
        ok(client.get("/api/v1/jobs"))
        problem(
            client.get("/api/v1/jobs", headers={"Origin": f"http://localhost:{server.port}"}),
            403,
            "forbidden",
        )
        ok(client.get("/api/v1/jobs", headers={"Origin": f"https://localhost:{server.port}"}))
    with socket.create_connection(("127.0.0.1", server.port), 10) as peer:  # plain HTTP is nothing here
        peer.sendall(f"GET / HTTP/1.1\r\nHost: localhost:{server.port}\r\n\r\n".encode())
        try:
            assert b"HTTP/1.1 200" not in peer.recv(65_536)
        except ConnectionResetError:
            pass


def test_a_certificate_that_is_none(home: Home, tmp_path: Path, certificate: tuple[str, str]) -> None:
    cert, key = certificate
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("rubbish")
    for words in (
        ("--tls-cert", str(rubbish), "--tls-key", key),
        ("--tls-cert", cert, "--tls-key", str(rubbish)),
        ("--tls-cert", cert, "--tls-key", str(tmp_path / "nosuch")),
        ("--tls-cert", cert),
        ("--tls-key", key),
    ):
        assert len(refused(home, *words, code=2).splitlines()) <= 2


def test_behind_a_proxy(start_server: Callable[..., Server], token_file: str) -> None:
    words = ("--behind-proxy", "--allow-host", "queue.example", "--token-file", token_file)
    server = start_server("--host", "0.0.0.0", *words)
    outside = {"Host": "queue.example", "Origin": "https://queue.example", "X-Forwarded-For": "192.0.2.9"}
    with server.client(
        None, headers={**PAGE, **outside}, base_url=f"http://127.0.0.1:{server.port}"
    ) as client:
        answer = client.post("/api/v1/session", json={"token": CHOSEN})
        ok(answer)
        assert "secure" in answer.headers["set-cookie"].lower()
        value = answer.headers["set-cookie"].partition(";")[0]
        ok(client.get("/api/v1/jobs", headers={"Cookie": value}))
        problem(client.get("/api/v1/jobs", headers={"Host": "other.example"}), 421, "wrong_host")
        forwarded = {"Host": "other.example", "X-Forwarded-Host": "queue.example"}
        problem(client.get("/api/v1/jobs", headers=forwarded), 421, "wrong_host")
        # What a client says of its address is not believed: else it could guess for ever.
        for n in range(10):
            guess = client.post(
                "/api/v1/session", json={"token": "x"}, headers={"X-Forwarded-For": f"10.0.0.{n}"}
            )
            assert guess.status_code == 401
        last = client.post("/api/v1/session", json={"token": "x"}, headers={"X-Forwarded-For": "10.0.1.1"})
        problem(last, 429, "too_many_requests")


def test_a_port_that_is_taken(home: Home, server: Server) -> None:
    result = home.q("dashboard", "--port", str(server.port))
    assert result.returncode == 4
    assert f"127.0.0.1:{server.port}" in result.stderr
    assert "--port" in result.stderr
    assert "Traceback" not in result.stderr
    ok(server.client().get("/api/v1/jobs"))


def test_weak_tokens(home: Home, tmp_path: Path) -> None:
    for weak in ("canary", "canarycanarycanary", "canary with blanks 0123"):
        path = tmp_path / "weak"
        path.write_text(weak)
        for said in (
            refused(home, "--token-file", str(path), code=2),
            refused(home, env={"QUEUECTL_DASHBOARD_TOKEN": weak}, code=2),
        ):
            assert "at least 16" in said
            assert "canary" not in said
    refused(home, "--token-file", str(tmp_path / "nosuch"), code=2)
    refused(home, "--token-file", str(tmp_path), code=2)
    (tmp_path / "weak").write_text("")
    refused(home, "--token-file", str(tmp_path / "weak"), code=2)


def test_files_under_umask_0(home: Home, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        server = NewProcessServer(home, "--open", env={"BROWSER": "true"})
        home.ok("dashboard", "token", "add", "somebody")
    finally:
        os.umask(before)
    server.stop()
    assert mode(home.path) == 0o700
    wide = [
        str(path)
        for path in home.path.rglob("*")
        if mode(path) & 0o077 and not stat.S_ISLNK(os.lstat(path).st_mode)
    ]
    assert wide == []


def test_a_planted_link_is_refused(home: Home, tmp_path: Path) -> None:
    home.ok("init")
    target = tmp_path / "planted"
    target.write_text("known-to-the-attacker-0123456789")
    os.symlink(target, home.path / "dashboard.token")
    said = refused(home, code=3)
    assert "dashboard.token" in said
    assert "known-to" not in said


def test_what_is_missing_is_told_in_one_line(home: Home, tmp_path: Path) -> None:
    for name in ("fastapi", "uvicorn"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError('no {name}', name='{name}')\n")
        said = refused(home, env={"PYTHONPATH": str(folder)}, code=1)
        assert f"needs the package {name}" in said
        assert "pip install 'queuectl[web]'" in said


# --- C15: secrets -----------------------------------------------------------------------------------


def test_secrets_are_told_to_nobody(start_server: Callable[..., Server], home: Home, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" >> {seen}\n')
    browser.chmod(0o755)
    server = start_server("--open", env={"BROWSER": f"{browser} %s"})
    named = home.ok("dashboard", "token", "add", "canary").strip()
    wrong = "wrong-canary-0123456789"
    told = []
    with server.client() as client, server.client(wrong) as guesser:
        for path in (
            "/",
            "/metrics",
            "/api/v1/session",
            "/api/v1/config",
            "/api/v1/openapi.json",
            "/api/v1/stats",
        ):
            told.append(client.get(path).text)
            told.append(guesser.get(path).text)
        told.append(client.post("/api/v1/session", json={"token": wrong}).text)
        told.append(client.get("/api/v1/jobs", params={"token": wrong, "limit": "x"}).text)
        told.append(
            client.post("/api/v1/jobs", content=b"\xff", headers={"Content-Type": "application/json"}).text
        )
    told.append(home.q("doctor").stdout)
    told.append(home.ok("dashboard", "token", "list", "--json"))
    told.append(home.ok("config", "list", "--json"))
    told.append(home.ok("metrics"))
    told.append(Path(f"/proc/{server.process.pid}/cmdline").read_text())
    assert Path(seen).exists()
    told.append(seen.read_text())  # everybody can see the arguments of a browser
    server.stop()
    told.append(server.stderr)
    everything = "\n".join(told)
    for secret in (server.token, named, wrong, server.code):
        assert secret not in everything
    assert "file://" in seen.read_text()
    assert server.code in (home.path / "dashboard-open.html").read_text()


def test_a_password_of_a_server_is_told_to_nobody(home: Home) -> None:
    for url in ("postgresql://me:canary@127.0.0.1:1/x", "mysql://me:canary@127.0.0.1:1/x"):
        result = home.q("--db", url, "dashboard", "--port", "0", env={"QUEUECTL_DEBUG": "1"})
        assert result.returncode == 3, result.stderr
        assert "canary" not in result.stdout + result.stderr


def test_a_token_is_never_taken_from_the_command_line(home: Home) -> None:
    assert home.q("dashboard", "--token", CHOSEN).returncode == 2
