"""Before any request reaches a route: who asks, under which name, from where, and how much it sends.

Closed by default: a route that nobody thought about needs a token, and an admin's unless it only reads.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time

from starlette.requests import ClientDisconnect

from queuectl.errors import QueuectlError
from queuectl.web.failures import Failures
from queuectl.web.problems import Problem, problem_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from queuectl.web.tokens import Grant, Tokens

# Without a token: a page without data, what it is made of, and the door itself.
DOOR = "/api/v1/session"
PUBLIC = {("GET", "/"), ("POST", DOOR)}
PUBLIC_FOLDER = "/static/"
READING = ("GET", "HEAD", "OPTIONS")
MOST_BODY = 16 * 1024 * 1024
_MOST_OF_STRANGERS = 8 * 1024  # bytes of a body at the door: a token fits well
_LEFT_UNREAD = 64 * 1024  # bytes of a body that we would rather read than lose the connection
_BODY_S = 30.0
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?")
_MOST_COOKIES = 5  # of our name; other servers on this machine can set it too
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
    "cache-control": "no-store",  # unless an answer says something else
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_ASK = {"WWW-Authenticate": 'Bearer realm="queuectl"'}
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
        # Cookies do not know ports: two dashboards would share one. The prefix: only we can have set it.
        self.cookie = f"{'__Host-' if secure else ''}queuectl-{port}"
        self.failures = Failures()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no WebSockets here
        body = _Body(receive, scope)
        protected = _Protected(send, body)
        try:
            self._admit(scope)
            body.check_length()
            await self._app(scope, body, protected)
        except ClientDisconnect:
            return  # nobody waits for an answer, and nobody wants to read about it
        except asyncio.CancelledError:
            if protected.begun:
                raise
            stopped = Problem(503, "stopping", "the server is being stopped", "ask again in a moment")
            await stopped.answer()(scope, receive, protected)
        except Problem as problem:
            if protected.begun:
                raise
            await problem.answer()(scope, receive, protected)
        except QueuectlError as error:  # the files of the tokens cannot be read
            if protected.begun:
                raise
            await problem_of(error).answer()(scope, receive, protected)

    def _admit(self, scope: Scope) -> None:
        headers = _headers(scope)
        method, path = scope["method"], scope["path"]
        self._check_host(headers)
        self._check_origin(method, path, headers)
        reading = method in READING
        if not reading:
            _check_form(headers, method)
        scope.setdefault("state", {})["grant"] = None
        public = (method, path) in PUBLIC or (method == "GET" and path.startswith(PUBLIC_FOLDER))
        grant = self._grant(scope, headers, method, needed=not public)
        scope["state"]["grant"] = grant
        if public:
            return
        if not reading and self._read_only and path != DOOR:
            raise Problem(403, "forbidden", "this dashboard only shows", "it was started with --read-only")
        if not reading and grant is not None and not grant.admin and path != DOOR:
            raise Problem(403, "forbidden", "this token may only read", "use an admin token")

    # --- under which name, from where ---------------------------------------------------------------

    def _check_host(self, headers: dict[str, list[str]]) -> None:
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            raise Problem(421, "wrong_host", "this server does not go by that name", "see --allow-host")

    def _is_ours(self, host: str) -> bool:
        """An address, localhost or a name that was allowed, with our own port: so no name can point here."""
        found = _HOST.fullmatch(host.lower())
        if found is None:
            return False
        name, port = found[1].strip("[]"), None if found[2] is None else int(found[2])
        if name in self._names:
            return self._behind_proxy or port in (self.port, None)
        if port != self.port and not (port is None and self.port in (80, 443)):
            return False
        return name == "localhost" or _is_address(name)

    def _check_origin(self, method: str, path: str, headers: dict[str, list[str]]) -> None:
        site = headers.get("sec-fetch-site", ["none"])
        # A link from elsewhere may open the page itself, which holds no data; nothing else.
        opening = headers.get("sec-fetch-mode") == ["navigate"] and (method, path) == ("GET", "/")
        if any(one not in ("same-origin", "none") for one in site) and not opening:
            raise Problem(403, "forbidden", "requests from other sites are refused")
        ours = f"{'https' if self._secure else 'http'}://{headers['host'][0]}".lower()
        if any(origin.lower() != ours for origin in headers.get("origin", [])):
            raise Problem(403, "forbidden", "requests from other sites are refused")

    # --- who ----------------------------------------------------------------------------------------

    def _grant(
        self, scope: Scope, headers: dict[str, list[str]], method: str, *, needed: bool
    ) -> Grant | None:
        given = headers.get("authorization", [])
        if given:
            kind, _, token = given[0].partition(" ")
            proper = kind.lower() == "bearer" and len(given) == 1
            return self.known(scope, self._tokens.check(token.strip()) if proper else None)
        grant = self._session(headers)
        if grant is None:
            if needed:
                hint = "send Authorization: Bearer TOKEN"
                raise Problem(401, "unauthorized", "a token is needed", hint, _ASK)
            return None
        if method not in READING and headers.get(_PROOF) != ["1"]:
            raise Problem(403, "forbidden", "the header X-Queuectl: 1 is missing")
        return grant

    def known(self, scope: Scope, grant: Grant | None) -> Grant:
        """Who showed a token. After too many wrong ones even the right one is refused, if it was chosen by
        somebody: it may be guessed. One that we made cannot be, and nobody shall keep its owner out.
        """
        client = scope["client"][0] if scope.get("client") else ""
        locked = self.failures.too_many(client)
        if grant is not None and (not locked or self._tokens.is_made(grant)):
            return grant
        if locked:
            wait = {"Retry-After": "60"}
            raise Problem(429, "too_many_requests", "too many wrong tokens", "wait a minute", wait)
        self.failures.note(client)
        raise Problem(401, "unauthorized", "this is not known here", "a link works once", _ASK)

    def _session(self, headers: dict[str, list[str]]) -> Grant | None:
        for value in self.sessions(headers.get("cookie", [])):
            grant = self._tokens.resume(value)
            if grant is not None:
                return grant
        return None

    def sessions(self, cookies: list[str]) -> list[str]:
        """Our cookie's values. Cookies of others may have any form and must not hide it."""
        pairs = [pair.strip().partition("=") for line in cookies for pair in line.split(";")]
        return [value for name, _, value in pairs if name == self.cookie][:_MOST_COOKIES]


