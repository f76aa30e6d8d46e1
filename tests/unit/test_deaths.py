"""Death reports: what an attempt's record and its last words are made to say."""

from __future__ import annotations

import pytest
from tests.support.jobs import NOW

from queuectl.core import outcome as kinds
from queuectl.core.chunks import STDERR, STDOUT, Chunk
from queuectl.core.deaths import death_of, without_path
from queuectl.core.job import Attempt
from queuectl.core.lastlines import LONGEST_LINE, last_lines
from queuectl.core.rows import ATTEMPT_COLUMNS, attempt_from_row


def an_attempt(outcome: str = kinds.FAILED, **fields: object) -> Attempt:
    values: dict[str, object] = {
        "run": 1,
        "worker_id": "w1",
        "host": "host1",
        "started_at": NOW - 3_000,
        "finished_at": NOW,
        "outcome": outcome,
        "output_bytes": 0,
    }
    return attempt_from_row([(values | fields).get(name) for name in ATTEMPT_COLUMNS])


@pytest.mark.parametrize(
    ("fields", "cause", "text"),
    [
        ({"exit_code": 1}, "exit_code", "exit code 1: what most commands say for any failure"),
        ({"exit_code": 2}, "exit_code", "exit code 2: most commands mean wrong usage by it"),
        ({"exit_code": 3}, "exit_code", "exit code 3 (the command's own; no convention"),
        ({"exit_code": 64}, "exit_code", "exit code 64: EX_USAGE, it was called in a wrong way"),
        ({"exit_code": 75}, "exit_code", "exit code 75: EX_TEMPFAIL, it asks to be tried again later"),
        ({"exit_code": 78}, "exit_code", "exit code 78: EX_CONFIG, its configuration is wrong"),
        ({"exit_code": 79}, "exit_code", "exit code 79 (the command's own"),
        ({"exit_code": 126}, "exit_code", "exit code 126: the command was found but cannot be executed"),
        ({"exit_code": 127}, "not_found", "exit code 127: a command was not found"),
        ({"exit_code": 139}, "exit_code", "exit code 139: its shell tells of SIGSEGV: it used memory"),
        ({"exit_code": 137}, "killed", "exit code 137: its shell tells of SIGKILL; not by its worker: some"),
        ({"exit_code": 143}, "exit_code", "exit code 143: its shell tells of SIGTERM: somebody asked it"),
        ({"exit_code": 250}, "exit_code", "exit code 250 (the command's own"),
        ({"exit_code": 255}, "exit_code", "exit code 255: ssh says it when it cannot connect"),
        ({"signal": 9}, "killed", "killed by SIGKILL; not by its worker: somebody else sent it"),
        ({"signal": 11}, "signal", "killed by SIGSEGV: it used memory that is not its own"),
        ({"signal": 15}, "signal", "killed by SIGTERM: somebody asked it to end"),
        ({"signal": 10}, "signal", "killed by SIGUSR1"),
        ({"error": "used up its 1s of processor time"}, "cpu_time", "it used up its 1s of processor time"),
        ({}, "failed", "nobody has said why"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_codes_and_signals_mean(fields: dict[str, object], cause: str, text: str) -> None:
    death = death_of(an_attempt(**fields))
    assert death is not None
    assert death.cause == cause
    assert death.text.startswith(text)


@pytest.mark.parametrize(
    ("error", "stderr", "text"),
    [
        ("killed: out of memory (limit 512M)", [], "it reached its own limit of 512M"),
        ("exit code 1 (out of memory: limit 1G)", [], "it reached its own limit of 1G"),
        (f"killed by SIGKILL ({kinds.NO_MEMORY})", [], "out of memory: the kernel killed it"),
        (f"killed by SIGKILL ({kinds.PERHAPS_NO_MEMORY})", [], "probably out of memory: it was killed just"),
        ("exit code 1", ["x", "MemoryError"], "exit code 1: probably out of memory, by its last words"),
        (
            "exit code 1: std::bad_alloc (while limited to 64M of memory)",
            [],
            "while limited to 64M of memory",
        ),
    ],
)
def test_want_of_memory_and_how_sure_that_is(error: str, stderr: list[str], text: str) -> None:
    death = death_of(an_attempt(exit_code=1, error=error), stderr)
    assert death is not None
    assert death.cause == "out_of_memory"
    assert text in death.text


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("sh: 1: convrt: not found", "convrt"),
        ("bash: line 3: convrt: command not found", "convrt"),
        ("zsh:1: command not found: convrt", "convrt"),
        ("/bin/ash: convrt: not found", "convrt"),
    ],
)
def test_the_command_that_was_not_found_and_where(told: str, name: str) -> None:
    error = f"exit code 127: {told} (PATH=/usr/bin:/bin)"
    death = death_of(an_attempt(exit_code=127, error=error))
    assert death is not None
    assert death.text == f"exit code 127: a command was not found: {name}"
    assert str(death.hint).startswith("it was looked for in /usr/bin:/bin;")
    assert without_path(error) == f"exit code 127: {told}"


def test_of_a_path_that_is_not_there_no_path_is_told() -> None:
    death = death_of(an_attempt(exit_code=127, error="exit code 127: sh: 1: ./go: not found"))
    assert death is not None
    assert "as seen from the directory of the job" in str(death.hint)


@pytest.mark.parametrize(
    ("attempt", "text"),
    [
        (
            an_attempt(kinds.TIMEOUT, signal=9, error="timed out after 2.0 s"),
            "timeout: its worker ended it after 2.0 s; it did not heed SIGTERM and was killed",
        ),
        (
            an_attempt(kinds.TIMEOUT, signal=15, error="timed out after 3.0 s (limit 3s: 300% of 1s)"),
            "timeout: its worker ended it after 3.0 s (limit 3s: 300% of 1s); it ended at SIGTERM",
        ),
        (
            an_attempt(kinds.TIMEOUT, exit_code=4),
            "timeout: its worker ended it; asked to end, it did so with",
        ),
        (an_attempt(kinds.SPAWN_ERROR, error="cannot start /x: No such file"), "cannot start /x: No such"),
        (
            an_attempt(kinds.LOST, error="its worker w1 died, last seen 2027-01-15T08:00:00.000Z"),
            "lost with its worker w1 on host1: its worker w1 died, last seen 2027-01-15T08:00:00.000Z",
        ),
    ],
)
def test_other_ends(attempt: Attempt, text: str) -> None:
    death = death_of(attempt)
    assert death is not None
    assert death.text.startswith(text)


@pytest.mark.parametrize("kind", [kinds.SUCCEEDED, kinds.CANCELLED, kinds.RELEASED, kinds.UNSTARTED])
def test_what_is_no_death_has_no_report(kind: str) -> None:
    assert death_of(an_attempt(kind)) is None


@pytest.mark.parametrize(
    ("cpu", "told"),
    [
        (30, "ran 3s, used 30ms of processor time (it mostly waited), peak memory 20M"),
        (1_500, "used 1.5s of processor time (50 % of the time)"),
        (2_900, "used 2.9s of processor time (it worked all the time)"),
        (6_000, "used 6s of processor time (it worked on 2.0 cores)"),
    ],
)
def test_whether_it_waited_or_worked(cpu: int, told: str) -> None:
    death = death_of(an_attempt(exit_code=1, cpu_ms=cpu, max_rss_kb=20 * 1024))
    assert death is not None
    assert told in str(death.used)


def test_the_last_lines_of_stderr_are_few_and_short() -> None:
    chunks = [Chunk(STDOUT, 0, b"not this\n"), Chunk(STDERR, 0, b"1\n2\n"), Chunk(STDERR, 1, b"3\n\n4\n5\n6")]
    assert last_lines(chunks) == ["2", "3", "4", "5", "6"]
    assert last_lines([Chunk(STDERR, 0, b"10%\r20%\r\nend \xff\r\n")]) == ["20%", "end \\xff"]
    assert len(last_lines([Chunk(STDERR, 0, b"x" * 100_000)])[0]) == LONGEST_LINE
    assert last_lines([]) == []


@pytest.mark.parametrize(
    ("error", "speaks_of"),
    [
        (
            "cannot enter the directory /x: No such file or directory",
            "have this directory, and may its user enter it?",
        ),
        (
            "cannot enter the directory /x: Permission denied",
            "have this directory, and may its user enter it?",
        ),
        ("cannot start /x: No such file or directory", "the program or its interpreter"),
        ("cannot start /x: Permission denied", "execute it?"),
    ],
)
def test_a_start_that_failed_names_the_directory_or_the_program(error: str, speaks_of: str) -> None:
    death = death_of(an_attempt(kinds.SPAWN_ERROR, error=error))
    assert death is not None
    assert death.text == error
    assert speaks_of in str(death.hint)
