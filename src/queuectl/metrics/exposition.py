"""The text of /metrics, and the same numbers as JSON."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from queuectl.errors import QueuectlError
from queuectl.metrics.naming import Naming, OnlyOne
from queuectl.metrics.reading import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from queuectl.metrics.reading import Calls
    from queuectl.queue import Queue

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Which queues are named is remembered as long as the dashboard lives.
_namings: WeakKeyDictionary[Calls, Naming] = WeakKeyDictionary()


def exposition(queue: Queue, *, pool: Calls | None = None, only: str | None = None) -> bytes:
    """For Prometheus. `pool` is who asks the store for a dashboard; `only` restricts it to one queue."""
    _need_the_client()
    from prometheus_client import CollectorRegistry, generate_latest

    found = gather(queue, pool=pool, only=only)

    class Gathered:
        def collect(self) -> list[Metric]:
            return found

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Gathered())
    return bytes(generate_latest(registry))


def document(queue: Queue, *, only: str | None = None) -> list[dict[str, object]]:
    """The same as values for JSON."""
    _need_the_client()
    return [
        {
            "name": metric.name,
            "type": metric.type,
            "help": metric.documentation,
            "samples": [
                {"name": sample.name, "labels": dict(sample.labels), "value": sample.value}
                for sample in metric.samples
            ],
        }
        for metric in gather(queue, only=only)
    ]


def gather(queue: Queue, *, pool: Calls | None = None, only: str | None = None) -> list[Metric]:
    """One scrape."""
    from queuectl.metrics.families import families

    naming = _naming(pool, only)
    with naming.lock:
        reading = Reading(queue, naming, calls=pool)
    return list(families(reading))


def _naming(pool: Calls | None, only: str | None) -> Naming | OnlyOne:
    if only is not None:
        return OnlyOne(only)
    if pool is None:
        return Naming(lasting=False)
    return _namings.setdefault(pool, Naming())


def _need_the_client() -> None:
    try:
        import prometheus_client  # noqa: F401
    except ModuleNotFoundError as error:
        raise QueuectlError(
            f"the metrics need the package {error.name}", "pip install 'queuectl[web]'"
        ) from None
