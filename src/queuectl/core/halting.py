"""When `map --wait` gives up: GNU parallel's `--halt` rules, read and judged.

Counting the jobs and cancelling them is left to the caller.
"""

from __future__ import annotations

import re

from queuectl.errors import InvalidInput

__all__ = ["NEVER", "NOW", "SOON", "HaltRule", "parse_halt", "triggered"]

NEVER, SOON, NOW = "never", "soon", "now"
SUCCESS, FAIL, DONE = "success", "fail", "done"

_FORMS = "like soon,fail=1 (cancel what waits) or now,fail=10% (also what runs); also success=N and done=N"
_RULE = r"(soon|now),(fail|success|done)=([0-9]{1,9})(%?)"
_FEW = 3  # a share of fewer jobs than that says nothing


class HaltRule:
    """`when` to stop the rest, at how many (`limit`, or percent of what has ended) of `what`."""

    __slots__ = ("limit", "percent", "what", "when")

    def __init__(self, when: str, what: str = FAIL, limit: int = 1, *, percent: bool = False) -> None:
        self.when = when
        self.what = what
        self.limit = limit
        self.percent = percent

    def __str__(self) -> str:
        if self.when == NEVER:
            return NEVER
        return f"{self.when},{self.what}={self.limit}{'%' if self.percent else ''}"


def parse_halt(text: str) -> HaltRule:
    """`never`, or when,what=how-many: `soon,fail=1`, `now,success=10%`."""
    words = "".join(text.lower().split())
    if words == NEVER:
        return HaltRule(NEVER)
    match = re.fullmatch(_RULE, words)
    if not match:
        raise InvalidInput(f"--halt {text[:60]!r} is no rule", _FORMS)
    when, what, number, percent = match.groups()
    limit = int(number)
    if limit < 1 or (percent and limit > 100):
        bounds = "1% to 100%" if percent else "1 or more"
        raise InvalidInput(f"--halt {text[:60]!r}: {what} must be {bounds}", _FORMS)
    return HaltRule(when, what, limit, percent=bool(percent))


def triggered(rule: HaltRule, *, completed: int, failed: int, total: int) -> bool:
    """Whether so many of `total` jobs have ended as the rule says.

    A percentage is one of the jobs that have ended, and needs three of the kind, as in parallel; or all
    of them, if there are fewer.
    """
    if rule.when == NEVER:
        return False
    found = {SUCCESS: completed, FAIL: failed, DONE: completed + failed}[rule.what]
    if not rule.percent:
        return found >= rule.limit
    ended = total if rule.what == DONE else completed + failed
    return found >= max(min(_FEW, total), 1) and found * 100 >= rule.limit * ended
