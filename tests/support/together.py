"""Real processes that start together: each sets itself up, waits at a barrier, and then goes.

What they do is in `tests.concurrency.roles`.
"""

from __future__ import annotations

import multiprocessing
import time
import traceback
from multiprocessing.connection import wait
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.synchronize import Barrier

# Forked from a process that has imported what they need and has no connection open. A fork of the test's own
# process would inherit its connections; a new interpreter for each costs more than what most of them do.
_FORK_SERVER = multiprocessing.get_context("forkserver")
_FORK_SERVER.set_forkserver_preload(
    ["tests.concurrency.roles", "queuectl.store.sqlite", "queuectl.store.postgres", "queuectl.store.mysql"]
)
PATIENCE = 90  # seconds


def run_together(members: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    """Run `role(go, *arguments)` in a process each; what they returned, in their order.

    A role calls `go()` when it is set up, and comes back from it when all the others are too.
    """
    barrier = _FORK_SERVER.Barrier(len(members))
    started = []
    for role, arguments in members:
        receiver, sender = _FORK_SERVER.Pipe(duplex=False)
        process = _FORK_SERVER.Process(target=_member, args=(sender, barrier, role, arguments))
        process.start()
        sender.close()
        started.append((process, receiver))
    try:
        answers = _gather([receiver for _, receiver in started])
    finally:
        for process, receiver in started:
            receiver.close()
            process.kill()  # it has answered, or waits for one that has failed
            process.join()
            process.close()
    return answers


def _member(
    sender: Connection, barrier: Barrier, role: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    try:
        sender.send((True, role(lambda: barrier.wait(PATIENCE), *arguments)))
    except BrokenBarrierError:
        sender.send((False, "another one failed before the start"))
    except BaseException:
        barrier.abort()  # or the others would wait for us
        sender.send((False, traceback.format_exc()))


def _gather(receivers: Sequence[Connection]) -> list[Any]:
    """What each has returned. The first that fails is the reason: the others may wait for it in vain."""
    answers: dict[Connection, Any] = {}
    deadline = time.monotonic() + PATIENCE
    while left := [receiver for receiver in receivers if receiver not in answers]:
        ready = wait(left, deadline - time.monotonic())
        assert ready, f"{len(left)} processes did not answer"
        failures = []
        for receiver in cast("list[Connection]", ready):
            good, answers[receiver] = receiver.recv()
            failures += [] if good else [answers[receiver]]
        assert not failures, max(failures, key=len)
    return [answers[receiver] for receiver in receivers]
