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
from typing import Any

from queuectl.errors import InvalidInput, NotFound, Refused, StoreError
from queuectl.paths import make_private_dir
from queuectl.web.private import (
    Watched,
    alone,
    load_private,
    read_private,
    replace_private,
    temporary_name,
    write_private,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

READ, ADMIN = "read", "admin"
SCOPES = (READ, ADMIN)
OWN = ""  # the name of the store's own token
_TOKEN_FILE, _NAMED_FILE = "dashboard.token", "dashboard-tokens.json"
_LEFT_FILE = "dashboard-left.json"
_SHORTEST = 16  # characters of a token that somebody has chosen
_FEWEST = 8  # different ones among them
SESSION_MS = 12 * 3_600_000
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
        self._given = None if given is None else _checked(given)
        if given is None:
            self._made = Watched(own_token_file(state_dir), lambda _: own_token(state_dir))
        self._named = Watched(os.path.join(state_dir, _NAMED_FILE), _load_named)
        # Hashes of sessions that were ended -> until when they would have held.
        self._left = Watched(os.path.join(state_dir, _LEFT_FILE), _load_left)
        self._codes: dict[str, int] = {}  # hash of a one-time code -> until when it holds

    @property
    def own(self) -> str:
        """Of the file it is always the present one: who has the old one after a rotation is out at once."""
        return self._made.value if self._given is None else self._given

    def check(self, token: str) -> Grant | None:
        """Every token is compared, and in constant time, so that the time taken tells nothing."""
        hashed, found = _hash(token), None
        if hmac.compare_digest(hashed, _hash(self.own)):
            found = Grant(OWN, ADMIN)
        for entry in self._named.value:
            if hmac.compare_digest(hashed, entry["hash"]) and self._holds(entry):
                found = found or Grant(entry["name"], entry["scope"])
        return found

    def is_made(self, grant: Grant) -> bool:
        """Whether we have made its token, so that nobody can guess it; one that was chosen may be a word."""
        return grant.name != OWN or self._given is None

    # --- one-time codes and sessions of a browser ---------------------------------------------------

    def new_code(self) -> str:
        """It holds as long as the own token does, at most."""
        code = secrets.token_urlsafe(24)
        self._codes[_hash(self.own + code)] = self._now() + _CODE_MS
        return code

    def redeem(self, code: str) -> Grant | None:
        until = self._codes.pop(_hash(self.own + code), None)
        return Grant(OWN, ADMIN) if until is not None and self._now() < until else None

    def session(self, grant: Grant) -> str:
        """The value of a cookie: it outlives this process, but not the token that it was given for."""
        body = json.dumps([grant.name, self._now() + SESSION_MS, secrets.token_hex(8)]).encode()
        key = self._session_key(grant.name)
        if key is None:
            raise Refused("this token is not known any more")
        return f"{_text64(body)}.{_text64(hmac.digest(key, body, 'sha256'))}"

    def resume(self, session: str) -> Grant | None:
        try:
            text, _, signed = session.partition(".")
            body, signature = _bytes64(text), _bytes64(signed)
            name, until, _ = json.loads(body)
            key = self._session_key(name)
        except (ValueError, TypeError, RecursionError):
            return None
        if key is None or not hmac.compare_digest(signature, hmac.digest(key, body, "sha256")):
            return None
        if self._now() >= until or _hash(session) in self._left.value:
            return None
        if name == OWN:
            return Grant(OWN, ADMIN)
        return next((Grant(name, e["scope"]) for e in self._named.value if e["name"] == name), None)

    def end_session(self, session: str) -> None:
        """A copy of the cookie is worth nothing any more, here and in every other server of the store."""
        if self.resume(session) is None:
            return
        with alone(self._dir):
            now = self._now()
            left = {one: until for one, until in self._left.value.items() if until > now}
            left[_hash(session)] = now + SESSION_MS
            replace_private(self._left.path, json.dumps(left))

    def _session_key(self, name: object) -> bytes | None:
        """Of a token that holds; another one of the same name gives another key."""
        made_of = ""
        if name != OWN:
            made_of = next((e["hash"] for e in self._named.value if e["name"] == name and self._holds(e)), "")
            if not made_of:
                return None
        return f"session {self.own} {made_of}".encode()

    # --- named tokens -------------------------------------------------------------------------------

    def named(self) -> list[dict[str, Any]]:
        """All but their hashes."""
        return [{k: v for k, v in entry.items() if k != "hash"} for entry in self._named.value]

    def add(self, name: str, scope: str, *, lasts_ms: int | None = None) -> str:
        """A new token, which is never shown again."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
            raise InvalidInput(f"{name[:40]!r} is no name for a token", "use letters, digits and . _ -")
        with alone(self._dir):
            entries = self._named.value
            if any(entry["name"] == name for entry in entries):
                raise Refused(f"there is a token {name} already", f"queuectl dashboard token rm {name}")
            token, now = _new(), self._now()
            expires = None if lasts_ms is None else now + lasts_ms
            made = {"name": name, "scope": scope, "hash": _hash(token), "created_at": now}
            self._write([*entries, {**made, "expires_at": expires}])
        return token

    def remove(self, name: str) -> None:
        with alone(self._dir):
            entries = self._named.value
            left = [entry for entry in entries if entry["name"] != name]
            if len(left) == len(entries):
                raise NotFound(f"there is no token {name[:64]!r}", "queuectl dashboard token list shows them")
            self._write(left)

    def _holds(self, entry: dict[str, Any]) -> bool:
        expires = entry["expires_at"]
        return expires is None or self._now() < expires

    def _write(self, entries: list[dict[str, Any]]) -> None:
        replace_private(self._named.path, json.dumps(entries, indent=1))


def _load_named(path: str) -> list[dict[str, Any]]:
    found = load_private(path, [], lambda value: isinstance(value, list) and all(map(_is_entry, value)))
    assert isinstance(found, list)
    return found


def _is_entry(value: object) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(field), str) for field in ("name", "hash"))
        and value["name"] != OWN
        and value.get("scope") in SCOPES
        and value["hash"].isascii()
        and isinstance(value.get("created_at"), int)
        and isinstance(value.get("expires_at", ""), int | None)
    )


def _load_left(path: str) -> dict[str, int]:
    found = load_private(path, {}, _are_times)
    assert isinstance(found, dict)
    return found


def _are_times(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(until, int) for until in value.values())


def own_token(state_dir: str) -> str:
    """The store's admin token, made at the first need."""
    make_private_dir(state_dir)
    path = own_token_file(state_dir)
    try:
        # Whole or not at all, and never another's: two processes may begin at the same moment.
        temporary = temporary_name(path)
        if not os.path.lexists(path):
            write_private(temporary, _new() + "\n")
            try:
                os.link(temporary, path)
            except FileExistsError:
                pass
            finally:
                os.unlink(temporary)
        return _checked(read_private(path).strip())
    except (OSError, ValueError, InvalidInput) as error:
        raise StoreError(f"cannot use {path}: {error}", "move it away; a new one is made") from error


def rotate_own(state_dir: str) -> None:
    """Another admin token; who came in by the old one is out."""
    make_private_dir(state_dir)
    replace_private(os.path.join(state_dir, _TOKEN_FILE), _new() + "\n")


def own_token_file(state_dir: str) -> str:
    return os.path.join(state_dir, _TOKEN_FILE)


def _checked(token: str) -> str:
    if len(token) < _SHORTEST or len(set(token)) < _FEWEST or not re.fullmatch(r"[!-~]+", token):
        raise InvalidInput(
            f"a token needs at least {_SHORTEST} characters, {_FEWEST} different ones, without blanks",
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
