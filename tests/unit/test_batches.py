"""Jobs in batches: shell lines without an object each are the same jobs as if each had one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.jobs import NOW

from queuectl.arriving import CHUNK, READ_AHEAD, batches_of, read_ahead
from queuectl.core.batches import Commands, give_ids, has_made, ids_of, special
from queuectl.core.ids import new_ids
from queuectl.core.job import NewJob
from queuectl.core.spec import Defaults, job_from_command, job_from_fields, jobs_from_commands
from queuectl.store.intake import insert_values, rows_of

DEFAULTS = Defaults(now=NOW, max_retries=2, cwd="/srv")
LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(str.strip)


def fields_of(job: NewJob) -> dict[str, object]:
    return {name: getattr(job, name) for name in NewJob.__slots__}


def one_by_one(lines: list[str]) -> list[NewJob]:
    jobs = [job_from_command(line, DEFAULTS) for line in lines]
    give_ids(jobs, new_ids(NOW, 7))
    return jobs


def together(lines: list[str]) -> Commands:
    commands = jobs_from_commands(lines, DEFAULTS)
    give_ids(commands, new_ids(NOW, 7))
    return commands


@given(st.lists(LINES, min_size=1, max_size=20))
def test_commands_are_the_jobs_that_they_would_be_one_by_one(lines: list[str]) -> None:
    assert [fields_of(job) for job in together(lines)] == [fields_of(job) for job in one_by_one(lines)]
    assert ids_of(together(lines)) == ids_of(one_by_one(lines))


@given(st.lists(LINES, min_size=1, max_size=20), st.sampled_from([None, NOW - 1, NOW + 1]))
def test_their_rows_are_the_same_too(lines: list[str], run_at: int | None) -> None:
    commands, jobs = together(lines), one_by_one(lines)
    for job in (commands.like, *jobs):
        job.run_at = run_at
    rows, common = rows_of(commands, NOW)
    assert [(*row, *common) for row in rows] == [insert_values(job, NOW) for job in jobs]


@given(st.lists(st.fixed_dictionaries({"priority": st.integers(0, 1), "queue": st.sampled_from("ab")})))
def test_rows_are_whole_whether_jobs_are_alike_or_not(given: list[dict[str, object]]) -> None:
    jobs = [job_from_fields({"command": f"echo {n}", **some}, DEFAULTS) for n, some in enumerate(given)]
    rows, common = rows_of(jobs, NOW)
    assert [(*row, *common) for row in rows] == [insert_values(job, NOW) for job in jobs]


def test_a_program_may_mix_lines_and_fields() -> None:
    items: list[str | dict[str, object]] = ["a", "b", {"command": "c", "priority": 1}, "d"]
    batches = list(batches_of(items, DEFAULTS))
    assert [type(batch) for batch in batches] == [Commands, list, Commands]
    for batch in batches:
        give_ids(batch, new_ids(NOW, 1))
    assert [job.command for batch in batches for job in batch] == ["a", "b", "c", "d"]


def test_batches_are_of_a_bounded_size() -> None:
    assert [len(batch) for batch in batches_of(["x"] * (2 * CHUNK + 1), DEFAULTS)] == [CHUNK, CHUNK, 1]


def test_only_so_much_is_read_ahead() -> None:
    batch = [job_from_command("x", DEFAULTS)] * CHUNK
    source = iter([batch] * (READ_AHEAD // CHUNK + 5))
    first, more = read_ahead(source)
    assert (sum(map(len, first)), more) == (READ_AHEAD + CHUNK, True)
    assert len(list(source)) == 4, "the rest is left where it is"
    assert read_ahead(iter([batch] * (READ_AHEAD // CHUNK)))[1] is False


def test_an_id_that_somebody_gave_is_never_replaced() -> None:
    jobs = [job_from_fields({"id": "mine", "command": "x"}, DEFAULTS), job_from_command("y", DEFAULTS)]
    give_ids(jobs, iter(["m1"]))
    assert ids_of(jobs) == ["mine", "m1"]
    give_ids(jobs, iter(["m2"]), anew=True)
    assert ids_of(jobs) == ["mine", "m2"]
    assert (has_made(jobs, "mine"), has_made(jobs, "m2"), has_made(jobs, "m1")) == (False, True, False)


def test_ids_of_commands_can_be_made_anew() -> None:
    commands = together(["a", "b"])
    give_ids(commands, iter(["m1", "m2"]), anew=True)
    assert ids_of(commands) == ["m1", "m2"]
    assert has_made(commands, "m2")
    assert not has_made(commands, "m3")


def test_only_jobs_with_conditions_are_special() -> None:
    jobs = [job_from_fields({"command": "x", **more}, DEFAULTS) for more in ({}, {"hold": True})]
    assert special(jobs) == jobs[1:]
    assert special(together(["a"])) == []
