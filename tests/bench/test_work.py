"""The guard that counts work: what is a system call of a worker, what is over the budget, what is excused."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"

TRACE = """\
100 execve("/usr/bin/python3", ["python3"], 0x7ffc /* 20 vars */) = 0
100 epoll_wait(5,  <unfinished ...>
101 pwrite64(4, "..."..., 4096, 0) = 4096
100 <... epoll_wait resumed>[], 3, 1000) = 0
100 vfork( <unfinished ...>
102 rt_sigaction(SIGINT, NULL, {sa_handler=SIG_DFL}, 8) = 0
102 execve("/bin/sh", ["/bin/sh", "-c", "true"], 0x55 /* 9 vars */ <detached ...>
100 <... vfork resumed>) = 102
100 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=102} ---
100 wait4(102, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], WNOHANG, NULL) = 102
100 +++ exited with 0 +++
"""


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Any:
    """tools/ is no package; its scripts know each other by their bare names."""
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module


@pytest.fixture
def guard(tools: Any) -> ModuleType:
    return tools("check_work")


def test_a_call_counts_once_whoever_of_the_worker_makes_it(tools: Any) -> None:
    counted = tools("trace_worker").calls(TRACE.splitlines(keepends=True))
    assert counted == {
        "execve": 2,
        "epoll_wait": 1,
        "pwrite64": 1,
        "vfork": 1,
        "rt_sigaction": 1,
        "wait4": 1,
    }


def test_the_start_of_the_worker_cancels_out(tools: Any) -> None:
    tracer = tools("trace_worker")
    few = tracer.calls(["1 openat(x) = 3\n"] * 70 + ["1 vfork() = 2\n"] * 50)
    many = tracer.calls(["1 openat(x) = 3\n"] * 70 + ["1 vfork() = 2\n"] * 200)
    assert tracer.per_job(few, many, 150) == {"vfork": 1.0, "openat": 0.0}


def test_more_than_the_budget_is_over_it_and_so_is_what_has_none(guard: ModuleType) -> None:
    lines = guard.judge(
        {"worker.calls": 31.0, "store.steps": 300.0, "store.pages": 0.4},
        {"worker.calls": 30.9, "store.steps": 300.0},
    )
    assert [line.over for line in lines] == [True, False, True]
    assert str(lines[0]).split()[-4:] == ["31", "of", "30.9", "OVER"]
    assert "no budget" in str(lines[2])


def test_the_budget_leaves_room_for_what_differs_from_run_to_run(guard: ModuleType) -> None:
    budget = guard.budget_of({"worker.calls": 30.0, "store.steps": 300.0, "enqueue.modules": 90.0})
    assert budget == {"worker.calls": 30.6, "store.steps": 309.0, "enqueue.modules": 90.0}


def test_one_more_call_or_module_is_over_a_budget_just_written(guard: ModuleType) -> None:
    before = {"worker.calls": 94.4, "enqueue.modules": 90.0}
    after = {name: figure + 1 for name, figure in before.items()}
    assert not any(line.over for line in guard.judge(before, guard.budget_of(before)))
    assert all(line.over for line in guard.judge(after, guard.budget_of(before)))


def test_a_written_budget_is_read_back(guard: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "budget.toml"
    figures = {"worker.calls": 30.0, "store.steps": 300.0}
    guard.write(figures, file)
    assert guard.read(file) == (guard.budget_of(figures), guard.here())
    assert tomllib.loads(file.read_text())["measured_with"].startswith("Python 3.")


def test_what_could_not_be_counted_keeps_its_budget(guard: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "budget.toml"
    guard.write({"worker.calls": 30.0, "store.steps": 300.0}, file)
    guard.write({"store.steps": 200.0}, file)
    assert guard.read(file)[0] == {"worker.calls": 30.6, "store.steps": 206.0}


def test_over_the_budget_fails_and_says_where_to_look(
    guard: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    over = guard.judge({"store.steps": 400.0}, {"store.steps": 300.0})
    assert guard.explain(over, guard.here()) == 1
    said = capsys.readouterr().err
    assert "python -m bench.statements" in said
    assert "--write" in said


def test_a_budget_of_another_python_is_no_judge(
    guard: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    over = guard.judge({"store.steps": 400.0}, {"store.steps": 300.0})
    assert guard.explain(over, "Python 2.7 on CP/M") == 0
    assert "NOT JUDGED" in capsys.readouterr().err


def test_a_missing_strace_is_a_failure_only_in_ci_and_only_where_it_would_work(
    guard: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, forbidden = guard.trace_worker.MISSING, "this machine does not permit ptrace"
    monkeypatch.delenv("CI", raising=False)
    assert guard.skipped(missing) == 0
    monkeypatch.setenv("CI", "true")
    assert guard.skipped(missing) == 1
    assert guard.skipped(forbidden) == 0
    assert capsys.readouterr().err.count("NOT COUNTED") == 3


def test_the_budget_in_the_repository_is_about_figures_that_exist(guard: ModuleType) -> None:
    budget, measured_with = guard.read()
    assert set(budget) == set(guard.FIGURES)
    assert measured_with.startswith("Python ")
