"""A command that is a worker meanwhile: the loop in the main thread, who looks on in a thread of its own.

What the worker is for, and what is seen of it, is left to `run` and `map --wait`.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from queuectl.queue import Queue

    class Worker(Protocol):
        def run(self) -> None: ...
        def finish(self) -> None: ...
        def let_go_of_signals(self) -> None: ...


__all__ = ["work_here"]


def work_here(queue: Queue, loop: Worker, look: Callable[[Queue], object], *, over: threading.Event) -> None:
    """Until `look` has seen enough, or the worker ends before: it was stopped, or its store is gone.

    `look` has a connection of its own and comes back soon when it is `over`.
    """
    from queuectl.queue import Queue as Another

    failure: BaseException | None = None

    def look_on() -> None:
        nonlocal failure
        try:
            with Another.open(queue.store.location.url) as other:
                look(other)
        except BaseException as error:
            failure = error  # told by the main thread, where errors are
        finally:
            loop.finish()

    onlooker = threading.Thread(target=look_on, name="onlooker")
    onlooker.start()
    try:
        loop.run()
    finally:
        # What it looks at may never come to an end now, and Ctrl+C must end us, not count as a wish.
        over.set()
        loop.let_go_of_signals()
        onlooker.join()
    if failure is not None:
        raise failure
