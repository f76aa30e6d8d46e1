"""import-joblog: what GNU parallel has not succeeded at becomes jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Cli

from queuectl.queue import Queue

pytestmark = pytest.mark.usefixtures("work_dir")
DATA = Path(__file__).parent / "data"
LOG = str(DATA / "parallel.log")
HEAD = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"


def test_what_has_not_succeeded_is_to_be_run_again(cli: Cli, queue: Queue, work_dir: Path) -> None:
    result = cli("import-joblog", LOG, "--queue", "convert", "--tag", "night")
    assert (result.code, result.out) == (0, "✓ 4 jobs imported\n")
    assert {job.id: job.command for job in queue.list()} == {
        "joblog-2": "convert b.png b.jpg",
        "joblog-4": "tar\t-x",
        "joblog-5": "echo one\necho two",
        "joblog-6": "slow",
    }
    job = queue.get("joblog-2")
    assert (job.queue, job.tag_list(), job.cwd) == ("convert", ["night"], str(work_dir))
    assert "left out: 2 succeeded" in result.err
    assert "1 of them ran on other hosts" in result.err


def test_all_takes_everything_and_twice_adds_nothing(cli: Cli, queue: Queue) -> None:
    assert cli("import-joblog", LOG, "--json").json()["imported"] == 4
    assert cli("import", "joblog", LOG, "--json").json()["imported"] == 0
    assert cli("import-joblog", LOG, "--all", "--json").json()["ids"] == ["joblog-1", "joblog-3"]
    assert cli("import-joblog", LOG, "--prefix", "x/y").code == 2
    assert len(queue.list()) == 6


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: this is no joblog"),
        ("one\ntwo\n", "line 1: this is no joblog"),
        (HEAD + "1\t:\t0\t0\t0\t0\t1\n", "line 2: 7 columns instead of 9"),
        (HEAD + "1\t:\t0\t0\t0\t0\tbad\t0\ttrue\n", "line 2: Exitval is 'bad', which is no number"),
        (HEAD + "1\t:\t0\t0\t0\t0\t1\t0\ttrue\n2\t:\t0\t0\t0\t0\t1\t0\t\n", "line 3: the command is empty"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_nothing_is_stored(
    cli: Cli, home_dir: Path, work_dir: Path, text: str, says: str
) -> None:
    (work_dir / "log").write_text(text)
    result = cli("import-joblog", "log")
    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert not (home_dir / "queue.db").exists()


def test_a_log_without_failures_gives_nothing(cli: Cli, work_dir: Path) -> None:
    (work_dir / "log").write_text(HEAD + "1\t:\t0\t0\t0\t0\t0\t0\ttrue\n")
    assert cli("import-joblog", "log").out == "✓ 0 jobs imported\n"
    assert cli("import-joblog", "missing").code == 2
