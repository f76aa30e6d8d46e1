"""The contestants of the throughput benchmark: what they claim has run, and who is missing is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.contestants import FLOOR, Contestant, Lost
from bench.contestants.installing import DebianPackage
from bench.contestants.xargs import Xargs
from bench.race import Field
from bench.throughput import against


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


def test_who_loses_commands_in_a_round_is_out_and_the_others_go_on() -> None:
    field = field_of(FLOOR, Tiring())
    rates = field.run("true", rounds=3)
    assert list(rates) == [FLOOR.name]
    assert len(rates[FLOOR.name]) == 3
    assert field.absent == {"tiring": "too tired"}
