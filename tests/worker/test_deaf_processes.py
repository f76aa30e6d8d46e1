"""A process that left the group of its command and ignores SIGTERM is gone when its job has ended."""

from __future__ import annotations

from queuectl.core import states
from tests.support.processes import alive
from tests.support.worker_home import WorkerHome

DEAF = "setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 60' & wait"  # what is ignored stays so after exec


def test_a_deaf_process_in_a_session_of_its_own_is_killed_before_the_job_has_ended(
    home: WorkerHome,
) -> None:
    """Its command, and with it the group, has ended at the SIGTERM: the job must not end with them."""
    home.serve()
    id = home.enqueue(DEAF)
    escaped = int(home.live(home.running(id)))
    assert home.jobs.cancel(id) == "cancelling"
    assert home.ended(id).state == states.CANCELLED
    assert not alive(escaped)
