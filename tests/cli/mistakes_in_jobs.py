"""Jobs that cannot be: malformed, unknown, impossible. Rows for `test_bad_input`."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.cli.mistake import Mistake


def _json(name: str, text: str, says: str, hint: str = "") -> Mistake:
    return Mistake(f"json: {name}", ("enqueue", text), says, hint)


def _field(name: str, value: object, says: str, hint: str = "") -> Mistake:
    text = json.dumps({"command": "echo hi", name: value})
    return _json(f"{name} {text[21:80]}", text, says, hint)


def _flag(says: str, *words: str, hint: str = "") -> Mistake:
    return Mistake(f"flag: {' '.join(words)[:40]}", ("enqueue", *words, "echo hi"), says, hint)


def _file(name: str, text: str | bytes, says: str, hint: str = "", *words: str) -> Mistake:
    return Mistake(
        f"file: {name}",
        ("enqueue", *words, "--file", "jobs"),
        says,
        hint,
        files={"jobs": text},
        early=False,
    )


def _duplicate(name: str, text: str, says: str, hint: str = "") -> Mistake:
    return replace(_file(name, text, says, hint), kind="duplicate_id")


MALFORMED = [
    _json("cut off", '{"command":', "malformed JSON at line 1, column 12", "like:"),
    _json("no colon", '{"command" "x"}', "malformed JSON at line 1, column 12"),
    _json("trailing comma", '{"command":"x",}', "malformed JSON at line 1, column 1", "before the }"),
    _json("third line", '{\n "command": "x"\n "id": "y"}', "malformed JSON at line 3, column 2"),
    _json("two objects", '{"command":"x"} {}', "malformed JSON at line 1, column 17"),
    _json("eaten quotes", "{id:job9,command:echo}", "line 1, column 2", "the shell has eaten the quotes"),
    _json("single quotes", "{'command': 'x'}", "malformed JSON", "the shell has eaten the quotes"),
    Mistake(
        "json: eaten quotes, torn at the blank",
        ("enqueue", "{id:job9,command:echo", "hi}"),
        "malformed JSON",
        """write it like this: queuectl enqueue '{"id":"job1","command":"echo hi"}'""",
    ),
    Mistake(
        "json: eaten quotes and braces",
        ("enqueue", "id:job9", "command:echo hi"),
        "JSON without its quotes and braces",
        "--id job1 --command",
    ),
    _json("unknown field, one letter off", '{"comand":"x"}', "unknown field 'comand'", "'command'"),
    _json("unknown field, another word", '{"cmd":"x"}', "unknown field 'cmd'", "'command'"),
    _json("unknown field like no other", '{"command":"x","zzz":1}', "unknown field 'zzz'", "known fields"),
    _json("a field twice", '{"command":"x","command":"y"}', "field 'command' is given twice"),
    _json("a variable twice", '{"command":"x","env":{"A":"1","A":"2"}}', "field 'A' is given twice"),
    _json("NaN", '{"command":"x","priority":NaN}', "NaN is not a JSON number", "ordinary number"),
    _json("Infinity", '{"command":"x","timeout":Infinity}', "Infinity is not a JSON number"),
    _json("beyond floats", '{"command":"x","priority":1e999}', "priority must be a whole number"),
    _json("nested", '{"env":' * 30_000, "the JSON is nested too deeply", "one flat object"),
    _json("5,000 digits", '{"command":"x","priority":' + "9" * 5_000 + "}", "number that is far too long"),
]

COMMANDS = [
    Mistake("command: none at all", ("enqueue",), "there is no command", 'queuectl enqueue "echo hello"'),
    Mistake("command: empty", ("enqueue", ""), "the command is empty", "echo hi"),
    Mistake("command: blank", ("enqueue", " \t\n "), "the command is empty"),
    Mistake("command: NUL", ("enqueue", "echo a\0b"), "the command contains a NUL byte"),
    Mistake("command: not UTF-8", ("enqueue", "echo \udcff"), "lone surrogate", "valid UTF-8"),
    Mistake("command: too long", ("enqueue", "x" * 131_072), "is 131,072 bytes long", "a script file"),
    Mistake("command: an empty program", ("enqueue", "", "-l"), "the first word of argv is empty"),
    Mistake("command: a word with NUL", ("enqueue", "ls", "a\0"), "a word of argv contains a NUL byte"),
    Mistake(
        "command: twice", ("enqueue", "--command", "a", "b"), "both --command and words", "one of the two"
    ),
    Mistake(
        "command: more after it", ("enqueue", "echo hi", "--frob", "x"), "unrecognized arguments: --frob"
    ),
    Mistake(
        "command: a word after it", ("enqueue", "echo hi", "-p", "1", "x"), "what is 'x' after the command?"
    ),
    _json("missing", "{}", "the command is missing", '"command"'),
    _json("null", '{"command":null}', "the command is missing"),
    _json("empty", '{"command":""}', "the command is empty"),
    _json("blank", '{"command":"  "}', "the command is empty"),
    _json("NUL", r'{"command":"echo \u0000"}', "the command contains a NUL byte"),
    _json("surrogate", r'{"command":"\ud800"}', "lone surrogate"),
    _json("a list as command", '{"command":["a"]}', "command must be text, not a list", '"echo hi"'),
    _json("a number as command", '{"command":1}', "command must be text, not a number"),
    _json("command and argv", '{"command":"x","argv":["y"]}', "both command and argv are given"),
    Mistake("run: none at all", ("run",), "there is no command"),
    Mistake("run: empty", ("run", ""), "the command is empty"),
    Mistake("run: malformed", ("run", "{"), "malformed JSON at line 1, column 2"),
]

FIELDS = [
    _field("id", 7, "id must be text", '"job1"'),
    _field("argv", "ls", "argv must be a list of words", '["ls", "-l"]'),
    _field("argv", [], "argv must be a list of words"),
    _field("argv", ["ls", 1], "argv must hold text only, not a number"),
    _field("queue", 7, "queue name '7' is not allowed"),
    _field("queue", "", "queue name '' is not allowed"),
    _field("priority", "5", "priority must be a whole number, not '5'"),
    _field("priority", True, "priority must be a whole number, not True"),
    _field("priority", 1.5, "priority must be a whole number, not 1.5"),
    _field("priority", 2**31, "priority must be between -2,147,483,647 and 2,147,483,647"),
    _field("priority", 10**4_000, "not (a huge number)"),
    _field("max_retries", -1, "max_retries must be between 0 and 1,000,000, not -1"),
    _field("max_retries", "3", "max_retries must be a whole number"),
    _field("max_attempts", 0, "max_attempts must be between 1 and"),
    _field("backoff_strategy", "cubic", "unknown backoff_strategy 'cubic'", "exponential, linear, fixed"),
    _field("backoff_base", 0, "backoff_base must be a number above 0"),
    _field("backoff_base", "2", "backoff_base must be a number above 0"),
    _field("backoff_max", [1], "backoff_max [1]: not a duration", "10m"),
    _field("retry_delay", "soon", "retry_delay 'soon': not a duration", "1h30m"),
    _field("timeout", 0, "the timeout must be more than 0", "leave it out"),
    _field("timeout", -1, "timeout -1: must not be negative"),
    _field("timeout", True, "timeout True: not a duration"),
    _field("timeout", "1 parsec", "timeout '1 parsec': unknown unit 'parsec'"),
    _field("timeout", "101 y", "unknown unit 'y'"),
    _field("run_at", 1_700_000_000, "run_at must be text, not a number", "2026-12-01T09:00:00Z"),
    _field("run_at", "whenever", "run_at 'whenever': not a time in a known form", "tomorrow 9am"),
    _field("run_at", "12", "a bare number could mean anything", "+90s"),
    _field("run_at", "2026-13-01", "run_at '2026-13-01'", "2026-12-01"),
    _field("run_at", "2026-02-30 09:00", "run_at '2026-02-30 09:00'"),
    _field("run_at", "1969-12-31", "outside the years 1970 to 9999"),
    _field("delay", {}, "delay {}: not a duration", "90s"),
    _field("delay", "-5s", "delay '-5s': must not be negative"),
    _field("tags", 7, "tags must be a list, not a number", '["nightly", "gpu"]'),
    _field("tags", ["a b"], "tag 'a b' is not allowed"),
    _field("tags", [7], "tag '7' is not allowed"),
    _field("tags", [f"t{n}" for n in range(33)], "33 tags are too many", "at most 32"),
    _field("env", ["A=1"], "env must be an object, not a list", '{"MODE": "fast"}'),
    _field("env", {"A": 1}, "the value of A must be text, not a number", "quote it"),
    _field("env", {"A B": "1"}, "environment name 'A B' is not allowed"),
    _field("env", {"A": "a\0"}, "the value of A contains a NUL byte"),
    _field("env", {"QUEUECTL_JOB_ID": "x"}, "QUEUECTL_JOB_ID is set by the queue itself"),
    _field("env", {"TOKEN": "***"}, "the value of TOKEN is masked (***)", "the real value"),
    _field("cwd", 7, "cwd must be the path of a directory"),
    _field("cwd", "/a\0b", "cwd contains a NUL byte"),
    _json("retries and attempts", '{"command":"x","max_retries":1,"max_attempts":2}', "both max_retries and"),
    _json("two times", '{"command":"x","run_at":"now","delay":5}', "both run_at and delay are given"),
]

IDS = [
    _field("id", "", "id '' is not allowed", "1 to 128 letters"),
    _field("id", "../../etc/passwd", "id '../../etc/passwd' is not allowed"),
    _field("id", "a/b", "id 'a/b' is not allowed"),
    _field("id", "-x", "id '-x' is not allowed", "not starting with - or ."),
    _field("id", ".x", "id '.x' is not allowed"),
    _field("id", "a b", "id 'a b' is not allowed"),
    _field("id", "a\n", r"id 'a\n' is not allowed"),
    _field("id", "jöb", "id 'jöb' is not allowed"),
    _field("id", "x" * 129, f"id '{'x' * 40}…' is not allowed"),
    _flag("id '-x' is not allowed", "--id=-x"),
    _flag(r"id '\udcff' is not allowed", "--id", "\udcff"),
    Mistake(
        "id: exists, from JSON",
        ("enqueue", '{"id":"running","command":"x"}'),
        "job running exists already (processing)",
        "--if-exists skip",
        kind="duplicate_id",
        early=False,
    ),
    Mistake(
        "id: exists, from flags",
        ("enqueue", "--id", "done", "--command", "x"),
        "job done exists already (completed)",
        "choose another id",
        kind="duplicate_id",
        early=False,
    ),
]

FLAGS = [
    _flag("'abc' is not a whole number", "--max-retries", "abc", hint="--help"),
    _flag("--max-retries must be between 0 and 1,000,000, not -1", "--max-retries", "-1"),
    _flag("both --max-retries and --max-attempts", "-r", "3", "--max-attempts", "3"),
    _flag("'high' is not a whole number", "--priority", "high"),
    _flag("'two' is not a number", "--backoff-base", "two"),
    _flag("--backoff-base must be a number above 0", "--backoff-base", "nan"),
    _flag("unknown --backoff-strategy 'cubic'", "--backoff-strategy", "cubic", hint="linear"),
    _flag("timeout 'forever': not a duration", "--timeout", "forever", hint="1h30m"),
    _flag("delay '-5': must not be negative", "--delay", "-5"),
    _flag("--at 'next year': not a time", "--at", "next year", hint="2026-12-01 09:00"),
    _flag("--at '25:00'", "--run-at", "25:00", hint="17:30"),
    _flag("both --at and --delay are given", "--delay", "5", "--at", "17:30"),
    _flag("tag 'a b' is not allowed", "--tag", "a b"),
    _flag("queue name '../x' is not allowed", "--queue", "../x"),
    _flag("environment name '1A' is not allowed", "--env", "1A=x"),
    _flag("--env QUITE_UNSET_HERE: it is not set here", "--env", "QUITE_UNSET_HERE", hint="NAME=VALUE"),
    _flag("cwd must be the path of a directory", "--cwd", ""),
    _flag("unrecognized arguments: --prority", "--prority", "3", hint="did you mean --priority?"),
    _flag("unrecognized arguments: --max_retry=3", "--max_retry=3", hint="did you mean --max-retries?"),
    _flag("unrecognized arguments: --frobnicate", "--frobnicate", hint="see: queuectl enqueue --help"),
    _flag("expected one argument", "--id", "--command"),
    _flag("invalid choice: 'maybe'", "--if-exists", "maybe", hint="--help"),
    _flag("--lines needs --file", "--lines", hint="--file cmds.txt"),
    Mistake("flag: no value at the end", ("enqueue", "--priority"), "expected one argument", "--help"),
]

GOOD = '{"id":"new","command":"x"}\n'

FILES = [
    Mistake("file: missing", ("enqueue", "--file", "nope"), "cannot read 'nope': No such file", "the path"),
    Mistake("file: missing, by @", ("enqueue", "@nope"), "cannot read 'nope': No such file"),
    Mistake("file: no name", ("enqueue", "--file", ""), "cannot read ''"),
    Mistake("file: NUL in its name", ("enqueue", "--file", "a\0b"), "cannot read"),
    Mistake("file: a directory", ("enqueue", "--file", "."), "cannot read '.': Is a directory"),
    Mistake(
        "file: and a command", ("enqueue", "-f", "x", "echo"), "both a file and a command", "one of the two"
    ),
    Mistake("file: and --command", ("enqueue", "-f", "x", "-c", "y"), "both a file and a command"),
    Mistake("file: and --id", ("enqueue", "-f", "x", "--id", "y"), "--id is for one job", "ids in the file"),
    _file(
        "third line malformed", GOOD + "\n{nope}\n", "line 3: malformed JSON at column 2", "one JSON object"
    ),
    _file("second line without command", GOOD + "{}\n", "line 2: the command is missing"),
    _file("an unknown field", GOOD + '{"comand":"x"}', "line 2: unknown field 'comand'", "'command'"),
    _file("text instead of an object", GOOD + '"echo"\n', "line 2: a job must be a JSON object, not text"),
    _file("an array in a line", GOOD + "[1]\n", "line 2: a job must be a JSON object, not a list"),
    _file("plain lines without --lines", "echo hi\n", "line 1: malformed JSON at column 1", "--lines"),
    _file("two objects in a line", GOOD.strip() * 2, "line 1: malformed JSON at column 27"),
    _file("a field twice", GOOD + '{"id":"b","id":"c"}', "line 2: field 'id' is given twice", "once"),
    _file(
        "not UTF-8", GOOD.encode() + b'{"command":"\xff"}', "line 2: the command contains a lone surrogate"
    ),
    _file("a NUL byte", GOOD.encode() + b'{"command":"a\0"}', "line 2: malformed JSON at column"),
    _file("binary", bytes(range(256)), "line 1: malformed JSON"),
    _duplicate(
        "an id twice", GOOD + GOOD, "line 2: the id new is given twice, first in line 1", "of its own"
    ),
    _duplicate(
        "an id that exists",
        GOOD + '{"id":"flaky","command":"x"}',
        "line 2: job flaky exists already (failed)",
    ),
    _file("array, malformed", '[{"command":"x"},\n {"command":}]', "malformed JSON at line 2, column 13"),
    _file("array, cut off", '[{"command":"x"},', "malformed JSON at line 1, column 18"),
    _file("array, a wrong type", '[{"command":"x"}, {"command":1}]', "job 2: command must be text"),
    _file("array, not objects", "[1, 2]", "job 1: a job must be a JSON object, not a number"),
    _duplicate("array, an id twice", f"[{GOOD},{GOOD}]", "job 2: the id new is given twice, first in job 1"),
    _duplicate("array, an id that exists", '[{"id":"done","command":"x"}]', "job 1: job done exists already"),
    _file("pretty object, malformed", '{\n  "command": x\n}', "malformed JSON at line 2, column 14"),
    _file("pretty object, a field", '{\n  "comand": "x"\n}', "job 1: unknown field 'comand'"),
    _file(
        "lines, a NUL byte", "echo a\n# c\n\nec\0ho\n", "line 4: the command contains a NUL", "", "--lines"
    ),
    _file("lines, not UTF-8", b"echo a\necho \xff\n", "line 2: the command contains a lone", "", "--lines"),
    _file(
        "lines, too long", "echo a\n" + "x" * 131_072, "line 2: the command is 131,072 bytes", "", "--lines"
    ),
    _file(
        "lines, a bad flag", "echo a\n", "--queue: queue name '?' is not allowed", "", "--lines", "-q", "?"
    ),
]

IN_JOBS = [*MALFORMED, *COMMANDS, *FIELDS, *IDS, *FLAGS, *FILES]
