"""How long a failed job waits for its next run."""

from __future__ import annotations

EXPONENTIAL = "exponential"
LINEAR = "linear"
FIXED = "fixed"
STRATEGIES = (EXPONENTIAL, LINEAR, FIXED)


class Backoff:
    """The policy in force for one job: its own values over the configured ones. Milliseconds."""

    __slots__ = ("base", "delay", "jitter", "longest", "strategy")

    def __init__(self, *, strategy: str, base: float, delay: int, longest: int, jitter: float) -> None:
        self.strategy = strategy
        self.base = base
        self.delay = delay
        self.longest = longest
        self.jitter = jitter


def delay_ms(policy: Backoff, failures: int, random: float = 0.0) -> int:
    """The wait after the n-th failed run: `base ** n` seconds, `delay * n`, or `delay`.

    `random` in [0, 1) spreads the result over ± jitter (a fraction of the delay), so that jobs
    which failed together do not come back together.
    """
    if policy.strategy == EXPONENTIAL:
        delay = _power_ms(policy.base, failures, policy.longest)
    elif policy.strategy == LINEAR:
        delay = policy.delay * failures
    else:
        delay = policy.delay
    delay = min(delay, policy.longest)
    if policy.jitter:
        delay = round(delay * (1 + policy.jitter * (2 * random - 1)))
    return max(0, min(delay, policy.longest))


def _power_ms(base: float, exponent: int, longest: int) -> int:
    try:
        return round(min(base**exponent * 1000, longest))
    except OverflowError:
        return longest
