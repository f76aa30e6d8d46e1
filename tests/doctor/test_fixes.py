"""Every finding that is not fine says what mends it; and where that is a command of ours, it does."""

from __future__ import annotations

import ast
import os
import shlex
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.doctor.place import Place, Report, doctor
from tests.support.jobs import register

from queuectl import system
from queuectl.cli.main import COMMANDS, main
from queuectl.core.queue_rules import QueueRule
from queuectl.core.schedules import Schedule
from queuectl.doctor import backlog, limits, machine, reach, weaknesses, workforce
from queuectl.errors import StoreError
from queuectl.paths import Location
from queuectl.store.health import LEVELS, Finding, Trapped, Waiting
from queuectl.store.messages import Worker

ROOT = Path(__file__).parents[2] / "src/queuectl"
HOUR = 3_600_000
NOW = time.time_ns() // 1_000_000


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for path in [*(ROOT / "store").glob("health*.py"), *(ROOT / "doctor").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                yield f"{path.name}:{node.lineno}", node


def test_no_finding_is_written_down_without_its_mend() -> None:
    found = list(_calls())
    assert len(found) > 80
    for where, call in found:
        level = call.args[0]
        if isinstance(level, ast.Name) and level.id == "OK":
            continue
        mend = next((word.value for word in call.keywords if word.arg == "mend"), None)
        assert mend is not None, where
        # `error.hint` alone may be nothing.
        assert not isinstance(mend, ast.Attribute), where


def commands_in(fix: str) -> list[list[str]]:
    """The commands of ours that a fix consists of, if it is nothing else."""
    parts = [shlex.split(part) for part in fix.split(" && ")]
    return [words[1:] for words in parts] if all(words[:1] == ["queuectl"] for words in parts) else []


def check(findings: list[Finding]) -> None:
    """That each can be mended, and every command among the mends is one that we know."""
    for finding in findings:
        assert finding.level in LEVELS
        if finding.level == "ok":
            continue
        assert finding.mend, finding.what
        assert finding.why, finding.what
        if finding.mend.startswith("queuectl "):
            parsed = commands_in(finding.mend)
            assert parsed or "FILE" in finding.mend or "ADDRESS" in finding.mend, finding.mend
            for words in parsed:
                _parse(words)


def _parse(words: list[str]) -> None:
    """Refuses what the parser of that command refuses; nothing is done."""
    assert words[0] in COMMANDS, words
    if words[0] not in ("config", "dlq", "queue", "schedule", "worker"):
        import_module(f"queuectl.cli.commands.{words[0]}").build_parser().parse_args(words[1:])
        return
    text = _help(words[:2])
    for option in [word for word in words[2:] if word.startswith("-")]:
        assert option in text, (option, words)


def _help(words: list[str]) -> str:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0, words
    return out.getvalue()


def _worker(**fields: object) -> Worker:
    from tests.support.jobs import some_worker

    return some_worker(**fields)  # type: ignore[arg-type]


def _rule(**fields: object) -> QueueRule:
    rule = QueueRule("mail")
    for name, value in fields.items():
        setattr(rule, name, value)
    return rule


def _schedule(**fields: object) -> Schedule:
    schedule = Schedule.__new__(Schedule)
    given: dict[str, object] = {"name": "nightly", "job": '{"queue": "mail"}', "next_at": NOW + HOUR}
    for name in Schedule.__slots__:
        setattr(schedule, name, (given | fields).get(name))
    return schedule


WAITING = [Waiting("mail", 3, NOW - HOUR), Waiting("it's odd", 1, NOW - HOUR, "gpu=2")]
PAUSED = {"mail": _rule(paused_at=NOW - HOUR, pause_reason="because")}


@pytest.mark.parametrize(
    "found",
    [
        backlog.waiting(WAITING, [_worker()], {}, NOW),
        backlog.waiting(WAITING, [_worker(queues="other")], {}, NOW),
        backlog.waiting(WAITING, [_worker(running=2)], {}, NOW),
        backlog.waiting(WAITING, [_worker(control="drain")], {}, NOW),
        backlog.waiting(WAITING, [_worker()], PAUSED, NOW),
        backlog.waiting(WAITING, [], PAUSED, NOW),
        backlog.waiting(WAITING, [_worker()], {"mail": _rule(concurrency=2)}, NOW),
        backlog.waiting(WAITING, [_worker()], {"mail": _rule(rate="1/min")}, NOW),
        backlog.trapped(Trapped(2, "odd id", 3, NOW - 30 * 24 * HOUR), NOW),
        backlog.schedules([_schedule()], [], {}, NOW),
        backlog.schedules([_schedule()], [_worker(queues="x")], {}, NOW),
        backlog.schedules([_schedule()], [_worker()], PAUSED, NOW),
        backlog.schedules([_schedule(next_at=None)], [_worker()], {}, NOW),
        backlog.schedules([_schedule(next_at=NOW - HOUR)], [_worker()], {}, NOW),
        backlog.schedules([_schedule(job='{"needs": "gpu=1"}')], [_worker()], {}, NOW),
        limits.process({"NOFILE": 64, "NPROC": 50, "FSIZE": 4096}),
        limits.cgroup({"pids": 3, "memory": 1000}),
        limits.clock(NOW, NOW + HOUR),
        limits.clock(1_000, None),
        machine.disk("/place", 10),
        machine.disk("/place", 500 * 2**20),
        machine.file_system("/place", "nfs4"),
        weaknesses.settings(
            {"durability": "normal", "shutdown": "true", "keep-dead": "1h", "crash-limit": "1"}
        ),
        weaknesses.settings({"output-max": "0", "output-inline": "2m", "kill-grace": "0"}),
        weaknesses.settings({"worker-lease": "2", "worker-heartbeat-interval": "1"}),
        weaknesses.settings({"worker-lease": "2"}),
        weaknesses.settings({"shell": "/nosuch/sh"}),
        weaknesses.retention({}, {"a": {"completed": 200_000}}),
        weaknesses.retention({}, {"a": {"completed": 2_000_000}}),
        workforce.present([], 3),
        workforce.present([], 0),
        workforce.versions([_worker(version="0.0.1")]),
        reach.explain(Location("/x", "/x", "/x.d"), StoreError("it is broken")),
    ],
)
def test_what_is_wrong_can_be_mended(found: list[Finding]) -> None:
    assert any(finding.level != "ok" for finding in found)
    check(found)


@pytest.mark.parametrize(
    "found",
    [
        backlog.waiting(
            WAITING[:1], [_worker()], {"mail": _rule(paused_at=NOW, paused_until=NOW + HOUR)}, NOW
        ),
        backlog.waiting([Waiting("a", 1, NOW, "gpu=2")], [_worker(provides="gpu=4")], {}, NOW),
        backlog.waiting([], [_worker()], {}, NOW),
        backlog.trapped(Trapped(0, None, 3, NOW - HOUR), NOW),
        backlog.schedules([_schedule()], [_worker()], {}, NOW),
        backlog.schedules([_schedule(paused_at=NOW)], [], {}, NOW),
        limits.process({"NOFILE": 1024, "NPROC": None, "FSIZE": None}),
        limits.cgroup({"pids": 5_000, "memory": 2**30}),
        limits.clock(NOW, NOW),
        weaknesses.settings({}),
        weaknesses.retention({"keep-completed": "7d"}, {"a": {"completed": 2_000_000}}),
        workforce.versions([_worker(version=None)]),
    ],
)
def test_what_is_fine_is_not_complained_of(found: list[Finding]) -> None:
    assert {finding.level for finding in found} <= {"ok"}


# --- damaged stores, and whether their mends help ----------------------------------------------------------


def _orphaned(place: Place) -> None:
    with place.queue() as queue:
        queue.enqueue("true", id="parent", delay="1h")
        queue.enqueue("true", id="child", depends_on=["parent"])
    place.ask("DELETE FROM jobs WHERE id = 'parent'", "DELETE FROM dependencies")


def _held(place: Place) -> None:
    with place.queue() as queue:
        queue.enqueue("true", id="kept", hold=True)
    place.ask("UPDATE jobs SET updated_at = 1700000000000")


def _paused(place: Place) -> None:
    place.make(jobs=1)
    assert main(["--db", place.url, "queue", "pause", "default", "--reason", "x"]) == 0


def _weakened(place: Place) -> None:
    place.make()
    assert main(["--db", place.url, "config", "set", "output-max", "0"]) == 0


def _miscounted(place: Place) -> None:
    place.make(jobs=1)
    place.ask("UPDATE tallies SET jobs = 7")


@pytest.mark.parametrize(
    ("harm", "part"),
    [
        (_orphaned, "blocked by jobs that are gone"),
        (_held, "1 job held"),
        (_paused, "queue default: 1 job waiting"),
        (_weakened, "output-max = 0"),
        (_miscounted, "of jobs wrong"),
    ],
)
def test_the_mend_of_a_damaged_store_helps(place: Place, harm: Callable[[Place], None], part: str) -> None:
    harm(place)
    report = doctor(place.url)
    finding = report.one(part)
    assert finding["level"] in ("note", "warning")
    for words in commands_in(finding["fix"]):
        assert main(["--db", place.url, *words]) == 0, words
    assert doctor(place.url).about(part) == []
    _all_can_be_mended(report)


def _all_can_be_mended(report: Report) -> None:
    for finding in report.findings:
        assert finding["level"] == "ok" or finding["fix"], finding


def test_what_upgrades_and_restores_left_behind_is_told(sqlite_place: Place) -> None:
    sqlite_place.make(jobs=1)
    file = sqlite_place.url
    left = [f"{file}.before-v4", f"{file}.replaced-20261117T030000Z", f"{file}.tmp-999999999"]
    for path in left:
        Path(path).write_bytes(b"x")
        Path(path).chmod(0o600)
    Path(f"{file}.tmp-{os.getppid()}").write_bytes(b"x")  # somebody is at it
    report = doctor(file)
    fixes = [finding["fix"] for finding in report.findings if finding["check"] == "backups"]
    assert fixes == [f"rm {path}" for path in left]


def test_jobs_that_need_what_nobody_has_are_told(sqlite_place: Place) -> None:
    identity = system.identify()
    assert identity is not None
    with sqlite_place.queue() as queue:
        queue.enqueue("true", id="a", needs="gpu=2")
        register(queue.store, host=system.hostname(), identity=identity.encode(), pid=identity.pid)
        report = doctor(sqlite_place.url)
    finding = report.one("1 job waiting for gpu=2")
    assert finding["why"] == "no living worker provides what they need"
    assert finding["fix"] == "queuectl worker start --queue default --provides gpu=2"


def test_a_job_from_the_future_tells_of_a_clock_that_was_set_back(sqlite_place: Place) -> None:
    sqlite_place.make(jobs=1)
    sqlite_place.ask(f"UPDATE jobs SET created_at = {NOW + HOUR}")
    assert doctor(sqlite_place.url).level("comes from the future") == "warning"
