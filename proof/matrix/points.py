"""Every point at which the program can be made to die, and the scene that leads a process to it."""

from __future__ import annotations

from collections.abc import Callable

from tests.crash.points import (
    BESIDE_THEM,
    BETWEEN_CLAIM_AND_FINISH,
    OF_ARRIVING,
    OF_CHANGES,
    OF_ENQUEUE,
    OF_HEARTS,
    OF_LEAVING,
    OF_RESCUERS,
    OF_SETTINGS,
    OF_STOPS,
    OF_WORKERS_STOPPING,
)
from tests.crash.test_points import points

from proof.matrix import commands, keeping, moving, upkeep, working
from proof.matrix.stage import Stage

Scene = Callable[[Stage], None]

ROUNDS, FEWER = 20, 5
# The life of a job and of its workers. The other steps are rarer, and so are their rounds: an hour is short.
_LIFE: dict[Scene, list[str]] = {
    working.replaced: OF_ARRIVING,
    working.killed_at_work: [*BETWEEN_CLAIM_AND_FINISH, *BESIDE_THEM],
    working.killed_while_output_comes: ["run.log_opened"],
    working.killed_at_a_heartbeat: OF_HEARTS,
    working.killed_at_a_rescue: [point for point in OF_RESCUERS if point not in OF_LEAVING],
    working.killed_while_jobs_are_stopped: ["shutdown.asked"],
    working.killed_while_leaving: [*OF_LEAVING, *OF_WORKERS_STOPPING],
    commands.enqueue: OF_ENQUEUE,
}
_ADMINISTRATION: dict[Scene, list[str]] = {
    working.supervisor_killed_at_a_start: ["supervise.spawned"],
    working.supervisor_killed_at_a_crash: ["supervise.crashed"],
    working.supervisor_killed_at_a_stop: ["shutdown.forwarded"],
    working.killed_while_it_clears: ["stray.killed"],
    commands.cancel: OF_CHANGES,
    commands.cancel_with_dependents: ["settle.before_commit", "settle.committed"],
    commands.stop_workers: OF_STOPS,
    commands.set_something: OF_SETTINGS,
    commands.set_a_rule: ["queue.before_commit", "queue.committed"],
    commands.recount: ["recount.before_commit", "recount.committed"],
    upkeep.fire_a_schedule: ["schedule.before_commit", "schedule.committed"],
    upkeep.fold: ["fold.before_commit", "fold.committed"],
    upkeep.fade: ["fade.before_commit", "fade.committed"],
    upkeep.sample: ["sample.before_commit", "sample.committed"],
    upkeep.measure: ["measure.before_commit", "measure.committed"],
    upkeep.tidy: ["tidy.before_commit", "tidy.committed"],
    upkeep.shorten: ["shorten.before_commit", "shorten.committed"],
    moving.make: ["migrate.applied", "migrate.before_commit", "migrate.committed", "migrate.step"],
    moving.bring_up_to_date: ["backup.copied", "migrate.backed_up"],
    moving.copy: ["copy.chunk", "copy.before_commit", "copy.committed"],
    moving.copy_anew: ["clear.before_commit", "clear.committed"],
    moving.load: ["import.before_commit", "import.committed"],
    keeping.back_up: ["backup.step", "backup.written", "backup.put"],
    keeping.restore_over: ["restore.locked", "restore.kept", "restore.copying", "restore.replaced"],
    keeping.restore_elsewhere: ["restore.ready"],
    keeping.trim: ["trim.dropped"],
    keeping.unlearn: ["unlearn.before_commit", "unlearn.committed"],
}
# PostgreSQL changes its schema in one transaction, and only a file is copied before.
_ONLY_ON = {"migrate.step": "mysql", "backup.copied": "sqlite", "migrate.backed_up": "sqlite"}
# Steps of copying a file: a server's queue is exported, and put in place in one transaction.
_ONLY_ON |= dict.fromkeys(("backup.step", "restore.locked", "restore.kept"), "sqlite")
_ONLY_ON |= dict.fromkeys(("restore.copying", "restore.replaced", "restore.ready"), "sqlite")
_NEW_STORE_EACH_ROUND = {
    *(moving.make, moving.bring_up_to_date, moving.copy, moving.copy_anew, moving.load),
    *(keeping.restore_over, keeping.trim),
}

SCENES = {
    point: (scene, rounds)
    for scenes, rounds in ((_LIFE, ROUNDS), (_ADMINISTRATION, FEWER))
    for scene, leads_to in scenes.items()
    for point in leads_to
}


def without_scene() -> list[str]:
    """Points of the source that nobody leads a process to: they would be forgotten."""
    return sorted(points() - set(SCENES))


def exists_on(point: str, engine: str) -> bool:
    return _ONLY_ON.get(point, engine) == engine


def keeps_its_store(scene: Scene) -> bool:
    return scene not in _NEW_STORE_EACH_ROUND
