"""Who is told: the rules of job, queue and store."""

from __future__ import annotations

import pytest

from queuectl.core.notices import Rule, changed, check_ends, id_prefix, read_rule, resolve
from queuectl.core.states import TERMINAL

SILENT = Rule(silent=True)


@pytest.mark.parametrize(
    ("rules", "ends"),
    [
        ((Rule(), Rule(), Rule()), {}),
        ((Rule("job"), Rule("queue"), Rule("store")), {"completed": "job", "dead": "job"}),
        ((Rule(), Rule("queue"), Rule("store")), {"dead": "queue"}),
        ((Rule(), Rule(), Rule("store")), {"dead": "store"}),
        ((SILENT, Rule("queue"), Rule("store")), {}),
        ((Rule(), SILENT, Rule("store")), {}),
        ((Rule("job"), SILENT, Rule("store")), {"completed": "job", "dead": "job"}),
        ((Rule(on=("cancelled",)), Rule("queue", on=("dead",)), Rule()), {"cancelled": "queue"}),
        ((Rule(), Rule(on=TERMINAL), Rule("store", on=("dead",))), dict.fromkeys(TERMINAL, "store")),
        ((Rule("job"), Rule("queue", on=("cancelled",)), Rule()), {"completed": "job", "dead": "job"}),
        ((Rule(on=TERMINAL), Rule(), Rule()), {}),
    ],
)
def test_the_first_that_names_a_command_counts(rules: tuple[Rule, ...], ends: dict[str, str]) -> None:
    found = {state: resolve(state, rules) for state in TERMINAL}
    assert {state: told[0] for state, told in found.items() if told is not None} == ends
    own = rules[0].command is not None
    assert all(told[1] == own for told in found.values() if told is not None)


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ({}, None),
        ({"notify": "x"}, '{"command": "x"}'),
        ({"notify": "none"}, '{"command": null}'),
        ({"notify": " Off "}, '{"command": null}'),
        ({"notify": "default", "notify_on": "default"}, None),
        ({"notify_on": "dead, canceled"}, '{"on": ["dead", "cancelled"]}'),
        ({"notify": "ß", "notify_on": ["any"]}, '{"command": "ß", "on": ["completed", "dead", "cancelled"]}'),
    ],
)
def test_what_is_said_is_stored_and_shown_alike(said: dict[str, object], stored: str | None) -> None:
    assert changed(None, **said) == stored
    assert changed(None, **read_rule(stored).to_dict()) == stored


@pytest.mark.parametrize("damage", ["", "{", "[]", "5", '{"command": 5}', '{"on": "dead"}', '{"on": ["x"]}'])
def test_a_damaged_rule_says_nothing(damage: str) -> None:
    assert read_rule(damage).to_dict() == {}


def test_the_ends_are_in_one_order() -> None:
    assert check_ends("cancelled,completed,cancelled", "x") == ("completed", "cancelled")


def test_ids_of_notifications_fit_whatever_the_job_is_called() -> None:
    assert id_prefix("a") == "a:notify-"
    longest = [id_prefix("x" * 127 + end) for end in "ab"]
    assert longest[0] != longest[1]
    assert all(len(prefix) <= 128 - len("at-ffffffffffff-12345678") for prefix in longest)
