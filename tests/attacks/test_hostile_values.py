"""C9, C16, C17, C18, C34: values that would be SQL, shell, options, formulas, or too much of a number."""

from __future__ import annotations

import json
import random
from pathlib import Path

from queuectl.store.messages import JobFilter
from tests.attacks.pseudo_terminal import on_a_terminal
from tests.support.home import Home

SHELL = [
    "$(touch pwned)", "`touch pwned`", "; touch pwned", "'; touch pwned; '", '"; touch pwned; "',
    "| touch pwned",
    "&& touch pwned", "\ntouch pwned\n", "$IFS", "${x:=$(touch pwned)}", "> pwned", "<(touch pwned)",
    "-rf", "--help",
    "*", "~", "!!", "{}", "{#}", "{1}", "\\", "\\'",
    "a'b\"c", "#", " ", "\t", "%s", "{.}$(touch pwned)", "é\u202e",
]  # fmt: skip


def test_inputs_of_a_map_are_data(home: Home) -> None:
    """Each comes out as it went in, whether there is a shell in between or not; nothing of it is executed."""
    inputs = [text for text in SHELL if text.strip()]
    null = "\0".join(inputs)
    home.start(concurrency=4)
    for words in (("printf %s {}",), ("printf", "%s", "{}")):
        done = home.ok("map", "--null", "--print", "--json", *words, input=null)
        assert [result["stdout"] for result in json.loads(done)["results"]] == inputs, words
    assert [path.name for path in Path(home.work).iterdir()] == []


def test_ids_and_names_in_the_environment_of_a_job_are_data(home: Home) -> None:
    home.ok("enqueue", "--id", "a", "--env", "X=$(touch pwned)", 'printf %s "$X"')
    home.start()
    home.ok("wait", "a")
    assert home.ok("logs", "a") == "$(touch pwned)"
    assert not (home.work / "pwned").exists()


def test_two_hyphens_end_the_options(unchecked_home: Home) -> None:
    commands = [
        ["enqueue", "--json", "--", "echo", "--all", "-rf", "--yes"],
        ["rm", "--", "--all"],
        ["show", "--", "-h"],
        ["cancel", "--", "--yes"],
        ["logs", "--", "--help"],
        ["enqueue", "--id=--all", "true"],
        ["enqueue", "--queue=-x", "true"],
    ]
    found = on_a_terminal(unchecked_home, commands)
    assert [code for code, _ in found] == [0, 1, 1, 1, 1, 2, 2], found
    with unchecked_home.queue() as queue:
        assert [job.argv for job in queue.list()] == [json.dumps(["echo", "--all", "-rf", "--yes"])]


NUMBERS = [
    "9223372036854775808",
    "-9223372036854775809",
    "1" + "0" * 400,
    "1e999",
    "NaN",
    "inf",
    "-inf",
    "0x10",
    "",
]
OPTIONS = [
    "--priority",
    "--max-retries",
    "--timeout",
    "--delay",
    "--backoff-base",
    "--backoff-max",
    "--retry-delay",
    "--memory",
    "--cpu-time",
    "--files",
    "--processes",
    "--nice",
    "--group-limit",
]


def test_numbers_out_of_range_are_refused_in_one_line(unchecked_home: Home) -> None:
    commands = [["enqueue", f"{option}={number}", "true"] for option in OPTIONS for number in NUMBERS]
    commands += [["list", f"{option}={number}"] for option in ("--limit", "--offset") for number in NUMBERS]
    commands += [["worker", "start", f"--count={number}"] for number in (*NUMBERS, "1000000", "0", "-1")]
    commands += [
        ["worker", "start", f"--concurrency={number}"] for number in (*NUMBERS, "1000000", "0", "-1")
    ]
    for words, (code, said) in zip(commands, on_a_terminal(unchecked_home, commands), strict=True):
        assert b"internal error" not in said, (words, said)
        assert code == 2, (words, code, said)
    with unchecked_home.queue() as queue:
        assert queue.store.count(JobFilter()) == 0


SQL = [
    "%", "_", "%%", "\\", "\\%", "'", "''", '"', "' OR '1'='1", "'; DROP TABLE jobs; --", '" OR 1=1 --',
    "a' --", "/*", "*/",
    "x') UNION SELECT name FROM sqlite_schema --", "1; SELECT sleep(9)", "$$", "?", "?1", ":a", "@a",
    "$1", "%s", "%(id)s",
    "{}", "[a-z]", "*", "\u2019", "\uff07 OR 1=1", "0x27", "CHAR(39)", "||", "NULL", "NaN", "a%b", "a_b",
    "E'\\''",
]  # fmt: skip


def test_a_text_in_a_filter_means_itself(home: Home) -> None:
    """No %, no quote and no comment of it means anything to the database."""
    dice = random.Random(7)
    more = ["".join(dice.choices("%_'\\\"-;?*[]ab ", k=dice.randint(1, 4))).strip() or "%" for _ in range(60)]
    texts = [*SQL, *more]
    with home.queue() as queue:
        queue.enqueue_many({"id": f"j{n}", "command": f"x{text}y"} for n, text in enumerate(texts))
        for wanted in texts:
            low = wanted.lower()
            named = {f"j{n}" for n, text in enumerate(texts) if low in f"x{text}y".lower() or low in f"j{n}"}
            found = {job.id for job in queue.list(filter=JobFilter(text=wanted), limit=1_000)}
            assert found == named, wanted
            assert queue.list(filter=JobFilter(queue=wanted)) == []
            assert queue.list(filter=JobFilter(tag=wanted)) == []
        assert queue.store.count(JobFilter()) == len(texts)
