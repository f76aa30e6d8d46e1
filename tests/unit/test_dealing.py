"""How claims are divided among queues, and how queues are named with their weights."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuectl.core.dealing import parse_queues, queue_names, shares, spell_queues
from queuectl.errors import InvalidInput
from queuectl.store.messages import Worker

limits = st.integers(0, 200)
weightings = st.lists(st.integers(1, 1_000), min_size=1, max_size=6)
turns = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    ("limit", "weights", "turn", "dealt"),
    [
        (8, (3, 1), 0.0, [6, 2]),
        (8, (3, 1), 0.99, [6, 2]),
        (4, (3, 1), 0.5, [3, 1]),
        (1, (3, 1), 0.0, [0, 1]),
        (1, (3, 1), 0.25, [1, 0]),
        (1, (3, 1), 0.99, [1, 0]),
        (2, (1, 1, 1), 0.0, [0, 1, 1]),
        (2, (1, 1, 1), 0.4, [1, 0, 1]),
        (2, (1, 1, 1), 0.7, [1, 1, 0]),
        (5, (7,), 0.3, [5]),
        (0, (3, 1), 0.9, [0, 0]),
    ],
)
def test_weighted_queues_get_their_parts(
    limit: int, weights: tuple[int, ...], turn: float, dealt: list[int]
) -> None:
    assert shares(limit, weights, turn) == dealt


def test_in_strict_order_each_queue_may_give_all() -> None:
    assert shares(5, None, 0.7, queues=3) == [5, 5, 5]


@given(limits, weightings, turns)
@settings(max_examples=100)
def test_the_shares_sum_up_and_none_is_a_whole_job_off(limit: int, weights: list[int], turn: float) -> None:
    dealt = shares(limit, weights, turn)
    total = sum(weights)
    assert sum(dealt) == limit
    assert all(
        abs(share * total - limit * weight) < total for share, weight in zip(dealt, weights, strict=True)
    )
    assert min(dealt) >= 0


@given(st.integers(1, 10), st.lists(st.integers(1, 12), min_size=1, max_size=5))
@settings(max_examples=100)
def test_over_evenly_spread_turns_the_average_is_exact(limit: int, weights: list[int]) -> None:
    total = sum(weights)
    # In the middle of each step: where a turn is rounded to must not matter.
    rounds = [shares(limit, weights, (step + 0.5) / total) for step in range(total)]
    assert [sum(parts) for parts in zip(*rounds, strict=True)] == [limit * weight for weight in weights]


@given(weightings)
@settings(max_examples=50)
def test_the_largest_turn_deals_no_more_than_there_is(weights: list[int]) -> None:
    assert sum(shares(7, weights, 1 - 2**-53)) == 7


@pytest.mark.parametrize(
    ("text", "queues", "weights"),
    [
        ("a", ("a",), None),
        ("a,b", ("a", "b"), None),
        (" b , a ", ("b", "a"), None),
        ("a,b,a", ("a", "b"), None),
        ("a=3,b=1", ("a", "b"), (3, 1)),
        ("a=3,b", ("a", "b"), (3, 1)),
        ("b,a=3", ("b", "a"), (1, 3)),
        ("a=1000", ("a",), (1000,)),
        ("key=value", ("key=value",), None),
        ("a=3=2", ("a=3",), (2,)),
        ("x=", ("x=",), None),
        ("day=2026-12-01", ("day=2026-12-01",), None),
        ("a=1.5=1", ("a=1.5",), (1,)),
    ],
)
def test_queues_are_read_with_their_weights(
    text: str, queues: tuple[str, ...], weights: tuple[int, ...] | None
) -> None:
    assert parse_queues(text) == (queues, weights)
    assert parse_queues(spell_queues(queues, weights)) == (queues, weights)
    assert queue_names(spell_queues(queues, weights)) == list(queues)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "queue name ''"),
        ("a,,b", "queue name ''"),
        ("=3", "queue name '=3'"),
        ("a b", "queue name 'a b'"),
        ("a=0", "the weight 0 of queue a is not a whole number from 1 to 1,000"),
        ("a=-1", "the weight -1 of queue a"),
        ("a=1.5,b", "the weight 1.5 of queue a"),
        ("a=1001", "the weight 1001 of queue a"),
        ("a=" + "9" * 5000, "the weight 9999"),
        ("a,-b", "queue name '-b'"),
        ("a=1,a=2", "queue a is named twice"),
        ("a,a=2", "queue a is named twice"),
        ("a=2,a", "queue a is named twice"),
    ],
)
def test_what_is_no_list_of_queues_is_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        parse_queues(text)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("served", "queue", "answer"),
    [
        (None, "a", True),
        ("a,b", "b", True),
        ("a,b", "c", False),
        ("a=3,b=1", "a", True),
        ("a=3,b=1", "a=3", False),
        ("ab", "a", False),
    ],
)
def test_a_worker_serves_the_queues_it_names(served: str | None, queue: str, answer: bool) -> None:
    worker = Worker()
    worker.queues = served
    assert worker.serves(queue) is answer
