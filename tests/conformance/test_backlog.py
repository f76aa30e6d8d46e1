"""What an estimate is made of, read alike from every engine."""

from __future__ import annotations

from typing import Any

from tests.support.jobs import NOW, add, claim, put, register, report

from queuectl.core import outcome as kinds


def test_a_sample_has_both_ends_of_the_queue(store: Any) -> None:
    for number in range(20):
        add(store, f"j{number:02}", command=f"echo {number}", now=NOW + number)
    add(store, "urgent", command="now", priority=5, now=NOW + 50)
    add(store, "other", queue="mail")
    put(store, "gpu", needs="gpu=1")
    sample = store.backlog().pending("default", 9)
    assert [command for command, _, _ in sample] == [
        *("now", "echo 0", "echo 1", "echo 2", "echo 3", "echo 4"),
        *("echo 19", "echo 18", "echo 17"),
    ]
    assert store.backlog().pending("mail", 9) == [("echo other", None, None)]
    assert store.backlog().pending("nobody", 9) == []
    assert store.backlog().counts() == {"default": {"pending": 22}, "mail": {"pending": 1}}
    assert store.backlog().counts("mail") == {"mail": {"pending": 1}}


def test_jobs_that_run_and_those_that_are_tried_again(store: Any) -> None:
    register(store)
    put(store, "words", command=None, argv=["ls", "-l"], cwd="/srv")
    (job,) = claim(store)
    assert store.backlog().running(9) == [("default", ("ls -l", '["ls", "-l"]', "/srv"), NOW, None)]
    assert store.editing().set_progress("words", job.claim, 40, None, NOW)
    assert store.backlog().running(9)[0][3] == 40
    verdict = report(job, kinds.FAILED)
    store.finish([verdict], "w1", "host1", NOW)
    assert store.backlog().failed(9) == [
        ("default", ("ls -l", '["ls", "-l"]', "/srv"), verdict.run_at),
    ]
    assert store.backlog().running(9) == []
    assert store.backlog().failed(0) == []
