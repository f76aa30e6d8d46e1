"""`queuectl enqueue`, one job: every form of it, what is stored, and what is printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl.cli.commands.enqueue import Unoptioned, build_parser
from queuectl.cli.jobspec import parse_words
from queuectl.core.job import Job
from queuectl.queue import Queue

NO_WORKER = "note: no worker is running, so jobs will wait. Start one: queuectl worker start\n"


def only(queue: Queue) -> Job:
    (job,) = queue.list()
    return job


# --- the forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["echo hi"], ["ls", "x"], ['{"id":"a"}'], ["@jobs"], ["", "a=b"]])
def test_words_without_an_option_mean_what_the_parser_makes_of_them(words: list[str]) -> None:
    parsed = vars(parse_words(build_parser(), words))
    assert {name: getattr(Unoptioned(words), name, None) for name in parsed} == parsed


def test_a_job_as_json(cli: Cli, queue: Queue) -> None:
    result = cli("enqueue", '{"id":"job1","command":"sleep 2","max_retries":3}')

    assert result.code == 0
    job = queue.get("job1")
    assert (job.command, job.argv, job.max_retries, job.state) == ("sleep 2", None, 3, "pending")


def test_every_field_of_json(cli: Cli, queue: Queue) -> None:
    fields = {
        "id": "all",
        "argv": ["ls", "a b"],
        "queue": "mail",
        "priority": -7,
        "max_attempts": 3,
        "backoff_strategy": "linear",
        "backoff_base": 1.5,
        "backoff_max": "1h",
        "retry_delay": 2.5,
        "timeout": "90s",
        "delay": "1d",
        "tags": ["night", "gpu"],
        "env": {"MODE": "fast"},
        "cwd": "/srv",
    }

    assert cli("enqueue", json.dumps(fields)).code == 0

    shown = queue.get("all").to_dict()
    expected = {**fields, "command": "ls 'a b'", "max_retries": 2, "state": "scheduled"}
    expected |= {"backoff_max": 3600, "timeout": 90, "env": {"MODE": "***"}}
    del expected["max_attempts"], expected["delay"]
    assert {name: shown[name] for name in expected} == expected
    assert queue.get("all").environment() == {"MODE": "fast"}


def test_a_job_by_flags_without_json_quoting(cli: Cli, queue: Queue) -> None:
    assert cli("enqueue", "--id", "job1", "--command", "echo hi").code == 0

    assert (queue.get("job1").command, queue.get("job1").argv) == ("echo hi", None)


def test_one_word_is_a_shell_line(cli: Cli, queue: Queue) -> None:
    cli("enqueue", "sleep 2 && echo done")

    assert (only(queue).command, only(queue).argv) == ("sleep 2 && echo done", None)


def test_several_words_are_an_argument_list(cli: Cli, queue: Queue) -> None:
    cli("enqueue", "convert", "my photo.png", "$HOME")

    assert json.loads(only(queue).argv or "") == ["convert", "my photo.png", "$HOME"]
    assert only(queue).command == "convert 'my photo.png' '$HOME'"


def test_two_dashes_only_end_the_options(cli: Cli, queue: Queue) -> None:
    cli("enqueue", "--id", "line", "--", "echo a && echo b")
    cli("enqueue", "--id", "list", "--", "ls", "--all")
    cli("enqueue", "--id", "dashed", "--", "-odd-name", "x")

    assert queue.get("line").argv is None
    assert json.loads(queue.get("list").argv or "") == ["ls", "--all"]
    assert json.loads(queue.get("dashed").argv or "") == ["-odd-name", "x"]


def test_the_options_of_an_argument_list_are_its_own(cli: Cli, queue: Queue) -> None:
    words = ["python", "train.py", "--batch_size", "32", "--id", "x", "--json"]

    result = cli("enqueue", *words)

    assert json.loads(only(queue).argv or "") == words
    assert result.out == f"✓ Job {only(queue).id} enqueued successfully\n"


def test_after_a_whole_line_options_go_on(cli: Cli, queue: Queue) -> None:
    cli("enqueue", "echo hi", "--id", "line", "--priority", "5", "-t", "a", "--tag", "b")
    cli("enqueue", '{"command":"x","priority":1}', "--id", "json", "--priority", "5")

    assert (queue.get("line").priority, queue.get("line").tag_list()) == (5, ["a", "b"])
    assert queue.get("json").priority == 5  # a flag wins over a field


def test_a_made_id_is_printed(cli: Cli, queue: Queue) -> None:
    assert cli("enqueue", "true").out == f"✓ Job {only(queue).id} enqueued successfully\n"


# --- what is printed ----------------------------------------------------------------------------------


def test_quiet_prints_the_bare_id(cli: Cli, queue: Queue) -> None:
    assert cli("enqueue", "--quiet", "--id", "job1", "true").out == "job1\n"
    assert cli("enqueue", "echo hi", "--quiet").out == queue.list()[1].id + "\n"


def test_json_prints_the_job(cli: Cli, queue: Queue) -> None:
    result = cli("enqueue", "--json", "--id", "job1", "--delay", "1h", "true")

    assert result.json() == queue.get("job1").to_dict()
    assert result.json()["state"] == "scheduled"


def test_numbers_print_as_they_were_typed(cli: Cli) -> None:
    result = cli("enqueue", '{"command":"true","timeout":3,"backoff_base":2,"retry_delay":0.5}', "--json")

    assert '"timeout": 3,' in result.out
    assert '"backoff_base": 2,' in result.out
    assert '"retry_delay": 0.5,' in result.out


def test_without_a_worker_it_says_how_to_start_one(cli: Cli, fake_worker: FakeWorker) -> None:
    assert cli("enqueue", "true").err == ""

    fake_worker.leave()

    assert cli("enqueue", "true").err == NO_WORKER


@pytest.mark.parametrize("option", ["--at", "--run-at", "--run_at"])
def test_a_time_is_echoed_as_it_was_understood(
    cli: Cli, queue: Queue, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = cli("enqueue", option, "2999-12-01 09:00", "true")

    assert "runs Sun 2999-12-01 09:00" in result.err
    assert only(queue).state == "scheduled"


@pytest.mark.parametrize("words", [("--at", "+5s"), ("--delay", "5"), ("--at", "in 5 seconds")])
def test_a_time_from_now(cli: Cli, queue: Queue, words: tuple[str, ...]) -> None:
    result = cli("enqueue", *words, "true")

    assert "(in 5s)" in result.err
    assert only(queue).run_at - only(queue).created_at == pytest.approx(5_000, abs=1_000)


def test_a_time_that_has_passed_means_now(cli: Cli, queue: Queue) -> None:
    cli("enqueue", "--at", "2020-01-01T00:00:00Z", "true")

    assert only(queue).state == "pending"


# --- the same id again --------------------------------------------------------------------------------


def test_the_same_job_again_is_harmless_with_skip(cli: Cli, queue: Queue) -> None:
    words = ("enqueue", "--if-exists", "skip", "--id", "job1", "echo hi")
    assert cli(*words).code == 0

    again = cli(*words)

    assert (again.code, again.out) == (0, "")
    assert only(queue).command == "echo hi"


def test_another_job_under_the_same_id_is_left_out(cli: Cli, queue: Queue) -> None:
    cli("enqueue", "--id", "job1", "echo hi")

    again = cli("enqueue", "--id", "job1", "--if-exists", "skip", "echo other")

    assert again.code == 0
    assert only(queue).command == "echo hi"


def test_a_skipped_job_is_still_named(cli: Cli, queue: Queue) -> None:
    cli("enqueue", "--id", "job1", "echo hi")

    assert cli("enqueue", "--quiet", "--if-exists", "skip", "--id", "job1", "echo hi").out == "job1\n"
    assert cli("enqueue", "--json", "--if-exists", "skip", "--id", "job1", "x").json()["command"] == "echo hi"


# --- where it runs and with what ----------------------------------------------------------------------


def test_the_current_directory_is_captured(
    cli: Cli, queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    cli("enqueue", "--id", "here", "true")
    cli("enqueue", "--id", "there", "--cwd", "/srv", "true")
    cli("enqueue", "--id", "below", "--cwd", "sub/dir", "true")

    assert queue.get("here").cwd == str(tmp_path)
    assert queue.get("there").cwd == "/srv"
    assert queue.get("below").cwd == f"{tmp_path}/sub/dir"


def test_of_the_environment_only_what_is_named_is_kept(
    cli: Cli, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("OTHER", "not asked for")

    result = cli("enqueue", "--env", "TOKEN", "-e", "MODE=a=b", "--json", "true")
    cli("enqueue", "--id", "plain", "true")

    job = queue.get(result.json()["id"])
    assert job.environment() == {"TOKEN": "secret", "MODE": "a=b"}
    assert queue.get("plain").environment() == {}
    assert "secret" not in result.out


# --- pasted back --------------------------------------------------------------------------------------


def test_a_job_pasted_back_as_it_was_printed(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    cli("enqueue", '{"id":"job1","command":"echo hi","tags":["a"],"timeout":5,"priority":2}')
    fake_worker.complete("job1")
    printed = cli("show", "job1", "--json").out
    cli("rm", "job1")

    result = cli("enqueue", printed)

    assert result.code == 0
    [note] = [line for line in result.err.splitlines() if "set by the queue itself" in line]
    assert re.match(r"note: \d+ fields are set by the queue itself and were ignored: number, state, ", note)
    job = queue.get("job1")
    assert (job.state, job.attempts, job.priority, job.timeout) == ("pending", 0, 2, 5_000)
    assert (job.command, job.tag_list()) == ("echo hi", ["a"])


def test_an_argument_list_pasted_back(cli: Cli, queue: Queue) -> None:
    printed = cli("enqueue", "--json", "--id", "job1", "ls", "a b").out
    cli("rm", "job1")

    assert cli("enqueue", printed).code == 0
    assert json.loads(queue.get("job1").argv or "") == ["ls", "a b"]


def test_a_file_of_commands_taken_for_a_command_is_noted(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cmds.txt").write_text("echo 1\n")
    result = cli("enqueue", "cmds.txt")
    assert result.code == 0
    assert "If its lines are commands: queuectl enqueue --lines --file cmds.txt" in result.err
    (tmp_path / "cmds.txt").chmod(0o755)
    for word in ("cmds.txt", "true", "cat cmds.txt", str(tmp_path)):
        assert "--lines" not in cli("enqueue", word).err


def test_a_shell_line_with_words_behind_it_is_noted(cli: Cli) -> None:
    note = "note: of several words the first is the program; a shell line is one word"
    assert note + "\n" in cli("enqueue", "echo hi", "there").err
    assert note + ". A job for each input: queuectl map\n" in cli("enqueue", "echo {}", ":::", "a").err
    assert note not in cli("enqueue", "echo", "hi there").err


def test_a_directory_that_is_missing_here_is_noted_and_no_error(cli: Cli, queue: Queue) -> None:
    note = "note: there is no directory /nosuch/place here"
    for number, words in enumerate(
        [
            ("enqueue", "--cwd", "/nosuch/place", "true"),
            ("enqueue", '{"command":"true","cwd":"/nosuch/place"}'),
            ("map", "--cwd", "/nosuch/place", "echo", ":::", "a"),
            ("schedule", "add", "often", "@hourly", "--cwd", "/nosuch/place", "true"),
            ("edit", "last", "--cwd", "/nosuch/place"),
        ]
    ):
        result = cli(*words)
        assert (result.code, result.err.count(note)) == (0, 1), words
        assert len(queue.list()) == min(number + 1, 3)
    for words in (("enqueue", "--cwd", "/", "true"), ("enqueue", "true")):
        assert "directory" not in cli(*words).err


def test_an_id_that_stands_for_other_jobs_is_taken_with_a_note(cli: Cli, terminal: Cli, queue: Queue) -> None:
    for id, means in (("last", "the newest job"), ("all", "all jobs")):
        result = cli("enqueue", "--id", id, "true")
        assert (result.code, queue.get(id).id) == (0, id)
        assert f"note: {id} stands for {means} elsewhere" in result.err
    assert "stands for" not in cli("enqueue", "--id", "12", "true").err, "scripts number their jobs"
    assert "13 stands for jobs by their numbers" in terminal("enqueue", "--id", "13", "true").out
    assert "stands for" not in terminal("enqueue", "--id", "job-13", "true").out
