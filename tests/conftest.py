from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.fixtures"]

FAST_FOLDERS = ("unit", "conformance", "cli")
SLOWER = {"server", "process", "long", "proof"}  # marks
STARTS_PROCESSES = {"cli_process", "terminal", "start", "home", "unchecked_home", "queuectl"}  # fixtures


def pytest_configure() -> None:
    _hear_signals()
    _leave_private_directories()
    _leave_traces()
    # What takes long on a busy machine is not wrong.
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")


def _hear_signals() -> None:
    """Under `nohup`, or behind an &, what the tests start would ignore them too, and could not be ended."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave_private_directories() -> None:
    """Who came here by `su` may have root's PATH: a program that is missing would be "Permission denied"."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(entry for entry in entries if os.access(entry, os.X_OK))


def _leave_traces() -> None:
    """Whoever runs the tests may trace them; neither they nor what they start must see that."""
    for name in list(os.environ):
        if name.startswith("OTEL_") or name in ("TRACEPARENT", "TRACESTATE"):
            del os.environ[name]


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_fast(item):
            item.add_marker("fast")


def _is_fast(item: pytest.Item) -> bool:
    """Whether it runs in this process and on SQLite alone, so that it is over in milliseconds."""
    fixtures = set(getattr(item, "fixturenames", ()))
    return (
        item.path.parent.name in FAST_FOLDERS
        and not SLOWER.intersection(mark.name for mark in item.iter_markers())
        and not STARTS_PROCESSES & fixtures
    )
