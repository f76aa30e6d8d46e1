"""When and how jobs run, said wrongly: conditions, queues, schedules, maps. Rows for `test_mistakes`."""

from __future__ import annotations

import json

from tests.cli.mistake import Mistake, missing, refused, used

_CODES = "1,2,10-20"
_SIZES = "512M"
_TIMES = "1h30m"
_CRON = '"0 3 * * *"'
_RATES = "100/min"
_NEEDS = "gpu=1,license=2"


def _flag(says: str, *words: str, hint: str = "", early: bool = True) -> Mistake:
    return Mistake(f"flag: {' '.join(words)[:40]}", ("enqueue", *words, "echo hi"), says, hint, early=early)


def _field(name: str, value: object, says: str, hint: str = "", *, early: bool = True) -> Mistake:
    text = json.dumps({"command": "echo hi", name: value})
    return Mistake(f"json: {name} {text[21:80]}", ("enqueue", text), says, hint, early=early)


def _opened(says: str, *words: str, hint: str = "--help") -> Mistake:
    """Told only once the store is open."""
    return used(says, *words, hint=hint, early=False)


FLAGS = [
    _flag("nosuch, which does not exist", "--after", "nosuch", hint="enqueue that one first", early=False),
    _flag("after: id '' is not allowed", "--after", "", hint="1 to 128 letters"),
    _flag("done is given as two kinds of dependency", "--after", "done", "--after-fail", "done", hint="once"),
    _flag("a job cannot wait for itself", "--id", "new", "--after-any", "new", hint="new"),
    _flag("--on-success: the command is empty", "--on-success", "", hint="echo hi"),
    _flag("--on-failure: the command is empty", "--on-failure", " "),
    _flag("--unique-key must be text that is not empty", "--unique-key", "", hint="nightly-report"),
    _flag("--if-live is given without --unique-key", "--if-live", "skip", hint="give --unique-key too"),
    _flag("invalid choice: 'perhaps'", "--unique-key", "k", "--if-live", "perhaps", hint="--help"),
    _flag("group 'a b' is not allowed", "--group", "a b", hint="letters"),
    _flag("--group-limit is given without --group", "--group-limit", "3", hint="give --group too"),
    _flag("--group-limit must be between 1 and", "--group", "g", "--group-limit", "0"),
    _flag("--retry-on '300': 300 is not between 0 and 255", "--retry-on", "300", hint=_CODES),
    _flag("--retry-on 'often'", "--retry-on", "often", hint=_CODES),
    _flag("the range 5-2 runs backwards", "--no-retry-on", "5-2", hint=_CODES),
    _flag("--ok-codes '': an exit code is missing", "--ok-codes", "", hint=_CODES),
    _flag("an exit code is not negative", "--ok-codes=-1", hint=_CODES),
    _flag(
        "both in --retry-on and in --no-retry-on",
        "--retry-on",
        "1-9",
        "--no-retry-on",
        "9",
        hint="one of them",
    ),
    _flag("both in --ok-codes and in --retry-on", "--ok-codes", "3", "--retry-on", "3", hint="one of them"),
    _flag("memory 'lots': not a size", "--memory", "lots", hint=_SIZES),
    _flag("memory '-5M': must not be negative", "--memory=-5M", hint=_SIZES),
    _flag("memory must be more than nothing", "--memory", "0", hint=_SIZES),
    _flag("--cpu-time 'never': not a duration", "--cpu-time", "never", hint=_TIMES),
    _flag("--cpu-time must be at least one second", "--cpu-time", "5ms"),
    _flag("files must be between 3 and 1,000,000, not 0", "--files", "0"),
    _flag("'many' is not a whole number", "--processes", "many", hint="--help"),
    _flag("nice must be between -20 and 19, not 50", "--nice", "50"),
    _flag("needs: the number '0' of gpu is not a whole one", "--needs", "gpu=0", hint=_NEEDS),
    _flag("needs: the name 'G P' is not allowed", "--needs", "G P=1", hint=_NEEDS),
    _flag("needs: gpu is named twice", "--needs", "gpu=1", "--needs", "gpu=2", hint=_NEEDS),
    _flag("unrecognized arguments: --need", "--need", "gpu=1", hint="did you mean --needs?"),
]

