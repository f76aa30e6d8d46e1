"""Sets of exit codes: read, refused, spelled in one way; and the verdict on an attempt's code."""

from __future__ import annotations

import signal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queuectl.core.exit_codes import (
    DEAD,
    EX_TEMPFAIL,
    RETRY,
    SUCCESS,
    common,
    in_codes,
    parse_codes,
    verdict,
)
from queuectl.errors import InvalidInput

code_sets = st.sets(st.integers(0, 255), min_size=1)
some_codes = st.none() | code_sets.map(lambda codes: parse_codes(list(codes)))


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        ("1", "1"),
        (1, "1"),
        (0, "0"),
        (255, "255"),
        ("1,2,10-20", "1,2,10-20"),
        ([1, 2, "10-20"], "1,2,10-20"),
        ((2, 1), "1,2"),
        ({2, 1}, "1,2"),
        (["1,2", "5"], "1,2,5"),  # an option given twice
        (" 1 , 2 ,10 - 20 ", "1,2,10-20"),
        ("20,1,20,1", "1,20"),
        ("1,2,3", "1-3"),
        ("1-2", "1,2"),
        ("5-5", "5"),
        ("10-20,15-25,26", "10-26"),
        ("007", "7"),
        ("0-255", "0-255"),
        ("SIGKILL", "137"),
        ("sigterm,KILL", "137,143"),
        (["SIGSEGV", 1], "1,139"),
        (",".join(map(str, range(256))), "0-255"),
        (", ".join(map(str, range(256))), "0-255"),
    ],
)
def test_reads_a_set_of_codes(value: object, codes: str) -> None:
    assert parse_codes(value) == codes


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "an exit code is missing"),
        ("  ", "an exit code is missing"),
        ([], "no exit code given"),
        ("1,,2", "an exit code is missing"),
        ("1,2,", "an exit code is missing"),
        ([""], "an exit code is missing"),
        ("256", "'?256'? is not between 0 and 255"),
        (256, "256 is not between"),
        ("250-256", "256 is not between"),
        ("-1", "not negative"),
        (-1, "-1 is not between"),
        ("1,-1", "not negative"),
        ("20-10", "20-10 runs backwards"),
        ("1-2-3", "'1-2-3' is not an exit code"),
        ("1 2", "'1 2' is not an exit code"),
        ("1;2", "is not an exit code"),
        ("10..20", "is not an exit code"),
        ("10–20", "is not an exit code"),
        ("1.0", "is not an exit code"),
        ("0x1", "is not an exit code"),
        ("1e1", "is not an exit code"),
        ("1_0", "is not an exit code"),
        ("+1", "is not an exit code"),
        ("٣", "is not an exit code"),
        ("１", "is not an exit code"),
        ("²", "is not an exit code"),
        ("SIGıNT", "is not an exit code"),
        ("1\0", "is not an exit code"),
        ("any", "'any' is neither a code nor a signal"),
        ("SIGUSR1", "one number everywhere"),
        ("SIG", "nor a signal"),
        (True, "True is not an exit code"),
        ([1, False], "False is not an exit code"),
        (None, "not an exit code"),
        ([None], "not an exit code"),
        ([[1]], "not an exit code"),
        ([[10**5000]], "not an exit code"),
        ({"1": 2}, "not an exit code"),
        (b"1", "not an exit code"),
        (1.0, "1.0 is not an exit code"),
        (float("nan"), "nan is not an exit code"),
        (float("inf"), "inf is not an exit code"),
        pytest.param(10**5000, "a huge number", id="huge number"),
        pytest.param([-(10**5000)], "a huge number", id="huge negative number"),
        pytest.param("9" * 1_900, "is not between", id="many digits"),
        pytest.param("1-" + "9" * 1_900, "is not between", id="many digits in a range"),
        pytest.param("1," * 5_000 + "1", "too long", id="long text"),
        pytest.param([1] * 100_000, "more than 256", id="long list"),
    ],
)
def test_refuses_what_is_not_a_set_of_codes(value: object, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_codes(value)


def test_a_refusal_names_the_field_quotes_the_text_and_shows_the_forms() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_codes("1,SIGUSR1", "retry_on")
    assert caught.value.message == (
        "retry_on '1,SIGUSR1': 'SIGUSR1' is neither a code nor a signal with one number everywhere"
    )
    assert "1,2,10-20" in (caught.value.hint or "")
    assert "128+n" in (caught.value.hint or "")


def test_a_refusal_of_a_long_text_stays_one_short_line() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_codes("line\n" * 1000)
    assert len(caught.value.message) < 200
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "ILL", "ABRT", "FPE", "KILL", "SEGV", "PIPE", "TERM"])
def test_a_signal_word_has_the_number_of_this_system(name: str) -> None:
    number = signal.Signals[f"SIG{name}"].value
    assert parse_codes(name) == parse_codes(f"SIG{name}") == str(128 + number)


