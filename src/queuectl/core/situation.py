"""All that bears on one job at one moment, and what is said about it.

Gathering it is left to `queuectl.explaining`, drawing the conclusions to `core.explaining`.
"""

from __future__ import annotations

from queuectl.core.runtimes import UNKNOWN
from queuectl.core.times import describe_when, iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from queuectl.core.job import Attempt, Job
    from queuectl.core.lifecycle import Policy
    from queuectl.core.queue_rules import QueueRule
    from queuectl.core.runtimes import Known

MOST_AHEAD = 1_000  # so many jobs before it are counted, not more


class Parent:
    """A job that ours waits for, or has waited for."""

    __slots__ = ("id", "kind", "settled", "state")

    def __init__(self, id: str, state: str, kind: str, settled: int | None) -> None:
        self.id = id
        self.state = state
        self.kind = kind  # see core.conditions: success, any, failure
        self.settled = settled  # None: it has not ended; 1: met; 0: not met


class Candidate:
    """A living worker that serves the queue of the job."""

    __slots__ = ("id", "provides", "running", "slots", "stopping", "used")

    def __init__(
        self,
        id: str,
        *,
        slots: int,
        running: int = 0,
        stopping: bool = False,
        provides: dict[str, int] | None = None,
        used: dict[str, int] | None = None,
    ) -> None:
        self.id = id
        self.slots = slots
        self.running = running
        self.stopping = stopping
        self.provides = provides or {}  # pieces of each resource
        self.used = used or {}  # those that running jobs have

    def has(self, needs: dict[str, int], *, free: bool = False) -> bool:
        """Whether it has what a job needs, at all or just now."""
        return all(
            self.provides.get(name, 0) - (self.used.get(name, 0) if free else 0) >= count
            for name, count in needs.items()
        )


class Group:
    """The group of the job: how many of it may be under way, and how many are."""

    __slots__ = ("ahead", "limit", "name", "running")

    def __init__(self, name: str, *, limit: int, running: int, ahead: int = 0) -> None:
        self.name = name
        self.limit = limit
        self.running = running
        self.ahead = ahead  # jobs of the group that wait for their turn before ours


class Situation:
    """A job and what surrounds it."""

    __slots__ = (
        "ahead",
        "attempts",
        "candidates",
        "group",
        "holder",
        "job",
        "living",
        "now",
        "owner_lives",
        "parents",
        "policy",
        "rule",
        "running",
        "untold",
        "usual",
        "zone",
    )

    def __init__(self, job: Job, policy: Policy, now: int) -> None:
        self.job = job
        self.policy = policy
        self.now = now
        self.zone: tzinfo | None = None  # in which times are told; None: the machine's own
        self.rule: QueueRule | None = None  # of its queue
        self.running = 0  # jobs of its queue
        self.ahead = 0  # pending jobs of its queue that come before it, at most MOST_AHEAD
        self.living = 0  # workers, whatever they serve
        self.candidates: Sequence[Candidate] = ()
        self.owner_lives = True  # of a running job: its worker
        self.parents: Sequence[Parent] = ()
        self.group: Group | None = None
        self.holder: tuple[str, str] | None = None  # id and state of another live job with its unique key
        self.attempts: Sequence[Attempt] = ()
        self.untold: Sequence[Job] = ()  # of its end: notifications that have not succeeded, the latest first
        self.usual: Known = UNKNOWN  # of a job that runs: how long its command takes

    def when(self, ms: int) -> str:
        return describe_when(ms, now_ms=self.now, zone=self.zone)


class Reason:
    """One thing that keeps a job from running, or has ended it."""

    __slots__ = ("code", "remedy", "sentence", "short", "when")

    def __init__(
        self, code: str, short: str, sentence: str, *, remedy: str | None = None, when: int | None = None
    ) -> None:
        self.code = code
        self.short = short  # for the verdict: "its queue is paused"
        self.sentence = sentence
        self.remedy = remedy  # the command that would change it
        self.when = when  # when it will have changed by itself, as far as is known

    def to_dict(self) -> dict[str, object]:
        return {"code": self.code, "text": self.sentence, "remedy": self.remedy, "when": iso(self.when)}


class Explanation:
    """What is said about a job: in one sentence, reason by reason, and what happened to it so far."""

    __slots__ = ("job", "reasons", "story", "verdict")

    def __init__(self, job: Job, verdict: str, reasons: list[Reason], story: list[str]) -> None:
        self.job = job
        self.verdict = verdict
        self.reasons = reasons
        self.story = story

    def to_dict(self) -> dict[str, object]:
        return {
            "id": self.job.id,
            "state": self.job.state,
            "verdict": self.verdict,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "story": self.story,
        }
