"""When and how jobs run, said wrongly: conditions, queues, schedules, maps. Rows for `test_mistakes`."""

from __future__ import annotations

import json

from tests.cli.mistake import Mistake, missing, refused, used


def _flag(*words: str, early: bool = True) -> Mistake:
    return Mistake(f"flag: {' '.join(words)}", ("enqueue", *words, "echo hi"), early=early)


def _field(name: str, value: object, *, early: bool = True) -> Mistake:
    text = json.dumps({"command": "echo hi", name: value})
    return Mistake(f"json: {text[21:80]}", ("enqueue", text), early=early)


def _opened(*words: str) -> Mistake:
    """Told only once the store is open."""
    return used(*words, early=False)


FLAGS = [
    _flag("--after", "nosuch", early=False),
    _flag("--after", ""),
    _flag("--after", "done", "--after-fail", "done"),
    _flag("--id", "new", "--after-any", "new"),
    _flag("--on-success", ""),
    _flag("--on-failure", " "),
    _flag("--unique-key", ""),
    _flag("--if-live", "skip"),
    _flag("--unique-key", "k", "--if-live", "perhaps"),
    _flag("--group", "a b"),
    _flag("--group-limit", "3"),
    _flag("--group", "g", "--group-limit", "0"),
    _flag("--retry-on", "300"),
    _flag("--retry-on", "often"),
    _flag("--no-retry-on", "5-2"),
    _flag("--ok-codes", ""),
    _flag("--ok-codes=-1"),
    _flag("--retry-on", "1-9", "--no-retry-on", "9"),
    _flag("--ok-codes", "3", "--retry-on", "3"),
    _flag("--memory", "lots"),
    _flag("--memory=-5M"),
    _flag("--memory", "0"),
    _flag("--cpu-time", "never"),
    _flag("--cpu-time", "5ms"),
    _flag("--files", "0"),
    _flag("--processes", "many"),
    _flag("--nice", "50"),
    _flag("--needs", "gpu=0"),
    _flag("--needs", "G P=1"),
    _flag("--needs", "gpu=1", "--needs", "gpu=2"),
    _flag("--need", "gpu=1"),
]

FIELDS = [
    _field("after", {"id": "done"}),
    _field("after", [7]),
    _field("depends_on", ["nosuch"], early=False),
    _field("on_success", 7),
    _field("on_failure", {"command": "x"}),
    _field("unique_key", 7),
    _field("unique_key", "k" * 192),
    _field("unique", "k"),
    _field("group", 7),
    _field("hold", "yes"),
    _field("retry_on", [300]),
    _field("ok_codes", True),
    _field("no_retry_on", []),
    _field("memory", []),
    _field("nice", 1.5),
    _field("needs", {"gpu": "one"}),
    _field("needs", 7),
]

QUEUES = [
    used("queue", "sets"),
    used("queue", "rm", "mail"),
    used("queue", "set"),
    used("queue", "pause"),
    used("queue", "set", "mail", "5"),
    used("queue", "set", "mail", "--rate"),
    used("queue", "set", "mail"),
    used("queue", "set", "mail", "--rate", "fast"),
    used("queue", "set", "mail", "--rate", "5"),
    used("queue", "set", "mail", "--rate", "0/s"),
    used("queue", "set", "mail", "--rate", "5/parsec"),
    _opened("queue", "set", "mail", "--burst", "3"),
    used("queue", "set", "mail", "--rate", "5/s", "--burst", "0"),
    used("queue", "set", "mail", "--concurrency", "0"),
    used("queue", "set", "mail", "--concurrency", "x"),
    used("queue", "set", "mail", "--timeout", "x"),
    used("queue", "set", "mail", "--timeout", "50%"),
    used("queue", "set", "mail", "--max-retries", "-1"),
    used("queue", "set", "mail", "--backoff-strategy", "cubic"),
    used("queue", "set", "../x", "--rate", "5/s"),
    _opened("queue", "pause", "../x"),
    _opened("queue", "pause", "mail", "--until", "2001-01-01"),
    _opened("queue", "pause", "mail", "--for", "0"),
    _opened("queue", "pause", "mail", "--for", "x"),
    _opened("queue", "pause", "mail", "--for", "1h", "--until", "9am"),
    used("queue", "drain", "mail", "--timeout", "x"),
    used("queue", "drain", "mail", "--no-wait", "--timeout", "1s"),
    missing("queue", "show", "nosuch"),
    missing("queue", "resume", "nosuch"),
]


