"""Packed output: what goes in comes out, and a cut loses only the piece that it cuts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from queuectl.core.chunks import GAP, HEAD_SIZE, STDERR, STDOUT, Chunk, pack, unpack, unpack_some

pieces = st.lists(
    st.tuples(
        st.sampled_from([STDOUT, STDERR, GAP]),
        st.integers(0, 2**32 - 1),
        st.binary(max_size=50),
    ),
    max_size=12,
)


def plain(chunk: Chunk) -> tuple[int, int, bytes]:
    return chunk.stream, chunk.offset_ms, chunk.data


def packed(all_pieces: list[tuple[int, int, bytes]]) -> bytes:
    return b"".join(pack(*piece) for piece in all_pieces)


@settings(deadline=None)
@given(pieces)
def test_what_was_packed_comes_back(all_pieces: list[tuple[int, int, bytes]]) -> None:
    blob = packed(all_pieces)
    assert [plain(chunk) for chunk in unpack(blob)] == all_pieces
    assert [plain(chunk) for chunk in unpack(memoryview(blob))] == all_pieces
    assert unpack_some(blob)[1] == len(blob)


@settings(deadline=None)
@given(pieces, st.data())
def test_cut_anywhere_the_whole_pieces_are_read_and_the_rest_waits(
    all_pieces: list[tuple[int, int, bytes]], data: st.DataObject
) -> None:
    blob = packed(all_pieces)
    cut = data.draw(st.integers(0, len(blob)))
    first, used = unpack_some(blob[:cut])
    assert [plain(chunk) for chunk in first] == all_pieces[: len(first)]
    assert used == len(packed(all_pieces[: len(first)])) <= cut
    rest, _ = unpack_some(blob[used:])
    assert [plain(chunk) for chunk in first + rest] == all_pieces


def test_times_that_do_not_fit_are_bounded() -> None:
    early, late = unpack(pack(STDOUT, -5, b"a") + pack(STDERR, 2**40, b"b"))
    assert (early.offset_ms, late.offset_ms) == (0, 2**32 - 1)


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    data = bytes(range(256))
    (chunk,) = unpack(pack(STDOUT, 0, data))
    assert chunk.data == data


def test_nothing_is_read_from_less_than_a_head() -> None:
    assert list(unpack(b"\1" * (HEAD_SIZE - 1))) == []
    assert list(unpack(b"")) == []
