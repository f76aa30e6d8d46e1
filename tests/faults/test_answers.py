"""What people are told by commands whose COMMIT had trouble: the truth, as if there had been none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from queuectl.store.messages import JobFilter
from tests.faults.trouble import KINDS, while_commit_is
from tests.support.proxy import Proxy
from tests.support.shared_queue import Place


class Person:
    """Somebody at the command line, with trouble on the line to the server."""

    def __init__(self, kind: str, place: Place, proxy: Proxy, url: str) -> None:
        self._kind, self._place, self._proxy, self._url = kind, place, proxy, url

    def says(self, *words: str, input: str | None = None) -> str:
        """What a command of theirs prints; it must succeed, and not complain."""
        done: subprocess.CompletedProcess[str] = while_commit_is(
            self._kind,
            self._proxy,
            self._place.url,
            lambda: self._place.q(*words, url=self._url, input=input),
        )
        assert (done.returncode, "error" in done.stderr) == (0, False), done
        return done.stdout


@pytest.fixture(params=KINDS)
def person(request: pytest.FixtureRequest, place: Place, proxy: Proxy, proxied: str) -> Person:
    return Person(request.param, place, proxy, proxied)


def test_one_job(person: Person, place: Place) -> None:
    id = person.says("enqueue", "--quiet", "true").strip()
    assert [job.id for job in place.queue.list()] == [id]


def test_many_jobs(person: Person, place: Place) -> None:
    """Some with ids, some without, the last one there already."""
    place.put({"old": "true"})
    lines = [{"id": f"j{number}", "command": "true"} for number in range(10)]
    lines += [{"command": "true"}] * 10 + [{"id": "old", "command": "true"}]
    text = "\n".join(map(json.dumps, lines))
    said = person.says("enqueue", "--if-exists", "skip", "--file", "-", input=text)
    assert "20 jobs" in said
    assert place.store.count(JobFilter()) == 21


def test_cancel_retry_and_rm(person: Person, place: Place) -> None:
    place.put({"j": "true"})
    assert "cancelled" in person.says("cancel", "j")
    assert place.queue.get("j").state == "cancelled"
    assert "j" in person.says("retry", "j")
    assert place.queue.get("j").state == "pending"
    assert "j" in person.says("rm", "--yes", "j")
    assert place.store.get("j") is None


def test_settings(person: Person, place: Place) -> None:
    person.says("config", "set", "kill-grace", "7")
    assert place.store.stored_config() == {"kill-grace": "7"}
    person.says("config", "unset", "kill-grace")
    assert place.store.stored_config() == {}


@pytest.mark.long
def test_who_was_stored_is_told_so_though_the_server_goes_away(
    place: Place, proxy: Proxy, proxied: str
) -> None:
    """It goes right after the COMMIT, and what is left to do is only by the way: hints, notes."""
    halt = {"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": "enqueue.acked=stop"}
    with subprocess.Popen(
        [sys.executable, "-m", "queuectl", "enqueue", "--quiet", "--id", "j", "true"],
        env=place.environment(url=proxied) | halt,
        cwd=place.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        proxy.refuse()
        proxy.cut_all()
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "j\n"), err
    assert place.store.get("j") is not None