def _added(recurrence: str, *words: str) -> Mistake:
    return used("schedule", "add", "nightly", recurrence, *(words or ("true",)))


SCHEDULES = [
    used("schedule", "shwo"),
    used("schedule", "add"),
    used("schedule", "add", "n", "@daily"),
    used("schedule", "add", "a b", "@daily", "true"),
    _added("0 3 * *"),
    _added("0 0 3 * * *"),
    _added("0", "3", "*", "*", "*", "true"),
    _added("60 3 * * *"),
    _added("*/0 * * * *"),
    _added("0 9 * * MOO"),
    _added("0 0 30 2 *"),
    _added("@dayly"),
    _added("@every x"),
    _added("@every 0"),
    _added(""),
    _added("@daily", "--tz", "Mars/Base", "true"),
    _added("@daily", "--overlap", "no", "true"),
    _added("@daily", "--delay", "5", "true"),
    _added("@daily", "--id", "x", "true"),
    _added("@daily", "--after", "done", "true"),
    _added("@daily", ""),
    _added("@daily", '{"comand":"x"}'),
    _added("@daily", "--timeout", "x", "true"),
    used("schedule", "show", "nightly", "--next", "1001"),
    *(missing("schedule", name, "nosuch") for name in ("show", "pause", "resume", "trigger", "rm")),
]

MAPS = [
    used("map", ":::", "a"),
    used("map", "", ":::", "a"),
    used("map", "echo {2}", ":::", "a"),
    used("map", "echo {}", "::::", "nope"),
    used("map", "--header", "echo {nam}", ":::", "name", "x"),
    used("map", "--wait", "--halt", "x", "echo", ":::", "a"),
    used("map", "-w", "--halt", "now,fail=200%", "echo", ":::", "a"),
    used("map", "--halt", "soon,fail=1", "echo", ":::", "a"),
    used("map", "-j", "0", "echo", ":::", "a"),
    used("map", "--name", "a b", "echo", ":::", "a"),
    used("map", "--name", "a", "--resume", "b", "echo", ":::", "a"),
    used("map", "--colsep", "(,", "echo {1}", ":::", "a"),
    used("map", "-I", "", "echo", ":::", "a"),
    used("map", "--quiet", "--print", "echo", ":::", "a"),
    used("map", "--memory", "x", "echo", ":::", "a"),
    used("map", "--unique-key", "k", "echo", ":::", "a"),
    _opened("map", "--after", "nosuch", "echo", ":::", "a"),
]

EDITING = [
    *(_opened(name) for name in ("hold", "release")),
    used("edit"),
    used("edit", "waiting", "echo hi"),
    _opened("edit", "--queue", "mail", "-p", "5"),
    _opened("edit", "waiting", "--all", "-p", "5"),
    used("edit", "waiting", "-p", "x"),
    used("edit", "waiting", "--clear", "nope"),
    used("edit", "waiting", "--clear", "command"),
    used("edit", "waiting", "--timeout", "5", "--clear", "timeout"),
    used("edit", "waiting", "--command", ""),
    used("edit", "waiting", "later", "--command", "x"),
    used("edit", "waiting", "--memory", "x"),
    used("edit", "waiting", "--delay", "5", "--at", "now"),
    used("edit", "waiting", "--queue", "?"),
    used("edit", "waiting", "--after", "done"),
    used("move", "waiting"),
    _opened("move", "--to", "x"),
    used("move", "waiting", "--to", "a b", early=False),
    *(missing(name, "nosuch") for name in ("hold", "release")),
    missing("edit", "nosuch", "-p", "5"),
    missing("move", "nosuch", "--to", "x"),
    refused("release", "waiting"),
    refused("hold", "running"),
    refused("hold", "done"),
    refused("edit", "done", "-p", "5"),
    refused("edit", "running", "-p", "5"),
    refused("move", "running", "--to", "x"),
    refused("hold", "--state", "completed"),
]

LOOKING = [
    used("progress"),
    used("progress", "half"),
    used("progress", "101"),
    used("progress", "50"),
    used("explain"),
    used("graph", "done", "--up", "--down"),
    used("graph", "--limit", "0"),
    used("worker", "start", "--provides", "gpu=x"),
    used("worker", "start", "--provides", "gpu=1,gpu=2"),
    used("worker", "start", "--queue", "mail=0"),
    missing("explain", "nosuch"),
    missing("graph", "nosuch"),
]

IN_CONDITIONS = [*FLAGS, *FIELDS, *QUEUES, *SCHEDULES, *MAPS, *EDITING, *LOOKING]
