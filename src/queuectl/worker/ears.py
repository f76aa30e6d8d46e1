"""What a worker listens to while it sleeps: signals, its bell, the store's hints, its supervisor's lifeline.

What follows from what it hears is left to the loop, commands and their pipes to the executor.
"""

from __future__ import annotations

from queuectl.system.poller import READABLE, make_poller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.doorbell import Bell
    from queuectl.store.api import Store
    from queuectl.system.poller import Poller
    from queuectl.worker.signals import Signals


class Ears:
    """`heard` is told of rings, `orphaned` is called when the supervisor is gone."""

    def __init__(
        self,
        store: Store,
        signals: Signals,
        *,
        lifeline: int | None,
        heard: Callable[[bytes], None],
        orphaned: Callable[[], None],
    ) -> None:
        self._store = store
        self._signals = signals
        self._lifeline = lifeline  # a pipe that ends when our supervisor does
        self._heard = heard
        self._orphaned = orphaned
        self._hints: tuple[int, int] | None = None  # the store's own bell, if it has one

    def open(self, bell: Bell) -> Poller:
        """Listen for another incarnation of the worker, which has a bell of its own."""
        self._bell = bell
        self._poll = make_poller()
        self._hints = None
        for fd in (self._signals.fd, bell.fd, self._lifeline):
            if fd is not None:
                self._poll.register(fd, READABLE)
        return self._poll

    def listen(self) -> bool:
        """Also to the store, if it can tell. After a reconnect that is another descriptor.

        Whether it has told us something already, while the clerk was using it.
        """
        source = self._store.hint_source()
        if source == self._hints:
            return False
        self._hints = source
        if source is None:
            return False  # the one before was closed and has left by itself
        self._poll.register(source[0], READABLE)
        rings = self._store.hints()
        self._heard(rings)
        return bool(rings)

    def stop_listening(self) -> None:
        """An exchange begins: what can be read from the store's descriptor now is the clerk's."""
        # A closed one has left by itself; its number may be a command's pipe by now.
        if self._hints is not None and self._hints == self._store.hint_source():
            self._poll.unregister(self._hints[0])
        self._hints = None

    def attend(self, events: list[tuple[int, int]], others: Callable[[int], None]) -> bool:
        """Hear what there is; whether it was more than a signal. `others` get what is not ours."""
        more = not events
        for fd, _ in events:
            if fd == self._signals.fd:
                self._signals.drain()
                continue
            more = True
            if fd == self._bell.fd:
                self._heard(self._bell.heard())
            elif self._hints is not None and fd == self._hints[0]:
                self._heard(self._store.hints())
            elif fd == self._lifeline:
                self._poll.unregister(fd)
                self._lifeline = None
                self._orphaned()
            else:
                others(fd)
        return more
