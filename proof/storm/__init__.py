"""The storm: jobs come in and are worked on while everything that can fail does, again and again.

kill -9 of workers, supervisors and enqueuers; workers that stand still for longer than their lease; servers
that go and come back; partitions. In the end all is mended, and what was acknowledged must have been done.
"""

from __future__ import annotations

from proof.verdict import Part


def prove(*, full: bool) -> Part:
    from proof.storm.storms import prove  # late: the clients are modules of this package, and start often

    return prove(full=full)
