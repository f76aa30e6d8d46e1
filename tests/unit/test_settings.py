"""Settings: what each key takes, its other names, and which origin wins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.jobs import short

from queuectl.config.settings import ALIASES, ATTEMPTS_ALIASES, KEYS, Settings
from queuectl.config.sources import find_key, from_stored, gather, load, to_stored
from queuectl.errors import InvalidInput, NotFound


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and none of the settings of whoever runs the tests."""
    for name in list(os.environ):
        if name.startswith("QUEUECTL_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("QUEUECTL_HOME", str(tmp_path))
    return tmp_path


def test_the_defaults_are_those_of_the_product() -> None:
    settings = load({})
    assert (settings.max_retries, settings.backoff_strategy, settings.backoff_base) == (
        3,
        "exponential",
        2.0,
    )
    assert (settings.backoff_max, settings.backoff_jitter) == (3_600_000, 0.0)
    assert (settings.job_timeout, settings.max_concurrent_jobs) == (None, 1)
    assert (settings.worker_heartbeat_interval, settings.worker_lease) == (5_000, 30_000)
    assert (settings.stop_grace, settings.durability) == (30_000, "full")
    assert (settings.keep_completed, settings.keep_dead) == (None, None)


def test_every_default_reads_back_as_it_is_shown() -> None:
    for name, key in KEYS.items():
        shown = from_stored(name, key.default)
        assert key.parse(shown, name) == key.parse(key.default, name)


def test_default_then_file_then_database_then_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "config.toml").write_text('max-retries = 10\nbackoff_base = 3\nkill-grace = "1m"\n')
    stored = {"max-retries": "20", "backoff-base": "4"}
    monkeypatch.setenv("QUEUECTL_MAX_RETRIES", "30")
    settings = load(stored)
    assert (settings.max_retries, settings.backoff_base, settings.kill_grace) == (30, 4.0, 60_000)
    assert settings.claim_ahead == 128
    origins = {name: origin for name, (_, origin) in gather(stored).items()}
    assert origins == {
        "max-retries": "environment",
        "backoff-base": "database",
        "kill-grace": "file",
    }


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_other_names_mean_the_same_key(name: str) -> None:
    assert find_key(name) is KEYS[ALIASES[name]]
    assert find_key(name.replace("-", "_").upper()) is KEYS[ALIASES[name]]


@pytest.mark.parametrize("name", ATTEMPTS_ALIASES)
def test_attempts_count_the_first_run_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key, text = to_stored(name, "4")
    assert (key.name, text) == ("max-retries", "3")
    assert from_stored(name, text) == "4"
    assert from_stored("max-retries", text) == "3"
    monkeypatch.setenv("QUEUECTL_" + name.upper().replace("-", "_"), "6")
    assert load({}).max_retries == 5
    with pytest.raises(InvalidInput, match="at least 1"):
        to_stored(name, "0")


