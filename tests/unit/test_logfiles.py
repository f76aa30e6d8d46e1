"""Long output in files: their names, reading while they grow, rotation, deletion."""

from __future__ import annotations

from pathlib import Path

import pytest

from queuectl.core.chunks import GAP, STDERR, STDOUT, pack
from queuectl.logfiles import LogReader, delete_log, log_name, segments, tail_name

NAME = log_name(300, 2)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / NAME).parent.mkdir()
    return tmp_path


def append(path: Path, *pieces: bytes, stream: int = STDOUT) -> None:
    with open(path, "ab") as file:
        for piece in pieces:
            file.write(pack(stream, 5, piece))


def read(reader: LogReader) -> list[bytes | None]:
    """What is new: data, or None for a gap."""
    return [None if chunk.stream == GAP else chunk.data for chunk in reader.read()]


def test_a_name_is_made_of_our_own_numbers_and_spread_over_directories() -> None:
    assert log_name(300, 2) == "2c/300-2.log"
    assert tail_name(log_name(300, 2), 3) == "2c/300-2.log.3"
    assert len({log_name(seq, 1).split("/")[0] for seq in range(1_000)}) == 256


def test_nothing_is_read_where_nothing_is(tmp_path: Path) -> None:
    assert segments(str(tmp_path), NAME) == []
    assert read(LogReader(str(tmp_path), NAME)) == []
    delete_log(str(tmp_path), NAME)


def test_a_reader_goes_on_where_it_stopped(logs: Path) -> None:
    reader = LogReader(str(logs), NAME)
    assert read(reader) == []
    append(logs / NAME, b"one", b"two")
    assert read(reader) == [b"one", b"two"]
    assert read(reader) == []
    append(logs / NAME, b"three", stream=STDERR)
    (chunk,) = reader.read()
    assert (chunk.stream, chunk.offset_ms, chunk.data) == (STDERR, 5, b"three")


def test_a_piece_that_is_half_written_is_read_when_it_is_whole(logs: Path) -> None:
    piece = pack(STDOUT, 0, b"complete")
    reader = LogReader(str(logs), NAME)
    for cut in range(len(piece)):
        (logs / NAME).write_bytes(piece[:cut])
        assert read(reader) == []
    (logs / NAME).write_bytes(piece)
    assert read(reader) == [b"complete"]


def test_pieces_larger_than_the_reading_block_come_whole(logs: Path) -> None:
    big = bytes(range(256)) * 12_000  # 3 MB
    append(logs / NAME, b"before", big, b"after")
    assert read(LogReader(str(logs), NAME)) == [b"before", big, b"after"]


def test_the_tail_follows_the_head(logs: Path) -> None:
    append(logs / NAME, b"head")
    reader = LogReader(str(logs), NAME)
    assert read(reader) == [b"head"]
    append(logs / tail_name(NAME, 1), b"tail 1")
    append(logs / tail_name(NAME, 2), b"tail 2")
    assert read(reader) == [b"tail 1", b"tail 2"]
    append(logs / tail_name(NAME, 2), b"more")
    assert read(reader) == [b"more"]


def test_segments_come_in_the_order_of_their_numbers(logs: Path) -> None:
    for number in (10, 9, 11):
        append(logs / tail_name(NAME, number), b"%d" % number)
    append(logs / NAME, b"0")
    for name in (NAME + ".tmp", log_name(300, 22), log_name(300 + 256, 2)):
        append(logs / name, b"not ours")
    assert read(LogReader(str(logs), NAME)) == [b"0", None, b"9", b"10", b"11"]


def test_a_piece_that_was_rotated_away_shows_as_a_gap(logs: Path) -> None:
    append(logs / NAME, b"head")
    append(logs / tail_name(NAME, 1), b"tail 1")
    reader = LogReader(str(logs), NAME)
    assert read(reader) == [b"head", b"tail 1"]
    (logs / tail_name(NAME, 1)).unlink()
    append(logs / tail_name(NAME, 4), b"tail 4")
    assert read(reader) == [None, b"tail 4"]


def test_deleting_a_log_takes_all_of_it_and_nothing_else(logs: Path) -> None:
    other = log_name(300, 22)
    for name in (NAME, tail_name(NAME, 1), tail_name(NAME, 7), other):
        append(logs / name, b"x")
    delete_log(str(logs), NAME)
    assert segments(str(logs), NAME) == []
    assert segments(str(logs), other) == [str(logs / other)]


def test_a_link_planted_in_place_of_a_log_is_not_followed(logs: Path) -> None:
    secret = logs / "secret"
    append(secret, b"secret")
    (logs / NAME).symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        read(LogReader(str(logs), NAME))
    delete_log(str(logs), NAME)
    assert secret.exists()
