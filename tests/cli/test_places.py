"""Which store is meant: by a flag, a variable, the config file, or none of them; and the home beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Cli, assert_store_error

from queuectl.address import Address


@pytest.fixture
def address(tmp_path: Path, store_url: str | None, home_dir: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """How somebody names a store that is not the home's; nothing points to it yet."""
    monkeypatch.delenv("QUEUECTL_DB", raising=False)
    return store_url or str(tmp_path / "other.db")


def ids(cli: Cli, address: str) -> list[str]:
    return cli("list", "--quiet", "--db", address).out.split()


def test_a_flag_before_and_after_the_command(cli: Cli, address: str, home_dir: Path) -> None:
    assert cli("--db", address, "enqueue", "--id", "a", "true").code == 0
    assert cli("enqueue", "--db", address, "--id", "b", "true").code == 0
    assert cli("enqueue", "echo hi", f"--db={address}", "--id", "c").code == 0
    assert cli(f"--db={address}", "list", "--quiet").out == "a\nb\nc\n"
    assert cli("dlq", "--db", address, "list").code == 0
    assert cli("--db", address, "config", "get", "max-retries").out == "3\n"
    assert not (home_dir / "queue.db").exists()


@pytest.mark.parametrize("variable", ["QUEUECTL_DB", "QUEUECTL_DB_PATH"])
def test_a_variable(
    cli: Cli, address: str, home_dir: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, address)

    assert cli("enqueue", "--id", "a", "true").code == 0

    assert ids(cli, address) == ["a"]
    assert not (home_dir / "queue.db").exists()


def test_the_config_file(cli: Cli, address: str, home_dir: Path) -> None:
    home_dir.mkdir()
    (home_dir / "config.toml").write_text(f"db = '{address}'\n")

    assert cli("enqueue", "--id", "a", "true").code == 0

    assert ids(cli, address) == ["a"]
    assert not (home_dir / "queue.db").exists()


def test_a_flag_wins_over_the_variables(
    cli: Cli, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("QUEUECTL_DB", "QUEUECTL_DB_PATH"):
        monkeypatch.setenv(name, str(tmp_path / name))

    assert cli("enqueue", "--db", address, "--id", "a", "true").code == 0

    assert ids(cli, address) == ["a"]
    assert not list(tmp_path.glob("QUEUECTL_DB*"))


def test_a_variable_wins_over_the_config_file(
    cli: Cli, address: str, home_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home_dir.mkdir()
    (home_dir / "config.toml").write_text(f"db = '{tmp_path / 'configured.db'}'\n")
    monkeypatch.setenv("QUEUECTL_DB", address)

    assert cli("enqueue", "--id", "a", "true").code == 0

    assert ids(cli, address) == ["a"]
    assert not (tmp_path / "configured.db").exists()


def test_init_makes_the_store_says_where_and_may_be_repeated(
    cli: Cli, home_dir: Path, store_url: str | None
) -> None:
    shown = Address(store_url).shown if store_url else str(home_dir / "queue.db")
    for _ in range(2):
        result = cli("init")
        assert (result.code, result.out) == (0, f"✓ The store is ready: {shown}\n")
    assert cli("init", "--json").json()["db"] == shown
    assert cli("list").err == "no jobs\n"


def test_a_home_that_is_a_file(cli: Cli, home_dir: Path) -> None:
    home_dir.write_text("in the way")

    assert_store_error(cli("enqueue", "echo hi"), "ot a directory")

    assert home_dir.read_text() == "in the way"


def test_a_home_that_cannot_be_made(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("QUEUECTL_HOME", str(tmp_path / "file" / "below" / "home"))

    assert_store_error(cli("enqueue", "echo hi"), "cannot create")
