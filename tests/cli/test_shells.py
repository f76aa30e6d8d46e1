"""Completion by real shells, with the scripts that `queuectl completion` prints; and the man pages."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.home import path_with_queuectl
from tests.support.programs import require

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60


@pytest.fixture
def with_queuectl(tmp_path: Path, jobs_in_every_state: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`queuectl` on the path, and jobs."""
    monkeypatch.setenv("PATH", path_with_queuectl(tmp_path))
    (tmp_path / "here.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, stdin: str = "") -> list[str]:
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


BASH = """
set -u
source <(queuectl completion bash)
complete -p queuectl
while IFS= read -r line; do
    COMP_LINE=$line COMP_POINT=${#line}
    read -ra COMP_WORDS <<< "$line"
    [[ $line == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _queuectl
    printf '[%s]' "${COMPREPLY[@]}"
    echo
done
"""


def test_bash(with_queuectl: Path) -> None:
    lines = {
        "queuectl sta": "[status][stats]",
        "queuectl dlq re": "[retry]",
        "queuectl show wa": "[waiting]",
        "queuectl list --state=de": "[dead]",  # what is before the = stays, which breaks words in bash
        "queuectl cancel nosuch": "[]",
        "~/../queuectl show ": "[]",
    }
    answers = run(require("bash"), "--norc", "-c", BASH, stdin="".join(f"{line}\n" for line in lines))
    assert answers == ["complete -F _queuectl queuectl", *lines.values()]


def test_fish(with_queuectl: Path) -> None:
    script = "source (queuectl completion fish | psub)\n"
    script += "".join(
        f"complete -C '{line}'\necho .\n"
        for line in (
            "queuectl sta",
            "queuectl show wa",
            "queuectl list --state=de",
            "queuectl enqueue -f here",
        )
    )
    assert run(require("fish"), "--no-config", "-c", script) == [
        "stats\tthroughput, success rate, wait and run times",
        "status\tthe overview: workers, jobs by state, throughput",
        ".",
        "waiting\tpending: echo waiting",
        ".",
        "--state=dead",
        ".",
        "here.jsonl",
        ".",
    ]


class Zsh:
    """An interactive zsh on a terminal."""

    def __init__(self, folder: Path) -> None:
        program = require("zsh")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", PS1="> ", HOME=str(folder))
            os.execv(program, ["zsh", "-f", "-i"])

    def type(self, keys: str, until: str) -> str:
        os.write(self.fd, keys.encode())
        seen, deadline = "", time.monotonic() + PATIENCE
        while until not in seen:
            left = deadline - time.monotonic()
            assert left > 0, seen
            if select.select([self.fd], [], [], left)[0]:
                seen += os.read(self.fd, 65536).decode()
        return seen

    def close(self) -> None:
        os.close(self.fd)  # the terminal goes away, and zsh with it
        os.waitpid(self.pid, 0)


@pytest.fixture
def zsh(with_queuectl: Path) -> Iterator[Zsh]:
    started = Zsh(with_queuectl)
    yield started
    started.close()


def test_zsh(with_queuectl: Path, zsh: Zsh) -> None:
    (with_queuectl / "fpath").mkdir()
    run("sh", "-c", "queuectl completion zsh > fpath/_queuectl")
    zsh.type("fpath=($PWD/fpath $fpath); autoload -U compinit; compinit -u -D; print re''ady\n", "ready\r\n")
    zsh.type("queuectl dlq ret\t", "queuectl dlq retry ")
    zsh.type("bro\t", "broken ")
    zsh.type("\x15queuectl list --state=de\t", "--state=dead ")
    zsh.type("\x15queuectl enqueue -f he\t", "here.jsonl ")
    zsh.type("\x15source fpath/_queuectl; print ag''ain\n", "again\r\n")
    seen = zsh.type("queuectl cancel \t", "-- processing: echo running")
    assert "waiting  -- pending: echo waiting" in seen


def test_a_shell_that_we_do_not_know(cli: Cli) -> None:
    result = cli("completion", "tcsh")
    assert (result.code, result.out) == (2, "")
    assert "choose from" in result.err


# --- installed by the wheel ---------------------------------------------------------------------------------


def test_the_wheel_installs_scripts_and_man_pages() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shared = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert set(shared.values()) == {
        "share/man/man1",
        "share/bash-completion/completions/queuectl",
        "share/zsh/site-functions/_queuectl",
        "share/fish/vendor_completions.d/queuectl.fish",
    }
    assert all((ROOT / source).exists() for source in shared)


def test_the_man_pages_are_well_formed() -> None:
    pages = sorted((ROOT / "docs/man").glob("*.1"))
    done = subprocess.run(
        [require("groff"), "-man", "-ww", "-z", "-Tutf8", *map(str, pages)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(pages) > 30


def test_a_man_page_says_what_help_says(cli_process: Cli) -> None:
    done = subprocess.run(
        [require("groff"), "-man", "-Tascii", "-P-cbou", str(ROOT / "docs/man/queuectl-graph.1")],
        capture_output=True,
        text=True,
        check=True,
    )
    page = " ".join(done.stdout.split())
    assert "queuectl-graph - which jobs wait for which" in page
    assert "queuectl graph --dot | dot -Tsvg > jobs.svg" in page
    for option in ("--dot", "--up", "--down", "--limit N"):
        assert option in page
