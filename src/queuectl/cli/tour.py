"""The tour of `queuectl demo`: what is said, what is typed, and what must come of it.

Where it happens and how the commands are run is left to `tourguide`.
"""

from __future__ import annotations


class Step:
    """One line that is typed. It went as told if it ends with `code` and its output has all of `shows`."""

    __slots__ = ("about", "code", "line", "shows", "until")

    def __init__(
        self, about: str, line: str, *shows: str, code: int = 0, until: tuple[str, str] | None = None
    ) -> None:
        self.about = about  # said before it; empty: it belongs to the step before
        self.line = line
        self.shows = shows
        self.code = code
        self.until = until  # first wait until this command, which is not shown, prints this


INTRODUCTION = (
    "A short tour. Everything in it really happens, on a store of its own that is removed at the end: "
    "{place}. Your own jobs are not touched. Ctrl+C ends it at any moment."
)

STEPS = (
    Step(
        "A job is a shell command. Once enqueue has answered, it is on disk and survives a crash. "
        "It waits, for nobody runs jobs yet.",
        'queuectl enqueue --id hello "echo hello from a job"',
        "Job hello enqueued",
    ),
    Step(
        "A job can depend on another: this one runs only if hello ends well.",
        'queuectl enqueue --id report --after hello "echo hello is done"',
        "Job report enqueued",
    ),
    Step(
        "What fails is tried again, by default three times, after 2, 4 and 8 seconds. For this tour we wait "
        "half a second at most. The command below fails at its first attempt and succeeds at its second.",
        "queuectl config set backoff-base 0.5",
    ),
    Step(
        "",
        "queuectl enqueue --id flaky 'test $QUEUECTL_ATTEMPT = 2'",
        "Job flaky enqueued",
    ),
    Step(
        "And one that cannot succeed: the file is not there.",
        'queuectl enqueue --id broken --max-retries 1 "cat letter.txt"',
        "Job broken enqueued",
    ),
    Step(
        "Four jobs wait; report is blocked by hello.",
        "queuectl list",
        "hello",
        "blocked",
    ),
    Step("Now somebody to run them, in the background:", "queuectl worker start", "started"),
    Step(
        "Wait for all of them. The exit code says that not all ended well.",
        "queuectl wait --all",
        code=1,
    ),
    Step("What became of them:", "queuectl list", "completed", "dead"),
    Step("What a job printed is kept.", "queuectl logs hello", "hello from a job"),
    Step(
        "So is every attempt. flaky failed once, waited and was run again.",
        "queuectl show flaky",
        "exit code 1",
        "completed",
    ),
    Step(
        "broken has used up its retries. It is dead: parked in the dead letter queue, where it waits for "
        "somebody to decide.",
        "queuectl dlq list",
        "broken",
        "letter.txt",
    ),
    Step("", "queuectl explain broken", "dead"),
    Step("Mend the cause, and send it back:", "echo Dear reader > letter.txt"),
    Step("", "queuectl dlq retry broken", "broken"),
    Step("", "queuectl wait broken && queuectl logs broken", "Dear reader"),
    Step(
        "A schedule makes jobs again and again, by cron fields or at an interval.",
        'queuectl schedule add tick "@every 1s" --tag tick -- date',
        "Schedule tick",
    ),
    Step(
        "A moment later it has fired:",
        "queuectl list --tag tick --limit 2",
        "completed",
        until=("queuectl list --tag tick --state completed --quiet", "tick-"),
    ),
    Step("", "queuectl schedule rm tick", "tick"),
    Step("All of it in figures, and then the worker may go:", "queuectl status", "Dead (DLQ): 0"),
    Step("", "queuectl worker stop", "stopped"),
)

END = (
    'That was the tour, and its store is gone. Yours begins with: queuectl enqueue "echo hello". '
    "queuectl alone shows how things stand, queuectl help all commands, queuectl help retries more of this."
)
