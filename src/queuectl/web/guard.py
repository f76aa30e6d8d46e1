"""Before any request reaches a route: who asks, under which name, from where, and how much it sends.

Closed by default: a route that nobody thought about needs a token, and an admin's unless it only reads.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from queuectl.web.problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from queuectl.web.tokens import Grant, Tokens

# Without a token: a page without data, what it is made of, and the door itself.
PUBLIC = {("GET", "/"), ("HEAD", "/"), ("POST", "/api/v1/session")}
PUBLIC_FOLDER = "/static/"
READING = ("GET", "HEAD", "OPTIONS")
MOST_BODY = 16 * 1024 * 1024
_BODY_S = 30.0
_MOST_FAILURES = 10  # wrong tokens of one client within a minute
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_PROOF = "x-queuectl"  # no page of another origin can send it without being asked


class Guard:
    """ASGI: lets through what belongs here, and puts the headers of protection on every answer."""

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        *,
        port: int,
        names: Iterable[str] = (),
        behind_proxy: bool = False,
        secure: bool = False,
        read_only: bool = False,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._names = {name.lower() for name in names}
        self.port = port
        self._behind_proxy = behind_proxy
        self._secure = secure
        self._read_only = read_only
        self.cookie = f"queuectl-{port}"  # cookies do not know ports: two dashboards would share one
        self._failures: dict[str, list[float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no WebSockets here
        protected = _Protected(send, no_store=not scope["path"].startswith(PUBLIC_FOLDER))
        try:
            self._admit(scope)
            body = _Body(receive, _length(scope))
            await self._app(scope, body, protected)
        except Problem as problem:
            if protected.begun:
                raise
            await problem.answer(_more(problem))(scope, receive, protected)

    def _admit(self, scope: Scope) -> None:
        headers = _headers(scope)
        method, path = scope["method"], scope["path"]
        self._check_host(headers)
        self._check_origin(method, headers)
        reading = method in READING
        if not reading:
            _check_form(headers, method)
        scope.setdefault("state", {})["grant"] = None
        public = (method, path) in PUBLIC or (reading and path.startswith(PUBLIC_FOLDER))
        grant = self._grant(scope, headers, method, needed=not public)
        scope["state"]["grant"] = grant
        if public:
            return
        if not reading and self._read_only and path != "/api/v1/session":
            raise Problem(403, "forbidden", "this dashboard only shows", "it was started with --read-only")
        if not reading and grant is not None and not grant.admin and path != "/api/v1/session":
            raise Problem(403, "forbidden", "this token may only read", "use an admin token")

    # --- under which name, from where ---------------------------------------------------------------

    def _check_host(self, headers: dict[str, list[str]]) -> None:
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            raise Problem(421, "wrong_host", "this server does not go by that name", "see --allow-host")

    def _is_ours(self, host: str) -> bool:
        """An address, localhost or a name that was allowed, with our own port: so no name can point here."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname, parts.port
        except ValueError:
            return False
        if name is None or parts.path or parts.query or "@" in host:
            return False
        if name in self._names:
            return self._behind_proxy or port in (self.port, None)
        if port != self.port and not (port is None and self.port in (80, 443)):
            return False
        return name == "localhost" or _is_address(name)

    def _check_origin(self, method: str, headers: dict[str, list[str]]) -> None:
        site = headers.get("sec-fetch-site", ["none"])
        # A link from elsewhere may open the page itself, which holds no data; nothing else.
        opening = headers.get("sec-fetch-mode") == ["navigate"] and method == "GET"
        if any(one not in ("same-origin", "none") for one in site) and not opening:
            raise Problem(403, "forbidden", "requests from other sites are refused")
        for origin in headers.get("origin", []):
            parts = urlsplit(origin)
            host = headers["host"][0]
            if parts.netloc.lower() != host.lower() or parts.scheme not in ("http", "https"):
                raise Problem(403, "forbidden", "requests from other sites are refused")

    # --- who ----------------------------------------------------------------------------------------

    def _grant(
        self, scope: Scope, headers: dict[str, list[str]], method: str, *, needed: bool
    ) -> Grant | None:
        client = scope["client"][0] if scope.get("client") else ""
        given = headers.get("authorization", [])
        if given:
            self.check_failures(client)
            kind, _, token = given[0].partition(" ")
            grant = (
                self._tokens.check(token.strip()) if kind.lower() == "bearer" and len(given) == 1 else None
            )
            if grant is None:
                self.note_failure(client)
                raise Problem(401, "unauthorized", "this token is not known here")
            return grant
        grant = self._session(headers)
        if grant is None:
            if needed:
                raise Problem(401, "unauthorized", "a token is needed", "send Authorization: Bearer TOKEN")
            return None
        if method not in READING and headers.get(_PROOF) != ["1"]:
            raise Problem(403, "forbidden", "the header X-Queuectl: 1 is missing")
        return grant

    def _session(self, headers: dict[str, list[str]]) -> Grant | None:
        for line in headers.get("cookie", []):
            try:
                found = SimpleCookie(line).get(self.cookie)
            except CookieError:
                continue
            if found is not None:
                return self._tokens.resume(found.value)
        return None

    def check_failures(self, client: str) -> None:
        since = time.monotonic() - 60
        recent = [at for at in self._failures.get(client, ()) if at > since]
        if recent:
            self._failures[client] = recent
        else:
            self._failures.pop(client, None)
        if len(recent) >= _MOST_FAILURES:
            raise Problem(429, "too_many_requests", "too many wrong tokens", "wait a minute")

    def note_failure(self, client: str) -> None:
        self.check_failures(client)
        if len(self._failures) < 10_000:
            self._failures.setdefault(client, []).append(time.monotonic())


