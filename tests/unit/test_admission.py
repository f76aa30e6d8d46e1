"""Whether a machine has room for more, by its load and free memory."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuectl import events, system
from queuectl.core.admission import Limits, parse_limits, refusal
from queuectl.errors import InvalidInput
from queuectl.worker.gate import Gate

G = 1024**3


@pytest.mark.parametrize(
    ("limits", "load", "memory", "reason"),
    [
        (Limits(), 99.0, 0, None),
        (Limits(), None, None, None),
        (Limits(max_load=4), 3.99, 0, None),
        (Limits(max_load=4), 4.0, 0, "the load is 4.00, the limit 4"),
        (Limits(max_load=0.5), 12.345, 0, "the load is 12.35, the limit 0.5"),
        (Limits(max_load=4), None, G, "the load cannot be read"),
        (Limits(min_free_memory=G), 99.0, G, None),
        (Limits(min_free_memory=2 * G), 0.0, G, "1G of memory are free, 2G must stay so"),
        (Limits(min_free_memory=G), 0.0, None, "the free memory cannot be read"),
        (Limits(4, G), 1.0, 2 * G, None),
        (Limits(4, G), 5.0, 2 * G, "the load is 5.00, the limit 4"),
        (Limits(4, 2 * G), 1.0, G, "1G of memory are free, 2G must stay so"),
    ],
)
def test_a_limit_that_is_reached_refuses(
    limits: Limits, load: float | None, memory: int | None, reason: str | None
) -> None:
    assert refusal(limits, load, memory) == reason


@given(st.floats(0.01, 1000), st.floats(0, 1000), st.floats(0, 1000))
@settings(max_examples=100)
def test_more_load_never_opens_what_less_has_shut(limit: float, one: float, other: float) -> None:
    less, more = sorted((one, other))
    if refusal(Limits(max_load=limit), less, None):
        assert refusal(Limits(max_load=limit), more, None)


def test_limits_are_read_from_what_was_given() -> None:
    limits = parse_limits("7.5", "1.5G")
    assert (limits.max_load, limits.min_free_memory) == (7.5, 3 * G // 2)
    assert limits
    assert not parse_limits(None, None)
    assert parse_limits(None, "0")


@pytest.mark.parametrize("text", ["0", "-1", "many", "", "nan", "inf", "1e9"])
def test_what_is_no_load_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="max-load"):
        parse_limits(text, None)


def test_what_is_no_size_is_refused() -> None:
    with pytest.raises(InvalidInput, match="min-free-memory 'lots'"):
        parse_limits(None, "lots")


def test_the_machine_is_looked_at_once_a_second_and_every_change_is_told_once() -> None:
    told: list[tuple[str, object]] = []
    unsubscribe = events.subscribe(lambda name, fields: told.append((name, fields.get("reason"))))
    loads = iter([1.0, 5.0, 6.0, 2.0])
    gate = Gate(Limits(max_load=4), lambda: next(loads))
    try:
        seen = [(gate.look(now), gate.shut) for now in (0.0, 0.5, 1.0, 1.9, 2.0, 3.0)]
    finally:
        unsubscribe()
    assert seen == [(False, False), (False, False), (True, True), (False, True), (False, True), (True, False)]
    assert told == [("worker.held_off", "the load is 5.00, the limit 4"), ("worker.admits", None)]
    assert gate.next_look == 4.0


def test_only_what_is_limited_is_read() -> None:
    def broken() -> float | None:
        raise AssertionError("nobody asked for it")

    gate = Gate(Limits(min_free_memory=1), broken, lambda: 2)
    gate.look(0.0)
    assert not gate.shut


def test_this_machine_tells_its_load_and_free_memory() -> None:
    load, memory = system.load_average(), system.available_memory()
    assert load is not None
    assert load >= 0
    assert memory is not None
    assert memory > 1024 * 1024


def test_both_ways_to_read_the_free_memory_agree() -> None:
    from queuectl.system import linux, portable

    here, elsewhere = linux.available_memory(), portable.available_memory()
    assert here is not None
    assert elsewhere is not None
    assert abs(here - elsewhere) < max(here, elsewhere) / 2
