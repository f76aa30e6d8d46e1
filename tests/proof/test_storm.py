"""A small storm over each engine: the machinery of the great one, and its promises."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from proof.storm.client import Task, acknowledged
from proof.storm.judging import judge_ends
from proof.storm.plan import KINDS, Plan, job, kind_of
from proof.storm.storms import quick_plan, storms
from proof.verdict import Part, Verdict

from proof import storm
from tests.support.servers.private import SERVERS, PrivateServer

PLAN = Plan("sqlite", jobs=10, kills=0, stops=0, seed=3)


def assert_good(part: Part) -> None:
    assert part.good, (part.failed, part.verdict, [row for row in part.rows if not row.good])


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_small_storm_over_a_file() -> None:
    part = storm.prove(full=False)
    assert_good(part)
    assert part.verdict.runs >= part.verdict.jobs


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", sorted(SERVERS))
def test_a_small_storm_over_a_server(engine: str) -> None:
    server: type[PrivateServer] = SERVERS[engine]
    server.require_programs()
    least = {"jobs": 200, "kills": 4, "stops": 1, "restarts": 1, "partitions": 1}
    assert_good(storms([quick_plan(engine, seed=11)], least))


def test_a_job_that_is_sent_again_is_the_same(tmp_path: Path) -> None:
    once = [job(PLAN, "client0", number, tmp_path) for number in range(2_000)]
    assert once == [job(PLAN, "client0", number, tmp_path) for number in range(2_000)]
    assert {kind_of(str(one["id"])) for one in once} == set(KINDS)


def test_a_client_is_told_all_by_its_command_line(tmp_path: Path) -> None:
    task = Task(PLAN, "client0", "url", "log", str(tmp_path / "acks"), "enough", share=5, began=1.5)
    assert Task.read(task.spelled()) == task
    assert acknowledged(tmp_path / "acks") == []


def test_a_job_that_died_of_the_storm_is_found() -> None:
    verdict, tally = Verdict(), Counter[str]()
    ends = {"a-1-quick": "completed", "a-2-never": "dead", "a-3-long": "dead", "a-4-never": "completed"}
    judge_ends(ends, verdict, tally)
    assert verdict.findings == ["unsound: a-3-long is dead", "unsound: a-4-never is completed"]
    assert tally["dead, as they always fail"] == 1
