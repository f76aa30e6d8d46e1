"""config: getting and setting, and where each value comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Cli

from queuectl.config.settings import KEYS


@pytest.mark.parametrize("words", [[], ["list"], ["show"], ["get"]])
def test_lists_every_key_with_its_origin(cli: Cli, words: list[str]) -> None:
    lines = cli("config", *words).out.splitlines()
    assert lines[0].split() == ["KEY", "VALUE", "ORIGIN", "MEANING"]
    assert [line.split()[0] for line in lines[1:]] == list(KEYS)
    assert lines[1].split()[:3] == ["max-retries", "3", "default"]


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("max-retries", "5", "5"),
        ("max_retries", "5", "5"),
        ("MAX-RETRIES", "5", "5"),
        ("max-attempts", "5", "5"),
        ("default-max-tries", "1", "1"),
        ("backoff-base", "2", "2"),
        ("backoff-base", "1.5", "1.5"),
        ("job-retry-delay", "5", "5"),
        ("retry-delay", "90", "1m30s"),
        ("job-timeout", "10m", "10m"),
        ("job-timeout", "none", "none"),
        ("shutdown", "true", "true"),
        ("backoff-strategy", "linear", "linear"),
    ],
)
def test_prints_back_what_was_set(cli: Cli, key: str, value: str, shown: str) -> None:
    assert cli("config", "set", key, value).code == 0
    assert cli("config", "get", key).out == f"{shown}\n"


def test_sets_what_is_given_with_an_equals_sign(cli: Cli) -> None:
    assert cli("config", "set", "max-attempts=3").code == 0
    assert cli("config", "get", "max-retries").out == "2\n"


def test_attempts_count_one_more_than_retries(cli: Cli) -> None:
    cli("config", "set", "max-retries", "3")
    assert cli("config", "get", "max-attempts").out == "4\n"


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["get", "max-retrys"], 1, "not_found"),
        (["unset", "max-retrys"], 1, "not_found"),
        (["set", "max-retrys", "3"], 2, "invalid_input"),
        (["set", "max-retries"], 2, "invalid_input"),
        (["set", "max-retries", "-1"], 2, "invalid_input"),
        (["set", "max-retries", "3.5"], 2, "invalid_input"),
        (["set", "max-attempts", "0"], 2, "invalid_input"),
        (["set", "job-timeout", "soon"], 2, "invalid_input"),
        (["set", "worker-lease", "2"], 2, "invalid_input"),
        (["set", "shell", "/\udcff"], 2, "invalid_input"),
        (["gett", "x"], 2, "invalid_input"),
    ],
)
def test_refuses_nonsense(cli: Cli, words: list[str], code: int, kind: str) -> None:
    before = cli("config", "--json").out
    assert cli.failure("config", *words) == (code, kind)
    assert cli("config", "--json").out == before


def test_the_environment_wins_and_that_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUECTL_MAX_RETRIES", "9")
    result = cli("config", "set", "max-retries", "5")
    assert result.code == 0
    assert "environment (QUEUECTL_MAX_RETRIES) says 9 and wins" in result.err
    assert cli("config", "get", "max-retries").out == "9\n"


def test_json_has_plain_values_and_origins(cli: Cli, home_dir: Path) -> None:
    cli("config", "set", "kill-grace", "1500ms")
    (home_dir / "config.toml").write_text('max-retries = 7\n"job-timeout" = "2m"\n')
    values = cli("config", "--json").json()
    assert values["max-retries"] == {"value": 7, "origin": "file"}
    assert values["job-timeout"] == {"value": 120, "origin": "file"}
    assert values["kill-grace"] == {"value": 1.5, "origin": "database"}
    assert values["backoff-base"] == {"value": 2, "origin": "default"}
    assert values["keep-dead"] == {"value": None, "origin": "default"}
    assert cli("config", "get", "max_attempts", "--json").json() == {
        "max-attempts": {"value": 8, "origin": "file"}
    }


def test_unset_goes_back_to_the_default(cli: Cli) -> None:
    cli("config", "set", "max-retries", "5")
    for _ in range(2):
        assert cli("config", "unset", "max-retries").code == 0
        assert cli("config", "get", "max-retries", "--json").json() == {
            "max-retries": {"value": 3, "origin": "default"}
        }


def test_reset_removes_everything_at_once(cli: Cli) -> None:
    cli("config", "set", "worker-lease", "300")
    cli("config", "set", "worker-heartbeat-interval", "60")
    assert cli("config", "reset").code == 0
    assert {value["origin"] for value in cli("config", "--json").json().values()} == {"default"}
    cli("config", "set", "max-retries", "5")
    assert cli("config", "reset", "max-retries").code == 0
    assert cli("config", "get", "max-retries").out == "3\n"


def test_settings_apply_to_new_jobs(cli: Cli) -> None:
    cli("config", "set", "max-retries", "8")
    assert cli("enqueue", "--json", "true").json()["max_retries"] == 8


def test_settings_that_do_not_fit_together_can_be_mended(cli: Cli, home_dir: Path) -> None:
    assert cli("config", "set", "worker-heartbeat-interval", "10").code == 0
    (home_dir / "config.toml").write_text('worker-lease = "15s"\n')
    assert cli("enqueue", "true").code == 2
    assert cli("config", "unset", "worker-heartbeat-interval").code == 0
    assert cli("enqueue", "true").code == 0


def test_a_shell_that_this_machine_cannot_run_is_noted(cli: Cli) -> None:
    for shell in ("/nosuch/sh", "/etc/passwd", "/etc"):
        result = cli("config", "set", "shell", shell)
        assert (result.code, result.out) == (0, f"✓ shell = {shell}\n")
        assert f"note: {shell} cannot be run on this machine" in result.err
    assert cli("config", "set", "shell", "/bin/sh").err == ""