@given(code_sets)
def test_a_set_holds_what_was_put_in_and_reads_back_in_the_same_spelling(codes: set[int]) -> None:
    text = parse_codes(sorted(codes))
    assert {code for code in range(-1, 300) if in_codes(text, code)} == codes
    assert parse_codes(text) == text
    assert parse_codes(sorted(codes, reverse=True)) == text


@given(code_sets, code_sets)
def test_common_lists_the_codes_in_both_sets(a: set[int], b: set[int]) -> None:
    assert common(parse_codes(list(a)), parse_codes(list(b))) == sorted(a & b)


def test_a_set_not_given_holds_nothing() -> None:
    assert not in_codes(None, 1)
    assert not in_codes("", 1)
    assert common(None, "1") == common("1", None) == common("", "") == []


@given(st.text(max_size=50) | st.text("0123456789,- SIGKTERM", max_size=50) | st.floats() | st.integers())
@example("1" * 1_999)
@example("1 -" * 600)
def test_any_input_is_read_or_refused_and_nothing_else(value: object) -> None:
    try:
        text = parse_codes(value)
    except InvalidInput:
        return
    assert parse_codes(text) == text


@pytest.mark.parametrize(
    ("code", "sets", "expected"),
    [
        (0, {}, SUCCESS),
        (1, {}, RETRY),
        (255, {}, RETRY),
        (0, {"retry_on": "0", "no_retry_on": "0"}, SUCCESS),
        (3, {"ok_codes": "3"}, SUCCESS),
        (4, {"ok_codes": "3"}, RETRY),
        (0, {"ok_codes": "3"}, SUCCESS),
        (2, {"no_retry_on": "2"}, DEAD),
        (1, {"no_retry_on": "2"}, RETRY),
        (1, {"retry_on": "1,10-20"}, RETRY),
        (15, {"retry_on": "1,10-20"}, RETRY),
        (2, {"retry_on": "1,10-20"}, DEAD),
        (137, {"retry_on": "1"}, DEAD),
        (137, {"retry_on": "137"}, RETRY),
        (75, {"retry_on": "1"}, RETRY),
        (75, {"no_retry_on": "70-80"}, DEAD),
        (75, {"retry_on": "1", "no_retry_on": "75"}, DEAD),
        (75, {"ok_codes": "75"}, SUCCESS),
        (1, {"retry_on": "1", "no_retry_on": "1"}, DEAD),
        (1, {"retry_on": ""}, RETRY),
    ],
)
def test_what_follows_from_an_exit_code(code: int, sets: dict[str, str], expected: str) -> None:
    assert verdict(code, **sets) == expected


@given(some_codes, some_codes, some_codes)
def test_zero_is_always_success(retry_on: str | None, no_retry_on: str | None, ok_codes: str | None) -> None:
    assert verdict(0, retry_on=retry_on, no_retry_on=no_retry_on, ok_codes=ok_codes) == SUCCESS


@given(some_codes, some_codes)
def test_a_temporary_failure_is_retried_unless_forbidden(
    retry_on: str | None, no_retry_on: str | None
) -> None:
    expected = DEAD if in_codes(no_retry_on, EX_TEMPFAIL) else RETRY
    assert verdict(EX_TEMPFAIL, retry_on=retry_on, no_retry_on=no_retry_on) == expected


@given(st.integers(1, 255), some_codes, some_codes)
def test_what_no_retry_on_names_is_never_tried_again(
    code: int, retry_on: str | None, ok_codes: str | None
) -> None:
    assert verdict(code, retry_on=retry_on, no_retry_on=str(code), ok_codes=ok_codes) != RETRY
