"""Commands used wrongly, things that do not exist, states that forbid it. Rows for `test_bad_input`."""

from __future__ import annotations

from tests.cli.mistake import NOT_FOUND, REFUSED, Mistake


def _usage(says: str, *words: str, hint: str = "--help", early: bool = True) -> Mistake:
    return Mistake(f"usage: {' '.join(words)[:50]}", words, says, hint, early=early)


def _missing(*words: str) -> Mistake:
    return Mistake(
        f"no such job: {' '.join(words)}",
        words,
        "there is no job 'nosuch'",
        "queuectl list",
        code=NOT_FOUND,
        kind="not_found",
        early=False,
    )


def _refused(says: str, *words: str, hint: str = "") -> Mistake:
    return Mistake(
        f"refused: {' '.join(words)}", words, says, hint, code=REFUSED, kind="refused", early=False
    )


USAGE = [
    _usage("unknown command 'frobnicate'", "frobnicate", hint="queuectl --help shows the commands"),
    _usage("unknown command 'enqueu'", "enqueu", "x", hint="did you mean: queuectl enqueue"),
    _usage("unknown command 'staus'", "staus", hint="did you mean: queuectl status"),
    _usage("unknown option '--frobnicate'", "--frobnicate", hint="queuectl --help"),
    _usage("--db needs a file", "--db", hint="queuectl --db jobs.db list"),
    _usage("unknown command 'resume'", "resume", "mail", hint="did you mean: queuectl queue resume"),
    _usage("unknown command 'purge'", "purge", hint="did you mean: queuectl dlq purge"),
    _usage("unknown command 'Kill'", "Kill", "x", hint="did you mean: queuectl cancel"),
    _usage("unknown command 'worker strat'", "worker", "strat", hint="queuectl worker start"),
    _usage("unknown command 'worker frob'", "worker", "frob", hint="start, stop, restart, list, scale"),
    _usage("unknown command 'dlq lst'", "dlq", "lst", hint="queuectl dlq list"),
    _usage("unknown command 'config gte'", "config", "gte", hint="queuectl config get"),
    _usage("0 is not 1 or more", "worker", "start", "--count", "0"),
    _usage("-1 is not 1 or more", "worker", "start", "--count", "-1"),
    _usage("'abc' is not a whole number", "worker", "start", "--count", "abc"),
    _usage("1001 is more than 1,000", "worker", "start", "--count", "1001"),
    _usage("0 is not 1 or more", "worker", "start", "--concurrency", "0"),
    _usage("queue name '../x' is not allowed", "worker", "start", "--queue", "../x", hint="letters"),
    _usage("unrecognized arguments: three", "worker", "start", "three"),
    _usage("unrecognized arguments: 3", "worker", "start", "3", hint="did you mean --count 3?"),
    _usage("--timeout 'x': not a duration", "worker", "stop", "--timeout", "x", hint="90s", early=False),
    _usage("the following arguments are required: N", "worker", "scale"),
    _usage("the following arguments are required: ID", "show"),
    _usage("the logs of which jobs?", "logs", hint="--tag night"),
    _usage("both ids and a filter", "logs", "done", "--tag", "x", hint="one of the two"),
    _usage("the following arguments are required: ID", "dlq", "show"),
    _usage("which jobs to cancel?", "cancel", hint="--all", early=False),
    _usage("which jobs to retry?", "retry", hint="give ids", early=False),
    _usage("which jobs to delete?", "rm", hint="give ids", early=False),
    _usage("which jobs to retry?", "dlq", "retry", hint="give ids", early=False),
    _usage("which jobs to wait for?", "wait", hint="--tag T", early=False),
    _usage("both ids and a filter", "rm", "done", "--all", hint="one of the two", early=False),
    _usage("both ids and a filter", "wait", "done", "--queue", "x", hint="one of the two", early=False),
    _usage("unknown state 'waiting'", "list", "--state", "waiting", hint="pending", early=False),
    _usage("unknown state ''", "list", "--state", "dead,", hint="cancelled", early=False),
    _usage("0 is not 1 or more", "list", "--limit", "0"),
    _usage("'x' is not a whole number", "list", "--offset", "x"),
    _usage("invalid choice: 'colour'", "list", "--sort", "colour"),
    _usage("--since 'x y': not a time", "list", "--since", "x y", hint="10m", early=False),
    _usage("unrecognized arguments: done", "list", "done", hint="did you mean --state done?"),
    _usage("unrecognized arguments: mail", "list", "mail", hint="did you mean --search mail?"),
    _usage("unrecognized arguments: a b", "list", "a", "b"),
    _usage("--format takes a template, and csv is none", "list", "--format", "csv", hint="--json"),
    _usage("--format takes a template, and JSON is none", "status", "--format", "JSON", hint="--json"),
    _usage("one JSON array are for --file", "enqueue", '[{"command":"x"}]', hint="--file"),
    _usage("unrecognized arguments: --stat", "list", "--stat", hint="did you mean --state?"),
    _usage("--queue is not valid UTF-8", "list", "--queue", "\udcff", hint="plain text", early=False),
    _usage("0 is not 1 or more", "logs", "done", "--attempt", "0"),
    _usage("not allowed with argument", "logs", "done", "--stdout", "--stderr"),
    _usage("--timeout 'x': not a duration", "wait", "done", "--timeout", "x", hint="90s", early=False),
    _usage("cleanup is for jobs that have ended", "cleanup", "--state", "pending", hint="completed"),
    _usage("--older-than 'x': not a duration", "cleanup", "--older-than", "x", hint="2d"),
    _usage("there is no setting 'nope'", "config", "set", "nope", "1", hint="queuectl config list"),
    _usage("there is no setting 'max-retrys'", "config", "set", "max-retrys", "1", hint="max-retries?"),
    _usage("there is no value for max-retries", "config", "set", "max-retries", hint="config set"),
    _usage("max-retries must be a whole number", "config", "set", "max-retries", "x", hint="config set"),
    _usage("max-retries must be between 0 and", "config", "set", "max-retries", "-1", hint=""),
    _usage("max-attempts must be at least 1", "config", "set", "max-attempts", "0", hint="first run"),
    _usage("backoff-strategy cannot be 'cubic'", "config", "set", "backoff-strategy", "cubic", hint="linear"),
    _usage("job-timeout 'x': not a duration", "config", "set", "job-timeout", "x", hint="90s"),
    _usage("shell must be the full path", "config", "set", "shell", "bash", hint=""),
    _usage("worker-lease must be at least twice", "config", "set", "worker-lease", "1", hint="", early=False),
    _usage("unrecognized arguments: 4", "config", "set", "max-retries", "3", "4"),
    _usage("unsupported database address: mongodb", "--db", "mongodb://x", "list", hint="postgresql://"),
]

