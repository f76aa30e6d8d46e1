"""What happened, told to whoever listens: logging and metrics subscribe here.

The engine emits names and fields; the text of a log line is made by the subscriber.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Subscriber = Callable[[str, dict[str, object]], None]

_subscribers: list[Subscriber] = []


def subscribe(subscriber: Subscriber) -> Callable[[], None]:
    """Hear every event from now on; call the result to stop."""
    _subscribers.append(subscriber)
    return lambda: _subscribers.remove(subscriber)


def emit(name: str, **fields: object) -> None:
    """Tell all subscribers. With none, it costs next to nothing."""
    for subscriber in tuple(_subscribers):  # one may leave while it listens
        subscriber(name, fields)
