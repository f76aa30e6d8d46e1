"""What people are told by commands whose COMMIT had trouble: the truth, as if there had been none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from queuectl.store.messages import JobFilter
from tests.faults.trouble import CUT, LATE, SWALLOWED, while_commit_is
from tests.support.proxy import Proxy
from tests.support.shared_queue import SharedQueue


class Commands:
    """Real commands, with trouble on the line to the server."""

    def __init__(self, kind: str, place: SharedQueue, proxy: Proxy, url: str) -> None:
        self._kind, self._place, self._proxy, self._url = kind, place, proxy, url

    def output(self, *words: str, input: str | None = None) -> str:
        """What a command prints; it must succeed, and not complain."""
        done: subprocess.CompletedProcess[str] = while_commit_is(
            self._kind,
            self._proxy,
            self._place.url,
            lambda: self._place.q(*words, url=self._url, input=input),
        )
        assert (done.returncode, "error" in done.stderr) == (0, False), done
        return done.stdout


@pytest.fixture(params=[SWALLOWED, *(pytest.param(kind, marks=pytest.mark.long) for kind in (CUT, LATE))])
def commands(request: pytest.FixtureRequest, place: SharedQueue, proxy: Proxy, proxied: str) -> Commands:
    return Commands(request.param, place, proxy, proxied)


def test_one_job(commands: Commands, place: SharedQueue) -> None:
    id = commands.output("enqueue", "--quiet", "true").strip()
    assert [job.id for job in place.queue.list()] == [id]


def test_many_jobs(commands: Commands, place: SharedQueue) -> None:
    """Some with ids, some without, the last one there already."""
    place.put({"old": "true"})
    lines = [{"id": f"j{number}", "command": "true"} for number in range(10)]
    lines += [{"command": "true"}] * 10 + [{"id": "old", "command": "true"}]
    text = "\n".join(map(json.dumps, lines))
    said = commands.output("enqueue", "--if-exists", "skip", "--file", "-", input=text)
    assert "20 jobs" in said
    assert place.store.count(JobFilter()) == 21


def test_cancel_retry_and_rm(commands: Commands, place: SharedQueue) -> None:
    place.put({"j": "true"})
    assert "cancelled" in commands.output("cancel", "j")
    assert place.queue.get("j").state == "cancelled"
    assert "j" in commands.output("retry", "j")
    assert place.queue.get("j").state == "pending"
    assert "j" in commands.output("rm", "--yes", "j")
    assert place.store.get("j") is None


def test_settings(commands: Commands, place: SharedQueue) -> None:
    commands.output("config", "set", "kill-grace", "7")
    assert place.store.stored_config() == {"kill-grace": "7"}
    commands.output("config", "unset", "kill-grace")
    assert place.store.stored_config() == {}


@pytest.mark.long
def test_who_was_stored_is_told_so_though_the_server_goes_away(
    place: SharedQueue, proxy: Proxy, proxied: str
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
