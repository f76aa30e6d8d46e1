"""Amounts: sizes in bytes, what jobs need, what workers provide, and how it is handed out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from queuectl.core.amounts import (
    MAX_PIECES,
    MAX_SIZE,
    fits,
    format_needs,
    give,
    parse_needs,
    parse_provides,
    parse_size,
    show_size,
    take,
)
from queuectl.errors import InvalidInput

K, M, G, T = 1024, 1024**2, 1024**3, 1024**4

names = st.from_regex(r"[a-z][a-z0-9_-]{0,31}", fullmatch=True)
needs_of_jobs = st.dictionaries(names, st.integers(1, 1_000_000), max_size=8)
ids = st.integers(0, 20).map(str) | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,9}", fullmatch=True)
few_names = st.sampled_from(["gpu", "license", "slot"])


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("0", 0),
        (0, 0),
        ("4096", 4096),
        (4096, 4096),
        ("4096B", 4096),
        ("1b", 1),
        ("1K", K),
        ("1k", K),
        ("1KB", K),
        ("1KiB", K),
        ("1kib", K),
        ("512M", 512 * M),
        ("100MB", 100 * M),
        ("2G", 2 * G),
        ("1.5GiB", 3 * G // 2),
        (" 1.5  g ", 3 * G // 2),
        ("0.5T", T // 2),
        ("007K", 7 * K),
        ("0.3K", 307),
        ("0.0005K", 1),
        ("8388607.99T", 9_223_372_025_859_659_530),
        (MAX_SIZE, MAX_SIZE),
        (str(MAX_SIZE), MAX_SIZE),
    ],
)
def test_reads_a_size(value: object, size: int) -> None:
    assert parse_size(value) == size


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("-1", "negative"),
        ("-2G", "negative"),
        (-1, "negative"),
        ("G", "not a size"),
        ("2X", "not a size"),
        ("2 giga", "not a size"),
        ("2Kb i", "not a size"),
        ("2GG", "not a size"),
        ("2iB", "not a size"),
        ("1,5G", "not a size"),
        ("1.G", "not a size"),
        (".5G", "not a size"),
        ("1_000", "not a size"),
        ("1e9", "not a size"),
        ("+1", "not a size"),
        ("0x10", "not a size"),
        ("50%", "not a size"),
        ("٢G", "not a size"),
        ("２G", "not a size"),
        ("2\u212a", "not a size"),  # the Kelvin sign, whose small letter is a k
        ("2G\0", "not a size"),
        ("unlimited", "not a size"),
        ("1.5", "a part of a byte"),
        ("1.5B", "a part of a byte"),
        ("0.0001K", "less than a byte"),
        (MAX_SIZE + 1, "too large"),
        (str(MAX_SIZE + 1), "too large"),
        ("8388608T", "too large"),
        ("9" * 60 + "T", "too large"),
        pytest.param("9" * 9000, "too long", id="huge text"),
        pytest.param(10**5000, "too large", id="huge"),
        pytest.param(-(10**5000), "negative", id="huge negative"),
        (None, "not a size"),
        (True, "not a size"),
        (4096.0, "not a size"),
        (float("nan"), "not a size"),
        (float("inf"), "not a size"),
        ([1], "not a size"),
        pytest.param([10**5000], "not a size", id="huge in a list"),
        (b"1", "not a size"),
    ],
)
def test_refuses_what_is_not_a_size(value: object, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_size(value)


def test_a_refused_size_is_named_and_the_hint_says_what_a_unit_is() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_size("2 giga", "memory")
    assert caught.value.message == "memory '2 giga': not a size"
    assert "powers of 1024" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0B"),
        (1, "1B"),
        (1023, "1023B"),
        (K, "1K"),
        (1536, "1.5K"),
        (4096, "4K"),
        (4097, "4K"),
        (M - 1, "1M"),
        (M, "1M"),
        (512 * M, "512M"),
        (1000 * M, "1000M"),
        (3 * G // 2, "1.5G"),
        (5 * G // 4, "1.25G"),
        (123_456_789, "117.74M"),
        (T, "1T"),
        (5000 * T, "5000T"),
        (MAX_SIZE, "8388608T"),
        (-1536, "-1.5K"),
    ],
)
def test_prints_a_size(size: int, text: str) -> None:
    assert show_size(size) == text


@given(st.integers(0, 1023), st.sampled_from([1, K, M, G, T]))
def test_a_whole_number_of_a_unit_reads_back_the_same(number: int, unit: int) -> None:
    assert parse_size(show_size(number * unit)) == number * unit


@given(st.integers(0, MAX_SIZE // 2))
def test_printing_a_size_keeps_it_to_half_a_percent(size: int) -> None:
    assert abs(parse_size(show_size(size)) - size) <= size / 200


@pytest.mark.parametrize(
    ("value", "needs"),
    [
        ("gpu=1", {"gpu": 1}),
        ("gpu=1,license=2", {"gpu": 1, "license": 2}),
        (" gpu = 1 , license=2 ", {"gpu": 1, "license": 2}),
        ("gpu", {"gpu": 1}),
        ("gpu,license=2", {"gpu": 1, "license": 2}),
        (["gpu=1"], {"gpu": 1}),
        (["gpu", "license=2,slot=3"], {"gpu": 1, "license": 2, "slot": 3}),
        (("gpu=1",), {"gpu": 1}),
        ({"gpu": 1}, {"gpu": 1}),
        ({"gpu": "2"}, {"gpu": 2}),
        ("ram-gb_2=1000000", {"ram-gb_2": 1_000_000}),
        ("a" * 32 + "=1", {"a" * 32: 1}),
        ({}, {}),
        ([], {}),
    ],
)
def test_reads_what_a_job_needs(value: object, needs: dict[str, int]) -> None:
    assert parse_needs(value) == needs


NOT_ENTRIES = [
    ("", "a name is missing"),
    ("gpu=1,", "a name is missing"),
    ([""], "a name is missing"),
    ("=1", "the name '' is not allowed"),
    ("GPU=1", "the name 'GPU' is not allowed"),
    ("2gpu=1", "'2gpu' is not allowed"),
    ("-gpu=1", "'-gpu' is not allowed"),
    ("my gpu=1", "'my gpu' is not allowed"),
    ("gpü=1", "is not allowed"),
    ("a" * 33 + "=1", "is not allowed"),
    ({"gpu\n": 1}, "is not allowed"),
    ({1: 1}, "the name 1 is not allowed"),
    ({None: 1}, "the name is not allowed"),
    ("gpu=1,gpu=2", "gpu is named twice"),
    (["gpu", "gpu"], "gpu is named twice"),
    ("gpu=", "the number '' of gpu"),
    ("gpu=-1", "the number '-1' of gpu"),
    ("gpu=1.5", "the number '1.5' of gpu"),
    ("gpu=1=2", "the number '1=2' of gpu"),
    ("gpu=٣", "of gpu is not a whole one"),
    ("gpu=３", "of gpu is not a whole one"),
    ("gpu=1_0", "of gpu is not a whole one"),
    ("gpu=1000001", "of gpu is not a whole one"),
    ({"gpu": -1}, "the number -1 of gpu"),
    ({"gpu": True}, "the number True of gpu"),
    ({"gpu": None}, "the number of gpu"),
    ({"gpu": 1.0}, "the number 1.0 of gpu"),
    ({"gpu": float("nan")}, "the number nan of gpu"),
    pytest.param({"gpu": 10**5000}, "a huge number", id="huge number"),
    pytest.param("gpu=" + "9" * 5000, "of gpu is not a whole one", id="many digits"),
    pytest.param("gpu=1," * 50_000, "too long", id="long text"),
    pytest.param("a" * 5000, "is not allowed", id="long name"),
    pytest.param({f"n{number}": 1 for number in range(65)}, "more than 64 names", id="many names"),
    ([1], "an entry 1 of the list is not text"),
    ([None], "an entry of the list is not text"),
    ([["gpu=1"]], "an entry of the list is not text"),
    (None, "neither text nor a list nor a mapping"),
    (True, "neither text"),
    (1, "neither text"),
    (float("nan"), "neither text"),
    (b"gpu=1", "neither text"),
]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *NOT_ENTRIES,
        ("gpu=0", "from 1 to 1,000,000"),
        ("gpu=ids:0", "of gpu is not a whole one"),
        ({"gpu": [0, 3]}, "the number of gpu is not"),
    ],
)
def test_refuses_what_no_job_can_need(value: object, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_needs(value)


def test_a_refusal_names_the_field_quotes_the_text_and_shows_the_form() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_needs("gpu=none")
    assert caught.value.message == (
        "needs 'gpu=none': the number 'none' of gpu is not a whole one from 1 to 1,000,000"
    )
    assert "gpu=1,license=2" in (caught.value.hint or "")


@given(needs_of_jobs)
def test_needs_read_back_from_their_one_spelling(needs: dict[str, int]) -> None:
    text = format_needs(needs)
    assert text == format_needs(dict(reversed(needs.items())))
    assert parse_needs(text or {}) == needs


def test_needs_are_printed_sorted() -> None:
    assert format_needs({"license": 2, "gpu": 1}) == "gpu=1,license=2"
    assert format_needs({}) == ""


@pytest.mark.parametrize(
    ("value", "pieces"),
    [
        ("gpu=2", {"gpu": ["0", "1"]}),
        ("gpu", {"gpu": ["0"]}),
        ("gpu=0", {"gpu": []}),
        ("gpu=11", {"gpu": [str(number) for number in range(11)]}),
        ("gpu=ids:0+3", {"gpu": ["0", "3"]}),
        ("gpu=ids:3", {"gpu": ["3"]}),
        ("gpu=ids:10+9+b+a", {"gpu": ["9", "10", "a", "b"]}),
        ("gpu=ids: 0 + 3 ,license=2", {"gpu": ["0", "3"], "license": ["0", "1"]}),
        ("gpu=ids:GPU-8932f937-d72c+0000:65:00.0", {"gpu": ["0000:65:00.0", "GPU-8932f937-d72c"]}),
        (["gpu=ids:0+3", "license=1"], {"gpu": ["0", "3"], "license": ["0"]}),
        ({"gpu": 2}, {"gpu": ["0", "1"]}),
        ({"gpu": [3, 0]}, {"gpu": ["0", "3"]}),
        ({"gpu": ["a", 0]}, {"gpu": ["0", "a"]}),
        ({"gpu": "ids:0+3"}, {"gpu": ["0", "3"]}),
        ({"gpu": []}, {"gpu": []}),
        ({}, {}),
    ],
)
def test_reads_what_a_worker_provides(value: object, pieces: dict[str, list[str]]) -> None:
    assert parse_provides(value) == pieces


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *NOT_ENTRIES,
        ("gpu=100001", "from 0 to 100,000"),
        ("gpu=0+3", "the number '0.3' of gpu"),
        ("gpu=0:3", "the number '0:3' of gpu"),
        ("gpu=ids:", "the id '' of gpu"),
        ("gpu=ids:0+", "the id '' of gpu"),
        ("gpu=ids:0+0", "an id of gpu is named twice"),
        ("gpu=ids:a b", "the id 'a b' of gpu"),
        ("gpu=ids:-1", "the id '-1' of gpu"),
        ("gpu=ids:$HOME", "the id '.HOME' of gpu"),
        ("gpu=ids:٣", "of gpu is not allowed"),
        ("gpu=ids:" + "a" * 65, "of gpu is not allowed"),
        ({"gpu": [True]}, "the id True of gpu"),
        ({"gpu": [None]}, "the id of gpu"),
        ({"gpu": [-1]}, "the id -1 of gpu"),
        ({"gpu": [1.0]}, "the id 1.0 of gpu"),
        ({"gpu": [0, "0"]}, "named twice"),
        ({"gpu": [[0]]}, "the id of gpu"),
        pytest.param({"gpu": [10**5000]}, "a huge number", id="huge id"),
        pytest.param({"gpu": list(range(MAX_PIECES + 1))}, "more than 100,000 ids", id="many ids"),
    ],
)
def test_refuses_what_no_worker_can_provide(value: object, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_provides(value, "--provides")


def test_the_hint_of_provides_shows_both_spellings() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_provides("gpu=0:3", "--provides")
    assert caught.value.message.startswith("--provides 'gpu=0:3': ")
    assert "gpu=2" in (caught.value.hint or "")
    assert "gpu=ids:0+3" in (caught.value.hint or "")


def test_taking_hands_out_the_first_pieces_and_giving_puts_them_in_their_places() -> None:
    free = parse_provides("gpu=ids:0+3+10,license=2")
    first = take({"gpu": 2, "license": 1}, free)
    assert first == {"gpu": ["0", "3"], "license": ["0"]}
    assert free == {"gpu": ["10"], "license": ["1"]}
    second = take({"gpu": 1}, free)
    assert second == {"gpu": ["10"]}
    give(second, free)
    give(first, free)
    assert free == {"gpu": ["0", "3", "10"], "license": ["0", "1"]}


def test_what_does_not_fit_takes_nothing() -> None:
    free = parse_provides("gpu=2,license=1")
    before = copy.deepcopy(free)
    for needs in ({"gpu": 3}, {"gpu": 1, "license": 2}, {"gpu": 1, "disk": 1}):
        assert not fits(needs, free)
        with pytest.raises(ValueError, match="more than there is"):
            take(needs, free)
    assert free == before


def test_a_job_without_needs_fits_anywhere() -> None:
    assert fits({}, {})
    assert take({}, {}) == {}


def test_a_piece_cannot_be_given_back_twice() -> None:
    free = parse_provides("gpu=2")
    taken = take({"gpu": 1}, free)
    give(taken, free)
    with pytest.raises(ValueError, match="gpu 0 is free already"):
        give(taken, free)
    assert free == {"gpu": ["0", "1"]}


@settings(max_examples=100)
@given(
    st.dictionaries(few_names, st.lists(ids, unique=True, max_size=8)),
    st.lists(st.dictionaries(few_names, st.integers(1, 4)), max_size=8),
    st.randoms(use_true_random=False),
)
def test_pieces_are_never_shared_and_all_come_back(
    provided: dict[str, list[str]], jobs: list[dict[str, int]], random: Random
) -> None:
    free = parse_provides(provided)
    at_first = copy.deepcopy(free)
    held: list[dict[str, list[str]]] = []
    for needs in jobs:
        if fits(needs, free):
            held.append(take(needs, free))
            assert {name: len(taken) for name, taken in held[-1].items()} == needs
        elif held:
            give(held.pop(random.randrange(len(held))), free)
        for name, pieces in at_first.items():
            everywhere = [*free[name], *(piece for taken in held for piece in taken.get(name, []))]
            assert sorted(everywhere) == sorted(pieces)
    random.shuffle(held)
    for taken in held:
        give(taken, free)
    assert free == at_first


@given(
    st.text(max_size=60)
    | st.text("0123456789.KMGTiB gpu=,ids:+-", max_size=60)
    | st.floats()
    | st.integers()
    | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5))
    | st.lists(st.text(max_size=5) | st.none())
)
@example("1" * 63 + "!")
@example("gpu=" * 50)
def test_any_input_is_read_or_refused_and_nothing_else(value: object) -> None:
    for parse in (parse_size, parse_needs, parse_provides):
        message = refusal(parse, value)
        assert len(message) < 300
        assert "\n" not in message


def refusal(parse: Callable[[object], object], value: object) -> str:
    try:
        parse(value)
    except InvalidInput as error:
        return error.message
    return ""
