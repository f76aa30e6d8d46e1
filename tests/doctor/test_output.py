"""How it reads: grouped, one line for what is fine, colours only on a terminal."""

from __future__ import annotations

import pytest
from tests.doctor.place import Place, run
from tests.support.jobs import register

from queuectl import system
from queuectl.store.health import Finding, shown_size


def test_findings_come_in_groups_with_why_and_mend(sqlite_place: Place) -> None:
    sqlite_place.make(jobs=1)

    lines = run(sqlite_place.url).out.splitlines()

    assert lines[0] == f"Store: {sqlite_place.url}"
    at = lines.index("Workers")
    assert lines[at + 1 : at + 4] == [
        "  ! no worker is running, 1 job waiting",
        "      nobody takes them",
        "      → queuectl worker start",
    ]
    assert "  ✓ quick_check: ok" in lines
    assert lines[-1] == "1 warning"
    assert [line for line in lines if lines.count(line) > 1 and line] == []


def test_a_store_without_a_fault_is_called_well(sqlite_place: Place) -> None:
    identity = system.identify()
    assert identity is not None
    with sqlite_place.queue() as queue:
        register(queue.store, host=system.hostname(), identity=identity.encode())
        assert run(sqlite_place.url).out.splitlines()[-1] == "All is well."


def test_colours_are_for_terminals(sqlite_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlite_place.make()
    assert "\x1b" not in run(sqlite_place.url).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[32m✓\x1b[0m quick_check: ok" in run(sqlite_place.url).out


def test_what_others_wrote_cannot_steer_the_terminal(sqlite_place: Place) -> None:
    sqlite_place.make(jobs=1)
    sqlite_place.ask(
        "UPDATE jobs SET state = 'processing', worker_id = 'w', id = 'red' || char(27) || '[31m'"
    )

    out = run(sqlite_place.url).out

    assert "\x1b" not in out
    assert "(like red\\x1b[31m)" in out


@pytest.mark.parametrize(
    "text",
    [
        "cannot reach postgresql://me:sesame@host/db now",
        "bad conninfo: host=a password=sesame user=me",
        "bad conninfo: password = 'sesame' user=me",
        "see mysql://me:sesame@host",
        "?sslpassword=sesame&x=1",
    ],
)
def test_a_password_that_a_driver_repeats_is_left_out(text: str) -> None:
    finding = Finding("problem", "engine", text, why=text, mend=text)
    assert "sesame" not in str(finding.to_dict())
    assert "me" in finding.what or "x=1" in finding.what


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (2**20, "1.0 MiB"),
        (79 * 2**30, "79 GiB"),
        (3 * 2**40, "3.0 TiB"),
    ],
)
def test_sizes_are_short(size: int, shown: str) -> None:
    assert shown_size(size) == shown
