"""Who may come in: the store's own admin token, and named ones that can be given to others and taken back.

The first is a file that only its owner can read, as the store itself is. Of the others only hashes are kept.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import re
import secrets
from hashlib import sha256

from queuectl.errors import InvalidInput, NotFound, Refused, StoreError
from queuectl.paths import make_private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

READ, ADMIN = "read", "admin"
SCOPES = (READ, ADMIN)
OWN = ""  # the name of the store's own token
_TOKEN_FILE, _NAMED_FILE = "dashboard.token", "dashboard-tokens.json"
_SHORTEST = 16  # characters of a token that somebody has chosen
_SESSION_MS = 12 * 3_600_000
_CODE_MS = 15 * 60_000


class Grant:
    """What somebody who has come in may do."""

    __slots__ = ("name", "scope")

    def __init__(self, name: str, scope: str) -> None:
        self.name = name
        self.scope = scope

    @property
    def admin(self) -> bool:
        return self.scope == ADMIN


class Tokens:
    """The tokens of one store. `given` is the admin token if somebody has chosen it."""

    def __init__(self, state_dir: str, clock: Callable[[], int], *, given: str | None = None) -> None:
        self._dir = state_dir
        self._now = clock
        self.own = _checked(given) if given is not None else own_token(state_dir)
        self._own_hash = _hash(self.own)
        self._codes: dict[str, int] = {}  # hash of a one-time code -> until when it holds
        self._named: list[dict[str, object]] = []
        self._stamp: tuple[int, int] | None = None

    def check(self, token: str) -> Grant | None:
        """Every token is compared, and in constant time, so that the time taken tells nothing."""
        hashed, found = _hash(token), None
        if hmac.compare_digest(hashed, self._own_hash):
            found = Grant(OWN, ADMIN)
        for entry in self._read():
            if hmac.compare_digest(hashed, str(entry["hash"])) and self._holds(entry):
                found = found or Grant(str(entry["name"]), str(entry["scope"]))
        return found

    # --- one-time codes and sessions of a browser ---------------------------------------------------

    def new_code(self) -> str:
        code = secrets.token_urlsafe(24)
        self._codes[_hash(code)] = self._now() + _CODE_MS
        return code

    def redeem(self, code: str) -> Grant | None:
        until = self._codes.pop(_hash(code), None)
        return Grant(OWN, ADMIN) if until is not None and self._now() < until else None

    def session(self, grant: Grant) -> str:
        """The value of a cookie: signed with the own token, so that it outlives this process but not that."""
        body = json.dumps([grant.name, grant.scope, self._now() + _SESSION_MS]).encode()
        return f"{_text64(body)}.{_text64(self._sign(body))}"

    def resume(self, session: str) -> Grant | None:
        try:
            body, signature = (_bytes64(part) for part in session.split("."))
            if not hmac.compare_digest(signature, self._sign(body)):
                return None
            name, scope, until = json.loads(body)
        except ValueError:
            return None
        if self._now() >= until:
            return None
        if name != OWN and not any(e["name"] == name and self._holds(e) for e in self._read()):
            return None  # it was taken back
        return Grant(name, scope)

    def _sign(self, body: bytes) -> bytes:
        return hmac.digest(f"session {self.own}".encode(), body, "sha256")

    # --- named tokens -------------------------------------------------------------------------------

    def named(self) -> list[dict[str, object]]:
        """All but their hashes."""
        return [{k: v for k, v in entry.items() if k != "hash"} for entry in self._read()]

    def add(self, name: str, scope: str, *, lasts_ms: int | None = None) -> str:
        """A new token, which is never shown again."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
            raise InvalidInput(f"{name[:40]!r} is no name for a token", "use letters, digits and . _ -")
        entries = self._read()
        if any(entry["name"] == name for entry in entries):
            raise Refused(f"there is a token {name} already", f"queuectl dashboard token rm {name}")
        token, now = _new(), self._now()
        expires = None if lasts_ms is None else now + lasts_ms
        entry = {"name": name, "scope": scope, "hash": _hash(token), "created_at": now, "expires_at": expires}
        self._write([*entries, entry])
        return token

    def remove(self, name: str) -> None:
        entries = self._read()
        left = [entry for entry in entries if entry["name"] != name]
        if len(left) == len(entries):
            raise NotFound(f"there is no token {name[:64]!r}", "queuectl dashboard token list shows them")
        self._write(left)

    def _holds(self, entry: dict[str, object]) -> bool:
        expires = entry.get("expires_at")
        return expires is None or self._now() < int(str(expires))

    def _read(self) -> list[dict[str, object]]:
        """Read anew only when the file is another one: every request asks."""
        path = os.path.join(self._dir, _NAMED_FILE)
        try:
            info = os.stat(path)
        except FileNotFoundError:
            return []
        stamp = info.st_mtime_ns, info.st_ino
        if stamp != self._stamp:
            try:
                with open(path, encoding="utf-8") as file:
                    self._named = json.load(file)
            except (OSError, ValueError) as error:
                raise StoreError(f"cannot read {path}: {error}", "correct it or move it away") from None
            self._stamp = stamp
        return self._named

    def _write(self, entries: list[dict[str, object]]) -> None:
        replace_private(os.path.join(self._dir, _NAMED_FILE), json.dumps(entries, indent=1))


def own_token(state_dir: str) -> str:
    """The store's admin token, made at the first need."""
    make_private_dir(state_dir)
    path = os.path.join(state_dir, _TOKEN_FILE)
    try:
        # Whole or not at all, and never another's: two processes may begin at the same moment.
        temporary = f"{path}.{os.getpid()}.{secrets.token_hex(4)}"
        if not os.path.lexists(path):
            _write_private(temporary, _new() + "\n")
            try:
                os.link(temporary, path)
            except FileExistsError:
                pass
            finally:
                os.unlink(temporary)
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(fd, encoding="ascii") as file:
            return _checked(file.read().strip())
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot use {path}: {error}", "move it away; a new one is made") from error


def rotate_own(state_dir: str) -> None:
    """Another admin token; who came in by the old one is out."""
    make_private_dir(state_dir)
    replace_private(os.path.join(state_dir, _TOKEN_FILE), _new() + "\n")


def own_token_file(state_dir: str) -> str:
    return os.path.join(state_dir, _TOKEN_FILE)


def replace_private(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}.{secrets.token_hex(4)}"
    _write_private(temporary, text)
    os.replace(temporary, path)


def _write_private(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(fd)


def _checked(token: str) -> str:
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidInput(
            f"a token needs at least {_SHORTEST} characters, without blanks",
            "make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return token


def _new() -> str:
    return secrets.token_urlsafe(32)


def _hash(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _text64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes64(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
