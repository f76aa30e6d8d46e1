"""The pipes of a command: what is in them is known without waiting, and no descriptor stays open."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from queuectl.worker.pipes import Pipes, waiting


def ends(pipes: Pipes) -> tuple[int, ...]:
    return pipes.out_read, pipes.out, pipes.err_read, pipes.err


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    pipes = Pipes()
    mine = ends(pipes)
    yield pipes
    left = [fd for fd in mine if is_open(fd)]
    for fd in left:
        os.close(fd)
    assert not left


def test_what_waits_is_counted_without_taking_it(pipes: Pipes) -> None:
    assert waiting(pipes.out_read) == 0  # though nobody has closed the other end
    os.write(pipes.out, b"hello")
    assert waiting(pipes.out_read) == 5
    assert waiting(pipes.err_read) == 0
    assert os.read(pipes.out_read, 100) == b"hello"
    pipes.close((pipes.out_read, pipes.err_read))


def test_all_four_are_closed_at_once_where_they_are_in_a_row(pipes: Pipes) -> None:
    pipes.close((pipes.out_read, pipes.err_read))
    assert not any(map(is_open, ends(pipes)))


def test_no_other_descriptor_is_closed_where_they_are_not() -> None:
    holes = [os.open(os.devnull, os.O_RDONLY) for _ in range(4)]
    os.close(holes[0])
    os.close(holes[2])
    pipes = Pipes()  # the lowest numbers that are free: not four in a row
    assert ends(pipes) != tuple(range(pipes.out_read, pipes.out_read + 4))
    pipes.close((pipes.out_read, pipes.err_read))
    assert not any(map(is_open, ends(pipes)))
    assert is_open(holes[1])
    assert is_open(holes[3])
    os.close(holes[1])
    os.close(holes[3])


def test_who_listens_hears_the_end(pipes: Pipes) -> None:
    writer = os.dup(pipes.out)
    pipes.listen()
    os.write(writer, b"last")
    os.close(writer)
    assert os.read(pipes.out_read, 100) == b"last"
    assert os.read(pipes.out_read, 100) == b""
    os.close(pipes.out_read)
    pipes.close((pipes.err_read,))  # the other is closed already
