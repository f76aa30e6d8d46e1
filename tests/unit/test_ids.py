"""Ids: the ones we make are short, sortable and unique; of others only harmless ones are taken."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.jobs import NOW, short

from queuectl.core.ids import check_id, new_ids
from queuectl.errors import InvalidInput

SMALL = set("0123456789abcdefghjkmnpqrstvwxyz")  # nothing that is easily misread
bits = st.integers(0, 2**32 - 1)


@settings(deadline=None)
@given(now=st.integers(1_735_689_600_000, 2_800_000_000_000), random=bits)
def test_ids_are_short_and_accepted_and_each_sorts_after_the_one_before(now: int, random: int) -> None:
    ids = list(islice(new_ids(now, random), 3_000))
    assert all(len(id) == 13 and set(id) <= SMALL for id in ids)
    assert ids == sorted(set(ids))
    assert check_id(ids[0]) == ids[0]


@settings(deadline=None)
@given(now=st.integers(1_735_689_600_000, 2_800_000_000_000), one=bits, other=bits)
def test_ids_of_a_later_millisecond_sort_later(now: int, one: int, other: int) -> None:
    assert next(new_ids(now, one)) < next(new_ids(now + 1, other))


def test_the_order_holds_where_the_counted_digits_run_over() -> None:
    ids = list(islice(new_ids(NOW, 2**20 - 2), 5))
    assert ids == sorted(set(ids))


def test_a_batch_that_fills_its_millisecond_goes_on_in_the_next() -> None:
    ids = list(islice(new_ids(NOW, 2**25 - 2), 4))
    assert ids == sorted(set(ids))
    assert ids[2] == next(new_ids(NOW + 1, 0))


def test_batches_with_other_random_bits_do_not_meet() -> None:
    batches = [set(islice(new_ids(NOW, start << 12), 4_096)) for start in range(50)]
    assert len(set().union(*batches)) == 50 * 4_096


@pytest.mark.parametrize(
    "id",
    ["a", "job1", "_x", "A.b-c:d@e=f+g", ":", "2026-11-15", "x" * 128, "Über"[1:], "con", "a..b"],
)
def test_harmless_ids_are_taken_as_they_are(id: str) -> None:
    assert check_id(id) == id


@pytest.mark.parametrize(
    "id",
    [
        "",
        " ",
        "-rf",
        "--help",
        ".",
        "..",
        ".hidden",
        "../../etc/passwd",
        "a/b",
        "a\\b",
        "a b",
        " a",
        "a ",
        "a\n",
        "a\nb",
        "a\0b",
        "a\x1b[31m",
        "$(reboot)",
        "`id`",
        "a;b",
        "a|b",
        "a&b",
        "a*",
        "a?",
        "a'b",
        'a"b',
        "a%2e",
        "é",
        "ａ",  # a full-width letter
        "١٢",  # digits, but not ours
        "a\u202eb",  # turns the text around on a terminal
        "\udcff",
        "x" * 129,
        "x" * 100_000,
    ],
    ids=short,
)
def test_hostile_ids_are_refused_in_a_short_and_printable_message(id: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_id(id)
    assert len(caught.value.message) < 300
    assert caught.value.message.encode().isascii() or caught.value.message.isprintable()
    assert caught.value.hint


@pytest.mark.parametrize("id", [None, 1, 1.5, True, b"job1", ["job1"], {"id": 1}])
def test_an_id_is_text(id: object) -> None:
    with pytest.raises(InvalidInput, match="id must be text"):
        check_id(id)
