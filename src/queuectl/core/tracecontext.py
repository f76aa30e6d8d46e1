"""The W3C trace context as it travels in environments: TRACEPARENT and TRACESTATE, read and put into jobs."""

from __future__ import annotations

import json
import re

from queuectl.core.batches import Commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from queuectl.core.batches import Batch
    from queuectl.core.job import NewJob

PARENT, STATE = "TRACEPARENT", "TRACESTATE"
_VERSION_0 = r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
_LATER = r"(?!00|ff)[0-9a-f]{2}" + _VERSION_0[2:] + r"(-[\x21-\x7e]{1,200})?"  # may say more at its end
_STATE = r"[\x20-\x7e]{1,512}"


def read(variables: Mapping[str, str]) -> dict[str, str]:
    """The context in these variables, to be put into others; empty if there is none that is valid."""
    parent = variables.get(PARENT, "")
    if not re.fullmatch(f"{_VERSION_0}|{_LATER}", parent):
        return {}
    state = variables.get(STATE, "")
    return {PARENT: parent, STATE: state} if re.fullmatch(_STATE, state) else {PARENT: parent}


def put(context: dict[str, str], batch: Batch) -> None:
    """Into the environment of each of these jobs, unless it has a TRACEPARENT of its own."""
    if not context:
        return
    alone = json.dumps(context)  # made once: most jobs have no environment
    for job in (batch.like,) if isinstance(batch, Commands) else batch:
        job.env = _joined(job, context) if job.env else alone


def _joined(job: NewJob, context: dict[str, str]) -> str:
    assert job.env is not None
    own = json.loads(job.env)
    return job.env if PARENT in own else json.dumps({**own, **context}, ensure_ascii=False)
