"""One job as somebody describes it: what each field takes, and what is left out with a note."""

from __future__ import annotations

import json

import pytest
from tests.support.jobs import NOW, claimed_job, short
from tests.unit.specs import SURROGATE, defaults, read

from queuectl.core.job import NewJob
from queuectl.core.spec import (
    FIELDS,
    MAX_ARGUMENT_BYTES,
    SET_BY_QUEUE,
    job_from_command,
    job_from_fields,
)
from queuectl.errors import InvalidInput


def test_a_job_that_says_nothing_gets_the_defaults() -> None:
    job = job_from_fields({"command": "echo hi"}, defaults(max_retries=5))
    assert (job.command, job.argv, job.id, job.queue) == ("echo hi", None, None, "default")
    assert (job.priority, job.max_retries, job.cwd) == (0, 5, "/here")
    assert (job.timeout, job.run_at, job.env, job.tags) == (None, None, None, None)
    assert (job.backoff_strategy, job.backoff_base, job.backoff_max, job.retry_delay) == ((None,) * 4)


def test_the_short_way_gives_the_same_job() -> None:
    short = job_from_command("echo hi", defaults())
    long = job_from_fields({"command": "echo hi"}, defaults())
    assert all(getattr(short, name) == getattr(long, name) for name in NewJob.__slots__)


@pytest.mark.parametrize(
    ("field", "value", "attribute", "stored"),
    [
        ("id", "job-1", "id", "job-1"),
        ("id", None, "id", None),
        ("command", "  spaces kept ", "command", "  spaces kept "),
        ("command", "line\nline\t\x1b[0m", "command", "line\nline\t\x1b[0m"),
        ("command", "日本語 ✓", "command", "日本語 ✓"),
        ("command", "x" * MAX_ARGUMENT_BYTES, "command", "x" * MAX_ARGUMENT_BYTES),
        ("queue", "mail.fast_1", "queue", "mail.fast_1"),
        ("queue", "q" * 64, "queue", "q" * 64),
        ("priority", -7, "priority", -7),
        ("priority", 2**31 - 1, "priority", 2**31 - 1),
        ("max_retries", 0, "max_retries", 0),
        ("max_retries", 1_000_000, "max_retries", 1_000_000),
        ("max_retries", None, "max_retries", 3),
        ("max_attempts", 1, "max_retries", 0),
        ("max_attempts", 4, "max_retries", 3),
        ("max_tries", 4, "max_retries", 3),
        ("max_attempts", None, "max_retries", 3),
        ("backoff_strategy", "linear", "backoff_strategy", "linear"),
        ("backoff_strategy", None, "backoff_strategy", None),
        ("backoff_base", 2, "backoff_base", 2.0),
        ("backoff_base", 1.5, "backoff_base", 1.5),
        ("backoff_base", None, "backoff_base", None),
        ("backoff_max", 60, "backoff_max", 60_000),
        ("backoff_max", 0, "backoff_max", 0),
        ("backoff_max", "1h", "backoff_max", 3_600_000),
        ("retry_delay", "1.5s", "retry_delay", 1_500),
        ("retry_delay", None, "retry_delay", None),
        ("timeout", 0.5, "timeout", 500),
        ("timeout", "1h30m", "timeout", 5_400_000),
        ("timeout", None, "timeout", None),
        ("run_at", "+10m", "run_at", NOW + 600_000),
        ("run_at", "2027-01-15T08:00:01Z", "run_at", NOW + 1_000),
        ("run_at", "2020-01-01T00:00:00Z", "run_at", 1_577_836_800_000),
        ("run_at", None, "run_at", None),
        ("delay", 5, "run_at", NOW + 5_000),
        ("delay", "2m", "run_at", NOW + 120_000),
        ("delay", 0, "run_at", NOW),
        ("delay", None, "run_at", None),
        ("tags", ["a", "b/c", "a"], "tags", ",a,b/c,"),
        ("tags", ("a", "b"), "tags", ",a,b,"),
        ("tags", "a,b", "tags", ",a,b,"),
        ("tags", [], "tags", None),
        ("tags", None, "tags", None),
        ("tags", [f"t{n}" for n in range(32)], "tags", f",{','.join(f't{n}' for n in range(32))},"),
        ("env", {"MODE": "fast", "_E": ""}, "env", '{"MODE": "fast", "_E": ""}'),
        ("env", {}, "env", None),
        ("env", None, "env", None),
        ("cwd", "/srv/data", "cwd", "/srv/data"),
        ("cwd", "sub", "cwd", "/here/sub"),
        ("cwd", None, "cwd", "/here"),
    ],
    ids=short,
)
def test_good_values_are_stored(field: str, value: object, attribute: str, stored: object) -> None:
    assert getattr(read(**{field: value}), attribute) == stored


