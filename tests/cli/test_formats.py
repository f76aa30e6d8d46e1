"""--format: lines by a template of the user's."""

from __future__ import annotations

import pytest
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl import schedules
from queuectl.cli import formats
from queuectl.core.states import ALL
from queuectl.queue import Queue


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{id}", "waiting"),
        ("{id} {state:>10}|", "waiting    pending|"),
        ("{id:<10}|{id:^11}|{id:9}|", "waiting   |  waiting  |waiting  |"),
        ("{id:.3}|{id:>5.3}", "wai|  wai"),
        (r"{id}\t{priority}\n\\", "waiting\t7\n\\"),
        ("{{{id}}}", "{waiting}"),
        ("{tags} {env} {argv}|{held}|", '["night"] {} ||'),
        ("plain %s $HOME", "plain %s $HOME"),
        (" ", " "),
    ],
)
def test_templates(cli: Cli, jobs_in_every_state: None, template: str, expected: str) -> None:
    result = cli("list", "--queue", "mail", "--format", template)
    assert (result.code, result.out, result.err) == (0, expected + "\n", "")


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("", "name fields, like '{id} {number}'"),
        ("{idd}", "did you mean {id}?"),
        ("{State}", "did you mean {state}?"),
        ("{zzzzzz}", "there are: id, number,"),
        ("{id.__class__}", "like {id}"),
        ("{id[0]}", "like {id}"),
        ("{id!r}", "like {id}"),
        ("{id:{state}}", "belongs to nothing"),
        ("{id:x}", "like {id}"),
        ("{0}", "like {id}"),
        ("{}", "like {id}"),
        ("{id", "a field is {id}"),
        ("id}", "a field is {id}"),
        ("{id:>1001}", "1,000 characters"),
        ("{id:.999999999}", "1,000 characters"),
        ("{id:>99999999999999999999}", "1,000 characters"),
        (r"{id}\x", r"there are \t, \n"),
        ("{id}\\", "a backslash"),
    ],
)
def test_a_bad_template_prints_nothing(cli: Cli, jobs_in_every_state: None, template: str, says: str) -> None:
    result = cli("list", "--format", template)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: --format: ")
    assert says in result.err


@pytest.mark.parametrize("other", ["--json", "--quiet"])
def test_one_form_at_a_time(cli: Cli, jobs_in_every_state: None, other: str) -> None:
    result = cli("list", "--format", "{id}", other)
    assert (result.code, result.out) == (2, "")


def test_a_bad_template_makes_no_store(cli: Cli, home_dir: object) -> None:
    assert cli("list", "--format", "{nothing}").code == 2
    assert not home_dir.exists()  # type: ignore[attr-defined]


def test_what_a_job_says_cannot_steer_the_terminal(cli: Cli, queue: Queue) -> None:
    queue.enqueue("printf '\x1b[2J\n\u202e'", id="evil", tags=["a"])
    shown = cli("show", "evil", "--format", "{command}").out
    assert shown == "printf '\\x1b[2J\\n\\u202e'\n"


def test_every_command_that_has_it(
    cli: Cli, queue: Queue, jobs_in_every_state: None, fake_worker: FakeWorker
) -> None:
    schedules.add(queue, "nightly", "@daily", {"command": "true"})
    assert cli("show", "done", "broken", "--format", "{id}={exit_code}").out == "done=0\nbroken=1\n"
    assert cli("dlq", "list", "--format", "{id}: {last_error}").out == "broken: exit code 1: no such file\n"
    assert cli("dlq", "show", "broken", "--format", "{state}").out == "dead\n"
    assert cli("status", "--format", "{completed} {dead} {total}").out == "1 1 7\n"
    assert cli("queue", "list", "--format", "{name} {pending}").out == "default 0\nmail 1\n"
    assert cli("worker", "list", "--format", "{id} {state}").out == f"{fake_worker.worker.id} busy\n"
    assert cli("schedule", "list", "--format", "{name} {schedule}").out == "nightly @daily\n"


def test_the_fields_are_those_of_the_json(
    cli: Cli, queue: Queue, jobs_in_every_state: None, fake_worker: FakeWorker
) -> None:
    everything = {
        "retry_on": "1", "no_retry_on": "2", "ok_codes": "3", "memory": "1G", "cpu_time": "1h", "files": 100,
        "processes": 100, "nice": 5, "needs": {"gpu": 1}, "unique_key": "k", "group": "g", "hold": True,
        "depends_on": ["running"], "after_any": ["later"], "after_fail": ["waiting"],
        "timeout": "300%", "notify": "true", "notify_on": "dead", "input": "text",
    }  # fmt: skip
    queue.enqueue("true", id="full", **everything)
    schedules.add(queue, "nightly", "@daily", {"command": "true"})

    def keys(*words: str) -> set[str]:
        found = cli(*words, "--json").json()
        return {key for document in (found if isinstance(found, list) else [found]) for key in document}

    of_a_run = {"schedule", "progress", "progress_text", "about"}
    assert keys("list") | of_a_run == set(formats.JOB)
    assert keys("show", "all") | of_a_run | {"notifications"} == set(formats.JOB_DOCUMENT)
    assert keys("status") | set(ALL) == set(formats.STATUS)
    assert keys("worker", "list") == set(formats.WORKER)
    assert keys("queue", "list") | set(ALL) == set(formats.QUEUE)
    assert keys("schedule", "list") == set(formats.SCHEDULE)
