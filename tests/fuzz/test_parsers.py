"""Whatever somebody hands us: accepted as it should be, or refused by an error of ours. No crash, no hang."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import Target, all_targets

TARGETS = all_targets()
EXAMPLES = 40
MANY = 300  # in `make proof`, besides the coverage-guided millions of proof.fuzz
SLOWEST = timedelta(seconds=5)  # for one input, on a machine that is busy: only a hang takes so long


def words_of(target: Target) -> list[str]:
    """What the seeds are made of, to be put together anew."""
    found: set[str] = set()
    for seed in target.seeds:
        found.add(seed)
        for sign in (" ", ",", "\n", '"', ":", "/", "="):
            found.update(seed.split(sign))
    return sorted(found, key=lambda word: (len(word), word))


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    word = (
        st.sampled_from(words_of(target)) | st.sampled_from(list(' ,\n":/=-+.{}[]0\0')) | st.text(max_size=4)
    )
    made = st.lists(word, max_size=8).map(lambda words: "".join(words).encode("utf-8", "surrogateescape"))
    seed = st.sampled_from([seed.encode("utf-8", "surrogateescape") for seed in target.seeds])
    torn = st.tuples(seed, st.integers(0, 300), st.binary(max_size=3)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + len(parts[2]) :]
    )
    return made | torn | st.binary(max_size=60)


def fuzz(target: Target, examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=SLOWEST,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(inputs(target))
    def run(data: bytes) -> None:
        target(data)

    run()


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_are_no_crash(name: str) -> None:
    for seed in TARGETS[name].seeds:
        TARGETS[name](seed.encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("name", TARGETS)
def test_any_input(name: str) -> None:
    fuzz(TARGETS[name], EXAMPLES)


@pytest.mark.proof
@pytest.mark.parametrize("name", TARGETS)
def test_very_many_inputs(name: str) -> None:
    fuzz(TARGETS[name], MANY)
