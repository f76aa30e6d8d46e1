"""A caller's TRACEPARENT, with nobody who traces: it goes along with the job, if it is one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queuectl.core import tracecontext
from queuectl.core.chunks import unpack
from queuectl.core.spec import Defaults, job_from_fields
from tests.support.home import Home, fresh_home

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
IDS = CALLER[3:52]

INVALID = {
    "empty": "",
    "words": "hello",
    "one id": "00-0af7651916cd43dd8448eb211c80319c-01",
    "no trace": f"00-{'0' * 32}-b7ad6b7169203331-01",
    "no span": f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01",
    "version ff": f"ff-{IDS}-01",
    "capitals": CALLER.upper(),
    "more in version 0": CALLER + "-more",
    "a newline": CALLER + "\n",
    "something before": "x" + CALLER,
}
ECHO = 'echo "${TRACEPARENT-none} ${TRACESTATE-none}"'


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
def test_what_is_no_traceparent_is_ignored(text: str) -> None:
    assert tracecontext.read({"TRACEPARENT": text, "TRACESTATE": "a=b"}) == {}


@pytest.mark.parametrize("text", [CALLER, f"01-{IDS}-01", f"cc-{IDS}-00-what-comes-later"])
def test_what_is_one_is_taken(text: str) -> None:
    assert tracecontext.read({"TRACEPARENT": text}) == {"TRACEPARENT": text}


def test_a_state_goes_along_if_it_can() -> None:
    both = {"TRACEPARENT": CALLER, "TRACESTATE": "a=b"}
    assert tracecontext.read(both) == both
    assert tracecontext.read({**both, "TRACESTATE": "a=\nb"}) == {"TRACEPARENT": CALLER}
    assert tracecontext.read({**both, "TRACESTATE": "a" * 513}) == {"TRACEPARENT": CALLER}
    assert tracecontext.read({"TRACESTATE": "a=b"}) == {}


def test_it_joins_the_environment_of_a_job_and_gives_way_to_its_own() -> None:
    jobs = [
        job_from_fields({"command": "true", "env": env}, Defaults(now=0))
        for env in ({}, {"A": "ö"}, {"TRACEPARENT": "mine"})
    ]
    tracecontext.put({"TRACEPARENT": CALLER}, jobs)
    assert [job.env for job in jobs] == [
        f'{{"TRACEPARENT": "{CALLER}"}}',
        f'{{"A": "ö", "TRACEPARENT": "{CALLER}"}}',
        '{"TRACEPARENT": "mine"}',
    ]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Its worker was started in a trace."""
    with fresh_home(tmp_path_factory.mktemp("context") / "home") as home:
        home.start(env={"TRACEPARENT": CALLER.replace("0af7", "ffff"), "TRACESTATE": "worker=1"})
        yield home


OF_THE_JOB = CALLER.replace("0af7", "aaaa")
# What the enqueue is told, and what the job finds in its environment.
TOLD: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "of the caller": ((), {"TRACEPARENT": CALLER, "TRACESTATE": "a=b"}, f"{CALLER} a=b"),
    "invalid": ((), {"TRACEPARENT": "00-nonsense", "TRACESTATE": "a=b"}, "none none"),
    "of the job itself": (
        ("--env", f"TRACEPARENT={OF_THE_JOB}"),
        {"TRACEPARENT": CALLER},
        f"{OF_THE_JOB} none",
    ),
    "none, not even the worker's": ((), {}, "none none"),
}


def test_which_trace_reaches_the_command(served: Home) -> None:
    for number, (words, env, _) in enumerate(TOLD.values()):
        served.ok("enqueue", "--id", f"job{number}", *words, ECHO, env=env)
    found = {}
    for number, name in enumerate(TOLD):
        served.wait_for(f"job{number}", "completed")
        with served.queue() as queue:
            (attempt,) = queue.attempts(queue.get(f"job{number}"))
        (printed,) = unpack(attempt.output or b"")
        found[name] = printed.data.decode().strip()
    assert found == {name: seen for name, (_, _, seen) in TOLD.items()}


def test_jobs_of_a_file_carry_none(home: Home) -> None:
    home.ok(
        "enqueue", "--file", "-", input='{"id": "job1", "command": "true"}\n', env={"TRACEPARENT": CALLER}
    )
    with home.queue() as queue:
        assert queue.get("job1").environment() == {}


def test_a_job_that_follows_another_belongs_to_the_same_trace(home: Home) -> None:
    home.ok(
        "enqueue", "--id", "job1", "--on-success", "true", "--command", "true", env={"TRACEPARENT": CALLER}
    )
    with home.queue() as queue:
        assert [job.environment() for job in queue.list()] == [{"TRACEPARENT": CALLER}] * 2