class _Body:
    """The request's body, as far as it is not too large and not too slow."""

    def __init__(self, receive: Receive, length: int | None) -> None:
        if length is not None and length > MOST_BODY:
            raise _too_large()
        self._receive = receive
        self._seen = 0
        self._whole = False
        self._until = time.monotonic() + _BODY_S

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()  # the end of the connection: may take as long as the answer does
        try:
            async with asyncio.timeout(max(self._until - time.monotonic(), 0)):
                message = await self._receive()
        except TimeoutError:
            raise Problem(408, "too_slow", "the request took too long") from None
        self._seen += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._seen > MOST_BODY:
            raise _too_large()
        return message


class _Protected:
    """Puts our headers on the answer."""

    def __init__(self, send: Send, *, no_store: bool) -> None:
        self._send = send
        self._no_store = no_store
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            present = {name for name, _ in message["headers"]}
            wanted = {**_HEADERS, "cache-control": "no-store"} if self._no_store else _HEADERS
            message["headers"] = [
                *message["headers"],
                *((n.encode(), v.encode()) for n, v in wanted.items() if n.encode() not in present),
            ]
        await self._send(message)


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name.lower() == b"content-length":
            return int(value) if value.isdigit() and len(value) < 20 else MOST_BODY + 1
    return None


def _check_form(headers: dict[str, list[str]], method: str) -> None:
    """A form of another site can send text, not JSON."""
    if headers.get("content-encoding"):
        raise Problem(415, "unsupported_media_type", "compressed requests are not taken", "send it as it is")
    kinds = headers.get("content-type", [])
    bare = headers.get("content-length", ["0"]) == ["0"] and "transfer-encoding" not in headers
    if bare and not kinds and method in ("DELETE", "POST"):
        return
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != "application/json":
        raise Problem(
            415, "unsupported_media_type", "the body has to be JSON", "Content-Type: application/json"
        )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _too_large() -> Problem:
    return Problem(413, "too_large", f"a request may have {MOST_BODY:,} bytes", "send it in parts")


def _more(problem: Problem) -> dict[str, str]:
    if problem.status == 401:
        return {"WWW-Authenticate": 'Bearer realm="queuectl"'}
    if problem.status in (408, 413):
        return {"Connection": "close"}
    return {"Retry-After": "60"} if problem.status == 429 else {}
