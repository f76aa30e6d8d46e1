"""TLS options of an address reach the driver: the right certificate is taken, a wrong one is not."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.engines import SERVERS, engines
from tests.support.home import Home
from tests.support.servers import PrivateMariadb, PrivatePostgres

OPTIONS = {
    "postgres": "sslmode=verify-ca&sslrootcert={ca}",
    "mysql": "ssl_ca={ca}&ssl_verify_cert=1",
}


def certificate(directory: Path, name: str) -> tuple[Path, Path]:
    key, crt = directory / f"{name}.key", directory / f"{name}.crt"
    words = (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run(
        ["openssl", *words.split(), "-keyout", str(key), "-out", str(crt)], check=True, capture_output=True
    )
    return key, crt


@pytest.fixture(params=engines(*SERVERS, long=["mysql"]))
def server(request: pytest.FixtureRequest) -> Iterator[PrivatePostgres | PrivateMariadb]:
    postgres = request.param == "postgres"
    it = PrivatePostgres() if postgres else PrivateMariadb()
    with it:
        key, crt = certificate(it.directory, "server")
        for path in (key, crt):
            shutil.chown(path, it.data.owner())
        key.chmod(0o600)
        if postgres:
            it.settings |= {"ssl": "on", "ssl_cert_file": crt, "ssl_key_file": key}
        else:
            it.settings |= {"ssl-cert": crt, "ssl-key": key, "ssl-ca": crt}
        it.restart()
        yield it


@pytest.fixture
def store_url(server: PrivatePostgres | PrivateMariadb) -> str:
    return server.fresh_url()


def encrypted(home: Home) -> bool:
    with home.queue() as queue:
        connection = queue.store.connection  # type: ignore[attr-defined]
        if connection.dialect.name == "postgres":
            return bool(connection.all("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")[0][0])
        return bool(connection.all("SHOW SESSION STATUS LIKE 'Ssl_cipher'")[0][1])


def with_options(url: str, engine: str, ca: Path) -> str:
    separator = "&" if "?" in url else "?"
    return url + separator + OPTIONS[engine].format(ca=ca)


def test_the_server_is_trusted_by_its_own_certificate_alone(
    home: Home, server: PrivatePostgres | PrivateMariadb, store_url: str, tmp_path: Path
) -> None:
    wrong = certificate(tmp_path, "wrong")[1]
    result = home.q("enqueue", "true", env={"QUEUECTL_DB": with_options(store_url, server.engine, wrong)})
    assert result.returncode == 3
    assert "certificate" in result.stderr.lower()
    home.url = home.env["QUEUECTL_DB"] = with_options(
        store_url, server.engine, server.directory / "server.crt"
    )
    home.ok("run", "--", "true")
    assert encrypted(home)
