"""What a worker notes of a death because nobody can find it out later."""

from __future__ import annotations

from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core.outcome import NO_MEMORY
from queuectl.worker.evidence import KernelKills, add_evidence
from tests.support.jobs import claimed_job, ended
from tests.support.worker_home import WorkerHome


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    return tmp_path / "memory.events"


def kills(counter: Path, count: int) -> KernelKills:
    counter.write_text(f"max 7\noom_kill {count}\noom_group_kill 0\n")
    return KernelKills([("/nonexistent", "?"), (str(counter), NO_MEMORY)])


def count(counter: Path, number: int) -> None:
    counter.write_text(f"oom_kill {number}\n")


def death(kernel: KernelKills, **how: int) -> str | None:
    outcome = ended(kinds.FAILED, "killed by SIGKILL")
    for name, value in how.items():
        setattr(outcome, name, value)
    add_evidence(claimed_job(), outcome, kernel)
    return outcome.error


def test_a_kill_that_the_kernel_counted_explains_one_death(counter: Path) -> None:
    kernel = kills(counter, 3)
    kernel.look(0.0)
    count(counter, 4)
    kernel.look(6.0)  # seen before the end of the command was
    assert death(kernel, signal=11) == "killed by SIGKILL"  # it died of something else
    assert death(kernel, exit_code=137) == f"killed by SIGKILL ({NO_MEMORY})"
    assert death(kernel, signal=9) == "killed by SIGKILL"  # that one was somebody else's


@pytest.mark.parametrize("looks", [(6.0, 12.0), (100.0,)])
def test_what_was_long_ago_explains_nothing(counter: Path, looks: tuple[float, ...]) -> None:
    kernel = kills(counter, 3)
    kernel.look(0.0)
    count(counter, 4)
    for now in looks:
        kernel.look(now)
    assert death(kernel, signal=9) == "killed by SIGKILL"


def test_where_nothing_is_counted_nothing_is_said(counter: Path) -> None:
    counter.write_text("nothing of it\n")
    kernel = KernelKills([(str(counter), NO_MEMORY)])
    assert death(kernel, signal=9) == "killed by SIGKILL"
    kernel.close()
    kernel.look(1.0)
    assert death(kernel, signal=9) == "killed by SIGKILL"


def test_the_path_in_which_a_command_was_not_found_is_kept(shared_home: WorkerHome) -> None:
    path = f"{shared_home.work}/no-such-bin:{shared_home.work}/no-such-directory"
    job = shared_home.run("no-such-program", env={"PATH": path})
    assert str(job.last_error).endswith(f"not found (PATH={path})")
    assert "PATH=" not in str(shared_home.run("./no-such-program").last_error)
    assert "PATH=" not in str(shared_home.run("exit 127").last_error)


def test_a_path_that_is_no_text_can_be_stored(counter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin:/opt/\udcffx")
    outcome = ended(kinds.FAILED, "exit code 127: sh: nosuch: not found")
    outcome.exit_code = 127
    add_evidence(claimed_job(), outcome, kills(counter, 0))
    assert outcome.error is not None
    assert "/opt/\\udcffx" in outcome.error.encode().decode()
