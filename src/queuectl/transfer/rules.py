"""What a move refuses, and the mark on a store that is only half of a copy.

Nothing here changes what it looks at, except for the mark.
"""

from __future__ import annotations

import json
import os
from shlex import quote

from queuectl import system
from queuectl.core.states import PROCESSING
from queuectl.core.tables import TABLES
from queuectl.errors import Refused
from queuectl.store.messages import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from queuectl.paths import Location
    from queuectl.store.api import Store
    from queuectl.store.messages import Worker

    Living = Callable[[Store], Sequence[Worker]]

# Among the settings, where every store has a place for it. No setting begins so.
MARK = "_copy"

TARGET = "the target"


def refuse_activity(store: Store, living: Living, *, what: str) -> None:
    """A queue that somebody works on cannot be taken as a whole."""
    # Of the two of a copy, --db names the source: who is told to stop workers must not stop those.
    queuectl = f"queuectl --db {quote(store.location.shown)}" if what == TARGET else "queuectl"
    workers = living(store)
    if workers:
        count = "a worker is" if len(workers) == 1 else f"{len(workers)} workers are"
        away = any(worker.host != system.hostname() for worker in workers)
        raise Refused(
            f"{count} active on {what} ({store.location.shown})",
            f"first: {queuectl} worker stop" + (" --everywhere" if away else ""),
        )
    running = store.count(JobFilter(states=(PROCESSING,)))
    if running:
        count = "a job is" if running == 1 else f"{running:,} jobs are"
        raise Refused(
            f"{count} still processing on {what} ({store.location.shown})",
            f"{queuectl} worker stop frees the jobs of workers that have died",
        )


def refuse_same_place(source: Location, target: Location) -> None:
    if same_place(source, target):
        raise it_is_the_same(target)


def it_is_the_same(target: Location) -> Refused:
    return Refused(f"source and target are the same queue ({target.shown})", "name another place with --to")


def same_place(source: Location, target: Location) -> bool:
    if source.shared or target.shared:
        return source.state_dir == target.state_dir
    if os.path.exists(source.file) and os.path.exists(target.file):
        return os.path.samefile(source.file, target.file)
    return source.file == target.file


def refuse_content(target: Store, hint: str) -> None:
    held = content(target)
    if held:
        raise Refused(f"{target.location.shown} is not empty: it has {held}", hint)


def content(store: Store) -> str:
    """`3 jobs, 1 setting`; nothing if it is empty."""
    counts = [(table, store.transfer().count(table)) for table in TABLES]
    return ", ".join(table.counted(count) for table, count in counts if count)


# --- the mark -----------------------------------------------------------------------------------------------


def origin_of(location: Location, host: str | None = None) -> str:
    """A name of the source that means the same wherever the copy is taken up again."""
    return location.shown if location.shared else f"{host or system.hostname()}:{location.file}"


def mark_text(source: Location, now: int) -> str:
    return json.dumps({"from": origin_of(source), "at": now})


def marked_origin(stored: Mapping[str, str]) -> str | None:
    """Where an unfinished copy comes from; None if it is none."""
    text = stored.get(MARK)
    if text is None:
        return None
    try:
        return str(json.loads(text)["from"])
    except (ValueError, KeyError, TypeError):
        return "an unknown queue"


def refuse_unfinished(stored: Mapping[str, str], location: Location) -> None:
    """Whoever used half of a copy would run jobs that the other half says are done."""
    origin = marked_origin(stored)
    if origin is not None:
        raise Refused(
            f"{location.shown} is an unfinished copy of {origin}",
            "finish it there: queuectl copy --to … (--restart begins it anew)",
        )
