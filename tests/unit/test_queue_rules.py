"""Rules of queues: how many jobs may start, what jobs take over, what may be set."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.jobs import NOW

from queuectl.core.job import NewJob
from queuectl.core.queue_rules import (
    DEFAULTS,
    QUEUE_COLUMNS,
    QueueRule,
    allowance,
    apply_defaults,
    is_empty,
    is_paused,
    rate_of,
    renew_bucket,
    rule_from_row,
    to_dict,
)
from queuectl.core.queue_spec import MAX_REASON, check_reason, read_changes
from queuectl.core.rates import parse_rate
from queuectl.core.tables import QUEUES
from queuectl.errors import InvalidInput

SECOND, MINUTE = 1000, 60_000
NS = 1_000_000


def rule(**columns: Any) -> QueueRule:
    made = QueueRule("mail", NOW)
    for name, value in columns.items():
        setattr(made, name, value)
    return made


def ask(
    of: QueueRule, *, running: int = 0, now: int = NOW, wanted: int = 10
) -> tuple[int, str | None, int | None]:
    answer = allowance(of, running=running, now=now, wanted=wanted)
    return answer.count, answer.reason, answer.next_at


def test_the_columns_are_those_of_the_table() -> None:
    assert QUEUES.names == QUEUE_COLUMNS


def test_a_row_becomes_a_rule() -> None:
    row = ("mail", 4, "5/s", 7, 11, 1, 2, "fixed", 1.5, 3, 4, 5, 6, "moving", 1, NOW, "{}", 300)
    found = rule_from_row(row)
    assert tuple(getattr(found, name) for name in QUEUE_COLUMNS) == row


@pytest.mark.parametrize(
    ("paused_at", "paused_until", "paused"),
    [
        (None, None, False),
        (NOW - 1, None, True),
        (NOW - 1, NOW + 1, True),
        (NOW - 1, NOW, False),
        (NOW - 2, NOW - 1, False),
    ],
)
def test_a_pause_lasts_until_its_end(paused_at: int | None, paused_until: int | None, paused: bool) -> None:
    assert is_paused(rule(paused_at=paused_at, paused_until=paused_until), NOW) is paused


@pytest.mark.parametrize(
    ("columns", "running", "answer"),
    [
        ({}, 1000, (10, None, None)),
        ({"concurrency": 4}, 0, (4, "concurrency", None)),
        ({"concurrency": 4}, 3, (1, "concurrency", None)),
        ({"concurrency": 4}, 4, (0, "concurrency", None)),
        ({"concurrency": 4}, 9, (0, "concurrency", None)),  # it was lowered meanwhile
        ({"concurrency": 10}, 0, (10, None, None)),
        ({"rate": "5/s"}, 0, (5, "rate", NOW + 200)),
        ({"rate": "1/min"}, 0, (1, "rate", NOW + MINUTE)),
        ({"rate": "1/min", "burst": 3}, 0, (3, "rate", NOW + MINUTE)),
        ({"rate": "100/s"}, 0, (10, None, None)),
        ({"rate": "5/s", "concurrency": 2}, 0, (2, "concurrency", None)),
        ({"rate": "5/s", "concurrency": 7}, 0, (5, "rate", NOW + 200)),
        ({"rate": "5/s", "concurrency": 7}, 7, (0, "concurrency", None)),
        ({"paused_at": 1}, 0, (0, "paused", None)),
        ({"paused_at": 1, "paused_until": NOW + 9}, 0, (0, "paused", NOW + 9)),
        (
            {"paused_at": 1, "paused_until": NOW + 9, "concurrency": 1, "rate": "1/h"},
            5,
            (0, "paused", NOW + 9),
        ),
        ({"paused_at": 1, "paused_until": NOW, "concurrency": 3}, 0, (3, "concurrency", None)),
        ({"draining": 1}, 0, (10, None, None)),  # what is there is done
    ],
)
def test_what_may_start(
    columns: dict[str, Any], running: int, answer: tuple[int, str | None, int | None]
) -> None:
    assert ask(rule(**columns), running=running) == answer


def test_who_wants_nothing_gets_nothing_and_is_told_no_reason() -> None:
    for wanted in (0, -1):
        assert ask(rule(concurrency=4, rate="5/s"), wanted=wanted) == (0, None, None)


def test_without_a_rate_nothing_is_spent() -> None:
    assert allowance(rule(concurrency=4), running=0, now=NOW, wanted=3).spent is None


@pytest.mark.parametrize("columns", [{"paused_at": 1}, {"concurrency": 1}])
def test_what_may_not_start_spends_nothing(columns: dict[str, Any]) -> None:
    limited = rule(rate="5/s", rate_spent=77, **columns)
    assert allowance(limited, running=1, now=NOW, wanted=3).spent == 77


@settings(max_examples=100)
@given(
    concurrency=st.none() | st.integers(1, 20),
    text=st.none() | st.sampled_from(["1/s", "7/s", "100/min", "3/h"]),
    burst=st.none() | st.integers(1, 30),
    running=st.integers(0, 25),
    wanted=st.integers(0, 30),
    steps=st.lists(st.integers(0, 90_000), min_size=1, max_size=8),
)
def test_no_limit_is_ever_exceeded(
    concurrency: int | None, text: str | None, burst: int | None, running: int, wanted: int, steps: list[int]
) -> None:
    limited = rule(concurrency=concurrency, rate=text, burst=burst if text else None)
    now, started = NOW, 0
    for step in steps:
        now += step
        answer = allowance(limited, running=running, now=now, wanted=wanted)
        assert 0 <= answer.count <= wanted
        if concurrency is not None:
            assert answer.count <= max(concurrency - running, 0)
        assert (answer.count == wanted) is (answer.reason is None)
        assert answer.next_at is None or (answer.reason == "rate" and answer.next_at > now)
        limited.rate_spent = answer.spent
        started += answer.count
    rate = rate_of(limited)
    if rate is not None:
        # The 100 ms are the grace that `core.rates` gives to a caller who comes late.
        assert started <= rate.burst + rate.tokens((now - NOW + 100) * NS) + 1


def test_asking_again_at_the_promised_time_helps() -> None:
    limited = rule(rate="100/min", burst=3)
    now = NOW
    for _ in range(20):
        answer = allowance(limited, running=0, now=now, wanted=10)
        assert answer.count >= 1
        assert answer.next_at is not None
        limited.rate_spent = answer.spent
        assert allowance(limited, running=0, now=answer.next_at - 1, wanted=10).count == 0
        now = answer.next_at


class TestAChangedRate:
    def test_keeps_what_was_spent(self) -> None:
        limited = rule(rate="1/s", rate_spent=(NOW + 400) * NS)
        limited.rate = "1/min"
        renew_bucket(limited, NOW)
        assert limited.rate_spent == (NOW + 400) * NS

    def test_does_not_make_wait_for_what_the_new_one_allows(self) -> None:
        limited = rule(rate="1/day")
        limited.rate_spent = allowance(limited, running=0, now=NOW, wanted=1).spent
        limited.rate = "1/s"
        renew_bucket(limited, NOW)
        assert ask(limited, wanted=1) == (0, "rate", NOW + SECOND)

    def test_takes_the_bucket_along_when_it_goes(self) -> None:
        limited = rule(rate_spent=5)
        renew_bucket(limited, NOW)
        assert limited.rate_spent is None

    def test_begins_with_a_full_bucket(self) -> None:
        limited = rule(rate="3/s")
        renew_bucket(limited, NOW)
        assert limited.rate_spent is None
        assert ask(limited)[0] == 3


def test_a_rule_is_empty_only_if_nothing_is_laid_down() -> None:
    assert is_empty(rule())
    for name in set(QUEUE_COLUMNS) - {"name", "updated_at"}:
        assert not is_empty(rule(**{name: 0})), name


LAID_DOWN = {
    "timeout": 9,
    "max_retries": 1,
    "backoff_strategy": "fixed",
    "backoff_base": 1.5,
    "backoff_max": 7,
    "retry_delay": 5,
}


class TestDefaults:
    def values(self, job: NewJob) -> dict[str, object]:
        return {name: getattr(job, name) for name in DEFAULTS}

    def test_fill_what_a_job_has_not_said(self) -> None:
        job = NewJob("true", 3)
        apply_defaults(job, rule(**LAID_DOWN))
        assert self.values(job) == LAID_DOWN

    def test_leave_what_a_job_says_itself(self) -> None:
        job = NewJob("true", 3)
        own = {
            "timeout": 90,
            "max_retries": 3,
            "backoff_strategy": "linear",
            "backoff_base": 2.0,
            "backoff_max": 70,
            "retry_delay": 0,
        }
        for name, value in own.items():
            setattr(job, name, value)
        apply_defaults(job, rule(**LAID_DOWN), given={"max_retries"})
        assert self.values(job) == own

    @pytest.mark.parametrize("name", ["max_retries", "max_attempts", "max_tries"])
    def test_of_retries_give_way_to_any_name_of_them(self, name: str) -> None:
        job = NewJob("true", 8)
        apply_defaults(job, rule(max_retries=0), given=("command", name))
        assert job.max_retries == 8

    def test_that_are_not_laid_down_change_nothing(self) -> None:
        job = NewJob("true", 8)
        apply_defaults(job, rule(concurrency=4))
        assert self.values(job) == {**dict.fromkeys(DEFAULTS), "max_retries": 8}


def test_json_has_iso_times_and_seconds() -> None:
    shown = to_dict(
        rule(
            concurrency=4,
            rate="5/s",
            rate_spent=99,
            timeout=90_000,
            backoff_base=2.0,
            backoff_max=1500,
            paused_at=0,
            paused_until=1,
            pause_reason="moving",
        )
    )
    assert shown == {
        "name": "mail",
        "concurrency": 4,
        "rate": "5/s",
        "burst": None,
        "timeout": 90,
        "timeout_percent": None,
        "max_retries": None,
        "backoff_strategy": None,
        "backoff_base": 2,
        "backoff_max": 1.5,
        "retry_delay": None,
        "paused_at": "1970-01-01T00:00:00.000Z",
        "paused_until": "1970-01-01T00:00:00.001Z",
        "pause_reason": "moving",
        "draining": False,
        "notify": None,
        "notify_on": None,
    }


class TestChanges:
    @pytest.mark.parametrize(
        ("name", "given", "read"),
        [
            ("concurrency", "4", {"concurrency": 4}),
            ("concurrency", 4, {"concurrency": 4}),
            *(("concurrency", nothing, {"concurrency": None}) for nothing in (None, "none", " None ")),
            ("rate", "100/minute", {"rate": "100/min"}),
            ("rate", None, {"rate": None, "burst": None}),
            ("burst", "10", {"burst": 10}),
            ("max_retries", "0", {"max_retries": 0}),
            ("backoff_strategy", "linear", {"backoff_strategy": "linear"}),
            ("backoff_base", "1.5", {"backoff_base": 1.5}),
            ("backoff_base", 2, {"backoff_base": 2.0}),
            ("backoff_max", "1h", {"backoff_max": 3_600_000}),
            ("retry_delay", "0", {"retry_delay": 0}),
            ("timeout", "10m", {"timeout": 600_000, "timeout_percent": None}),
            ("timeout", 90, {"timeout": 90_000, "timeout_percent": None}),
            ("timeout", "300%", {"timeout": None, "timeout_percent": 300}),
            ("timeout", " 150 % ", {"timeout": None, "timeout_percent": 150}),
            ("timeout", "none", {"timeout": None, "timeout_percent": None}),
            ("timeout", None, {"timeout": None, "timeout_percent": None}),
        ],
    )
    def test_are_read_as_people_write_them(self, name: str, given: object, read: dict[str, object]) -> None:
        assert read_changes({name: given}) == read

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"concurrency": "0"}, "nothing would ever run"),
            ({"concurrency": "-1"}, "concurrency must be between"),
            ({"concurrency": "many"}, "concurrency must be a whole number"),
            ({"concurrency": "1.5"}, "concurrency must be a whole number"),
            ({"concurrency": "--5"}, "concurrency must be a whole number"),
            ({"concurrency": True}, "concurrency must be a whole number"),
            ({"concurrency": "9999999999999"}, "concurrency must be between"),
            ({"rate": "5"}, "rate '5'"),
            ({"rate": "0/s"}, "nothing would ever run"),
            ({"rate": 5}, "rate must be text"),
            ({"burst": "0"}, "burst must be between"),
            ({"rate": None, "burst": 5}, "burst is given without rate"),
            ({"timeout": "0"}, "the timeout must be more than 0"),
            ({"timeout": "soon"}, "timeout 'soon'"),
            ({"max_retries": "-1"}, "max_retries must be between"),
            ({"backoff_strategy": "random"}, "unknown backoff_strategy 'random'"),
            ({"backoff_base": "x"}, "backoff_base must be a number above 0"),
            ({"backoff_base": "nan"}, "backoff_base must be a number above 0"),
            ({"backoff_max": "-1s"}, "backoff_max '-1s'"),
            ({"concurency": 1}, "a queue has no 'concurency'"),
            ({"rate_spent": 1}, "a queue has no 'rate_spent'"),
        ],
    )
    def test_that_cannot_be_are_refused_with_a_hint(self, given: dict[str, object], says: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            read_changes(given)
        assert says in caught.value.message
        assert caught.value.hint

    def test_store_a_rate_that_reads_back_as_the_same(self) -> None:
        text = read_changes({"rate": "7/90min"})["rate"]
        assert parse_rate(text) == parse_rate("7/90min")


def test_a_reason_is_text_of_some_length() -> None:
    assert check_reason(" moving ") == "moving"
    assert check_reason(None) is None
    assert check_reason("  ") is None
    for bad in ("a\0b", "\udcff", "x" * (MAX_REASON + 1), 5):
        with pytest.raises(InvalidInput):
            check_reason(bad)
