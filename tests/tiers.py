"""Which tests `make test` leaves to CI and `make test-long`, so that it stays within minutes.

The contract of the store (tests/conformance) runs on every engine, always. What stands above the store sees
engines through that contract only: there SQLite and PostgreSQL are enough for every day, and for commands,
pages and the doctor SQLite alone. Those named here take several seconds each, most of them by waiting.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.support.engines import SERVERS

_LEFT_OUT = {
    **dict.fromkeys(("concurrency", "crash", "faults", "shared", "transfer"), frozenset({"mysql"})),
    **dict.fromkeys(("cli", "doctor", "metrics", "web"), frozenset(SERVERS)),
}
_SLOW = (
    "browser/test_hostile.py",
    "browser/test_jobs.py",
    "browser/test_live.py",
    "browser/test_login.py",
    "browser/test_look.py",
    "browser/test_many.py",
    "browser/test_pages.py",
    "browser/test_steering.py",
    "cli/test_demo.py::test_killed_it_leaves_somebody_who_tidies_up",
    "cli/test_examples.py::test_examples_of_workers_end_well",
    "concurrency/test_limits.py",
    "conformance/test_state_machine.py::test_any_sequence_of_calls_agrees_with_the_model[mysql]",
    "conformance/test_state_machine.py::test_any_sequence_of_calls_agrees_with_the_model[postgres]",
    "crash/test_backup.py::test_kill_9_during_a_backup",
    "crash/test_backup.py::test_kill_9_during_a_restore_leaves",
    "crash/test_history.py",
    "docs/test_site.py",
    "docs/test_sessions.py::test_the_examples_happen_as_written[docs/recipes/",
    "examples/test_examples.py::test_batch",
    "faults/test_answers.py::test_who_was_stored_is_told_so_though_the_server_goes_away",
    "faults/test_crowded.py::test_workers_that_find_no_connection_wait",
    "faults/test_half_open.py",
    "faults/test_locks.py::test_a_command_says_that_somebody_holds_the_row_for_too_long",
    "faults/test_machines.py",
    "faults/test_restarts.py::test_nothing_is_lost_when_the_server_dies_twice",
    "install/",
    "migration/test_side_by_side.py",
    "proof/test_clocks.py",
    "proof/test_soak.py",
    "proof/test_storm.py",
    "transfer/test_many.py",
    "worker/test_notifications.py::test_a_thousand_ends_are_told_of_once_each",
    "worker/test_service_manager.py::test_a_service_restarted_in_the_middle_of_jobs",
    "unit/test_test_servers.py",
    "web/test_attack_slow.py",
    "web/test_attack_start.py",
    "web/test_openapi.py::test_no_request_breaks_it_and_no_answer_breaks_its_word",
    "web/test_stream.py",
)
# On servers. A worker is killed at each step of its work on SQLite and PostgreSQL in any case.
_SLOW_ON_SERVERS = (
    "crash/test_commands.py",
    "crash/test_counts.py",
    "crash/test_deaths.py::test_a_storm_of_kills_loses_nothing",
    "crash/test_links.py",
    "crash/test_strays.py",
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
    return name.startswith(_SLOW) or bool(on & _LEFT_OUT.get(name.split("/", maxsplit=1)[0], frozenset()))