def test_an_argument_list_is_kept_exactly_and_shown_quoted() -> None:
    for words in (["ls", "-l", "a b", "", "$HOME", "é"], ("ls", "x")):
        job = job_from_fields({"argv": words}, defaults())
        assert json.loads(job.argv or "") == list(words)
    assert job.command == "ls x"
    assert job_from_fields({"argv": ["a b", "$x"]}, defaults()).command == "'a b' '$x'"


def test_what_the_queue_sets_itself_is_ignored_with_a_note() -> None:
    notes: list[str] = []
    raw = {"command": "a", "state": "completed", "attempts": 99, "exit_code": 0}
    job = job_from_fields(raw, defaults(), notes.append)
    assert job.command == "a"
    assert notes == ["3 fields are set by the queue itself and were ignored: state, attempts, exit_code"]
    job_from_fields({"command": "a", "state": "dead"}, defaults(), notes.append)
    assert notes[1:] == ["field 'state' is set by the queue itself and was ignored"]
    job_from_fields(raw, defaults())  # nobody has to listen


def test_what_is_set_by_the_queue_is_no_field() -> None:
    assert not SET_BY_QUEUE & set(FIELDS)


@pytest.mark.parametrize("argv", [None, '["ls", "a b", "é"]'])
def test_a_job_pasted_back_as_it_was_printed_is_accepted(argv: str | None) -> None:
    stored = claimed_job(
        argv=argv,
        command="ls 'a b' 'é'" if argv else "make; echo done",
        backoff_strategy="linear",
        backoff_base=1.5,
        backoff_max=61_000,
        retry_delay=1_234,
        timeout=1,
        tags=",a,b,",
        priority=-3,
        queue="mail",
        signal=9,
        last_error="killed",
    )
    printed = json.loads(json.dumps(stored.to_dict()))
    notes: list[str] = []
    job = job_from_fields(printed, defaults(cwd="/elsewhere"), notes.append)
    for name in set(NewJob.__slots__) - {"env", "made", "own_retries", "conditions"}:
        assert getattr(job, name) == getattr(stored, name), name
    assert job.own_retries
    assert job.conditions is None
    assert [note.split()[0] for note in notes] == [str(len(set(printed) & SET_BY_QUEUE))]


def test_the_conditions_of_a_job_pasted_back_as_it_was_printed_are_accepted() -> None:
    rules: dict[str, object] = {
        "retry_on": "75,128-255",
        "no_retry_on": "2",
        "ok_codes": "0,3",
        "memory": 512 << 20,
        "cpu_time": 1_500,
        "files": 64,
        "processes": 9,
        "nice": -5,
        "timeout_percent": 300,
    }
    stored = claimed_job(
        rules=json.dumps(rules),
        needs="gpu=1,license=2",
        unique_key="Schlüssel 'x'",
        job_group="site/a",
        held=1,
        waits=2,
        schedule="nightly",
        progress=40,
        progress_text="epoch 4/10",
    )
    printed = json.loads(json.dumps({**stored.to_dict(), "depends_on": ["a", "b"]}))  # as `show` does
    notes: list[str] = []
    job = job_from_fields(printed, defaults(), notes.append)
    mine = job.conditions
    assert mine is not None
    assert mine.rules == rules
    assert (mine.needs, mine.unique_key, mine.group) == (stored.needs, stored.unique_key, stored.job_group)
    assert mine.after == [("success", "a"), ("success", "b")]
    # What the queue has made of it stays with the old one.
    assert (mine.held, mine.schedule) == (False, None)
    [note] = notes
    ignored = set(note.partition(": ")[2].split(", "))
    assert ignored == set(printed) & SET_BY_QUEUE
    assert ignored >= {"held", "waits", "schedule", "progress", "progress_text"}


def test_a_masked_environment_is_not_taken_for_the_real_one() -> None:
    printed = claimed_job(env='{"TOKEN": "secret"}').to_dict()
    assert "secret" not in json.dumps(printed)
    with pytest.raises(InvalidInput, match=r"the value of TOKEN is masked"):
        job_from_fields(printed, defaults())


def test_a_directory_whose_name_is_no_text_is_refused_unless_the_job_names_another() -> None:
    odd = defaults(cwd="/srv/" + SURROGATE)
    for make in (
        lambda: job_from_command("ls", odd),
        lambda: job_from_fields({"argv": ["a"]}, odd),
    ):
        with pytest.raises(InvalidInput, match="current directory"):
            make()
    assert job_from_fields({"command": "ls", "cwd": "/srv"}, odd).cwd == "/srv"
