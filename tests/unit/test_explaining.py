"""explain: every reason for which a job does not run, and every way in which it can have ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

import pytest
from tests.support.jobs import NOW, policy

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.explaining import explain
from queuectl.core.job import Attempt, Job
from queuectl.core.queue_rules import QueueRule
from queuectl.core.rows import ATTEMPT_COLUMNS, attempt_from_row
from queuectl.core.runtimes import Known, class_of_run
from queuectl.core.situation import Candidate, Explanation, Group, Parent, Situation

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


def a_job(state: str, **fields: Any) -> Job:
    job = Job()
    for name in Job.__slots__:
        setattr(job, name, None)
    given = {
        "seq": 7,
        "id": "job1",
        "command": "make report",
        "queue": "mail",
        "state": state,
        "priority": 0,
        "attempts": 0,
        "max_retries": 3,
        "lost": 0,
        "runs": 0,
        "run_at": NOW - SECOND,
        "created_at": NOW - SECOND,
        "updated_at": NOW - SECOND,
        "cancel_requested": 0,
    }
    for name, value in (given | fields).items():
        setattr(job, name, value)
    return job


def an_attempt(outcome: str, **fields: Any) -> Attempt:
    given: dict[str, Any] = dict.fromkeys(ATTEMPT_COLUMNS)
    given |= {
        "run": 1,
        "attempt": fields.get("run", 1),
        "claim": "c",
        "worker_id": "w1",
        "host": "host1",
        "started_at": NOW - HOUR,
        "finished_at": NOW - HOUR + 3 * SECOND,
        "outcome": outcome,
        "output_bytes": 0,
        "output_dropped": 0,
    }
    return attempt_from_row([(given | fields)[name] for name in ATTEMPT_COLUMNS])


def a_rule(**fields: Any) -> QueueRule:
    rule = QueueRule("mail")
    for name, value in fields.items():
        setattr(rule, name, value)
    return rule


def a_worker(id: str = "w1", *, slots: int = 2, **fields: Any) -> Candidate:
    return Candidate(id, slots=slots, **fields)


def in_the_way(job: Job, **fields: Any) -> Situation:
    """A situation in which a free worker would take the job, but for what is given."""
    situation = Situation(job, policy(), NOW)
    situation.zone = UTC
    situation.living = 1
    situation.candidates = [a_worker()]
    for name, value in fields.items():
        assert name in Situation.__slots__
        setattr(situation, name, value)
    return situation


def pending(**fields: Any) -> Situation:
    about_job = {name: fields.pop(name) for name in ("needs", "updated_at", "run_at") if name in fields}
    return in_the_way(a_job(states.PENDING, **about_job), **fields)


def blocked(**fields: Any) -> Situation:
    about_job = {
        name: fields.pop(name) for name in ("held", "waits", "job_group", "run_at") if name in fields
    }
    return in_the_way(a_job(states.BLOCKED, **about_job), **fields)


def ended(state: str, *attempts: Attempt, holder: tuple[str, str] | None = None, **fields: Any) -> Situation:
    parents = fields.pop("parents", ())
    job = a_job(state, finished_at=NOW - MINUTE, runs=len(attempts), **fields)
    return in_the_way(job, attempts=attempts, parents=parents, holder=holder, living=0, candidates=[])


def in_percent(*, successes: int) -> Situation:
    """It runs, and its timeout is a share of its usual run time, of which so much is known."""
    job = a_job(states.PROCESSING, worker_id="w1", started_at=NOW, rules='{"timeout_percent": 300}')
    return in_the_way(job, usual=Known({class_of_run(12_000): successes}))


def failed(**fields: Any) -> Attempt:
    return an_attempt(kinds.FAILED, **({"exit_code": 1, "error": "exit code 1"} | fields))


def rule_json(**rules: str) -> str:
    return json.dumps(rules)


@dataclass
class Case:
    name: str
    situation: Situation
    codes: list[str]  # of all reasons, in their order
    says: str  # in the first sentence
    verdict: str
    remedy: str | None = None
    when: int | None = None
    also: Callable[[Explanation], bool] | None = field(default=None)


CASES = [
    Case(
        "nothing in the way",
        pending(),
        ["ready"],
        "Nothing is in its way.",
        "Job job1 is pending: a worker will take it at once.",
    ),
    Case(
        "a free worker that does not take it",
        pending(updated_at=NOW - 5 * MINUTE, run_at=NOW - 5 * MINUTE),
        ["ready"],
        "Nothing is in its way for 5m, and yet no worker has taken it.",
        "nothing is in its way",
        remedy="queuectl doctor",
    ),
    Case(
        "queue paused for good",
        pending(rule=a_rule(paused_at=NOW - HOUR, pause_reason="moving house")),
        ["paused"],
        "paused since Fri 2027-01-15 07:00 UTC (1h ago), until somebody resumes it: moving house.",
        "Job job1 is pending: its queue mail is paused.",
        remedy="queuectl queue resume mail",
    ),
    Case(
        "queue paused until a time",
        pending(rule=a_rule(paused_at=NOW - HOUR, paused_until=NOW + 2 * HOUR)),
        ["paused"],
        ", until Fri 2027-01-15 10:00 UTC (in 2h).",
        "its queue mail is paused",
        remedy="queuectl queue resume mail",
        when=NOW + 2 * HOUR,
    ),
    Case(
        "a pause that is over is no reason",
        pending(rule=a_rule(paused_at=NOW - HOUR, paused_until=NOW - 1)),
        ["ready"],
        "Nothing is in its way.",
        "at once",
    ),
    Case(
        "a draining queue is no reason", pending(rule=a_rule(draining=1)), ["ready"], "Nothing is", "at once"
    ),
    Case(
        "no worker at all",
        pending(living=0, candidates=[]),
        ["no_worker"],
        "No worker is running, on any machine.",
        "no worker is running",
        remedy="queuectl worker start",
    ),
    Case(
        "no worker for its queue",
        pending(living=3, candidates=[]),
        ["not_served"],
        "Of 3 running workers none serves its queue mail.",
        "no worker serves its queue mail",
        remedy="queuectl worker start --queue mail",
    ),
    Case(
        "the workers are stopping",
        pending(living=2, candidates=[a_worker("w1", stopping=True), a_worker("w2", stopping=True)]),
        ["workers_stopping"],
        "All workers that serve its queue mail will take no more jobs: a stop was asked for.",
        "the workers of its queue mail are stopping",
        remedy="queuectl worker start",
    ),
    Case(
        "one of two is stopping, the other has room",
        pending(living=2, candidates=[a_worker("w1", stopping=True), a_worker("w2")]),
        ["ready"],
        "Nothing is in its way.",
        "at once",
    ),
    Case(
        "nobody provides what it needs",
        pending(needs="gpu=2,license=1", candidates=[a_worker(provides={"gpu": 1, "license": 5})]),
        ["needs"],
        "No worker of its queue mail provides gpu=2 (the most is 1).",
        "no worker provides what it needs",
        remedy="queuectl worker start --provides gpu=2,license=1",
    ),
    Case(
        "no single worker provides all it needs",
        pending(
            needs="gpu=1,license=1",
            candidates=[a_worker("w1", provides={"gpu": 1}), a_worker("w2", provides={"license": 1})],
        ),
        ["needs"],
        "provides all of gpu=1,license=1 at once.",
        "no worker provides what it needs",
        remedy="queuectl worker start --provides gpu=1,license=1",
    ),
    Case(
        "others have what it needs",
        pending(needs="gpu=1", candidates=[a_worker(running=1, provides={"gpu": 1}, used={"gpu": 1})]),
        ["resources"],
        "It needs gpu=1, but other jobs have gpu=1 on w1.",
        "other jobs have what it needs",
    ),
    Case(
        "all slots busy, with a line before it",
        pending(ahead=12, candidates=[a_worker("w1", running=2), a_worker("w2", slots=1, running=1)]),
        ["busy"],
        "3 jobs run on the 3 slots of 2 workers, and 12 jobs of its queue are before this one.",
        "all workers of its queue are busy",
        remedy="queuectl worker start --queue mail",
    ),
    Case(
        "a line longer than anybody counts",
        pending(ahead=1_000, candidates=[a_worker(running=2)]),
        ["busy"],
        "and 1,000 jobs or more of its queue are before this one",
        "busy",
        remedy="queuectl worker start --queue mail",
    ),
    Case(
        "the queue's concurrency is reached",
        pending(rule=a_rule(concurrency=2), running=2, ahead=1),
        ["concurrency"],
        "Of its queue mail at most 2 may run at once, and 2 do, and 1 job of its queue is before this one.",
        "as many jobs of its queue mail run as may",
        remedy="queuectl queue set mail --concurrency 3",
    ),
    Case(
        "the rate of the queue, next in line",
        pending(rule=a_rule(rate="6/min", rate_spent=(NOW + 4 * SECOND) * 1_000_000)),
        ["rate"],
        "Its queue mail starts at most 6/min: not before Fri 2027-01-15 08:00:04 UTC (in 4s).",
        "its queue mail keeps to a rate",
        remedy="queuectl queue set mail --rate 12/min",
        when=NOW + 4 * SECOND,
    ),
    Case(
        "the rate of the queue, with others before it",
        pending(rule=a_rule(rate="6/min", rate_spent=(NOW + 4 * SECOND) * 1_000_000), ahead=3),
        ["rate"],
        "and 3 jobs of its queue are before this one: not before Fri 2027-01-15 08:00:34 UTC",
        "its queue mail keeps to a rate",
        remedy="queuectl queue set mail --rate 12/min",
        when=NOW + 34 * SECOND,
    ),
    Case(
        "waits for a job",
        blocked(waits=1, parents=[Parent("build", "processing", "success", None)]),
        ["dependency"],
        "It waits for a job before it: build (processing) to succeed.",
        "Job job1 is blocked: it waits for build.",
        remedy="queuectl explain build",
    ),
    Case(
        "waits for several jobs in several ways",
        blocked(
            waits=2,
            parents=[
                Parent("a", "completed", "success", 1),
                Parent("b", "pending", "any", None),
                Parent("c", "failed", "failure", None),
            ],
        ),
        ["dependency"],
        "It waits for 2 jobs before it: b (pending) to end, c (failed) to fail for good.",
        "it waits for 2 jobs",
        remedy="queuectl explain b",
    ),
    Case(
        "waits for very many jobs",
        blocked(waits=9_000, parents=[Parent(f"p{n}", "pending", "success", None) for n in range(9_000)]),
        ["dependency"],
        "p4 (pending) to succeed and 8,995 more.",
        "it waits for 9,000 jobs",
        remedy="queuectl explain p0",
    ),
    Case(
        "the job before it has ended a moment ago",
        blocked(waits=1, parents=[Parent("build", "completed", "success", None)]),
        ["dependency"],
        "build (completed, of which it is told at the next turn of a worker)",
        "it waits for build",
        remedy="queuectl explain build",
    ),
    Case(
        "held",
        blocked(held=1),
        ["held"],
        "It is held until somebody releases it.",
        "Job job1 is blocked: it is held.",
        remedy="queuectl release job1",
    ),
    Case(
        "its group is full",
        blocked(job_group="acme", group=Group("acme", limit=1, running=1, ahead=2)),
        ["group"],
        "Of its group acme at most 1 may run at once, and 1 does, or is about to, and 2 jobs of it are be",
        "its group acme is full",
    ),
    Case(
        "held, in a group, for later, without workers",
        blocked(
            held=1,
            job_group="acme",
            group=Group("acme", limit=1, running=1),
            run_at=NOW + HOUR,
            living=0,
            candidates=[],
        ),
        ["held", "time", "no_worker"],
        "It is held",
        "Job job1 is blocked: it is held (and 2 more reasons).",
        remedy="queuectl release job1",
    ),
    Case(
        "its time has not come, and its queue is paused",
        in_the_way(a_job(states.SCHEDULED, run_at=NOW + 30 * MINUTE), rule=a_rule(paused_at=NOW)),
        ["time", "paused"],
        "It is to run at Fri 2027-01-15 08:30 UTC (in 30m).",
        "Job job1 is scheduled: its time has not come (and 1 more reason).",
        when=NOW + 30 * MINUTE,
    ),
    Case(
        "its time has come, and no worker sees to it",
        in_the_way(a_job(states.SCHEDULED), living=0, candidates=[]),
        ["no_worker"],
        "No worker is running",
        "Job job1 is scheduled: no worker is running.",
        remedy="queuectl worker start",
    ),
    Case(
        "backoff after a failure",
        in_the_way(
            a_job(states.FAILED, attempts=2, runs=2, run_at=NOW + 4 * SECOND),
            attempts=[failed(run=1), failed(run=2, finished_at=NOW, exit_code=127)],
        ),
        ["backoff"],
        "Its attempt 2 of 4 failed: exit code 127 (a command was not found). It is tried again 4s after "
        "that, at Fri 2027-01-15 08:00:04 UTC (in 4s), by exponential backoff with base 2; 2 attempts left.",
        "Job job1 is failed: it failed and waits before it is tried again.",
        remedy="queuectl retry job1",
        when=NOW + 4 * SECOND,
    ),
    Case(
        "running",
        in_the_way(
            a_job(
                states.PROCESSING,
                attempts=1,
                worker_id="w1",
                started_at=NOW - MINUTE,
                timeout=10 * MINUTE,
                progress=40,
                progress_text="epoch 4/10",
            )
        ),
        ["running", "timeout"],
        "Worker w1 has it since Fri 2027-01-15 07:59 UTC (1m ago), attempt 1 of 4; 40 % done (epoch 4/10).",
        "Job job1 is running: worker w1 has it (and 1 more reason).",
        also=lambda told: told.reasons[1].when == NOW + 9 * MINUTE,
    ),
    Case(
        "running, and its timeout is a share of its usual run time",
        in_percent(successes=3),
        ["running", "timeout"],
        "; its command usually takes 11s.",
        "worker w1 has it",
        also=lambda told: "% of its usual 11s) ends it at about " in told.reasons[1].sentence,
    ),
    Case(
        "running, and its usual run time is not known yet",
        in_percent(successes=2),
        ["running", "timeout"],
        "attempt 0 of 4.",
        "worker w1 has it",
        also=lambda told: "is not known yet (2 of 3 successes)" in told.reasons[1].sentence,
    ),
    Case(
        "running, and cancelled",
        in_the_way(a_job(states.PROCESSING, worker_id="w1", started_at=NOW, cancel_requested=1)),
        ["cancelling", "running"],
        "Somebody cancelled it; its worker is ending it.",
        "it is being stopped",
    ),
    Case(
        "its worker is gone",
        in_the_way(a_job(states.PROCESSING, worker_id="w9", started_at=NOW), living=0, owner_lives=False),
        ["worker_gone", "running"],
        "Its worker w9 is gone. The next worker that looks frees the job.",
        "its worker is gone",
        remedy="queuectl worker start",
    ),
    Case(
        "completed",
        ended(states.COMPLETED, an_attempt(kinds.SUCCEEDED, exit_code=0), exit_code=0),
        ["completed"],
        "It succeeded at the first attempt after 3s, Fri 2027-01-15 07:59 UTC (1m ago).",
        "Job job1 is completed: it succeeded at the first attempt.",
    ),
    Case(
        "completed by a code that counts as success",
        ended(states.COMPLETED, an_attempt(kinds.SUCCEEDED, exit_code=3), exit_code=3),
        ["completed"],
        "Exit code 3 counts as success.",
        "it succeeded",
    ),
    Case(
        "dead: retries used up",
        ended(
            states.DEAD, failed(), failed(run=2, error="exit code 1: disk full"), attempts=2, max_retries=1
        ),
        ["retries_used"],
        "It failed 2 times, with max retries 1; the last time: exit code 1.",
        "Job job1 is dead: its retries are used up.",
        remedy="queuectl retry job1",
        also=lambda told: told.story[1].endswith("exit code 1 after 3s: disk full"),
    ),
    Case(
        "dead: again after somebody retried it",
        ended(states.DEAD, failed(), failed(run=2), failed(run=3, attempt=1), attempts=1, max_retries=0),
        ["retries_used"],
        "It failed 1 time since somebody retried it (3 attempts in all), with max retries 0;",
        "its retries are used up",
        remedy="queuectl retry job1",
    ),
    Case(
        "dead: after an attempt that cost none",
        ended(states.DEAD, an_attempt(kinds.RELEASED), failed(run=2, attempt=1), attempts=1, max_retries=0),
        ["retries_used"],
        "It failed 1 time, with max retries 0;",
        "its retries are used up",
        remedy="queuectl retry job1",
    ),
    Case(
        "dead: an exit code that is never retried",
        ended(states.DEAD, failed(exit_code=3), attempts=1, rules=rule_json(no_retry_on="2-4")),
        ["exit_code"],
        "Its attempt 1 ended with exit code 3, which is one of its codes that are never retried (2-4).",
        "its exit code is not to be retried",
        remedy="queuectl retry job1",
    ),
    Case(
        "dead: an exit code that is not among those to retry",
        ended(states.DEAD, failed(exit_code=None, signal=11), attempts=1, rules=rule_json(retry_on="75")),
        ["exit_code"],
        "ended with killed by SIGSEGV (it used memory that is not its own), which is none of its codes that",
        "its exit code is not to be retried",
        remedy="queuectl retry job1",
    ),
    Case(
        "dead: it kept losing its worker",
        ended(
            states.DEAD,
            *(an_attempt(kinds.LOST, run=n, error="its worker w1 died") for n in (1, 2, 3)),
            attempts=3,
            lost=3,
        ),
        ["crash_limit"],
        "Its worker died 3 times while it ran, so perhaps because of it.",
        "it lost its worker 3 times",
        remedy="queuectl retry job1",
    ),
    Case(
        "dead without a single attempt",
        ended(states.DEAD, last_error="too many of its kind failed"),
        ["dead"],
        "too many of its kind failed",
        "it was given up",
        remedy="queuectl retry job1",
    ),
    Case(
        "cancelled while it waited",
        ended(states.CANCELLED, last_error="cancelled while it waited"),
        ["cancelled"],
        "Somebody cancelled it while it waited, Fri 2027-01-15 07:59 UTC (1m ago).",
        "Job job1 is cancelled: it was cancelled.",
        remedy="queuectl retry job1",
    ),
    Case(
        "cancelled while it ran",
        ended(states.CANCELLED, an_attempt(kinds.CANCELLED, signal=15), attempts=1),
        ["cancelled"],
        "Somebody cancelled it while it ran; it was stopped",
        "it was cancelled",
        remedy="queuectl retry job1",
    ),
    Case(
        "cancelled for a reason that was kept",
        ended(states.CANCELLED, last_error="replaced by job job2"),
        ["cancelled"],
        "replaced by job job2.",
        "it was cancelled",
        remedy="queuectl retry job1",
    ),
    Case(
        "cancelled because of a job before it",
        ended(
            states.CANCELLED,
            unmet=1,
            parents=[Parent("lint", "completed", "any", 1), Parent("build", "dead", "success", 0)],
        ),
        ["unmet"],
        "It waited for build (now dead) to succeed, which did not happen, so it was cancelled",
        "Job job1 is cancelled: build did not end as it needed.",
        remedy="queuectl retry build",
        also=lambda told: "It waits again when that is tried again." in told.reasons[0].sentence,
    ),
    Case(
        "cancelled because of a job that was cancelled itself",
        ended(states.CANCELLED, unmet=1, parents=[Parent("build", "cancelled", "success", 0)]),
        ["unmet"],
        "build (now cancelled)",
        "build did not end as it needed",
        remedy="queuectl explain build",
    ),
    Case(
        "cancelled because a job before it did not fail",
        ended(states.CANCELLED, unmet=1, parents=[Parent("build", "completed", "failure", 0)]),
        ["unmet"],
        "It can no longer happen.",
        "build did not end as it needed",
    ),
    Case(
        "dead, and its unique key is another's by now",
        ended(states.DEAD, failed(), attempts=4, unique_key="nightly", holder=("job2", "pending")),
        ["retries_used", "unique"],
        "It failed 4 times",
        "its retries are used up",
        remedy="queuectl retry job1",
        also=lambda told: (
            "Job job2 (pending) has the same unique key 'nightly'" in told.reasons[1].sentence
            and told.reasons[1].remedy == "queuectl cancel job2"
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_situation_has_its_reasons(case: Case) -> None:
    told = explain(case.situation)
    assert [reason.code for reason in told.reasons] == case.codes
    first = told.reasons[0]
    assert case.says in first.sentence
    assert case.verdict in told.verdict
    assert first.remedy == case.remedy
    assert first.when == case.when
    assert case.also is None or case.also(told)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_everything_said_is_one_sentence_on_one_line(case: Case) -> None:
    told = explain(case.situation)
    for text in (told.verdict, *(reason.sentence for reason in told.reasons)):
        assert text.endswith(".")
        assert ".." not in text
        assert "\n" not in text
        assert "None" not in text


def test_json_has_every_reason_with_its_time() -> None:
    document = explain(pending(rule=a_rule(paused_at=NOW, paused_until=NOW + HOUR))).to_dict()
    assert document == {
        "id": "job1",
        "state": "pending",
        "verdict": "Job job1 is pending: its queue mail is paused.",
        "reasons": [
            {
                "code": "paused",
                "text": "Its queue mail is paused since Fri 2027-01-15 08:00 UTC (now), "
                "until Fri 2027-01-15 09:00 UTC (in 1h).",
                "remedy": "queuectl queue resume mail",
                "when": "2027-01-15T09:00:00.000Z",
            }
        ],
        "story": [],
    }


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        (an_attempt(kinds.SUCCEEDED, exit_code=0), "succeeded after 3s"),
        (failed(error="exit code 1: no such file"), "exit code 1 after 3s: no such file"),
        (failed(exit_code=137), "exit code 137 (killed by SIGKILL) after 3s"),
        (failed(exit_code=75), "exit code 75 (it asks to be tried again later) after 3s"),
        (
            failed(exit_code=None, signal=9, error="killed by SIGKILL: out of memory"),
            "killed by SIGKILL (often for want of memory) after 3s: out of memory",
        ),
        (an_attempt(kinds.TIMEOUT, signal=15, error="timeout"), "took longer than its timeout of 2s and was"),
        (
            an_attempt(kinds.SPAWN_ERROR, error="cannot start /x: No such file"),
            "could not be started: cannot",
        ),
        (an_attempt(kinds.CANCELLED, signal=15), "was stopped after 3s because somebody cancelled the job"),
        (
            an_attempt(kinds.LOST, error="its worker w1 died"),
            "was lost with its worker after 3s: its worker w1",
        ),
        (an_attempt(kinds.RELEASED, signal=15), "was ended after 3s by a planned stop of its worker"),
        (an_attempt(kinds.UNSTARTED, started_at=None), "was claimed but never started"),
    ],
    ids=lambda value: value.outcome if isinstance(value, Attempt) else "",
)
def test_every_attempt_is_told(attempt: Attempt, told: str) -> None:
    (line,) = explain(ended(states.DEAD, attempt, attempts=4, timeout=2 * SECOND)).story
    assert line.startswith("attempt 1, Fri 2027-01-15 07:00")
    assert " on host1 by worker w1: " in line
    assert told in line


def test_of_many_attempts_the_last_are_told() -> None:
    attempts = [failed(run=run) for run in range(1, 101)]
    told = explain(ended(states.DEAD, *attempts, attempts=100, max_retries=99)).story
    assert told[0] == "80 earlier attempts are not told here; see: queuectl show job1"
    assert [line.split(",")[0] for line in told[1:]] == [f"attempt {run}" for run in range(81, 101)]
