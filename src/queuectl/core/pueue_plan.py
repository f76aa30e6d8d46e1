"""Which tasks of pueue come over, and as what jobs."""

from __future__ import annotations

import re

from queuectl.core import pueue
from queuectl.core.takeover import Plan, as_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.pueue import State, Task

__all__ = ["plan_of"]

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HELD = (pueue.STASHED, pueue.PAUSED)


def plan_of(
    state: State, *, prefix: str, everything: bool = False, running: bool = False, env: bool = False
) -> Plan:
    """Everything that pueue has still to do or has failed at.

    What succeeded comes over with `everything`, what runs there now with `running`: it would run twice. So
    who waits for such a task is held. Values of environments come only with `env`: they may be secrets.
    """
    plan = Plan()
    taken = {task.number: task for task in state.tasks.values() if _wanted(task, plan, everything, running)}
    for number in sorted(taken):
        fields = _fields(taken[number], prefix, env=env, plan=plan)
        _add_dependencies(fields, taken[number], state, taken, prefix=prefix, plan=plan)
        if state.groups.get(taken[number].group, (False, 0))[0]:
            fields["hold"] = True
        plan.jobs.append((f"tasks.{number}", fields))
    _add_groups(plan, state, {task.group for task in taken.values()})
    return plan


def _wanted(task: Task, plan: Plan, everything: bool, running: bool) -> bool:
    if task.state == pueue.SUCCEEDED and not everything:
        plan.leave_out("succeeded (--all takes them too)")
        return False
    if task.state == pueue.RUNNING and not running:
        plan.leave_out("run in pueue now (--running takes them too)")
        return False
    return True


def _fields(task: Task, prefix: str, *, env: bool, plan: Plan) -> dict[str, object]:
    fields: dict[str, object] = {
        "id": f"{prefix}-{task.number}",
        "command": task.command,
        "cwd": task.path,
        "queue": as_name(task.group) or "default",
        "priority": task.priority,
    }
    label = as_name(task.label or "")
    if label is not None:
        fields["tags"] = [label]
    if task.state in _HELD:
        fields["hold"] = True
    if task.enqueue_at is not None:
        fields["run_at"] = task.enqueue_at
    if env:
        fields["env"] = {name: value for name, value in task.envs.items() if _ENV_NAME.fullmatch(name)}
        strange = len(task.envs) - len(fields["env"])  # type: ignore[arg-type]  # a dict, just made
        if strange:
            plan.notes.append(f"task {task.number}: {strange} variables left out for their names")
    return fields


def _add_dependencies(
    fields: dict[str, object],
    task: Task,
    state: State,
    taken: dict[int, Task],
    *,
    prefix: str,
    plan: Plan,
) -> None:
    after: list[str] = []
    for number in task.dependencies:
        other = state.tasks.get(number)
        if number in taken:
            after.append(f"{prefix}-{number}")
        elif other is not None and other.state == pueue.RUNNING:
            fields["hold"] = True
            plan.notes.append(f"task {task.number} is held: it waits for task {number}, which runs in pueue")
        elif other is None:
            plan.notes.append(f"task {task.number} waits for task {number}, which pueue has forgotten")
    if after:
        fields["after"] = after


def _add_groups(plan: Plan, state: State, used: set[str]) -> None:
    for name in sorted(used):
        paused, parallel = state.groups.get(name, (False, 0))
        queue = as_name(name) or "default"
        if paused:
            plan.notes.append(
                f"group {name} is paused: its tasks are held. Let them go: queuectl release --queue {queue}"
            )
        if parallel > 0:  # 0: as many as there are
            plan.limits[queue] = max(parallel, plan.limits.get(queue, 0))
