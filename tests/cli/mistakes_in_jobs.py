"""Jobs that cannot be: malformed, unknown, impossible. Rows for `test_bad_input`."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.cli.mistake import Mistake


def _json(name: str, text: str) -> Mistake:
    return Mistake(f"json: {name}", ("enqueue", text))


def _field(name: str, value: object) -> Mistake:
    text = json.dumps({"command": "echo hi", name: value})
    return _json(text[21:80], text)


def _flag(*words: str) -> Mistake:
    return Mistake(f"flag: {' '.join(words)}", ("enqueue", *words, "echo hi"))


def _file(name: str, text: str | bytes, *words: str) -> Mistake:
    return Mistake(f"file: {name}", ("enqueue", *words, "--file", "jobs"), files={"jobs": text}, early=False)


def _duplicate(name: str, text: str) -> Mistake:
    return replace(_file(name, text), kind="duplicate_id")


MALFORMED = [
    _json("cut off", '{"command":'),
    _json("no colon", '{"command" "x"}'),
    _json("trailing comma", '{"command":"x",}'),
    _json("third line", '{\n "command": "x"\n "id": "y"}'),
    _json("two objects", '{"command":"x"} {}'),
    _json("eaten quotes", "{id:job9,command:echo}"),
    _json("single quotes", "{'command': 'x'}"),
    Mistake("json: eaten quotes, torn at the blank", ("enqueue", "{id:job9,command:echo", "hi}")),
    Mistake("json: eaten quotes and braces", ("enqueue", "id:job9", "command:echo hi")),
    _json("unknown field, one letter off", '{"comand":"x"}'),
    _json("unknown field, another word", '{"cmd":"x"}'),
    _json("unknown field like no other", '{"command":"x","zzz":1}'),
    _json("a field twice", '{"command":"x","command":"y"}'),
    _json("a variable twice", '{"command":"x","env":{"A":"1","A":"2"}}'),
    _json("NaN", '{"command":"x","priority":NaN}'),
    _json("Infinity", '{"command":"x","timeout":Infinity}'),
    _json("beyond floats", '{"command":"x","priority":1e999}'),
    _json("nested", '{"env":' * 30000),
    _json("5,000 digits", '{"command":"x","priority":' + "9" * 5000 + "}"),
]

COMMANDS = [
    Mistake("command: none at all", ("enqueue",)),
    Mistake("command: empty", ("enqueue", "")),
    Mistake("command: blank", ("enqueue", " \t\n ")),
    Mistake("command: NUL", ("enqueue", "echo a\x00b")),
    Mistake("command: not UTF-8", ("enqueue", "echo \udcff")),
    Mistake("command: too long", ("enqueue", "x" * 131072)),
    Mistake("command: an empty program", ("enqueue", "", "-l")),
    Mistake("command: a word with NUL", ("enqueue", "ls", "a\x00")),
    Mistake("command: twice", ("enqueue", "--command", "a", "b")),
    Mistake("command: more after it", ("enqueue", "echo hi", "--frob", "x")),
    Mistake("command: a word after it", ("enqueue", "echo hi", "-p", "1", "x")),
    _json("missing", "{}"),
    _json("null", '{"command":null}'),
    _json("empty", '{"command":""}'),
    _json("blank", '{"command":"  "}'),
    _json("NUL", '{"command":"echo \\u0000"}'),
    _json("surrogate", '{"command":"\\ud800"}'),
    _json("a list as command", '{"command":["a"]}'),
    _json("a number as command", '{"command":1}'),
    _json("command and argv", '{"command":"x","argv":["y"]}'),
    Mistake("run: none at all", ("run",)),
    Mistake("run: empty", ("run", "")),
    Mistake("run: malformed", ("run", "{")),
]

FIELDS = [
    _field("id", 7),
    _field("argv", "ls"),
    _field("argv", []),
    _field("argv", ["ls", 1]),
    _field("queue", 7),
    _field("queue", ""),
    _field("priority", "5"),
    _field("priority", True),
    _field("priority", 1.5),
    _field("priority", 2**31),
    _field("priority", 10**4000),
    _field("max_retries", -1),
    _field("max_retries", "3"),
    _field("max_attempts", 0),
    _field("backoff_strategy", "cubic"),
    _field("backoff_base", 0),
    _field("backoff_base", "2"),
    _field("backoff_max", [1]),
    _field("retry_delay", "soon"),
    _field("timeout", 0),
    _field("timeout", -1),
    _field("timeout", True),
    _field("timeout", "1 parsec"),
    _field("timeout", "101 y"),
    _field("run_at", 1700000000),
    _field("run_at", "whenever"),
    _field("run_at", "12"),
    _field("run_at", "2026-13-01"),
    _field("run_at", "2026-02-30 09:00"),
    _field("run_at", "1969-12-31"),
    _field("delay", {}),
    _field("delay", "-5s"),
    _field("tags", 7),
    _field("tags", ["a b"]),
    _field("tags", [7]),
    _field("tags", [f"t{n}" for n in range(33)]),
    _field("env", ["A=1"]),
    _field("env", {"A": 1}),
    _field("env", {"A B": "1"}),
    _field("env", {"A": "a\x00"}),
    _field("env", {"QUEUECTL_JOB_ID": "x"}),
    _field("env", {"TOKEN": "***"}),
    _field("cwd", 7),
    _field("cwd", "/a\x00b"),
    _json("retries and attempts", '{"command":"x","max_retries":1,"max_attempts":2}'),
    _json("two times", '{"command":"x","run_at":"now","delay":5}'),
]

IDS = [
    _field("id", ""),
    _field("id", "../../etc/passwd"),
    _field("id", "a/b"),
    _field("id", "-x"),
    _field("id", ".x"),
    _field("id", "a b"),
    _field("id", "a\n"),
    _field("id", "jöb"),
    _field("id", "x" * 129),
    _flag("--id=-x"),
    _flag("--id", "\udcff"),
    Mistake(
        "id: exists, from JSON",
        ("enqueue", '{"id":"running","command":"x"}'),
        kind="duplicate_id",
        early=False,
    ),
    Mistake(
        "id: exists, from flags",
        ("enqueue", "--id", "done", "--command", "x"),
        kind="duplicate_id",
        early=False,
    ),
]

FLAGS = [
    _flag("--max-retries", "abc"),
    _flag("--max-retries", "-1"),
    _flag("-r", "3", "--max-attempts", "3"),
    _flag("--priority", "high"),
    _flag("--backoff-base", "two"),
    _flag("--backoff-base", "nan"),
    _flag("--backoff-strategy", "cubic"),
    _flag("--timeout", "forever"),
    _flag("--delay", "-5"),
    _flag("--at", "next year"),
    _flag("--run-at", "25:00"),
    _flag("--delay", "5", "--at", "17:30"),
    _flag("--tag", "a b"),
    _flag("--queue", "../x"),
    _flag("--env", "1A=x"),
    _flag("--env", "QUITE_UNSET_HERE"),
    _flag("--cwd", ""),
    _flag("--prority", "3"),
    _flag("--max_retry=3"),
    _flag("--frobnicate"),
    _flag("--id", "--command"),
    _flag("--if-exists", "maybe"),
    _flag("--lines"),
    Mistake("flag: no value at the end", ("enqueue", "--priority")),
]

GOOD = '{"id":"new","command":"x"}\n'

FILES = [
    Mistake("file: missing", ("enqueue", "--file", "nope")),
    Mistake("file: missing, by @", ("enqueue", "@nope")),
    Mistake("file: no name", ("enqueue", "--file", "")),
    Mistake("file: NUL in its name", ("enqueue", "--file", "a\x00b")),
    Mistake("file: a directory", ("enqueue", "--file", ".")),
    Mistake("file: and a command", ("enqueue", "-f", "x", "echo")),
    Mistake("file: and --command", ("enqueue", "-f", "x", "-c", "y")),
    Mistake("file: and --id", ("enqueue", "-f", "x", "--id", "y")),
    _file("third line malformed", GOOD + "\n{nope}\n"),
    _file("second line without command", GOOD + "{}\n"),
    _file("an unknown field", GOOD + '{"comand":"x"}'),
    _file("text instead of an object", GOOD + '"echo"\n'),
    _file("an array in a line", GOOD + "[1]\n"),
    _file("plain lines without --lines", "echo hi\n"),
    _file("two objects in a line", GOOD.strip() * 2),
    _file("a field twice", GOOD + '{"id":"b","id":"c"}'),
    _file("not UTF-8", GOOD.encode() + b'{"command":"\xff"}'),
    _file("a NUL byte", GOOD.encode() + b'{"command":"a\x00"}'),
    _file("binary", bytes(range(256))),
    _duplicate("an id twice", GOOD + GOOD),
    _duplicate("an id that exists", GOOD + '{"id":"flaky","command":"x"}'),
    _file("array, malformed", '[{"command":"x"},\n {"command":}]'),
    _file("array, cut off", '[{"command":"x"},'),
    _file("array, a wrong type", '[{"command":"x"}, {"command":1}]'),
    _file("array, not objects", "[1, 2]"),
    _duplicate("array, an id twice", f"[{GOOD},{GOOD}]"),
    _duplicate("array, an id that exists", '[{"id":"done","command":"x"}]'),
    _file("pretty object, malformed", '{\n  "command": x\n}'),
    _file("pretty object, a field", '{\n  "comand": "x"\n}'),
    _file("lines, a NUL byte", "echo a\n# c\n\nec\x00ho\n", "--lines"),
    _file("lines, not UTF-8", b"echo a\necho \xff\n", "--lines"),
    _file("lines, too long", "echo a\n" + "x" * 131072, "--lines"),
    _file("lines, a bad flag", "echo a\n", "--lines", "-q", "?"),
]

IN_JOBS = [*MALFORMED, *COMMANDS, *FIELDS, *IDS, *FLAGS, *FILES]
