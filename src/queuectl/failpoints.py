"""Named points at which a test can make the program die, stop or stumble.

Inert unless QUEUECTL_ENABLE_FAILPOINTS=1 and QUEUECTL_FAILPOINT names a point, for instance
`claim.committed=kill9`; several are separated by commas. `name@3=…` acts at the third passage only.
QUEUECTL_FAILPOINT_ONCE names a file: only the process that creates it acts, and only once.
Actions: kill9, exit:N, stop (SIGSTOP), sleep:SECONDS, wait:FILE (until it exists), raise:ERRNO-NAME.
"""

from __future__ import annotations

import os

_armed: dict[str, tuple[int, str]] = {}
_passages: dict[str, int] = {}


def _read_environment() -> None:
    if os.environ.get("QUEUECTL_ENABLE_FAILPOINTS") == "1":
        _arm(os.environ.get("QUEUECTL_FAILPOINT", ""))


def _arm(points: str) -> None:
    for entry in filter(None, points.split(",")):
        point, _, action = entry.partition("=")
        name, _, passage = point.partition("@")
        _armed[name] = (int(passage or 0), action)


class Armed:
    """Arms points of this process for a while, written as in the environment."""

    def __init__(self, points: str) -> None:
        self._points = points

    def __enter__(self) -> None:
        self._before = dict(_armed), dict(_passages)
        _arm(self._points)

    def __exit__(self, *exc: object) -> None:
        _armed.clear()
        _passages.clear()
        _armed.update(self._before[0])
        _passages.update(self._before[1])


def failpoint(name: str) -> None:
    """Pass a named point; does something only if the environment armed it."""
    if _armed and name in _armed:
        _passages[name] = _passages.get(name, 0) + 1
        passage, action = _armed[name]
        if passage in (0, _passages[name]) and _is_our_turn():
            _act(action)


def _is_our_turn() -> bool:
    once = os.environ.get("QUEUECTL_FAILPOINT_ONCE")
    if not once:
        return True
    try:
        os.close(os.open(once, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


def _act(action: str) -> None:
    import signal
    import time

    verb, _, argument = action.partition(":")
    if verb == "kill9":
        os.kill(os.getpid(), signal.SIGKILL)
    elif verb == "exit":
        os._exit(int(argument or 1))
    elif verb == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif verb == "sleep":
        time.sleep(float(argument))
    elif verb == "wait":
        while not os.path.exists(argument):
            time.sleep(0.005)
    elif verb == "raise":
        import errno

        number = int(getattr(errno, argument))
        raise OSError(number, os.strerror(number))
    else:
        raise ValueError(f"unknown failpoint action {action!r}")


_read_environment()
