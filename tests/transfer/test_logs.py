"""Long output lies in files: a copy on one machine takes them along."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.engines import engine_pairs
from tests.transfer.places import Places, insert
from tests.transfer.rows import attempt, job

from queuectl import system
from queuectl.core.chunks import STDOUT, pack
from queuectl.logfiles import log_name, segments
from queuectl.paths import locate


def long_output(url: str, seq: int, *parts: str, names: tuple[str, ...] = ("", ".3", ".4")) -> str:
    """A log of several files; its name."""
    name = log_name(seq, 1)
    for suffix, text in zip(names, parts, strict=False):
        path = Path(locate(url).logs_dir, name + suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pack(STDOUT, 0, text.encode()))
    return name


def fill(url: str) -> None:
    """j1: three files. j2: files of another machine. j3: a lost attempt's. j4: short."""
    here = system.hostname()
    insert(url, "jobs", *(job(seq, state="completed", runs=1) for seq in (1, 2, 3, 4)))
    insert(
        url,
        "attempts",
        attempt(1, host=here, log=long_output(url, 1, "head\n", "middle\n", "end\n"), output_bytes=16),
        attempt(2, host="elsewhere", log=log_name(2, 1), output_bytes=99),
        attempt(3, host=here, outcome="lost"),
        attempt(4, host=here, output=pack(STDOUT, 0, b"short\n"), output_bytes=6),
    )
    long_output(url, 3, "what remained\n")


@pytest.mark.parametrize(("source", "target"), engine_pairs())
def test_the_files_go_along(source: str, target: str, place: Places, cli: Cli) -> None:
    here, there = place(source), place(target)
    fill(here)
    done = cli.ok("--db", here, "copy", "--to", there, "--json").json()
    assert done["logs"] == {"copied": 2, "missing": 1}
    for id, wanted in (("j1", "head\nmiddle\nend\n"), ("j3", "what remained\n"), ("j4", "short\n")):
        assert cli.ok("--db", there, "logs", id, "--raw").out == wanted
        assert cli.ok("--db", here, "logs", id, "--raw").out == wanted
    modes = {oct(path.stat().st_mode & 0o777) for path in Path(locate(there).logs_dir).rglob("*.log*")}
    assert modes == {"0o600"}


def test_what_was_left_out_is_said(place: Places, cli: Cli, tmp_path: Path) -> None:
    fill(here := place("sqlite"))
    said = cli.ok("--db", here, "copy", "--to", place("sqlite")).err
    assert "with them 2 log files of long output" in said
    assert "the long output of 1 attempt is not on this machine, or was deleted" in said
    said = cli.ok("--db", here, "export", str(tmp_path / "file")).err
    assert "the long output of 2 attempts lies in log files, which are not part of the export" in said


def test_files_of_an_earlier_life_are_no_part_of_it(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("sqlite")
    fill(here)
    long_output(there, 1, "old head", "old", "old", "old", names=("", ".2", ".4", ".9"))
    Path(locate(there).logs_dir, log_name(1, 1) + ".tmp").write_bytes(b"of a copy that died")
    cli.ok("--db", here, "copy", "--to", there)
    assert cli.ok("--db", there, "list").out
    assert cli.ok("--db", there, "logs", "j1", "--raw").out == "head\nmiddle\nend\n"
    names = [os.path.basename(path) for path in segments(locate(there).logs_dir, log_name(1, 1))]
    assert names == ["1-1.log", "1-1.log.3", "1-1.log.4"]


def test_a_path_in_a_row_is_not_followed(place: Places, cli: Cli, tmp_path: Path) -> None:
    here, there = place("sqlite"), place("sqlite")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    insert(here, "jobs", job(1))
    insert(here, "attempts", attempt(1, log=os.path.relpath(secret, locate(here).logs_dir)))
    assert cli.ok("--db", here, "copy", "--to", there, "--json").json()["logs"] == {"copied": 0, "missing": 1}
    assert secret.read_text() == "secret"
    assert not list(Path(locate(there).state_dir).rglob("secret"))


def test_a_link_in_place_of_a_log_is_not_followed(place: Places, cli: Cli, tmp_path: Path) -> None:
    here, there = place("sqlite"), place("sqlite")
    fill(here)
    log = Path(locate(here).logs_dir, log_name(1, 1))
    log.unlink()
    log.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("secret")
    assert "cannot copy the log" in cli("--db", here, "copy", "--to", there, code=3).err
