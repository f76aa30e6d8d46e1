"""dlq groups: dead jobs sorted by what they died of, and acting on one such group."""

from __future__ import annotations

import pytest
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl.queue import Queue


@pytest.fixture
def graves(queue: Queue, fake_worker: FakeWorker) -> None:
    for number in range(3):
        id, where = f"get{number}", ("mail", "mail", "web")[number]
        queue.enqueue(f"curl https://example.org/{number}", id=id, max_retries=0, queue=where)
        fake_worker.fail(id, error=f"exit code 1: (6) no host after {number + 5} ms")
    for id, command in (("conv", "convert /in/1.png"), ("conv2", "/usr/bin/convert /in/2/b.png")):
        queue.enqueue(command, id=id, max_retries=0)
        fake_worker.fail(id, error="exit code 1")
    queue.enqueue("echo fine", id="fine")
    fake_worker.complete("fine")


def groups(cli: Cli, *words: str) -> list[dict[str, object]]:
    found = cli("dlq", "groups", "--json", *words).json()
    assert isinstance(found, list)
    return found


@pytest.mark.usefixtures("graves")
def test_the_largest_group_comes_first_with_all_there_is_to_know(cli: Cli) -> None:
    first, second = groups(cli)
    assert (first["count"], first["command"], first["error"]) == (
        3,
        "curl <url>",
        "(<n>) no host after <n> ms",
    )
    assert (first["exit_code"], first["signal"], first["queues"]) == (1, None, ["mail", "web"])
    assert first["example"] == "get2"
    assert str(first["first_at"]) <= str(first["last_at"])
    assert (second["count"], second["command"], second["error"]) == (2, "convert <path>", None)


@pytest.mark.usefixtures("graves")
def test_people_see_a_table(cli: Cli) -> None:
    result = cli("dlq", "groups")
    header, first, second = result.out.splitlines()
    assert header.split() == ["GROUP", "JOBS", "ENDED", "LAST", "EXAMPLE", "ERROR", "COMMAND"]
    assert first.split()[1:4] == ["3", "exit", "1"]
    assert first.endswith("(<n>) no host after <n> ms  curl <url>")
    assert second.endswith("-                           convert <path>")
    limited = cli("dlq", "groups", "--limit", "1")
    assert len(limited.out.splitlines()) == 2
    assert limited.err == "2 more dead jobs in other groups\n"


@pytest.mark.usefixtures("graves")
def test_one_queue_only(cli: Cli) -> None:
    (only,) = groups(cli, "--queue", "mail")
    assert (only["count"], only["queues"]) == (2, ["mail"])


@pytest.mark.usefixtures("graves")
def test_a_group_is_listed_retried_and_purged_by_its_name(cli: Cli, queue: Queue) -> None:
    gets, convs = (str(group["group"]) for group in groups(cli))
    assert cli("dlq", "list", "--group", gets, "--quiet").out.split() == ["get0", "get1", "get2"]
    assert cli("dlq", "list", "--group", gets, "--limit", "1", "--offset", "1", "--quiet").out == "get1\n"
    assert cli("dlq", "retry", "--group", gets, "--dry-run").out == "would retry 3 jobs: get0, get1, get2\n"
    asked = cli("dlq", "retry", "--group", gets)
    assert (asked.code, asked.err) == (4, "error: retry 3 jobs?\n  hint: add --yes to go ahead\n")
    done = cli("dlq", "retry", "--group", gets[:4], "--queue", "mail", "--yes")
    assert done.out == "✓ 2 jobs moved back to pending queue\n"
    assert [queue.get(f"get{number}").state for number in range(3)] == ["pending", "pending", "dead"]
    purged = cli("dlq", "purge", "--group", convs, "--yes", "--json").json()
    assert [job["id"] for job in purged] == ["conv", "conv2"]
    assert [str(group["group"]) for group in groups(cli)] == [gets]
    retried = cli("dlq", "retry", "--group", gets, "--json").json()
    assert [(job["id"], job["state"]) for job in retried] == [("get2", "pending")]
    assert cli("dlq", "groups").err == "no dead jobs\n"


@pytest.mark.usefixtures("graves")
def test_mistakes(cli: Cli) -> None:
    for words, code, says in (
        (("retry", "--group", "zzz"), 1, "no dead job is in group 'zzz'"),
        (("retry", "--group", ""), 2, "--group needs the name of a group"),
        (("retry", "get1", "--group", "a"), 2, "both a group and other jobs are given"),
        (("purge", "--group", "a", "--tag", "x"), 2, "both a group and other jobs are given"),
    ):
        result = cli("dlq", *words)
        assert (result.code, result.out) == (code, "")
        assert says in result.err
    both = sorted(str(group["group"])[0] for group in groups(cli))
    if both[0] == both[1]:
        assert "is the beginning of 2 groups" in cli("dlq", "retry", "--group", both[0]).err