FIELDS = [
    _field("after", {"id": "done"}, "after must be a list of ids, not an object", '["job1", "job2"]'),
    _field("after", [7], "after: id must be text"),
    _field("depends_on", ["nosuch"], "nosuch, which does not exist", "enqueue that one first", early=False),
    _field("on_success", 7, "on_success: command must be text, not a number"),
    _field("on_failure", {"command": "x"}, "on_failure: command must be text, not an object"),
    _field("unique_key", 7, "unique_key must be text"),
    _field("unique_key", "k" * 192, "unique_key is longer than 191 characters", "a hash"),
    _field("unique", "k", "unknown field 'unique'", "'unique_key'"),
    _field("group", 7, "group '7' is not allowed"),
    _field("hold", "yes", "hold must be true or false, not text", "true"),
    _field("retry_on", [300], "retry_on: 300 is not between 0 and 255", _CODES),
    _field("ok_codes", True, "ok_codes True: True is not an exit code", _CODES),
    _field("no_retry_on", [], "no_retry_on: no exit code given", _CODES),
    _field("memory", [], "memory: not a size", _SIZES),
    _field("nice", 1.5, "nice must be a whole number, not 1.5"),
    _field("needs", {"gpu": "one"}, "needs: the number 'one' of gpu", _NEEDS),
    _field("needs", 7, "needs"),
]

QUEUES = [
    used("unknown command 'queue sets'", "queue", "sets", hint="queuectl queue set"),
    used("unknown command 'queue rm'", "queue", "rm", "mail", hint="list, show, set, pause, resume, drain"),
    used("arguments are required: NAME", "queue", "set"),
    used("arguments are required: NAME", "queue", "pause"),
    used("unrecognized arguments: 5", "queue", "set", "mail", "5"),
    used("--rate: expected one argument", "queue", "set", "mail", "--rate"),
    used("nothing to set", "queue", "set", "mail", hint="--concurrency 4"),
    used("rate 'fast': not a rate", "queue", "set", "mail", "--rate", "fast", hint=_RATES),
    used("rate '5': not a rate", "queue", "set", "mail", "--rate", "5", hint=_RATES),
    used("nothing would ever run", "queue", "set", "mail", "--rate", "0/s", hint=_RATES),
    used("'parsec' is not a length of time", "queue", "set", "mail", "--rate", "5/parsec", hint=_RATES),
    _opened("no rate that a burst could belong to", "queue", "set", "mail", "--burst", "3", hint=_RATES),
    used("burst must be between 1", "queue", "set", "mail", "--rate", "5/s", "--burst", "0", hint="burst"),
    used("nothing would ever run", "queue", "set", "mail", "--concurrency", "0", hint="pause the queue"),
    used("concurrency must be a whole", "queue", "set", "mail", "--concurrency", "x", hint="like"),
    used("timeout 'x': not a duration", "queue", "set", "mail", "--timeout", "x", hint=_TIMES),
    used("--timeout must be between 101%", "queue", "set", "mail", "--timeout", "50%", hint="300%"),
    used("--max-retries must be between 0", "queue", "set", "mail", "--max-retries", "-1", hint="like"),
    used("unknown --backoff-strategy", "queue", "set", "mail", "--backoff-strategy", "cubic", hint="linear"),
    used("queue name '../x' is not allowed", "queue", "set", "../x", "--rate", "5/s", hint="letters"),
    _opened("queue name '../x' is not allowed", "queue", "pause", "../x", hint="letters"),
    _opened("not in the future", "queue", "pause", "mail", "--until", "2001-01-01", hint="+2h"),
    _opened("not in the future", "queue", "pause", "mail", "--for", "0", hint="+2h"),
    _opened("--for 'x': not a duration", "queue", "pause", "mail", "--for", "x", hint=_TIMES),
    _opened("both --until and --for", "queue", "pause", "mail", "--for", "1h", "--until", "9am", hint="one"),
    used("--timeout 'x': not a duration", "queue", "drain", "mail", "--timeout", "x", hint=_TIMES),
    used("do not go together", "queue", "drain", "mail", "--no-wait", "--timeout", "1s", hint="leave one"),
    missing("queue", "queue", "show", "nosuch", hint="the queues are: "),
    missing("queue", "queue", "resume", "nosuch", hint="the queues are: "),
]


