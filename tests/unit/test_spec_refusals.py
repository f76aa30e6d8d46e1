"""Descriptions of a job that are refused: each with the name of the field and a remedy."""

from __future__ import annotations

import pytest
from tests.support.jobs import short
from tests.unit.specs import HUGE, SURROGATE, defaults, read

from queuectl.core.spec import (
    FIELDS,
    MAX_ARGUMENT_BYTES,
    job_from_fields,
)
from queuectl.errors import InvalidInput

REFUSED = [
    ("id", "-x"),
    ("id", 5),
    ("command", ""),
    ("command", " \n\t "),
    ("command", 5),
    ("command", ["ls"]),
    ("command", "a\0b"),
    ("command", SURROGATE),
    ("command", "x" * (MAX_ARGUMENT_BYTES + 1)),
    ("command", "é" * (MAX_ARGUMENT_BYTES // 2 + 1)),
    ("argv", "ls -l"),
    ("argv", []),
    ("argv", [""]),
    ("argv", ["ls", 5]),
    ("argv", ["ls", None]),
    ("argv", ["ls", "a\0b"]),
    ("argv", ["ls", SURROGATE]),
    ("argv", {"0": "ls"}),
    ("queue", ""),
    ("queue", "a/b"),
    ("queue", "-a"),
    ("queue", "q" * 65),
    ("queue", "q\n"),
    ("queue", 5),
    ("priority", "5"),
    ("priority", 1.0),
    ("priority", True),
    ("priority", 2**31),
    ("priority", HUGE),
    ("max_retries", -1),
    ("max_retries", 1_000_001),
    ("max_retries", "3"),
    ("max_retries", 2.5),
    ("max_retries", True),
    ("max_retries", -HUGE),
    ("max_attempts", 0),
    ("max_attempts", -1),
    ("max_tries", "4"),
    ("backoff_strategy", "Exponential"),
    ("backoff_strategy", 5),
    ("backoff_strategy", ["fixed"]),
    ("backoff_base", 0),
    ("backoff_base", -2),
    ("backoff_base", "2"),
    ("backoff_base", True),
    ("backoff_base", float("nan")),
    ("backoff_base", float("inf")),
    ("backoff_base", HUGE),
    ("backoff_max", -1),
    ("backoff_max", "soon"),
    ("backoff_max", True),
    ("retry_delay", "5 bananas"),
    ("retry_delay", []),
    ("timeout", 0),
    ("timeout", "0s"),
    ("timeout", -5),
    ("timeout", "never"),
    ("timeout", HUGE),
    ("run_at", 1_700_000_000),
    ("run_at", "1700000000"),
    ("run_at", "someday"),
    ("run_at", ""),
    ("run_at", "2026-13-01T00:00:00Z"),
    ("run_at", HUGE),
    ("delay", -5),
    ("delay", "tomorrow"),
    ("delay", float("inf")),
    ("tags", 5),
    ("tags", "a b"),
    ("tags", ""),
    ("tags", ["a,b"]),
    ("tags", [""]),
    ("tags", [5]),
    ("tags", ["-a"]),
    ("tags", ["t" * 65]),
    ("tags", {"a": 1}),
    ("tags", [f"t{n}" for n in range(33)]),
    ("env", "MODE=fast"),
    ("env", ["MODE=fast"]),
    ("env", {"1X": "a"}),
    ("env", {"A-B": "a"}),
    ("env", {"A=B": "a"}),
    ("env", {"": "a"}),
    ("env", {"A\n": "a"}),
    ("env", {"A": 5}),
    ("env", {"A": None}),
    ("env", {"A": "a\0b"}),
    ("env", {"A": SURROGATE}),
    ("env", {"A": "***"}),
    ("env", {"QUEUECTL_JOB_ID": "x"}),
    ("env", {"A": "x" * (MAX_ARGUMENT_BYTES + 1)}),
    ("env", {f"A{n}": "x" * 100_000 for n in range(11)}),
    ("env", {f"A{n}": "é" * 60_000 for n in range(10)}),
    ("cwd", ""),
    ("cwd", 5),
    ("cwd", "/a\0b"),
    ("cwd", SURROGATE),
    ("retry_on", "many"),
    ("retry_on", [256]),
    ("no_retry_on", -1),
    ("no_retry_on", True),
    ("ok_codes", "20-10"),
    ("ok_codes", {"0": 1}),
    ("memory", "much"),
    ("memory", 0),
    ("memory", True),
    ("memory", HUGE),
    ("cpu_time", "soon"),
    ("cpu_time", 0.5),
    ("cpu_time", []),
    ("files", 2),
    ("files", "64"),
    ("processes", 0),
    ("processes", 1.5),
    ("nice", 20),
    ("nice", -21),
    ("nice", True),
    ("timeout_percent", 100),
    ("timeout_percent", "3.5%"),
    ("timeout_percent", True),
    ("timeout_percent", 100_001),
    ("timeout", "50%"),
    ("timeout", "%"),
    ("timeout", "9" * 5_000 + "%"),
    ("needs", "gpu=x"),
    ("needs", {"gpu": 0}),
    ("needs", 5),
    ("needs", {f"resource-{n}": 1 for n in range(30)}),
    ("unique_key", ""),
    ("unique_key", " "),
    ("unique_key", 5),
    ("unique_key", "a\0b"),
    ("unique_key", SURROGATE),
    ("unique_key", "x" * 192),
    ("if_live", "ignore"),
    ("if_live", ["skip"]),
    ("if_live", "skip"),  # without a key
    ("group", ""),
    ("group", "a b"),
    ("group", "x" * 65),
    ("group", 5),
    ("group_limit", 0),
    ("group_limit", "2"),
    ("group_limit", HUGE),
    ("group_limit", 2),  # without a group
    ("hold", 1),
    ("hold", "yes"),
    ("after", 5),
    ("after", ""),
    ("after", ["a b"]),
    ("after", [5]),
    ("after", {"a": 1}),
    ("after", [f"j{n}" for n in range(10_001)]),
    ("depends_on", 5),
    ("depends_on", ["-x"]),
    ("after_any", 5),
    ("after_any", "a,,b"),
    ("after_fail", True),
    ("after_fail", [None]),
    ("name", "a b"),
    ("name", 5),
    ("name", ""),
    ("on_success", ""),
    ("on_success", 5),
    ("on_failure", ["ls"]),
    ("on_failure", "a\0b"),
    ("notify", " "),
    ("notify", 5),
    ("notify", "a\0b"),
    ("notify", {"command": "x"}),
    ("notify_on", "failed"),
    ("notify_on", "started"),
    ("notify_on", ""),
    ("notify_on", [5]),
    ("notify_on", 5),
    ("input", 5),
    ("input", "a\0b"),
    ("input", SURROGATE),
    ("input", "x" * 1_000_001),
    ("input", "ß" * 500_001),
]


# Where a message speaks of the field by another name.
NAMED_AS = {
    "tags": ("tag",),
    "env": ("env", "value of A", "QUEUECTL_JOB_ID"),
    "max_tries": ("max_attempts",),
}


@pytest.mark.parametrize(("field", "value"), REFUSED, ids=short)
def test_bad_values_are_refused_with_the_name_of_the_field_and_a_remedy(field: str, value: object) -> None:
    raw = {field: value} if field == "argv" else {"command": "echo hi", field: value}
    with pytest.raises(InvalidInput) as caught:
        job_from_fields(raw, defaults())
    told = caught.value.message
    assert any(word in told for word in NAMED_AS.get(field, (field,)))
    assert caught.value.hint
    assert len(told) + len(caught.value.hint) < 700


def test_every_field_has_a_refused_value() -> None:
    assert {field for field, _ in REFUSED} == set(FIELDS)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("comand", "command"),
        ("cmd", "command"),
        ("priorty", "priority"),
        ("max_retry", "max_retries"),
        ("time_out", "timeout"),
        ("que", "queue"),
        ("args", "argv"),
        ("retries", "max_retries"),
        ("Command", "command"),
    ],
)
def test_an_unknown_field_names_the_nearest_known_one(name: str, nearest: str) -> None:
    with pytest.raises(InvalidInput, match="unknown field") as caught:
        read(**{name: 1})
    assert caught.value.hint == f"did you mean {nearest!r}?"


def test_a_field_like_no_other_is_answered_with_the_whole_list() -> None:
    with pytest.raises(InvalidInput) as caught:
        read(xyzzy="?" * 10_000)
    assert caught.value.hint is not None
    assert all(field in caught.value.hint for field in FIELDS)


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"id": "a"},
        {"command": None},
        {"command": None, "argv": None},
        {"command": "ls", "argv": ["rm"]},
        {"command": "a", "run_at": "+1m", "delay": 5},
        {"command": "a", "max_retries": 3, "max_attempts": 4},
        {"command": "a", "max_tries": 3, "max_attempts": 4},
    ],
)
def test_fields_that_contradict_or_miss_each_other_are_refused(raw: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=r"missing|both"):
        job_from_fields(raw, defaults())


@pytest.mark.parametrize("raw", [None, 5, "echo hi", [], [{"command": "a"}], True])
def test_a_job_is_an_object(raw: object) -> None:
    with pytest.raises(InvalidInput, match="a job must be a JSON object, not"):
        job_from_fields(raw, defaults())
