"""Who carries exchanges to the store: the loop itself, or a thread that leaves it free meanwhile."""

from __future__ import annotations

import threading

import pytest

from queuectl.errors import StoreAway
from queuectl.store.messages import Exchange
from queuectl.worker.clerk import Clerk, RunningClerk

ANSWER = Exchange([], [], None)


class Server:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.may_answer = threading.Event()

    def exchange(self) -> Exchange:
        self.asked.set()
        assert self.may_answer.wait(10)
        return ANSWER


@pytest.fixture
def woken() -> threading.Event:
    return threading.Event()


@pytest.fixture
def clerk(woken: threading.Event) -> RunningClerk:
    return RunningClerk(woken.set)


def refuse() -> Exchange:
    raise StoreAway("gone", "wait")


def test_without_a_thread_the_answer_is_there_at_once() -> None:
    clerk = Clerk()
    clerk.send(lambda: ANSWER)
    assert (clerk.away, clerk.back) == (True, True)
    assert clerk.take() is ANSWER
    assert (clerk.away, clerk.back) == (False, False)


def test_an_error_comes_when_the_answer_is_taken() -> None:
    clerk = Clerk()
    clerk.send(refuse)
    with pytest.raises(StoreAway):
        clerk.take()
    assert not clerk.away


def test_a_thread_leaves_its_sender_free_and_wakes_it(clerk: RunningClerk, woken: threading.Event) -> None:
    server = Server()
    clerk.send(server.exchange)
    assert server.asked.wait(10)
    assert (clerk.away, clerk.back, woken.is_set()) == (True, False, False)
    server.may_answer.set()
    assert woken.wait(10)
    assert clerk.back
    assert clerk.take() is ANSWER
    clerk.close()


def test_an_error_in_the_thread_comes_out_in_the_loop(clerk: RunningClerk, woken: threading.Event) -> None:
    clerk.send(refuse)
    assert woken.wait(10)
    with pytest.raises(StoreAway):
        clerk.take()
    clerk.send(lambda: ANSWER)  # and it goes on
    clerk.wait()
    clerk.close()


def test_to_wait_is_to_forget_the_answer(clerk: RunningClerk) -> None:
    server = Server()
    clerk.send(server.exchange)
    assert server.asked.wait(10)
    server.may_answer.set()
    clerk.wait()
    assert (clerk.away, clerk.back) == (False, False)
    clerk.close()
