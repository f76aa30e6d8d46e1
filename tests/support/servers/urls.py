"""Taking the URLs of stores apart and putting them together.

What stands behind a URL is left to places.py.
"""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}


class MysqlLogin(TypedDict, total=False):
    """The arguments of `pymysql.connect`."""

    host: str
    port: int
    unix_socket: str
    user: str
    password: str


def engine_of(url: str) -> str:
    scheme = urlsplit(url).scheme
    if scheme not in SCHEMES:
        raise ValueError(f"no database server has URLs that begin with '{scheme}:'")
    return SCHEMES[scheme]


def with_schema(url: str, schema: str) -> str:
    parts = urlsplit(url)
    return _joined(parts, query=[*_parameters_but_schema(parts), ("schema", schema)])


def split_schema(url: str) -> tuple[str, str]:
    """The URL as libpq takes it, and the schema, which libpq knows nothing of."""
    parts = urlsplit(url)
    return _joined(parts, query=_parameters_but_schema(parts)), dict(parse_qsl(parts.query)).get("schema", "")


def with_database(url: str, database: str) -> str:
    parts = urlsplit(url)
    return _joined(parts._replace(path=f"/{database}"), query=parse_qsl(parts.query))


def split_database(url: str) -> tuple[str, str]:
    """The URL of the server, and the database."""
    return with_database(url, ""), unquote(urlsplit(url).path.strip("/"))


def mysql_login(url: str) -> MysqlLogin:
    parts = urlsplit(url)
    login = MysqlLogin(user=unquote(parts.username or ""), password=unquote(parts.password or ""))
    socket = dict(parse_qsl(parts.query)).get("unix_socket")
    if socket:
        login["unix_socket"] = socket
    else:
        login["host"] = parts.hostname or "127.0.0.1"
        login["port"] = parts.port or 3306
    return login


def host_in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _parameters_but_schema(parts: SplitResult) -> list[tuple[str, str]]:
    return [(name, value) for name, value in parse_qsl(parts.query) if name != "schema"]


def _joined(parts: SplitResult, *, query: list[tuple[str, str]]) -> str:
    # Not urlunsplit: it loses the `//` of a URL without a host. libpq reads `+` as a plus, not a space.
    text = urlencode(query, quote_via=quote, safe="/")
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{text}" if text else "")
