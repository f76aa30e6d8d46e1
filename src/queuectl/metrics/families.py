"""A reading in the words of prometheus-client: one family for each metric of the catalogue."""

from __future__ import annotations

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from queuectl.core import measures, states
from queuectl.metrics import catalogue
from queuectl.metrics.catalogue import BOUNDS, COUNTER, Family
from queuectl.metrics.naming import OTHERS, RESCUED, STALE, STORE_ERRORS
from queuectl.store import tallies
from queuectl.store.figures import REST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from queuectl.metrics.reading import Reading

_COUNTED = (
    (catalogue.ENQUEUED, tallies.ENQUEUED),
    (catalogue.STARTED, tallies.STARTED),
    (catalogue.RETRIES, states.FAILED),
)
_MEASURED = ((catalogue.WAIT, measures.WAIT), (catalogue.RUN, measures.RUN))


def families(reading: Reading) -> Iterator[Metric]:
    """All of them, in the order of the catalogue."""
    yield from _of_queues(reading)
    yield from _of_the_store(reading)


def _of_queues(reading: Reading) -> Iterator[Metric]:
    ever = list(_labelled(reading, reading.ever))
    yield _plain(
        catalogue.JOBS,
        (
            ((label, state), counts.get(state, 0))
            for label, counts in _labelled(reading, reading.depths)
            for state in states.ALL
        ),
    )
    yield _plain(catalogue.OLDEST, (((name,), age) for name, age in sorted(reading.waiting.items())))
    for family, kind in _COUNTED[:2]:
        yield _plain(family, (((label,), counts.get(kind, 0)) for label, counts in ever))
    yield _plain(
        catalogue.FINISHED,
        (((label, state), counts.get(state, 0)) for label, counts in ever for state in states.TERMINAL),
    )
    for family, kind in _COUNTED[2:]:
        yield _plain(family, (((label,), counts.get(kind, 0)) for label, counts in ever))
    for family, what in _MEASURED:
        yield _histogram(family, what, ever)


def _of_the_store(reading: Reading) -> Iterator[Metric]:
    of_all = reading.of_all
    figures: tuple[tuple[Family, float | None], ...] = (
        (catalogue.RESCUED, of_all.get(RESCUED, 0)),
        (catalogue.STALE, of_all.get(STALE, 0)),
        (catalogue.WORKER_ERRORS, of_all.get(STORE_ERRORS, 0)),
        (catalogue.WORKERS, reading.workers),
        (catalogue.SLOTS, reading.slots),
        (catalogue.RUNNING, reading.running),
        (catalogue.WORKER_MEMORY, reading.memory),
        (catalogue.PAUSED, reading.paused),
        (catalogue.LATENCY, reading.latency),
    )
    for family, value in figures:
        yield _plain(family, [((), value)])
    if reading.calls is not None:
        calls, seconds, errors = reading.calls
        name, words = catalogue.CALLS.name, catalogue.CALLS.help
        yield SummaryMetricFamily(name, words, count_value=calls, sum_value=seconds)
        yield _plain(catalogue.CALL_ERRORS, [((), errors)])
    yield _plain(catalogue.SIZE, [((), reading.size)])
    if reading.log_size is not None:
        yield _plain(catalogue.WAL, [((), reading.log_size)])
    yield _plain(catalogue.SCHEMA, [((), reading.schema)])
    yield _plain(catalogue.BUILD, [((reading.version, reading.engine), 1)])


def _labelled(
    reading: Reading, amounts: Mapping[str, Mapping[str, int]]
) -> Iterator[tuple[str, Mapping[str, int]]]:
    """What there is of each named queue, and of the others if there are any."""
    for name in reading.names:
        yield name, amounts.get(name, {})
    if reading.others:
        yield OTHERS, amounts.get(REST, {})


def _plain(family: Family, values: Iterable[tuple[tuple[str, ...], float | None]]) -> Metric:
    made = CounterMetricFamily if family.kind == COUNTER else GaugeMetricFamily
    metric = made(family.name, family.help, labels=family.labels)
    for labels, value in values:
        metric.add_metric(labels, value)  # type: ignore[arg-type]
    return metric


def _histogram(family: Family, what: str, ever: Iterable[tuple[str, Mapping[str, int]]]) -> Metric:
    metric = HistogramMetricFamily(family.name, family.help, labels=family.labels)
    for label, counts in ever:
        found = measures.classes(what, counts)
        if found:
            seconds = counts.get(measures.sum_kind(what), 0) / 1000
            metric.add_metric((label,), buckets=list(_buckets(found)), sum_value=seconds)
    return metric


def _buckets(found: Mapping[int, int]) -> Iterator[tuple[str, float]]:
    """How many are below each bound."""
    for edge, bound in BOUNDS:
        yield bound, sum(count for number, count in found.items() if number < edge)
    yield "+Inf", sum(found.values())
