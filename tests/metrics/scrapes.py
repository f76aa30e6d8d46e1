"""What Prometheus would read, by its own parser."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from queuectl.metrics.exposition import exposition
from queuectl.queue import Queue

Key = tuple[str, tuple[tuple[str, str], ...]]


class Pool:
    """What a dashboard's pool has counted."""

    def __init__(self) -> None:
        self.calls, self.seconds, self.errors = 3, 0.5, 1


class Scrape:
    def __init__(self, queue: Queue, pool: Pool | None = None, only: str | None = None) -> None:
        self.text = exposition(queue, pool=pool, only=only).decode()
        self.families: dict[str, Metric] = {}
        self.samples: dict[Key, float] = {}
        for family in text_string_to_metric_families(self.text):
            assert family.name not in self.families
            self.families[family.name] = family
            for sample in family.samples:
                key = sample.name, tuple(sorted(sample.labels.items()))
                assert key not in self.samples, f"twice: {key}"
                self.samples[key] = sample.value

    def value(self, name: str, **labels: str) -> float | None:
        return self.samples.get((name, tuple(sorted(labels.items()))))

    def queues(self, name: str) -> set[str]:
        return {dict(labels)["queue"] for sample, labels in self.samples if sample == name}

    def counters(self) -> dict[Key, float]:
        """Everything that must never fall."""
        ends = ("_total", "_bucket", "_count", "_sum")
        return {key: value for key, value in self.samples.items() if key[0].endswith(ends)}


def assert_never_fell(scrapes: Iterable[Scrape]) -> None:
    last: dict[Key, float] = {}
    for scrape in scrapes:
        for key, value in scrape.counters().items():
            assert value >= last.get(key, 0), f"{key} fell from {last[key]} to {value}"
            last[key] = value
