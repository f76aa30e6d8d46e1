"""The address of a store on a server, taken apart: postgresql://user:password@host:port/database?option=value.

What is shown of it never holds the password.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from queuectl.errors import InvalidInput

POSTGRES = "postgres"
MYSQL = "mysql"
ENGINES = {"postgresql": POSTGRES, "postgres": POSTGRES, "mysql": MYSQL, "mariadb": MYSQL}

_SECRET_OPTIONS = ("password", "sslpassword", "passwd")
_NAME = r"[A-Za-z_][A-Za-z0-9_$]{0,62}"
_EXAMPLE = {
    POSTGRES: "like postgresql://user@host/database",
    MYSQL: "like mysql://user:password@host/database",
}


class Address:
    """Where a store on a server is, and as whom to go there."""

    __slots__ = ("database", "engine", "host", "options", "password", "port", "url", "user")

    def __init__(self, url: str) -> None:
        self.url = url
        scheme = url.partition("://")[0].lower()
        self.engine = ENGINES[scheme]
        if "\0" in url:
            raise InvalidInput("the database address contains a NUL byte")
        try:
            url.encode()
        except UnicodeEncodeError:  # how Python reads bytes of a command line that are no text
            hint = "write such bytes as %-codes"
            raise InvalidInput("the database address is not valid UTF-8", hint) from None
        try:
            parts = urlsplit(url)
            self.port = parts.port
            pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError as error:
            # Not in the error's own words: what it takes for the port may be a part of the password.
            reason = "its port is too large" if "range" in str(error) else "it cannot be taken apart"
            raise self._refuse(f"the database address is not valid: {reason}") from None
        self.user = unquote(parts.username) if parts.username else None
        self.password = unquote(parts.password) if parts.password else None
        self.host = unquote(parts.hostname) if parts.hostname else None
        self.database = unquote(parts.path.lstrip("/"))
        self.options = dict(pairs)
        if not self.database and self.engine == MYSQL:
            raise self._refuse("the database address names no database")
        schema = self.options.get("schema")
        if schema is not None and not re.fullmatch(_NAME, schema):
            raise InvalidInput(f"schema name {schema[:40]!r} is not allowed", "letters, digits and _")

    def _refuse(self, message: str) -> InvalidInput:
        return InvalidInput(message, _EXAMPLE[self.engine] + " (a password with : / @ ? needs %-codes)")

    @property
    def shown(self) -> str:
        """For people: without the password."""
        user = f"{quote(self.user)}@" if self.user else ""
        host = self.host or ""
        host = f"[{host}]" if ":" in host else host
        port = f":{self.port}" if self.port else ""
        kept = [f"{name}={value}" for name, value in self.options.items() if name not in _SECRET_OPTIONS]
        query = "?" + "&".join(kept) if kept else ""
        scheme = "postgresql" if self.engine == POSTGRES else "mysql"
        return f"{scheme}://{user}{host}{port}/{self.database}{query}"

    @property
    def place(self) -> str:
        """A file name for what this machine keeps beside the store: the same for every way to name it."""
        import hashlib

        default = 5432 if self.engine == POSTGRES else 3306
        host = self.options.get("host") or self.options.get("unix_socket") or self.host or "localhost"
        schema = self.options.get("schema", "queuectl") if self.engine == POSTGRES else ""
        whole = "\0".join(
            [self.engine, host, str(self.port or self.options.get("port") or default), self.database, schema]
        )
        readable = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{host}-{self.database}-{schema}").strip("-.")
        return f"{self.engine}-{readable[-60:]}-{hashlib.sha256(whole.encode()).hexdigest()[:10]}"


def is_server(url: str) -> bool:
    scheme, separator, _ = url.partition("://")
    return bool(separator) and scheme.lower() in ENGINES