def test_attempts_in_the_file_count_the_first_run_too(home: Path) -> None:
    (home / "config.toml").write_text("max_attempts = 8\n")
    assert load({}).max_retries == 7


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max-retries", "0", 0),
        ("max-retries", " 7 ", 7),
        ("backoff-base", "1.5", 1.5),
        ("backoff-strategy", "fixed", "fixed"),
        ("backoff-max", "90", 90_000),
        ("backoff-jitter", "1", 1.0),
        ("job-retry-delay", "1m30s", 90_000),
        ("job-timeout", "10m", 600_000),
        ("job-timeout", "none", None),
        ("job-timeout", "Never", None),
        ("job-timeout", "0", None),
        ("keep-completed", "7d", 604_800_000),
        ("output-max", "64k", 65_536),
        ("output-max", "1 MB", 1_048_576),
        ("output-inline", "0", 0),
        ("shutdown", "Yes", True),
        ("shutdown", "0", False),
        ("shell", "/bin/bash", "/bin/bash"),
    ],
)
def test_values_are_read_as_people_write_them(name: str, text: str, value: object) -> None:
    assert getattr(load({name: text}), name.replace("-", "_")) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("max-retries", "-1"),
        ("max-retries", "1000001"),
        ("max-retries", "three"),
        ("max-retries", "3.5"),
        ("max-retries", ""),
        ("max-retries", "9" * 5_000),
        ("backoff-base", "0"),
        ("backoff-base", "nan"),
        ("backoff-base", "inf"),
        ("backoff-base", "two"),
        ("backoff-jitter", "1.1"),
        ("backoff-jitter", "-0.1"),
        ("backoff-strategy", "quadratic"),
        ("backoff-max", "-5"),
        ("backoff-max", "forever"),
        ("job-timeout", "-1"),
        ("job-timeout", "0.1ms"),
        ("crash-limit", "0"),
        ("max-concurrent-jobs", "0"),
        ("max-concurrent-jobs", "10001"),
        ("worker-heartbeat-interval", "50ms"),
        ("worker-lease", "0.5"),
        ("poll-interval", "1ms"),
        ("worker-mode", "sideways"),
        ("shell", "bash"),
        ("shell", "/bin/\0sh"),
        ("output-max", "1.5m"),
        ("output-max", "-1"),
        ("output-max", "lots"),
        ("output-max", ""),
        ("output-max", "9" * 5_000),
        ("keep-dead", "a while"),
        ("durability", "maybe"),
        ("shutdown", "perhaps"),
    ],
    ids=short,
)
def test_bad_values_are_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        to_stored(name, text)
    with pytest.raises(InvalidInput, match=name):
        load({name: text})


def test_a_lease_is_at_least_two_heartbeats_long() -> None:
    load({"worker-lease": "10", "worker-heartbeat-interval": "5"})
    with pytest.raises(InvalidInput, match="worker-lease must be at least twice"):
        load({"worker-lease": "9.999"})
    with pytest.raises(InvalidInput, match="worker-lease must be at least twice"):
        load({"worker-heartbeat-interval": "15.001"})


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("max-retrys", "max-retries"),
        ("job_timeout_", "job-timeout"),
        ("backof-base", "backoff-base"),
    ],
)
def test_an_unknown_key_names_the_nearest_one(name: str, nearest: str) -> None:
    with pytest.raises(NotFound) as caught:
        find_key(name)
    assert caught.value.hint == f"did you mean {nearest}?"


def test_a_key_like_no_other_is_answered_with_where_to_look() -> None:
    with pytest.raises(NotFound) as caught:
        find_key("?" * 10_000)
    assert len(caught.value.message) < 200
    assert caught.value.hint == "queuectl config list shows all keys"


def test_keys_of_a_newer_version_in_the_database_do_no_harm() -> None:
    assert load({"from-the-future": "x"}).max_retries == 3


@pytest.mark.parametrize(
    "content",
    [
        b"max-retries = ",
        b"not toml at all",
        b"max-retries = 3\nmax-retries = 4\n",
        b'shell = "\xff\xfe"\n',
        b"max-retries = -1\n",
        b"max-retries = [3]\n",
        b"[max-retries]\nvalue = 3\n",
    ],
)
def test_a_bad_file_is_refused_not_skipped(home: Path, content: bytes) -> None:
    (home / "config.toml").write_bytes(content)
    with pytest.raises(InvalidInput):
        load({})


def test_truth_in_the_file_is_truth(home: Path) -> None:
    (home / "config.toml").write_text("shutdown = true\n")
    assert load({}).shutdown is True


def test_the_policy_carries_the_settings_that_decide() -> None:
    policy = Settings({"backoff-max": "10", "crash-limit": "2", "backoff-jitter": "0.25"}).policy
    assert (policy.backoff.longest, policy.crash_limit, policy.backoff.jitter) == (10_000, 2, 0.25)
    assert (policy.backoff.strategy, policy.backoff.base, policy.backoff.delay) == (
        "exponential",
        2.0,
        5_000,
    )
