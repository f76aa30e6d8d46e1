"""The contestants of the throughput benchmark: what they claim has run, and who is missing is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench.contestants import FLOOR, Contestant, Lost, Missing
from bench.contestants.contestant import steady_rate
from bench.contestants.gate import Gate
from bench.contestants.installing import DebianPackage, Environment
from bench.contestants.xargs import Xargs
from bench.race import Field
from bench.throughput import SERVERS, VARIANTS, against, variants


class Forgetful(Xargs):
    """Runs one command fewer than it was given."""

    name = "forgetful"

    def rate(self, command: str, count: int) -> float:
        return super().rate(command, count - 1)


class Absent(Xargs):
    name = "absent"

    def prepare(self) -> None:
        DebianPackage("no-such-package", "no-such-program").install()


class Tiring(Xargs):
    """Loses commands from its third run on; the first is the proof."""

    name = "tiring"
    runs = 0

    def rate(self, command: str, count: int) -> float:
        self.runs += 1
        if self.runs > 2:
            raise Lost("too tired")
        return super().rate(command, count)


def field_of(*contestants: Contestant) -> Field:
    field = Field([], most=20)
    for contestant in contestants:
        field.invite(contestant)
    return field


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("QUEUECTL_BENCH_CACHE", str(tmp_path / "cache"))


def test_xargs_runs_all_the_commands(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    assert FLOOR.rate(f"echo >> {traces}", 20) > 0
    assert traces.read_text() == "\n" * 20


def test_a_command_that_fails_is_no_success() -> None:
    with pytest.raises(Lost):
        FLOOR.rate("false", 2)


def test_who_runs_fewer_commands_than_it_was_given_is_found_out() -> None:
    with pytest.raises(Lost, match="19 of 20 commands"):
        Forgetful().prove()
    assert field_of(Forgetful()).absent == {"forgetful": "19 of 20 commands have run"}


@pytest.mark.usefixtures("nothing_installed")
def test_what_cannot_be_installed_is_missing_loudly(capsys: pytest.CaptureFixture[str]) -> None:
    field = field_of(Absent())
    result = against("true", "absent", {}, field.absent)
    assert not result.good
    assert not result.values
    assert result.peer == "absent"
    assert "no-such-program is not on the PATH" in result.target
    assert "*** NOT MEASURED: commands/s end to end, sh -c 'true'" in capsys.readouterr().err


@pytest.mark.usefixtures("nothing_installed")
def test_an_environment_is_at_hand_only_when_it_is_whole() -> None:
    environment = Environment("broken-off", "some-package>=1")
    environment.folder.mkdir(parents=True)
    assert not environment.ready()
    with pytest.raises(Missing):
        environment.version("some-package")


def test_who_loses_commands_in_a_round_is_out_and_the_others_go_on() -> None:
    field = field_of(FLOOR, Tiring())
    rates = field.run("true", rounds=3)
    assert list(rates) == [FLOOR.name]
    assert len(rates[FLOOR.name]) == 3
    assert field.absent == {"tiring": "too tired"}


def test_every_promised_variant_of_ours_is_one_that_is_run() -> None:
    urls = dict.fromkeys(SERVERS, "")
    assert [variant.name for variant in variants(urls)] == list(VARIANTS)


def test_a_rate_is_taken_when_all_workers_are_there() -> None:
    slowly = [float(second) for second in range(10)]
    quickly = [9 + number / 100 for number in range(1, 91)]
    assert steady_rate(slowly + quickly) == pytest.approx(100, rel=0.02)


def test_a_gate_holds_its_command_until_it_opens(tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate:
        held = subprocess.Popen(["sh", "-c", gate.command])
        assert held.poll() is None
        gate.open()
        assert held.wait(timeout=20) == 0