class _Body:
    """The request's body, as far as it is not too large and not too slow."""

    def __init__(self, receive: Receive, scope: Scope) -> None:
        self._receive = receive
        self._length = _length(scope)
        self._most = _MOST_OF_STRANGERS if scope["path"] == DOOR else MOST_BODY
        self._seen = 0
        self._whole = self._length == 0
        self._until = time.monotonic() + _BODY_S

    def check_length(self) -> None:
        if self._length is not None and self._length > self._most:
            raise _too_large(self._most)

    @property
    def much_is_left(self) -> bool:
        return not self._whole and (self._length is None or self._length - self._seen > _LEFT_UNREAD)

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
        if self._seen > self._most:
            raise _too_large(self._most)
        return message


class _Protected:
    """Puts our headers on the answer."""

    def __init__(self, send: Send, body: _Body) -> None:
        self._send = send
        self._body = body
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            present = {name for name, _ in message["headers"]}
            # To close is better than to read it all for nothing.
            wanted = {**_HEADERS, "connection": "close"} if self._body.much_is_left else _HEADERS
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
    """Of the body; None: that will be seen."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    return int(headers.get(b"content-length", b"0"))  # the protocol has checked it


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


def _too_large(most: int) -> Problem:
    return Problem(413, "too_large", f"this request may have {most:,} bytes", "send it in parts")
