"""progress: a command tells how far it is, under the fence of its claim."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker
from tests.support.home import Home

from queuectl.core.job import Job
from queuectl.queue import Queue
from queuectl.testing import wait_until

Inside = Callable[[Job], None]


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> Inside:
    """From now on as in the command of this job."""

    def enter(job: Job) -> None:
        monkeypatch.setenv("QUEUECTL_JOB_ID", job.id)
        monkeypatch.setenv("QUEUECTL_ATTEMPT_TOKEN", job.token)

    return enter


@pytest.fixture
def job(queue: Queue, fake_worker: FakeWorker) -> Job:
    queue.enqueue("true", id="a")
    return fake_worker.claim("a")


def test_a_command_tells_how_far_it_is(home: Home) -> None:
    tell = f"{sys.executable} -m queuectl progress"
    home.ok(
        "enqueue",
        "--id",
        "a",
        f"{tell} 40 'epoch 4/10' && touch told && while [ ! -e go ]; do sleep 0.05; done",
    )
    home.start()
    wait_until((home.work / "told").exists, what="the command to have told")
    assert "Progress:" in home.ok("show", "a")
    assert "40% epoch 4/10" in home.ok("show", "a")
    header, row = home.ok("list").splitlines()
    assert header.split()[-2:] == ["PROGRESS", "COMMAND"]
    assert "40% epoch 4/10" in row
    assert "  a: 40% epoch 4/10" in home.ok("status").splitlines()
    (home.work / "go").touch()
    home.wait_for("a", "completed")
    assert "Progress:" not in home.ok("show", "a")
    assert "PROGRESS" not in home.ok("list")
    assert "Progress:" not in home.ok("status")


TOLD: list[tuple[tuple[str, ...], int, str | None]] = [
    (("0",), 0, None),
    (("99.9", "nearly"), 99, "nearly"),
    (("40", "epoch", "4/10"), 40, "epoch 4/10"),
    (("100%",), 100, None),
    (("40", "\x1b[31mred\n\udcff"), 40, "\\x1b[31mred\\n\\udcff"),
    (("40", "ä" * 300), 40, "ä" * 200),
]


def test_what_is_stored(cli: Cli, queue: Queue, job: Job, inside: Inside) -> None:
    inside(job)
    for words, percent, text in TOLD:
        result = cli("progress", *words)
        assert (result.code, result.out, result.err) == (0, "", "")
        told = queue.get("a")
        assert (told.progress, told.progress_text, told.state) == (percent, text, "processing")


def test_a_percentage_is_a_number_from_0_to_100(cli: Cli, queue: Queue, job: Job, inside: Inside) -> None:
    inside(job)
    for word in ("-1", "101", "nan", "inf", "half", ""):
        result = cli("progress", "--", word)
        assert result.code == 2
        assert "is not a number from 0 to 100" in result.err
    assert queue.get("a").progress is None


def test_outside_of_a_job_there_is_nothing_to_tell(cli: Cli, job: Job) -> None:
    result = cli("progress", "40")
    assert result.code == 2
    assert "this is not inside a job" in result.err


def test_a_run_that_lost_its_job_cannot_tell_for_the_next_one(
    cli: Cli, queue: Queue, fake_worker: FakeWorker, job: Job, inside: Inside
) -> None:
    inside(job)
    fake_worker.end(job, "failed", exit_code=1, error="exit code 1")
    assert cli("progress", "40").code == 4
    fake_worker.claim("a")
    result = cli("progress", "40")
    assert result.code == 4
    assert "job a is not this run's any more" in result.err
    assert queue.get("a").progress is None


def test_json_has_the_progress_of_running_jobs(cli: Cli, job: Job, inside: Inside) -> None:
    inside(job)
    cli("progress", "40", "epoch 4/10")
    told = {"progress": 40, "progress_text": "epoch 4/10"}
    assert cli("status", "--json").json()["progress"] == [{"id": "a", **told}]
    assert told.items() <= cli("show", "a", "--json").json().items()
    assert told.items() <= cli("list", "--json").json()[0].items()
    assert cli("list", "--quiet").out == "a\n"
    assert "PROGRESS" not in cli("list", "--state", "pending,dead").out
