"""What a storm is to consist of, and which jobs it goes over. All choices follow from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from proof.checker import recorded

# What a job does stands in its id, so that its end can be judged. Of a thousand:
KINDS = {"quick": 875, "slow": 65, "long": 4, "again": 40, "never": 16}
LASTS = {"slow": (0.2, 2.0), "long": (4.0, 8.0)}  # seconds; the long ones are there when a lease runs out
ENOUGH_RETRIES = 1_000  # it is not the storm that uses them up
FEW_RETRIES = 2


@dataclass(frozen=True)
class Plan:
    """The storm over one engine; at least so much of everything."""

    engine: str
    jobs: int
    kills: int  # of workers and supervisors
    stops: int  # of workers, for longer than their lease
    restarts: int = 0  # of the server
    partitions: int = 0  # between some of the workers and the server, for longer than the lease
    seconds: float = 180.0  # over which all this is spread
    longest: float = 300.0  # then it is over, whatever is still missing
    lease: float = 5.0
    workers: int = 3  # of each installation
    seed: int = 1


def job(plan: Plan, client: str, number: int, log: Path) -> dict[str, object]:
    """The job of this number: the same whenever it is asked for, so that it can be sent again."""
    dice = random.Random(f"{plan.seed}/{client}/{number}")
    (kind,) = dice.choices(list(KINDS), list(KINDS.values()))
    command = recorded(f"sleep {dice.uniform(*LASTS[kind]):.2f}" if kind in LASTS else "true", log)
    if kind == "again":
        command += '; test "$QUEUECTL_ATTEMPT" -gt 1'
    if kind == "never":
        command += "; exit 1"
    retries = FEW_RETRIES if kind == "never" else ENOUGH_RETRIES
    return {"id": f"{client}-{number}-{kind}", "command": command, "max_retries": retries}


def kind_of(id: str) -> str:
    return id.rpartition("-")[2]
