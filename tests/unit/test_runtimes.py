"""What is known of a command, and the limit that follows."""

from __future__ import annotations

import pytest

from queuectl.core.durations import MAX_DURATION_MS
from queuectl.core.runtimes import Known, class_of_run, digest_of, limit_in_words, parse_percent, shortest_of


@pytest.mark.parametrize("ms", [0, 1, 7, 15, 16, 17, 31, 32, 250, 999, 1_000, 2_000, 59_999, 3_600_000])
def test_a_class_holds_its_durations_and_is_narrow(ms: int) -> None:
    number = class_of_run(ms)
    low, following = shortest_of(number), shortest_of(number + 1)
    assert low <= ms < following
    assert class_of_run(following - 1) == number
    assert following - low <= max(ms / 8, 1)


def test_classes_have_an_end_on_either_side() -> None:
    assert class_of_run(-5) == 0
    assert class_of_run(MAX_DURATION_MS * 1_000) == class_of_run(MAX_DURATION_MS * 10_000)


@pytest.mark.parametrize("ms", [40, 2_000, 61_000, 5_000_000])
def test_the_median_of_a_steady_command_is_its_run_time(ms: int) -> None:
    assert Known({class_of_run(ms): 50}).median_ms == pytest.approx(ms, rel=0.07)


def test_one_slow_run_does_not_change_what_is_usual() -> None:
    runs = {class_of_run(1_000): 9, class_of_run(600_000): 1}
    assert Known(runs).median_ms == pytest.approx(1_000, rel=0.07)


@pytest.mark.parametrize(
    ("runs", "limit", "words"),
    [
        (
            0,
            None,
            "300% of its usual run time, which is not known yet (0 of 3 successes): no such limit so far",
        ),
        (2, None, "(2 of 3 successes)"),
        (3, 30_720, "30s (300% of its usual 10s)"),
    ],
)
def test_a_limit_follows_from_three_successes(runs: int, limit: int | None, words: str) -> None:
    known = Known({class_of_run(10_240): runs} if runs else {})
    if known.median_ms is not None:
        known.median_ms = 10_240
    assert known.limit_ms(300) == limit
    assert words in limit_in_words(known, 300)


def test_a_very_short_command_has_a_second() -> None:
    known = Known({class_of_run(5): 3})
    assert known.limit_ms(300) == 1_000
    assert limit_in_words(known, 300).startswith("1s (300% of its usual ")
    assert limit_in_words(known, 300).endswith(", but at least that)")


def test_a_command_is_what_is_run_and_where() -> None:
    digests = {
        digest_of("ls -l", None, None),
        digest_of("ls -l", None, "/srv"),
        digest_of("ls -l", '["ls", "-l"]', "/srv"),
        digest_of("ls", None, "-l/srv"),
        digest_of("caf\u00e9 \udcff", None, "/srv"),
    }
    assert len(digests) == 5
    assert {len(digest) for digest in digests} == {32}


@pytest.mark.parametrize(("value", "percent"), [("300%", 300), (" 150 % ", 150), ("200", 200), (101, 101)])
def test_shares_are_read(value: object, percent: int) -> None:
    assert parse_percent(value, "timeout") == percent
