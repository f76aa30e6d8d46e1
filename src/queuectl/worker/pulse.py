"""Tells whoever started us how we are: ready, alive, stopping. A service manager, or our own supervisor.

When to tell it is left to those who live: a loop that hangs tells nothing, and that is the point of it.
"""

from __future__ import annotations

import os
import socket

from queuectl.worker.child import NEVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.clock import Clock

    Send = Callable[[str], None]

READY = "READY=1"
ALIVE = "WATCHDOG=1"
STOPPING = "STOPPING=1"
EXTEND = "EXTEND_TIMEOUT_USEC"  # how long the stop may take, whatever the unit says
# Beyond the grace times: a command that cannot be killed is given up, results are stored.
_STOP_MARGIN = 15.0  # seconds
_SEND_WITHIN = 1.0  # seconds: a manager that is busy is waited for, but our jobs matter more


class Pulse:
    """What one process tells. Without anybody who listens it wants nothing."""

    def __init__(self, clock: Clock, send: Send | None = None, every: float = NEVER) -> None:
        self._clock = clock
        self._send = send
        self.every = every  # seconds between two signs of life
        self.next_at = NEVER  # when the next one is due, by the monotonic clock

    @property
    def heard(self) -> bool:
        """Whether anybody listens."""
        return self._send is not None

    def beat(self, now: float, status: str) -> None:
        """A sign of life; only the loop itself may give it."""
        self.next_at = now + self.every
        self.tell(ALIVE, status=status)

    def tell(self, *words: str, status: str) -> None:
        if self._send is not None:
            self._send("\n".join((*words, f"STATUS={status}")))

    def ready(self, status: str) -> None:
        self.tell(READY, status=status)
        if self.every != NEVER:
            self.next_at = self._clock.monotonic() + self.every

    def stopping(self, status: str) -> None:
        self.tell(STOPPING, status=status)

    def extend(self, micros: int) -> None:
        """A manager ends what has not stopped in time. Its unit may know shorter graces than now hold."""
        if self._send is not None:
            self._send(f"{EXTEND}={micros}")

    def __call__(self, name: str, fields: dict[str, object]) -> None:
        """A worker's events."""
        if name == "worker.started":
            self.ready("{slots} slot(s), idle".format(**fields))
        elif name == "worker.stopping":
            self.stopping("stopping, {running} job(s) running".format(**fields))
            self.extend(int((float(str(fields["grace"])) + _STOP_MARGIN) * 1_000_000))


def service_pulse(clock: Clock) -> Pulse:
    """For the service manager that started this process, if one did; nobody who comes after us may speak."""
    address, period, pid = (
        os.environ.pop(name, "") for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
    )
    if not address.startswith(("/", "@")):
        return Pulse(clock)
    ours = period.isdecimal() and int(period) > 0 and pid in ("", str(os.getpid()))
    # Thrice in the time that is allowed: one of them may be late.
    return Pulse(clock, _datagrams(address), int(period) / 3_000_000 if ours else NEVER)


def _datagrams(address: str) -> Send:
    # "@" stands for the NUL byte that abstract names begin with.
    name = "\0" + address[1:] if address.startswith("@") else address

    def send(text: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
            link.settimeout(_SEND_WITHIN)
            try:
                link.sendto(text.encode(), name)
            except OSError:
                pass  # nobody listens any more, or not now; the next one tells the same

    return send


def supervised_pulse(clock: Clock, fd: int, every: float) -> Pulse:
    """For our own supervisor: lines into the pipe that all its workers write to."""
    os.set_blocking(fd, False)

    def send(text: str) -> None:
        # Short enough that no two of them mix. Whoever does not read in time, or is gone, misses nothing.
        try:
            os.write(fd, f"{os.getpid()} {text.partition(chr(10))[0]}\n".encode())
        except OSError:
            pass

    return Pulse(clock, send, every)
