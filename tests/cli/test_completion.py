"""What is offered for a word that somebody is typing."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl import schedules, triage
from queuectl.cli.completion import FILES, Finder
from queuectl.cli.main import COMMANDS
from queuectl.cli.options import Parser
from queuectl.cli.parsers import subcommands
from queuectl.queue import Queue


class _Answered(Exception):
    pass


Offered = Callable[[str], "list[str] | str"]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Offered:
    """What is offered at the end of this line; `files` if the shell shall offer them."""

    def ask(line: str) -> list[str] | str:
        for name, value in {
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_SHELL": "fish",
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        }.items():
            monkeypatch.setenv(name, value)
        finder, answer = Finder(), io.StringIO()

        def leave(_: int) -> None:
            raise _Answered

        with pytest.raises(_Answered):
            finder(
                Parser(add_help=False),
                always_complete_options=False,
                exit_method=leave,
                output_stream=answer,
            )
        return "files" if finder.wants_files else answer.getvalue().splitlines()

    return ask


class TestFromTheStore:
    def test_job_ids(self, offered: Offered, jobs_in_every_state: None) -> None:
        assert offered("queuectl show wa") == ["waiting"]
        assert offered("queuectl show ")[:2] == ["waiting", "later"]  # the newest first
        assert offered("queuectl logs br") == ["broken"]
        assert offered("queuectl enqueue --after do") == ["done"]
        assert offered("queuectl show nosuch") == []
        assert offered("queuectl show la") == ["later", "last"]

    def test_only_jobs_for_which_it_is_possible(self, offered: Offered, jobs_in_every_state: None) -> None:
        assert offered("queuectl dlq retry ") == ["broken"]
        assert offered("queuectl retry ") == ["stopped", "flaky", "broken"]
        assert offered("queuectl hold ") == ["waiting", "later", "flaky"]
        assert offered("queuectl cancel d") == []

    def test_a_job_once(self, offered: Offered, jobs_in_every_state: None) -> None:
        assert offered("queuectl retry stopped ") == ["flaky", "broken"]

    def test_queues_schedules_and_workers(
        self, offered: Offered, jobs_in_every_state: None, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        schedules.add(queue, "nightly", "@daily", {"command": "true"})
        assert offered("queuectl list --queue ") == ["default", "mail"]
        assert offered("queuectl queue pause m") == ["mail"]
        assert offered("queuectl move later --to ") == ["default", "mail"]
        assert offered("queuectl worker start --queue mail,") == ["mail,default"]
        assert offered("queuectl schedule pause ") == ["nightly"]
        assert offered("queuectl schedule add ") == []
        assert offered("queuectl worker stop ") == [fake_worker.worker.id]

    def test_tags_and_groups_of_dead_jobs(
        self, offered: Offered, jobs_in_every_state: None, queue: Queue
    ) -> None:
        queue.enqueue("true", tags=["nightly", "gpu"])
        assert offered("queuectl list --tag ni") == ["nightly", "night"]
        assert offered("queuectl enqueue --tag gp") == offered("queuectl edit --with-tag g") == ["gpu"]
        [group] = triage.sort_out(queue).groups
        assert offered("queuectl dlq retry --group ") == [group.key]
        assert offered("queuectl enqueue --group ") == [], "another kind of group"

    def test_no_more_than_a_hundred_jobs(self, offered: Offered, queue: Queue) -> None:
        queue.enqueue_many([{"id": f"job-{i}", "command": "true"} for i in range(150)])
        assert len(offered("queuectl show job-")) == len(offered("queuectl show ")) == 100


class TestFromTheProgram:
    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("queuectl sta", ["status", "stats"]),
            ("queuectl dlq ", ["list", "show", "retry", "purge", "groups"]),
            ("queuectl workers re", ["restart"]),
            ("queuectl --db x.db dlq sh", ["show"]),
            ("queuectl dlq --db x.db sh", ["show"]),
            ("queuectl list --st", ["--state"]),
            ("queuectl list --state de", ["dead"]),
            ("queuectl list --state=de", ["--state=dead"]),
            ("queuectl list --state dead,fa", ["dead,failed"]),
            ("queuectl ls --sort cr", ["created"]),
            ("queuectl config set worker-m", ["worker-mode"]),
            ("queuectl config set worker-mode ", ["background", "foreground"]),
            ("queuectl config get max-r", ["max-retries"]),
            ("queuectl edit job1 --clear t", ["timeout", "tag"]),
            ("queuectl enqueue --notify-on c", ["completed", "cancelled"]),
            ("queuectl queue set mail --notify-on dead,a", ["dead,any"]),
            ("queuectl enqueue --backoff-strategy e", ["exponential"]),
            ("queuectl schedule add x --tz Europe/Berl", ["Europe/Berlin"]),
            ("queuectl completion ", ["bash", "zsh", "fish"]),
            ("queuectl --v", ["--version"]),
            ("queuectl enqueue --file ", "files"),
            ("queuectl --db ", "files"),
            ("queuectl enqueue ", "files"),
            ("queuectl enqueue --priority ", []),
        ],
    )
    def test_words_of_ours(self, offered: Offered, line: str, expected: object) -> None:
        assert offered(line) == expected

    def test_every_command_has_its_options(self, offered: Offered) -> None:
        assert offered("queuectl ") == list(COMMANDS)
        for command in COMMANDS:
            for part in subcommands(command) or [""]:
                options = offered(f"queuectl {command} {part} --".replace("  ", " "))
                assert "--help" in options, (command, part)
                assert "--debug" not in options  # what help does not show

    def test_no_store_is_made(self, offered: Offered, home_dir: Path) -> None:
        for line in ("queuectl show ", "queuectl list --queue ", "queuectl schedule rm "):
            with pytest.raises(Exception, match="there is no database"):
                offered(line)
        assert not home_dir.exists()


def ask_process(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """As the scripts do: the answer comes by descriptor 8."""
    return subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m queuectl 8>&1 >/dev/null'],
        env={
            **os.environ,
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "_ARGCOMPLETE": "1",
            **environment,
        },
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.process
class TestTrouble:
    """Somebody is in the middle of typing: nothing is said."""

    @pytest.mark.parametrize(
        "line", ["queuectl show ", "queuectl nosuch ", "queuectl show 'a b", "queuectl dlq x "]
    )
    def test_nothing_is_said(self, home_dir: Path, line: str) -> None:
        done = ask_process(line)
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
        assert not home_dir.exists()

    def test_a_file_that_is_no_store(self, tmp_path: Path) -> None:
        (tmp_path / "x.db").write_bytes(b"this is no database at all" * 100)
        done = ask_process(f"queuectl --db {tmp_path}/x.db show ")
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")

    def test_a_server_that_is_away(self) -> None:
        done = ask_process("queuectl show ", QUEUECTL_DB="postgresql://nobody@127.0.0.1:1/none")
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")

    def test_files_by_the_exit_code(self) -> None:
        assert ask_process("queuectl enqueue --file ").returncode == FILES

    def test_a_normal_start_does_not_mind_a_stray_variable(
        self, cli_process: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("_ARGCOMPLETE", "1")
        assert cli_process("--version").out.startswith("queuectl ")
