"""Durations as people write them: accepted, refused, printed, and read back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queuectl.core.durations import (
    MAX_DURATION_MS,
    format_age,
    format_distance,
    format_duration,
    format_run,
    parse_duration,
)
from queuectl.errors import InvalidInput

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("0", 0),
        (0, 0),
        (0.0, 0),
        (90, 90 * SECOND),
        (1.5, 1500),
        (0.1, 100),
        (1.001, 1001),
        ("90", 90 * SECOND),
        ("90s", 90 * SECOND),
        (" 90 s ", 90 * SECOND),
        ("007s", 7 * SECOND),
        ("0.1s", 100),
        (".5s", 500),
        ("0.1234s", 123),
        ("0.1235s", 124),
        ("0.0005s", 1),
        ("2.5", 2500),
        ("500ms", 500),
        ("1 millisecond", 1),
        ("1sec", SECOND),
        ("45 secs", 45 * SECOND),
        ("2 seconds", 2 * SECOND),
        ("10m", 10 * MINUTE),
        ("10M", 10 * MINUTE),
        ("10min", 10 * MINUTE),
        ("1 minute", MINUTE),
        ("10 Minutes", 10 * MINUTE),
        ("1.5h", 90 * MINUTE),
        ("1hr", HOUR),
        ("3 hours", 3 * HOUR),
        ("1h30m", 90 * MINUTE),
        ("1h 30m", 90 * MINUTE),
        ("1 hour  30 minutes", 90 * MINUTE),
        ("1h90m", 150 * MINUTE),
        ("2d", 2 * DAY),
        ("2 days 3h", 51 * HOUR),
        ("1w", 7 * DAY),
        ("1w2d3h4m5s6ms", 9 * DAY + 3 * HOUR + 4 * MINUTE + 5 * SECOND + 6),
        ("36525d", MAX_DURATION_MS),
    ],
)
def test_reads_a_duration(value: object, ms: int) -> None:
    assert parse_duration(value) == ms


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("-5", "negative"),
        ("-5s", "negative"),
        (-1, "negative"),
        (-0.5, "negative"),
        pytest.param(-(10**5000), "negative", id="huge negative"),
        ("5x", "unknown unit 'x'"),
        ("3 months", "unknown unit 'months'"),
        ("1y", "unknown unit 'y'"),
        ("5m5m", "repeated"),
        ("1h 2 hours", "repeated"),
        ("30m1h", "misplaced"),
        ("1h30", "not a duration"),
        ("1:30", "not a duration"),
        ("h", "not a duration"),
        ("5.s", "not a duration"),
        ("1.2.3s", "not a duration"),
        ("1,5h", "not a duration"),
        ("1_000", "not a duration"),
        ("1e3", "not a duration"),
        ("+5s", "not a duration"),
        ("5ſ", "not a duration"),
        ("٥s", "not a duration"),
        ("inf", "not a duration"),
        ("1h\x0030m", "not a duration"),
        ("36525d1ms", "too long"),
        ("101 years", "unknown unit"),
        ("9" * 50, "too long"),
        pytest.param("9" * 9000, "too long", id="huge text"),
        (10**12, "too long"),
        pytest.param(10**5000, "too long", id="huge"),
        (1e300, "too long"),
        ("0.0004s", "shorter than a millisecond"),
        ("0.4ms", "shorter than a millisecond"),
        (1e-9, "shorter than a millisecond"),
        (True, "not a duration"),
        (None, "not a duration"),
        ([5], "not a duration"),
        (b"5s", "not a duration"),
        (float("nan"), "not a finite number"),
        (float("inf"), "not a finite number"),
        (float("-inf"), "not a finite number"),
    ],
)
def test_refuses_what_is_not_a_duration(value: object, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_duration(value)


def test_refusal_names_the_thing_quotes_the_text_and_lists_the_forms() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_duration("5 parsecs", what="timeout")
    assert caught.value.message == "timeout '5 parsecs': unknown unit 'parsecs'"
    assert "1h30m" in (caught.value.hint or "")


def test_refusal_of_a_long_text_stays_one_short_line() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_duration("line\n" * 1000)
    assert len(caught.value.message) < 120
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0s"),
        (1, "1ms"),
        (250, "250ms"),
        (1000, "1s"),
        (1500, "1.5s"),
        (1234, "1.234s"),
        (2000, "2s"),
        (9999, "9.999s"),
        (10_000, "10s"),
        (10_999, "10s"),
        (4 * MINUTE, "4m"),
        (90 * SECOND, "1m30s"),
        (90 * MINUTE, "1h30m"),
        (51 * HOUR, "2d3h"),
        (DAY + 1000, "1d1s"),
        (14 * DAY, "14d"),
        (-1500, "-1.5s"),
    ],
)
def test_prints_a_duration(ms: int, text: str) -> None:
    assert format_duration(ms) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5000, "0s"),
        (0, "0s"),
        (999, "0s"),
        (3999, "3s"),
        (59_999, "59s"),
        (MINUTE, "1m"),
        (4 * MINUTE + 59_000, "4m"),
        (2 * HOUR + 59 * MINUTE, "2h"),
        (23 * HOUR + 59 * MINUTE, "23h"),
        (5 * DAY + 23 * HOUR, "5d"),
        (400 * DAY, "400d"),
    ],
)
def test_prints_an_age_in_one_unit(ms: int, text: str) -> None:
    assert format_age(ms) == text


@pytest.mark.parametrize(
    ("ms", "text"), [(-3, "<1ms"), (0, "<1ms"), (1, "1ms"), (300, "300ms"), (61_000, "1m1s")]
)
def test_what_ran_has_taken_some_time(ms: int, text: str) -> None:
    assert format_run(ms) == text


@given(st.integers(0, 9_999) | st.integers(0, MAX_DURATION_MS // 1000).map(lambda s: s * 1000))
@example(MAX_DURATION_MS)
def test_what_is_printed_exactly_reads_back_the_same(ms: int) -> None:
    assert parse_duration(format_duration(ms)) == ms


@given(st.integers(10_000, MAX_DURATION_MS))
def test_from_ten_seconds_on_printing_drops_less_than_a_second(ms: int) -> None:
    assert 0 <= ms - parse_duration(format_duration(ms)) < 1000


@given(st.integers(0, 10**9), st.integers(0, 999))
def test_decimals_are_exact(seconds: int, milli: int) -> None:
    assert parse_duration(f"{seconds}.{milli:03d}s") == seconds * 1000 + milli
    assert parse_duration(seconds + milli / 1000) == seconds * 1000 + milli


@given(st.text() | st.text("0123456789.hmsdw -", max_size=80) | st.floats() | st.integers())
@example("1" * 63 + "!")
@example("1s" * 31 + "!")
def test_any_input_is_read_or_refused_and_nothing_else(value: object) -> None:
    try:
        ms = parse_duration(value)
    except InvalidInput:
        return
    assert 0 <= ms <= MAX_DURATION_MS


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (90_000, "1m30s"),
        (60_000, "1m"),
        (5_400_000, "1h30m"),
        (3_601_000, "1h"),
        (183_600_000, "2d3h"),
        (86_460_000, "1d"),
        (5_000, "5s"),
        (0, "0s"),
    ],
)
def test_a_distance_has_two_units(ms: int, text: str) -> None:
    assert format_distance(ms) == text
