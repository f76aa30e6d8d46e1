"""Pieces of resources: divided among workers, written down, told to a command."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuectl.core.amounts import parse_provides
from queuectl.core.pieces import common, deal, read, spell, variables
from queuectl.errors import InvalidInput

names = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)
ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,5}", fullmatch=True)
provided = st.dictionaries(names, st.lists(ids, min_size=1, unique=True), max_size=4).map(parse_provides)


@pytest.mark.parametrize(
    ("text", "count", "dealt"),
    [
        ("gpu=4", 2, [{"gpu": ["0", "1"]}, {"gpu": ["2", "3"]}]),
        ("gpu=3", 2, [{"gpu": ["0", "1"]}, {"gpu": ["2"]}]),
        ("gpu=1,license=1", 3, [{"gpu": ["0"], "license": ["0"]}, {}, {}]),
        ("gpu=0", 2, [{}, {}]),
        ("gpu=ids:5+2", 2, [{"gpu": ["2"]}, {"gpu": ["5"]}]),
    ],
)
def test_pieces_are_dealt_to_workers(text: str, count: int, dealt: list[dict[str, list[str]]]) -> None:
    assert deal(parse_provides(text), count) == dealt


@given(provided, st.integers(1, 9))
@settings(max_examples=100)
def test_every_piece_has_one_worker_and_nobody_has_two_more_than_another(
    pieces: dict[str, list[str]], count: int
) -> None:
    dealt = deal(pieces, count)
    assert len(dealt) == count
    for name, all_of_it in pieces.items():
        parts = [share.get(name, []) for share in dealt]
        assert [id for part in parts for id in part] == all_of_it
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(provided)
@settings(max_examples=100)
def test_what_is_written_down_reads_back_the_same(pieces: dict[str, list[str]]) -> None:
    assert read(spell(pieces)) == pieces


def test_the_text_is_short_where_it_can_be() -> None:
    assert spell(parse_provides("license=ids:A-7+B,gpu=2")) == "gpu=2,license=ids:A-7+B"
    assert spell({"gpu": []}) == ""
    assert read("") == read(None) == {}


def test_more_than_can_be_listed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="more pieces than a worker can list"):
        spell(deal(parse_provides("license=100000"), 2)[1])


def test_a_command_is_told_its_pieces() -> None:
    assert variables({"gpu": ["0", "3"], "big-disk": ["sda"]}) == {
        "QUEUECTL_RESOURCE_GPU": "0,3",
        "CUDA_VISIBLE_DEVICES": "0,3",
        "QUEUECTL_RESOURCE_BIG_DISK": "sda",
    }


@pytest.mark.parametrize(
    ("mine", "theirs", "both"),
    [
        ("gpu=2", "gpu=ids:1+2", ("gpu", "1")),
        ("gpu=2", "gpu=ids:2+3", None),
        ("gpu=2", "license=2", None),
        ("gpu=2", "", None),
    ],
)
def test_a_piece_that_two_have_is_found(mine: str, theirs: str, both: tuple[str, str] | None) -> None:
    assert common(read(mine), read(theirs)) == both