UNKNOWN = [
    *(_missing(name, "nosuch") for name in ("show", "logs", "cancel", "retry", "rm", "wait")),
    *(_missing("dlq", name, "nosuch") for name in ("show", "retry", "purge")),
    _missing("list", "--after", "nosuch"),
    Mistake(
        "no such worker",
        ("worker", "stop", "nosuch"),
        "there is no worker 'nosuch'",
        "queuectl worker list",
        code=NOT_FOUND,
        kind="not_found",
        early=False,
    ),
    Mistake(
        "no such setting",
        ("config", "get", "backof-base"),
        "there is no setting 'backof-base'",
        "did you mean backoff-base?",
        code=NOT_FOUND,
        kind="not_found",
    ),
    Mistake(
        "no such attempt",
        ("logs", "done", "--attempt", "7"),
        "job done has no attempt 7",
        "it has 1",
        code=NOT_FOUND,
        kind="not_found",
        early=False,
    ),
]

WRONG_STATE = [
    _refused("job done is completed", "retry", "done", hint="dead, cancelled, failed"),
    _refused("job waiting is pending", "retry", "waiting"),
    _refused("job running is processing", "retry", "running"),
    _refused("job waiting is pending", "dlq", "retry", "waiting", hint="only these can be retried: dead"),
    _refused("job flaky is failed", "dlq", "retry", "flaky"),
    _refused("job done is completed", "dlq", "purge", "done", hint="dead"),
    _refused("job done is completed, not dead", "dlq", "show", "done", hint="queuectl show done"),
    _refused("job running is processing", "rm", "running", hint="queuectl cancel running"),
    _refused("job done is completed", "cancel", "done", hint="ended already"),
    _refused("job stopped is cancelled", "cancel", "stopped"),
    _refused("cannot retry jobs that are completed", "retry", "--state", "completed", hint="dead"),
    _refused("cannot delete jobs that are processing", "rm", "--state", "processing"),
    _refused("delete 6 jobs?", "rm", "--all", hint="add --yes"),
]

IN_USE = [*USAGE, *UNKNOWN, *WRONG_STATE]
