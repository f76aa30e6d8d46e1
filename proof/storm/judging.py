"""What a storm has left behind, in figures, when all is quiet again."""

from __future__ import annotations

from collections import Counter
from typing import Any

from proof.checker import RunLog, examine
from proof.storm.plan import kind_of
from proof.storm.scene import Scene
from proof.verdict import Verdict
from queuectl.core import states

# What workers say, and what that is called in the table.
SAYINGS = {
    "came too late and was ignored": "results that came too late and were refused",
    "was declared dead": "workers that woke up, or came back, and found themselves declared dead",
    "could not renew its lease": "times a worker ended its own commands before its lease ran out",
}


def judge(scene: Scene, left_over: int) -> Verdict:
    """The verdict; the figures go to the tally."""
    log = RunLog(scene.log)
    acknowledged = scene.acknowledged()
    verdict = examine(scene.near, acknowledged, log)
    for _ in range(left_over):
        verdict.note("orphans", "a process that outlived `worker stop`")
    with scene.queue() as queue:
        db: Any = queue.store.connection
        ends = {str(id): str(state) for id, state in db.all("SELECT id, state FROM jobs")}
        outcomes = Counter(str(outcome) for (outcome,) in db.all("SELECT outcome FROM attempts"))
    judge_ends(ends, verdict, scene.tally)
    for outcome, times in outcomes.items():
        scene.tally[f"outcome {outcome}"] += times
    # A run that neither succeeded nor failed was taken away from its job by the storm.
    scene.tally["runs again because of the storm"] += (
        verdict.runs - outcomes["succeeded"] - outcomes["failed"]
    )
    scene.tally["runs to the end that did not count"] += _ends_without_effect(scene, outcomes)
    for text, what in SAYINGS.items():
        scene.tally[what] += scene.said(text)
    return verdict


def judge_ends(ends: dict[str, str], verdict: Verdict, tally: Counter[str]) -> None:
    """A job that can succeed has succeeded; one that never can is dead, and nothing else."""
    for id, state in ends.items():
        meant = states.DEAD if kind_of(id) == "never" else states.COMPLETED
        if state == meant == states.DEAD:
            tally["dead, as they always fail"] += 1
        elif state in states.TERMINAL and state != meant:
            verdict.note("unsound", f"{id} is {state}")


def _ends_without_effect(scene: Scene, outcomes: Counter[str]) -> int:
    """Commands that did all their work, and whose result was lost: the work was done twice."""
    ended = sum(line.startswith("end ") for line in scene.log.read_text().splitlines())
    return ended - outcomes["succeeded"] - outcomes["failed"]