def _added(says: str, recurrence: str, *words: str, hint: str = "") -> Mistake:
    return used(says, "schedule", "add", "nightly", recurrence, *(words or ("true",)), hint=hint)


SCHEDULES = [
    used("unknown command 'schedule shwo'", "schedule", "shwo", hint="queuectl schedule show"),
    used("arguments are required: NAME, RECURRENCE", "schedule", "add"),
    used("there is no command", "schedule", "add", "n", "@daily", hint="schedule add nightly"),
    used("schedule name 'a b' is not allowed", "schedule", "add", "a b", "@daily", "true", hint="letters"),
    _added("five fields are needed, not 4", "0 3 * *", hint=_CRON),
    _added("five fields are needed, not 6", "0 0 3 * * *", hint="@every 30s"),
    _added("five fields are needed, not 1", "0", "3", "*", "*", "*", "true", hint="in quotes"),
    _added("minute '60' is not valid", "60 3 * * *", hint="0-59"),
    _added("minute '*/0' is not valid", "*/0 * * * *", hint="*/2"),
    _added("weekday 'MOO' is not valid", "0 9 * * MOO", hint="SUN-SAT"),
    _added("would never fire", "0 0 30 2 *", hint="No such date"),
    _added("there is no such macro", "@dayly", hint="@daily"),
    _added("not a duration", "@every x", hint="@every 10m"),
    _added("not a number of whole seconds", "@every 0", hint="@every 10m"),
    _added("schedule '': empty", "", hint=_CRON),
    _added("time zone 'Mars/Base' is not known", "@daily", "--tz", "Mars/Base", "true", hint="Europe/Berlin"),
    _added("invalid choice: 'no'", "@daily", "--overlap", "no", "true", hint="--help"),
    _added("the job of a schedule cannot have --delay", "@daily", "--delay", "5", "true", hint="says when"),
    _added("the job of a schedule cannot have --id", "@daily", "--id", "x", "true", hint="an id of its own"),
    _added("the job of a schedule cannot have --after", "@daily", "--after", "done", "true", hint="parent"),
    _added("the command is empty", "@daily", "", hint="echo hi"),
    _added("unknown field 'comand'", "@daily", '{"comand":"x"}', hint="'command'"),
    _added("timeout 'x': not a duration", "@daily", "--timeout", "x", "true", hint=_TIMES),
    used("1001 is more than 1,000", "schedule", "show", "nightly", "--next", "1001"),
    *(
        missing("schedule", "schedule", name, "nosuch", hint="queuectl schedule list")
        for name in ("show", "pause", "resume", "trigger", "rm")
    ),
]

MAPS = [
    used("map needs a command before its inputs", "map", ":::", "a", hint="gzip {}"),
    used("map needs a command before its inputs", "map", "", ":::", "a", hint="gzip {}"),
    used("the command asks for {2}", "map", "echo {2}", ":::", "a", hint="{1}"),
    used("cannot read 'nope'", "map", "echo {}", "::::", "nope", hint="values go after :::"),
    used("asks for {nam}, but no column", "map", "--header", "echo {nam}", ":::", "name", "x", hint="{name}"),
    used("--halt 'x' is no rule", "map", "--wait", "--halt", "x", "echo", ":::", "a", hint="soon,fail=1"),
    used("fail must be 1% to 100%", "map", "-w", "--halt", "now,fail=200%", "echo", ":::", "a", hint="10%"),
    used("--halt needs --wait", "map", "--halt", "soon,fail=1", "echo", ":::", "a", hint="wait"),
    used("0 is not 1 or more", "map", "-j", "0", "echo", ":::", "a"),
    used("the name of a map 'a b'", "map", "--name", "a b", "echo", ":::", "a", hint="letters"),
    used(
        "--name and --resume name two", "map", "--name", "a", "--resume", "b", "echo", ":::", "a", hint="one"
    ),
    used("'(,' is no regular expression", "map", "--colsep", "(,", "echo {1}", ":::", "a", hint=""),
    used("the replacement string of -I is empty", "map", "-I", "", "echo", ":::", "a", hint="-I ,,"),
    used("--quiet and --print do not go", "map", "--quiet", "--print", "echo", ":::", "a", hint="leave out"),
    used("memory 'x': not a size", "map", "--memory", "x", "echo", ":::", "a", hint=_SIZES),
    used("unrecognized arguments: --unique-key", "map", "--unique-key", "k", "echo", ":::", "a"),
    _opened(
        "nosuch, which does not exist", "map", "--after", "nosuch", "echo", ":::", "a", hint="enqueue that"
    ),
]

