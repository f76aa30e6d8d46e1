"""Which tests `make test` leaves to CI and `make test-long`, so that it stays within minutes.

The contract of the store (tests/conformance) and every crash run on every engine, always. What stands above
the store sees engines through that contract only: there SQLite and PostgreSQL are enough for every day. Those
named here take several seconds each, most of them by waiting.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.engines import SERVERS

_ABOVE_THE_STORE = ("cli", "concurrency", "doctor", "faults", "shared", "transfer", "web")
_LEFT_OUT = "mysql"
_SLOW = (
    "browser/test_live.py",
    "browser/test_look.py",
    "browser/test_many.py",
    "browser/test_pages.py",
    "browser/test_steering.py",
    "concurrency/test_limits.py",
    "conformance/test_state_machine.py::test_any_sequence_of_calls_agrees_with_the_model[mysql]",
    "conformance/test_state_machine.py::test_any_sequence_of_calls_agrees_with_the_model[postgres]",
    "crash/test_history.py",
    "faults/test_answers.py::test_who_was_stored_is_told_so_though_the_server_goes_away",
    "faults/test_crowded.py::test_workers_that_find_no_connection_wait",
    "faults/test_locks.py::test_a_command_says_that_somebody_holds_the_row_for_too_long",
    "faults/test_restarts.py::test_nothing_is_lost_when_the_server_dies_twice",
    "proof/test_storm.py",
    "web/test_openapi.py::test_no_request_breaks_it_and_no_answer_breaks_its_word",
    "web/test_stream.py::test_a_server_that_goes_away_and_comes_back[postgres]",
)
# On servers. A worker is killed at each of these steps on every engine in any case, a supervisor on SQLite.
_SLOW_ON_SERVERS = (
    "crash/test_deaths.py::test_a_storm_of_kills_loses_nothing",
    "crash/test_failpoints.py::test_a_supervisor_killed_at_any_step_of_its_worker_loses_nothing",
    "migration/test_servers.py::TestFromTheFirst",
)


def mark_long(items: Iterable[pytest.Item]) -> None:
    for item in items:
        if _is_long(item.nodeid.removeprefix("tests/"), getattr(item, "callspec", None)):
            item.add_marker("long")


def _is_long(name: str, parameters: object) -> bool:
    on = set(str(getattr(parameters, "id", "")).split("-"))
    if name.startswith(_SLOW_ON_SERVERS):
        return bool(on.intersection(SERVERS))
    return name.startswith(_SLOW) or (name.split("/", maxsplit=1)[0] in _ABOVE_THE_STORE and _LEFT_OUT in on)
