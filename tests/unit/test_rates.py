"""Rates: read and refused; and the bucket, which never grants too much and seldom too little."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.jobs import NOW

from queuectl.core.durations import MAX_DURATION_MS
from queuectl.core.rates import MAX_COUNT, Rate, allow, next_at, parse_rate
from queuectl.errors import InvalidInput

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
NS = 1_000_000
MAX_SKEW = 60_000


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    per_ms = draw(st.sampled_from([SECOND, 30 * SECOND, MINUTE, HOUR, DAY]) | st.integers(1, 10**10))
    count = draw(st.integers(1, 10) | st.integers(1, min(MAX_COUNT, 1000 * per_ms)))
    least = -(-count // per_ms)
    most = min(MAX_COUNT, MAX_DURATION_MS * count // per_ms)
    near = st.integers(least, min(most, least + 20))
    return Rate(count, per_ms, draw(st.none() | near | st.integers(least, most)))


def cost_ms(rate: Rate, tokens: float) -> int:
    return int(tokens * rate.per_ms / rate.count)


# Steps in units of what one token takes, so that every rate is met at its edges.
steps = st.floats(0, 3) | st.floats(0, 0.1) | st.just(0.0) | st.floats(0, 1000)
calls = st.lists(st.tuples(steps, st.integers(0, 5) | st.just(MAX_COUNT)), max_size=40)


@pytest.mark.parametrize(
    ("text", "count", "per_ms", "burst", "shown"),
    [
        ("100/min", 100, MINUTE, 1, "100/min"),
        ("100/m", 100, MINUTE, 1, "100/min"),
        ("600/minute", 600, MINUTE, 10, "600/min"),
        ("5/s", 5, SECOND, 5, "5/s"),
        (" 5 / Sec ", 5, SECOND, 5, "5/s"),
        ("1000/h", 1000, HOUR, 1, "1000/h"),
        ("7200/hour", 7200, HOUR, 2, "7200/h"),
        ("10/30s", 10, 30 * SECOND, 1, "10/30s"),
        ("10/60s", 10, MINUTE, 1, "10/min"),
        ("200/day", 200, DAY, 1, "200/day"),
        ("200/d", 200, DAY, 1, "200/day"),
        ("1/week", 1, 7 * DAY, 1, "1/7d"),
        ("1/1.5h", 1, 90 * MINUTE, 1, "1/1h30m"),
        ("1/.5s", 1, 500, 2, "1/500ms"),
        ("3/2 h 30 min", 3, 150 * MINUTE, 1, "3/2h30m"),
        ("1/10500ms", 1, 10_500, 1, "1/10500ms"),
        ("1/100ms", 1, 100, 10, "1/100ms"),
        ("007/s", 7, SECOND, 7, "7/s"),
        ("1000000/s", 1_000_000, SECOND, 1_000_000, "1000000/s"),
        ("1/36525d", 1, MAX_DURATION_MS, 1, "1/36525d"),
    ],
)
def test_reads_a_rate(text: str, count: int, per_ms: int, burst: int, shown: str) -> None:
    rate = parse_rate(text)
    assert (rate.count, rate.per_ms, rate.burst) == (count, per_ms, burst)
    assert str(rate) == shown
    assert parse_rate(shown) == rate


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("5", "not a rate"),
        ("/s", "not a rate"),
        ("5/", "not a rate"),
        ("5/s/s", "not a rate"),
        ("1.5/s", "not a rate"),
        ("1,000/h", "not a rate"),
        ("1_000/h", "not a rate"),
        ("1e3/h", "not a rate"),
        ("5/-1s", "not a rate"),
        ("٥/s", "not a rate"),
        ("５/s", "not a rate"),
        ("5/ſ", "not a rate"),
        ("5\0/s", "not a rate"),
        ("unlimited", "not a rate"),
        ("-5/s", "negative"),
        ("5/30", "30 of what"),
        ("5/1.5", "1.5 of what"),
        ("5/parsec", "'parsec' is not a length of time"),
        ("5/1.s", "is not a length of time"),
        ("5/1h1h", "is not a length of time"),
        ("5/.", "is not a length of time"),
        ("5/101y", "is not a length of time"),
        ("1/36526d", "is not a length of time"),
        ("5/0s", "more than 0"),
        ("0/s", "pause the queue"),
        ("1000001/day", "more than 1,000,000 at a time"),
        ("1001/ms", "more than 1,000,000 in a second"),
        ("9" * 50 + "/s", "more than 1,000,000"),
        pytest.param("9" * 9000 + "/s", "too long", id="huge count"),
        pytest.param("5/" + "s" * 9000, "too long", id="huge unit"),
        (None, "must be text"),
        (True, "must be text"),
        (5, "must be text"),
        (float("nan"), "must be text"),
        (["5/s"], "must be text"),
        (b"5/s", "must be text"),
    ],
)
def test_refuses_what_is_not_a_rate(text: object, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_rate(text)


def test_a_refusal_names_the_thing_quotes_the_text_and_shows_the_forms() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_rate("5/parsec", "the rate of queue mail")
    assert caught.value.message == "the rate of queue mail '5/parsec': 'parsec' is not a length of time"
    assert "100/min" in (caught.value.hint or "")


@pytest.mark.parametrize(("burst", "read"), [(1, 1), ("20", 20), (1_000_000, 1_000_000), (None, 1)])
def test_a_burst_can_be_given(burst: object, read: int) -> None:
    assert parse_rate("100/min", burst=burst).burst == read


@pytest.mark.parametrize(
    "burst",
    [
        0,
        -1,
        1_000_001,
        1.5,
        2.0,
        True,
        "",
        "-3",
        "1.5",
        "٥",
        "ten",
        [3],
        float("nan"),
        pytest.param(10**5000, id="huge"),
    ],
)
def test_refuses_what_is_not_a_burst(burst: object) -> None:
    with pytest.raises(InvalidInput, match="burst") as caught:
        parse_rate("100/min", burst=burst)
    assert "100/min" in caught.value.message
    assert "whole number" in (caught.value.hint or "")


def test_refuses_a_burst_that_cannot_keep_up_with_the_rate() -> None:
    with pytest.raises(InvalidInput, match="cannot keep up") as caught:
        parse_rate("5000/s", burst=4)
    assert "5 at least" in (caught.value.hint or "")
    assert parse_rate("5000/s", burst=5).burst == 5


def test_refuses_a_burst_of_more_than_a_hundred_years() -> None:
    with pytest.raises(InvalidInput, match="100 years"):
        parse_rate("1/day", burst=36_526)
    assert parse_rate("1/day", burst=36_525).burst == 36_525


def test_rates_are_equal_if_count_time_and_burst_are() -> None:
    assert parse_rate("10/60s") == parse_rate("10/min")
    assert len({parse_rate("10/60s"), parse_rate("10/min")}) == 1
    assert parse_rate("10/min") != parse_rate("10/min", burst=2)
    assert parse_rate("60/min") != parse_rate("1/s")
    assert parse_rate("1/s") != "1/s"
    assert repr(parse_rate("5/s", burst=2)) == "Rate(5, 1000, burst=2)"


@given(rates())
def test_a_rate_reads_back_as_itself(rate: Rate) -> None:
    assert parse_rate(str(rate), burst=rate.burst) == rate


def test_a_hundred_a_minute_go_one_by_one() -> None:
    rate, tat, now, times = parse_rate("100/min"), 0, NOW, []
    for _ in range(4):
        granted, tat = allow(rate, tat, now, 100)
        times += [now - NOW] * granted
        now = next_at(rate, tat, now)
    assert times == [0, 600, 1200, 1800]


def test_a_burst_goes_at_once_and_then_the_rate_holds() -> None:
    rate, tat = parse_rate("1/s", burst=5), 0
    granted, tat = allow(rate, tat, NOW, 100)
    assert granted == 5
    assert allow(rate, tat, NOW, 100) == (0, tat)
    assert next_at(rate, tat, NOW) == NOW + 1000
    assert allow(rate, tat, NOW + 999, 100)[0] == 0
    assert allow(rate, tat, NOW + 1000, 100)[0] == 1
    assert allow(rate, tat, NOW + 3000, 100)[0] == 3
    assert allow(rate, tat, NOW + DAY, 100)[0] == 5


def test_who_wants_less_gets_no_more_and_leaves_the_rest() -> None:
    rate = parse_rate("5/s")
    granted, tat = allow(rate, 0, NOW, 2)
    assert granted == 2
    assert allow(rate, tat, NOW, 100)[0] == 3


@pytest.mark.parametrize("wanted", [0, -1])
def test_who_wants_nothing_changes_nothing(wanted: int) -> None:
    assert allow(parse_rate("5/s"), 123, NOW, wanted) == (0, 123)


@settings(max_examples=100, deadline=None)
@given(rates(), calls)
def test_no_window_holds_more_than_the_burst_and_what_came_in_it(
    rate: Rate, calls: list[tuple[float, int]]
) -> None:
    now, tat, grants = NOW, 0, []
    for step, wanted in calls:
        now += cost_ms(rate, step)
        granted, tat = allow(rate, tat, now, wanted)
        assert 0 <= granted <= min(wanted, rate.burst)
        grants.append((now, granted))
    for i, (opened, _) in enumerate(grants):
        total = 0
        for closed, granted in grants[i:]:
            total += granted
            assert (total - rate.burst - 1) * rate.per_ms <= (closed - opened) * rate.count


@settings(max_examples=100, deadline=None)
@given(rates(), calls)
def test_next_at_is_the_first_millisecond_that_grants_one(rate: Rate, calls: list[tuple[float, int]]) -> None:
    now, tat = NOW, 0
    for step, wanted in calls:
        now += cost_ms(rate, step)
        _, tat = allow(rate, tat, now, wanted)
        soon = next_at(rate, tat, now)
        assert soon >= now
        assert allow(rate, tat, soon, 1)[0] == 1
        assert soon == now or allow(rate, tat, soon - 1, 1)[0] == 0


@pytest.mark.parametrize(
    ("text", "burst", "span"),
    [
        ("100/min", None, 2 * HOUR),
        ("5/s", None, HOUR // 2),
        ("1/s", None, 3 * HOUR),
        ("7/s", 1, HOUR // 2),
        ("700/s", 1, 10 * SECOND),
        ("3333/s", 4, 4 * SECOND),
        ("123457/s", None, 200 * SECOND),
        ("1000/h", None, 10 * HOUR),
        ("10/30s", 3, 10 * HOUR),
        ("200/day", None, 60 * DAY),
    ],
)
@pytest.mark.parametrize("late", [0, 1, 90])
def test_a_saturated_caller_gets_the_rate_even_if_it_comes_a_little_late(
    text: str, burst: int | None, span: int, late: int
) -> None:
    rate, tat, now, total = parse_rate(text, burst=burst), 0, NOW, 0
    late = max(0, min(late, cost_ms(rate, rate.burst) - 1))  # who comes later needs a larger burst
    while now < NOW + span:
        granted, tat = allow(rate, tat, now, MAX_COUNT)
        total += granted
        now = next_at(rate, tat, now) + late
    expected = rate.count * span / rate.per_ms
    assert 0.99 * expected <= total <= 1.01 * expected + rate.burst


@settings(max_examples=100, deadline=None)
@given(rates(), st.integers(0, 2 * 10**12), st.integers(-(10**6), 10**7), st.integers(0, 10**12))
def test_an_earlier_clock_never_grants_more(rate: Rate, base: int, debt: int, back: int) -> None:
    tat = (base + debt) * NS
    later, _ = allow(rate, tat, base, MAX_COUNT)
    earlier, _ = allow(rate, tat, base - back, MAX_COUNT)
    assert earlier <= later


@settings(max_examples=100, deadline=None)
@given(rates(), st.lists(st.integers(-(10**9), 10**9) | st.integers(-100, 100), max_size=40))
def test_a_clock_that_jumps_grants_no_more_than_its_forward_steps_bring(rate: Rate, jumps: list[int]) -> None:
    now, tat, total, forward = NOW, 0, 0, 0
    for jump in jumps:
        now += jump
        forward += max(jump, 0)
        granted, tat = allow(rate, tat, now, MAX_COUNT)
        total += granted
    assert (total - rate.burst - 1) * rate.per_ms <= forward * rate.count


@settings(max_examples=100, deadline=None)
@given(rates(), st.lists(st.integers(0, MAX_SKEW), max_size=40))
def test_two_machines_whose_clocks_differ_get_no_more_than_one(rate: Rate, offsets: list[int]) -> None:
    tat = total = 0
    for offset in offsets:
        granted, tat = allow(rate, tat, NOW + offset, MAX_COUNT)
        total += granted
    assert (total - rate.burst - 1) * rate.per_ms <= MAX_SKEW * rate.count


@settings(max_examples=100, deadline=None)
@given(rates(), st.lists(st.integers(-(10**10), 10**10), max_size=40))
def test_the_debt_never_exceeds_the_burst_and_the_clock_difference(rate: Rate, jumps: list[int]) -> None:
    now, tat = NOW, 0
    for jump in jumps:
        now += jump
        _, tat = allow(rate, tat, now, MAX_COUNT)
        assert tat <= (now + MAX_SKEW + 1) * NS + rate.time_ns(rate.burst)


def test_a_clock_that_was_a_year_ahead_does_not_stop_the_queue_for_a_year() -> None:
    rate = parse_rate("5/s")
    _, tat = allow(rate, 0, NOW + 365 * DAY, 5)
    granted, tat = allow(rate, tat, NOW, 5)
    assert granted == 0
    assert next_at(rate, tat, NOW) == NOW + 200
    assert allow(rate, tat, NOW + 200, 5)[0] == 1


def test_what_was_spent_stays_spent_when_the_rate_is_changed() -> None:
    _, tat = allow(parse_rate("200/day", burst=200), 0, NOW, 200)
    assert allow(parse_rate("250/day", burst=250), tat, NOW, 250)[0] == 0


def test_a_faster_rate_does_not_wait_for_the_debt_of_a_slow_one() -> None:
    _, tat = allow(parse_rate("1/day"), 0, NOW, 1)
    faster = parse_rate("10/s")
    _, tat = allow(faster, tat, NOW, 1)
    assert next_at(faster, tat, NOW) <= NOW + 1000


@pytest.mark.parametrize(("text", "burst"), [("1/36525d", None), ("1/day", 36_525), ("1000000/s", None)])
def test_a_bucket_fits_in_64_bits(text: str, burst: int | None) -> None:
    rate = parse_rate(text, burst=burst)
    in_2100 = 4_102_444_800_000
    _, tat = allow(rate, 0, in_2100, MAX_COUNT)
    assert tat < 2**63
    assert next_at(rate, tat, in_2100) < 2**53
