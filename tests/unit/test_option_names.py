"""Errors name what somebody typed: the option, or the field of JSON."""

from __future__ import annotations

import pytest

from queuectl.cli.commands import edit, map, run, schedule
from queuectl.cli.commands.enqueue import build_parser
from queuectl.cli.jobspec import add_job_options, checked_fields, parse_words
from queuectl.cli.optionnames import option_of, speak_of_options
from queuectl.cli.options import Parser, parser
from queuectl.core.spec import FIELDS
from queuectl.errors import InvalidInput

# A wrong value for each option that can have one.
WRONG = {
    "--id": "a b",
    "--queue": "a b",
    "--priority": "99999999999",
    "--delay": "soon",
    "--at": "gestern",
    "--max-retries": "-1",
    "--backoff-base": "-1",
    "--backoff-strategy": "cubic",
    "--backoff-max": "x",
    "--retry-delay": "x",
    "--timeout": "5%",
    "--tag": "a b",
    "--env": "1=2",
    "--cwd": "",
    "--after": "a b",
    "--after-any": "a b",
    "--after-fail": "a b",
    "--on-success": "",
    "--on-failure": "",
    "--unique-key": "",
    "--if-live": "skip",
    "--group": "a b",
    "--group-limit": "0",
    "--retry-on": "often",
    "--no-retry-on": "often",
    "--ok-codes": "often",
    "--memory": "lots",
    "--cpu-time": "1ms",
    "--files": "0",
    "--processes": "0",
    "--nice": "99",
    "--needs": "a b",
    "--notify": "",
    "--notify-on": "sometimes",
}
_NEVER_WRONG = {"--command", "--hold", "--stdin"}  # or told of as such anyway


def options_of(made: Parser) -> set[str]:
    return {action.option_strings[0] for action in made._actions if action.option_strings}


def refused(*words: str) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        checked_fields(parse_words(build_parser(), list(words)))
    return caught.value


def test_every_option_of_a_job_is_here() -> None:
    bare, full = parser("x", "", ""), parser("x", "", "")
    add_job_options(full)
    shown = options_of(full) - options_of(bare) - {"--max-attempts"}
    assert shown == set(WRONG) | _NEVER_WRONG


@pytest.mark.parametrize("option", WRONG)
def test_a_wrong_value_is_told_of_the_option(option: str) -> None:
    error = refused(option, WRONG[option], "true")
    assert option in error.message
    for field in FIELDS:
        if "_" in field:
            assert field not in f"{error.message} {error.hint}"


@pytest.mark.parametrize(
    "made", [build_parser(), run.build_parser(), schedule.add_parser(), edit.build_parser()]
)
def test_options_are_called_as_their_parsers_call_them(made: Parser) -> None:
    for action in made._actions:
        if action.dest in FIELDS and action.option_strings and action.help != "==SUPPRESS==":
            assert option_of(action.dest) in action.option_strings


def test_those_of_a_map_too() -> None:
    names = {action.dest: action.option_strings for action in map.build_parser()._actions}
    assert all(option_of(field) in names[field] for field in FIELDS if names.get(field))


def test_what_came_as_json_keeps_the_name_of_its_field() -> None:
    assert refused('{"command":"true","run_at":"x"}').message.startswith("run_at 'x'")
    both = refused('{"command":"true","run_at":"+5s"}', "--delay", "5m")
    assert both.message == "both run_at and --delay are given"


def test_an_example_in_the_hint_is_one_of_the_option() -> None:
    assert refused("--max-retries", "-1", "true").hint == "like --max-retries 3"
    assert refused("--memory", "0", "true").hint == "like --memory 512M"
    assert refused("--group-limit", "2", "true").hint == "give --group too"


def test_what_somebody_typed_is_quoted_as_it_was() -> None:
    assert refused("--timeout", "timeout", "true").message == "--timeout 'timeout': not a duration"
    assert refused("--at", "it's run_at", "true").message.startswith('--at "it\'s run_at"')


def test_an_error_of_no_field_stays_as_it_is() -> None:
    error = InvalidInput("run_at is none of ours", "see run_at")
    speak_of_options(error, {"run_at"})
    assert (error.message, error.hint) == ("run_at is none of ours", "see run_at")
