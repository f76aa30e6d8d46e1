"""Commands used wrongly, things that do not exist, states that forbid it. Rows for `test_bad_input`."""

from __future__ import annotations

from tests.cli.mistake import NOT_FOUND, Mistake, missing, refused, used


def _no_job(*words: str) -> Mistake:
    return missing("job", *words, hint="queuectl list")


USAGE = [
    used("unknown command 'frobnicate'", "frobnicate", hint="queuectl --help shows the commands"),
    used("unknown command 'enqueu'", "enqueu", "x", hint="did you mean: queuectl enqueue"),
    used("unknown command 'staus'", "staus", hint="did you mean: queuectl status"),
    used("unknown option '--frobnicate'", "--frobnicate", hint="queuectl --help"),
    used("--db needs a file", "--db", hint="queuectl --db jobs.db list"),
    used("unknown command 'resume'", "resume", "mail", hint="did you mean: queuectl queue resume"),
    used("unknown command 'purge'", "purge", hint="did you mean: queuectl dlq purge"),
    used("unknown command 'Kill'", "Kill", "x", hint="did you mean: queuectl cancel"),
    used("unknown command 'worker strat'", "worker", "strat", hint="queuectl worker start"),
    used("unknown command 'worker frob'", "worker", "frob", hint="start, stop, restart, list, scale"),
    used("unknown command 'dlq lst'", "dlq", "lst", hint="queuectl dlq list"),
    used("unknown command 'config gte'", "config", "gte", hint="queuectl config get"),
    used("0 is not 1 or more", "worker", "start", "--count", "0"),
    used("-1 is not 1 or more", "worker", "start", "--count", "-1"),
    used("'abc' is not a whole number", "worker", "start", "--count", "abc"),
    used("1001 is more than 1,000", "worker", "start", "--count", "1001"),
    used("0 is not 1 or more", "worker", "start", "--concurrency", "0"),
    used("queue name '../x' is not allowed", "worker", "start", "--queue", "../x", hint="letters"),
    used("unrecognized arguments: three", "worker", "start", "three"),
    used("unrecognized arguments: 3", "worker", "start", "3", hint="did you mean --count 3?"),
    used("--timeout 'x': not a duration", "worker", "stop", "--timeout", "x", hint="90s", early=False),
    used("the following arguments are required: N", "worker", "scale"),
    used("the following arguments are required: ID", "show"),
    used("the logs of which jobs?", "logs", hint="--tag night"),
    used("both ids and a filter", "logs", "done", "--tag", "x", hint="one of the two"),
    used("the following arguments are required: ID", "dlq", "show"),
    used("which jobs to cancel?", "cancel", hint="--all", early=False),
    used("which jobs to retry?", "retry", hint="give ids", early=False),
    used("which jobs to delete?", "rm", hint="give ids", early=False),
    used("which jobs to retry?", "dlq", "retry", hint="give ids", early=False),
    used("which jobs to wait for?", "wait", hint="--tag T", early=False),
    used("both ids and a filter", "rm", "done", "--all", hint="one of the two", early=False),
    used("both ids and a filter", "wait", "done", "--queue", "x", hint="one of the two", early=False),
    used("unknown state 'waiting'", "list", "--state", "waiting", hint="pending", early=False),
    used("unknown state ''", "list", "--state", "dead,", hint="cancelled", early=False),
    used("0 is not 1 or more", "list", "--limit", "0"),
    used("'x' is not a whole number", "list", "--offset", "x"),
    used("invalid choice: 'colour'", "list", "--sort", "colour"),
    used("--since 'x y': not a time", "list", "--since", "x y", hint="10m", early=False),
    used("unrecognized arguments: done", "list", "done", hint="did you mean --state done?"),
    used("unrecognized arguments: mail", "list", "mail", hint="did you mean --search mail?"),
    used("unrecognized arguments: a b", "list", "a", "b"),
    used("unrecognized arguments: --stat", "list", "--stat", hint="did you mean --state?"),
    used("--queue is not valid UTF-8", "list", "--queue", "\udcff", hint="plain text", early=False),
    used("0 is not 1 or more", "logs", "done", "--attempt", "0"),
    used("not allowed with argument", "logs", "done", "--stdout", "--stderr"),
    used("--timeout 'x': not a duration", "wait", "done", "--timeout", "x", hint="90s", early=False),
    used("cleanup is for jobs that have ended", "cleanup", "--state", "pending", hint="completed"),
    used("--older-than 'x': not a duration", "cleanup", "--older-than", "x", hint="2d"),
    used("there is no setting 'nope'", "config", "set", "nope", "1", hint="queuectl config list"),
    used("there is no setting 'max-retrys'", "config", "set", "max-retrys", "1", hint="max-retries?"),
    used("there is no value for max-retries", "config", "set", "max-retries", hint="config set"),
    used("max-retries must be a whole number", "config", "set", "max-retries", "x", hint="config set"),
    used("max-retries must be between 0 and", "config", "set", "max-retries", "-1", hint=""),
    used("max-attempts must be at least 1", "config", "set", "max-attempts", "0", hint="first run"),
    used("backoff-strategy cannot be 'cubic'", "config", "set", "backoff-strategy", "cubic", hint="linear"),
    used("job-timeout 'x': not a duration", "config", "set", "job-timeout", "x", hint="90s"),
    used("shell must be the full path", "config", "set", "shell", "bash", hint=""),
    used("worker-lease must be at least twice", "config", "set", "worker-lease", "1", hint="", early=False),
    used("unrecognized arguments: 4", "config", "set", "max-retries", "3", "4"),
    used("unsupported database address: mongodb", "--db", "mongodb://x", "list", hint="postgresql://"),
]

UNKNOWN = [
    *(_no_job(name, "nosuch") for name in ("show", "logs", "cancel", "retry", "rm", "wait")),
    *(_no_job("dlq", name, "nosuch") for name in ("show", "retry", "purge")),
    _no_job("list", "--after", "nosuch"),
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
    refused("job done is completed", "retry", "done", hint="dead, cancelled, failed"),
    refused("job waiting is pending", "retry", "waiting"),
    refused("job running is processing", "retry", "running"),
    refused("job waiting is pending", "dlq", "retry", "waiting", hint="only these can be retried: dead"),
    refused("job flaky is failed", "dlq", "retry", "flaky"),
    refused("job done is completed", "dlq", "purge", "done", hint="dead"),
    refused("job done is completed, not dead", "dlq", "show", "done", hint="queuectl show done"),
    refused("job running is processing", "rm", "running", hint="queuectl cancel running"),
    refused("job done is completed", "cancel", "done", hint="ended already"),
    refused("job stopped is cancelled", "cancel", "stopped"),
    refused("cannot retry jobs that are completed", "retry", "--state", "completed", hint="dead"),
    refused("cannot delete jobs that are processing", "rm", "--state", "processing"),
    refused("delete 6 jobs?", "rm", "--all", hint="add --yes"),
]

IN_USE = [*USAGE, *UNKNOWN, *WRONG_STATE]
