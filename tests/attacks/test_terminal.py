"""C8: whatever stands in the store or on the command line, nothing of it steers a terminal."""

from __future__ import annotations

import re

import pytest

from tests.attacks.poison import ID, TYPED, furnish, poison
from tests.attacks.pseudo_terminal import on_a_terminal
from tests.support.home import Home

# Ours, and only to redraw a line of progress.
OUR_OWN = re.compile(r"\r\n|\r\x1b\[K|\r(?=waiting for )|\x1b\[K")
BROKEN = re.compile(rb"Traceback|internal error")
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture
def poisoned(unchecked_home: Home) -> Home:
    home = unchecked_home
    with home.queue() as queue:
        furnish(queue)
    home.ok("schedule", "add", "nightly", "0 3 * * *", "--", "true")
    poison(home.path / "queue.db")
    return home


def steering(said: bytes) -> list[str]:
    return STEERING.findall(OUR_OWN.sub("", said.decode("utf-8", "surrogateescape")))


def views(ids: list[str]) -> list[list[str]]:
    wide = [
        ["list"],
        ["list", "--quiet"],
        ["list", "--json"],
        ["dlq", "list"],
        ["dlq", "list", "--json"],
        ["status"],
        ["status", "--json"],
        ["stats"],
        ["stats", "--json"],
        ["worker", "list"],
        ["worker", "list", "--json"],
        ["queue", "list"],
        ["queue", "list", "--json"],
        ["schedule", "list"],
        ["schedule", "list", "--json"],
        ["metrics"],
        ["config"],
        ["config", "list"],
        ["config", "list", "--json"],
        ["doctor"],
        ["doctor", "--full"],
        ["doctor", "--json"],
        ["graph"],
        ["list", "--search", TYPED],
        ["list", "--queue", TYPED],
        ["queue", "show", TYPED],
        ["schedule", "show", TYPED],
        ["schedule", "next", TYPED],
        ["config", "get", TYPED],
    ]
    each = []
    for id in ids:
        each += [
            ["show", id],
            ["show", id, "--json"],
            ["explain", id],
            ["logs", id],
            ["logs", id, "--timestamps"],
            ["logs", id, "--json"],
            ["graph", id],
            ["dlq", "show", id],
        ]
    return wide + each


def test_no_view_of_a_poisoned_store_steers_it(poisoned: Home) -> None:
    with poisoned.queue() as queue:
        ids = [str(row.id) for row in queue.list()]
    commands = views(ids)
    found = on_a_terminal(poisoned, commands)
    for words, (_, said) in zip(commands, found, strict=True):
        assert steering(said) == [], (words, said)
        assert not BROKEN.search(said), (words, said)


def actions(ids: list[str]) -> list[list[str]]:
    """What names the thing that it changes, or the mistake in what was typed."""
    each = []
    for id in ids:
        each += [[verb, id] for verb in ("hold", "release", "retry", "rm")]
        each += [
            ["edit", id, "--priority", "1"],
            ["move", id, "--to", "other"],
            ["wait", id, "--timeout", "0"],
            ["cancel", id, "--no-wait"],
        ]
    named = [[*words, text] for text in (TYPED, ID) for words in (
        ("queue", "pause"), ("queue", "resume"), ("queue", "drain"), ("queue", "set"), ("schedule",
        "pause"),
        ("schedule", "resume"), ("schedule", "trigger"), ("schedule", "rm"),
        ("config", "set", "max-retries"), ("config", "unset"), ("list", "--state"), ("list", "--since"),
        ("list", "--after"), ("enqueue", "true", "--id"), ("enqueue", "true", "--queue"), ("enqueue",
        "true", "--at"),
        ("enqueue", "true", "--after"), ("enqueue", "true", "--env"), ("enqueue", "--file"), ("import",),
        ("export",),
        ("map", "--dry-run", "echo {}", ":::"), ("schedule", "add", "x"), ("dashboard", "token", "rm"),
        ("copy", "--to"),
        ("progress",), ("stats", "--since"), ("logs", "--attempt"), ("--db",), ("--db", "x.db"), (),
    )]  # fmt: skip
    return (
        each
        + named
        + [["--debug", "show", TYPED], ["worker", "stop", "x" + TYPED], ["worker", "restart", "x" + TYPED]]
    )


def test_no_action_on_it_and_no_mistake_steers_it(poisoned: Home) -> None:
    with poisoned.queue() as queue:
        ids = [str(row.id) for row in queue.list()]
    commands = actions(ids)
    found = on_a_terminal(poisoned, commands)
    for words, (_, said) in zip(commands, found, strict=True):
        assert steering(said) == [], (words, said)
        assert not BROKEN.search(said) or "--debug" in words, (words, said)


def test_an_id_of_two_lines_is_one_line_for_xargs(poisoned: Home) -> None:
    """Else `list --quiet | xargs queuectl rm` would delete a job that nobody has listed."""
    with poisoned.queue() as queue:
        count = len(queue.list())
    assert len(poisoned.ok("list", "--quiet").splitlines()) == count
