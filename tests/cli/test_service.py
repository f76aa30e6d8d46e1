"""`queuectl service`, with a systemctl and a loginctl that only write down what they are asked."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import Cli, Terminal
from tests.support.programs import require

from queuectl.errors import NotFound, Refused
from queuectl.queue import Queue
from queuectl.service.quoting import command_line, environment_line, quoted
from queuectl.service.systemd import Systemd
from queuectl.service.unit import MARK

pytestmark = pytest.mark.process  # systemctl is a script here

SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$FAKE/calls"
case "$*" in *show*) cat "$FAKE/state" 2>/dev/null;; esac
case "$*" in *"$(cat "$FAKE/fails" 2>/dev/null || echo nothing)"*) cat "$FAKE/says" >&2; exit 1;; esac
exit 0
"""
LOGINCTL = """#!/bin/sh
cat "$FAKE/linger" 2>/dev/null || echo no
"""


class Machine:
    """The outside world: what systemctl was asked, what it answers."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.units = directory / "config" / "systemd" / "user"

    @property
    def calls(self) -> list[str]:
        file = self._directory / "calls"
        asked = file.read_text().splitlines() if file.exists() else []
        return [re.sub(r"show --property=\S+", "show", call) for call in asked]

    def forget(self) -> None:
        (self._directory / "calls").unlink()

    def answers(self, state: str) -> None:
        (self._directory / "state").write_text(state)

    def fails_at(self, what: str, says: str) -> None:
        (self._directory / "fails").write_text(what)
        (self._directory / "says").write_text(says)

    def lingers(self) -> None:
        (self._directory / "linger").write_text("yes\n")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    fake = tmp_path / "machine"
    fake.mkdir()
    for name, script in (("systemctl", SYSTEMCTL), ("loginctl", LOGINCTL)):
        (fake / name).write_text(script)
        (fake / name).chmod(0o755)
    monkeypatch.setenv("FAKE", str(fake))
    monkeypatch.setenv("PATH", f"{fake}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(fake / "config"))
    return Machine(fake)


def directives(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if re.match(r"[A-Z]\w+=", line))


def test_install_writes_enables_and_starts_it(cli: Cli, machine: Machine, home_dir: Path) -> None:
    done = cli("service", "install", "--count", "2", "--queue", "a,b", "--yes")
    assert (done.code, done.out) == (
        0,
        f"✓ Service queuectl is running: {machine.units / 'queuectl.service'}\n",
    )
    assert "sudo loginctl enable-linger" in done.err
    assert machine.calls == [
        "--user show queuectl.service",
        "--user daemon-reload",
        "--user enable queuectl.service",
        "--user restart queuectl.service",
    ]
    unit = directives((machine.units / "queuectl.service").read_text())
    assert unit["ExecStart"] == (
        f"{sys.executable} -P -m queuectl worker start --foreground --count 2 --queue a,b"
    )
    assert (unit["Type"], unit["NotifyAccess"], unit["KillMode"], unit["Restart"], unit["Delegate"]) == (
        "notify", "main", "mixed", "on-failure", "yes",
    )  # fmt: skip
    assert unit["WantedBy"] == "default.target"
    assert not home_dir.exists()  # no store was made for it


def test_its_command_is_one_that_starts_workers(cli: Cli, machine: Machine, tmp_path: Path) -> None:
    """The words of the unit, run as systemd would."""
    db = tmp_path / "my jobs" / "q.db"
    cli("--db", str(db), "enqueue", "--id", "a", "echo hi")
    unit = cli("service", "install", "--dry-run", "--concurrency", "2", "--db", str(db)).out
    words = shlex.split(directives(unit)["ExecStart"])
    process = subprocess.Popen(words, stderr=subprocess.PIPE)
    try:
        assert cli("--db", str(db), "wait", "a", "--timeout", "30").code == 0
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert process.returncode == 0


def test_installing_again_updates_it_and_restarts_it_only_if_it_changed(cli: Cli, machine: Machine) -> None:
    cli("service", "install", "--yes")
    machine.forget()
    assert cli("service", "install", "--yes", "--json").json()["changed"] is False
    assert machine.calls[-1] == "--user start queuectl.service"
    assert cli("service", "install", "--count", "3", "--yes", "--json").json()["changed"] is True
    assert machine.calls[-1] == "--user restart queuectl.service"
    assert "--count 3" in (machine.units / "queuectl.service").read_text()


def test_without_a_start_it_is_only_enabled(cli: Cli, machine: Machine) -> None:
    machine.lingers()
    done = cli("service", "install", "--no-start", "--name", "mail.service", "--yes")
    assert "Service mail is enabled" in done.out
    assert done.err == ""
    assert machine.calls[-1] == "--user enable mail.service"


def test_a_unit_of_somebody_else_is_never_touched(cli: Cli, machine: Machine, tmp_path: Path) -> None:
    machine.units.mkdir(parents=True)
    foreign = machine.units / "queuectl.service"
    foreign.write_text("[Service]\nExecStart=/bin/true\n")
    for words in (["install", "--yes"], ["uninstall", "--yes"], ["show"], ["status"]):
        done = cli("service", *words)
        assert done.code == 4
        assert "is not a unit of queuectl" in done.err
    assert foreign.read_text() == "[Service]\nExecStart=/bin/true\n"
    foreign.unlink()
    foreign.symlink_to("/dev/null")  # as `systemctl mask` leaves it
    assert cli("service", "install", "--yes").code == 4
    foreign.unlink()
    machine.answers("FragmentPath=/usr/lib/systemd/user/queuectl.service\n")
    done = cli("service", "install", "--yes")
    assert done.code == 4
    assert "there is a service queuectl already" in done.err
    assert list(machine.units.iterdir()) == []


def test_on_a_terminal_the_unit_is_shown_and_asked_about(terminal: Terminal, machine: Machine) -> None:
    seen = terminal("service", "install", keys="n\n")
    assert seen.code == 1
    assert "ExecStart=" in seen.out
    assert "enable it and start it? [y/N]" in seen.out
    assert not machine.units.exists()
    assert terminal("service", "install", keys="y\n").code == 0
    assert (machine.units / "queuectl.service").exists()


def test_in_a_script_it_takes_a_yes(cli: Cli, machine: Machine) -> None:
    done = cli("service", "install")
    assert (done.code, "--yes" in done.err) == (4, True)
    assert not machine.units.exists()


def test_without_systemd_it_says_what_to_do_instead(cli: Cli, machine: Machine) -> None:
    machine.fails_at(
        "show", "System has not been booted with systemd as init system (PID 1). Can't operate.\n"
    )
    done = cli("service", "install", "--yes")
    assert done.code == 1
    assert "not been booted with systemd" in done.err
    assert "queuectl worker start --foreground" in done.err
    assert not machine.units.exists()
    assert "ExecStart=" in cli("service", "install", "--dry-run").out
    assert "ExecStart=" in cli("service", "show").out


def test_without_systemctl_too(cli: Cli, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = cli("service", "install", "--yes")
    assert (done.code, "there is no systemctl here" in done.err) == (1, True)


def test_a_service_that_does_not_start_names_its_log(cli: Cli, machine: Machine) -> None:
    machine.fails_at("restart", "Job for queuectl.service failed\n")
    done = cli("service", "install", "--yes")
    assert done.code == 1
    assert "journalctl --user -eu queuectl.service" in done.err


def test_uninstall_stops_it_and_removes_the_unit(cli: Cli, machine: Machine) -> None:
    assert cli("service", "uninstall", "--yes").code == 1
    cli("service", "install", "--db", "postgresql://me:secret@db/jobs", "--yes")
    machine.forget()
    assert cli("service", "uninstall", "--yes").code == 0
    assert machine.calls == ["--user disable --now queuectl.service", "--user daemon-reload"]
    assert list(machine.units.iterdir()) == []


def test_status_tells_what_systemd_knows(cli: Cli, machine: Machine) -> None:
    assert cli("service", "status").code == 1
    cli("service", "install", "--yes")
    machine.answers(
        "ActiveState=active\nSubState=running\nUnitFileState=enabled\nMainPID=71\nNRestarts=0\n"
        "StatusText=2 of 2 worker(s) running\nResult=success\n"
    )
    done = cli("service", "status")
    assert done.code == 0
    assert done.out.splitlines()[:2] == [
        "queuectl: active (running), enabled",
        "  workers:  2 of 2 worker(s) running",
    ]
    assert cli("service", "status", "--json").json()["pid"] == 71
    machine.answers("ActiveState=failed\nSubState=failed\nMainPID=0\nNRestarts=4\n")
    assert cli("service", "status").code == 1


def test_a_password_is_kept_out_of_the_unit(cli: Cli, machine: Machine, home_dir: Path) -> None:
    cli("service", "install", "--db", "postgresql://me:s3cret%24@db.example/jobs", "--yes")
    text = (machine.units / "queuectl.service").read_text()
    assert "s3cret" not in text
    secrets = home_dir / "service-queuectl.env"
    assert f"EnvironmentFile={secrets}" in text
    assert secrets.read_text() == 'QUEUECTL_DB="postgresql://me:s3cret%24@db.example/jobs"\n'
    assert secrets.stat().st_mode & 0o777 == 0o600


def test_a_new_password_reaches_a_service_that_runs(cli: Cli, machine: Machine, home_dir: Path) -> None:
    """The unit is the same; what it reads is not."""
    for password, changed, last in (
        ("old", True, "restart"),
        ("old", False, "start"),
        ("new", True, "restart"),
    ):
        url = f"postgresql://me:{password}@db.example/jobs"
        done = cli("service", "install", "--db", url, "--yes", "--json")
        assert done.json()["changed"] is changed
        assert machine.calls[-1] == f"--user {last} queuectl.service"
    assert "new" in (home_dir / "service-queuectl.env").read_text()
    assert cli("service", "install", "--db", url.replace("new", "newer"), "--yes", "--no-start").code == 0
    assert machine.calls[-1] == "--user enable queuectl.service"


def test_a_service_of_the_machine_needs_an_account(cli: Cli, machine: Machine) -> None:
    done = cli("service", "install", "--system", "--dry-run")
    assert (done.code, "--run-as" in done.err) == (2, True)
    assert cli("service", "install", "--run-as", "root", "--dry-run").code == 2
    assert cli("service", "install", "--system", "--run-as", "nobody-at-all", "--dry-run").code == 2


def test_a_service_of_the_machine_has_the_home_of_its_account(
    cli: Cli, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = directives(cli("service", "install", "--system", "--run-as", "root", "--dry-run").out)
    assert chosen["Environment"] == f"QUEUECTL_HOME={os.environ['QUEUECTL_HOME']}"
    monkeypatch.delenv("QUEUECTL_HOME")
    unit = directives(cli("service", "install", "--system", "--run-as", "root", "--dry-run").out)
    assert (unit["User"], unit["Environment"]) == (
        "root",
        f"QUEUECTL_HOME={pwd.getpwnam('root').pw_dir}/.queuectl",
    )
    assert unit["WantedBy"] == "multi-user.target"
    without = directives(cli("service", "install", "--system", "--run-as", "nobody", "--dry-run").out)
    assert (without["StateDirectory"], without["Environment"]) == (
        "queuectl",
        "QUEUECTL_HOME=/var/lib/queuectl",
    )


def test_a_unit_of_the_machine_is_installed_by_its_manager(machine: Machine, tmp_path: Path) -> None:
    systemd = Systemd(system=True, directory=str(tmp_path / "etc"))
    with pytest.raises(NotFound):
        systemd.uninstall("jobs")
    assert systemd.install("jobs", MARK, start=True)
    assert not systemd.install("jobs", MARK, start=False)
    assert machine.calls == [
        *("daemon-reload", "enable jobs.service", "restart jobs.service"),
        *("daemon-reload", "enable jobs.service"),
    ]
    Path(systemd.path("jobs")).write_text("[Unit]\n")
    with pytest.raises(Refused):
        systemd.uninstall("jobs")


def test_a_stop_has_the_time_that_the_settings_give_it(cli: Cli, machine: Machine, queue: Queue) -> None:
    queue.set_config("stop-grace", "10m")
    unit = directives(cli("service", "install", "--dry-run").out)
    assert unit["TimeoutStopSec"] == f"{600 + 5 + 15}s"


@pytest.mark.parametrize(
    "words",
    [
        ["--count", "0"],
        ["--queue", ""],
        ["--name", "../evil"],
        ["--name", "a@b"],
        ["--provides", "gpu=x"],
        ["--user", "--system"],
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    cli: Cli, machine: Machine, words: list[str]
) -> None:
    assert cli("service", "install", "--yes", *words).code == 2
    assert machine.calls == []


def test_words_are_quoted_as_systemd_reads_them() -> None:
    assert command_line(["/my $x/py", "a b", "100%", "$HOME", 'q"\\', "", "plain-1.2"]) == (
        '"/my $x/py" "a b" "100%%" "$$HOME" "q\\"\\\\" "" plain-1.2'
    )
    assert quoted("A=$x%") == '"A=$x%%"'  # no variables in Environment
    assert environment_line("A", 'b"$c%') == 'A="b\\"\\$c%"\n'


@pytest.mark.parametrize(
    "words", [[], ["--harden", "--system", "--run-as", "root", "--db", "mysql://me:x@h/d"]]
)
def test_systemd_finds_no_fault_with_it(cli: Cli, machine: Machine, tmp_path: Path, words: list[str]) -> None:
    analyze = require("systemd-analyze")
    odd = tmp_path / "a b%d $HOME"
    odd.mkdir()
    file = tmp_path / "queuectl.service"
    db = [] if words else ["--db", str(odd / "q.db")]
    file.write_text(cli("service", "install", "--dry-run", *words, *db).out)
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(file)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