EDITING = [
    *(_opened(f"which jobs to {name}?", name, hint="give ids") for name in ("hold", "release")),
    used("nothing to change", "edit", hint="--priority 10"),
    used("nothing to change", "edit", "waiting", "echo hi", hint="command"),
    _opened("which jobs to change?", "edit", "--queue", "mail", "-p", "5", hint="--in-queue mail"),
    _opened("both ids and a filter", "edit", "waiting", "--all", "-p", "5", hint="one of the two"),
    used("'x' is not a whole number", "edit", "waiting", "-p", "x"),
    used("--clear nope: a job has no such field", "edit", "waiting", "--clear", "nope", hint="timeout"),
    used("--clear command: a job always has that", "edit", "waiting", "--clear", "command", hint="timeout"),
    used("given and taken away", "edit", "waiting", "--timeout", "5", "--clear", "timeout", hint="one of"),
    used("the command is empty", "edit", "waiting", "--command", "", hint="echo hi"),
    used("one job at a time", "edit", "waiting", "later", "--command", "x", hint="its id"),
    used("memory 'x': not a size", "edit", "waiting", "--memory", "x", hint=_SIZES),
    used("both --at and --delay", "edit", "waiting", "--delay", "5", "--at", "now", hint="one of the two"),
    used("queue name '?' is not allowed", "edit", "waiting", "--queue", "?", hint="letters"),
    used("unrecognized arguments: --after", "edit", "waiting", "--after", "done"),
    used("arguments are required: --to", "move", "waiting"),
    _opened("which jobs to move?", "move", "--to", "x", hint="give ids"),
    used("queue name 'a b' is not allowed", "move", "waiting", "--to", "a b", hint="letters", early=False),
    *(missing("job", name, "nosuch", hint="queuectl list") for name in ("hold", "release")),
    missing("job", "edit", "nosuch", "-p", "5", hint="queuectl list"),
    missing("job", "move", "nosuch", "--to", "x", hint="queuectl list"),
    refused(
        "job waiting is pending, and nobody holds it", "release", "waiting", hint="queuectl show waiting"
    ),
    refused("job running is processing", "hold", "running"),
    refused("job done is completed", "hold", "done", hint="ended"),
    refused("job done is completed", "edit", "done", "-p", "5", hint="ended"),
    refused("job running is processing", "edit", "running", "-p", "5"),
    refused("job running is processing", "move", "running", "--to", "x"),
    refused("cannot hold jobs that are completed", "hold", "--state", "completed", hint="pending"),
]

LOOKING = [
    used("arguments are required: PERCENT", "progress"),
    used("progress 'half' is not a number", "progress", "half", hint="queuectl progress 40"),
    used("progress '101' is not a number", "progress", "101", hint="queuectl progress 40"),
    used("this is not inside a job", "progress", "50", hint="the command of a job"),
    used("arguments are required: ID", "explain"),
    used("not allowed with argument", "graph", "done", "--up", "--down"),
    used("0 is not 1 or more", "graph", "--limit", "0"),
    used("--provides: the number 'x' of gpu", "worker", "start", "--provides", "gpu=x", hint="gpu=2"),
    used("--provides: gpu is named twice", "worker", "start", "--provides", "gpu=1,gpu=2", hint="gpu=2"),
    used("the weight 0 of queue mail", "worker", "start", "--queue", "mail=0", hint="a=3,b=1"),
    missing("job", "explain", "nosuch", hint="queuectl list"),
    missing("job", "graph", "nosuch", hint="queuectl list"),
]

IN_CONDITIONS = [*FLAGS, *FIELDS, *QUEUES, *SCHEDULES, *MAPS, *EDITING, *LOOKING]
