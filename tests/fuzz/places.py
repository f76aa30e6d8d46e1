"""Targets whose promise is a store's: what was accepted can be stored, asked for and read back."""

from __future__ import annotations

import io
from contextlib import ExitStack
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

from queuectl.address import Address, is_server
from queuectl.cli.jobfile import JobReader
from queuectl.core.spec import FIELDS, Defaults
from queuectl.core.states import REMOVABLE
from queuectl.core.strictjson import load_json
from queuectl.paths import Location
from queuectl.queue import Queue
from queuectl.selecting import make_filter
from queuectl.store.messages import JobFilter
from queuectl.store.open import open_store
from queuectl.testing import FakeClock
from queuectl.transfer.exportfile import ExportFile
from queuectl.transfer.progress import Tally
from queuectl.web.reading import body_filter, decode_cause, decode_cursor, encode_cursor
from tests.fuzz.targets import fields_of, text_of
from tests.support.jobs import NOW

EVERYTHING = JobFilter()
_MOST_JOBS = 50  # of one input; more would only be slow
_kept = ExitStack()  # the directory lives as long as the process


@cache
def queue() -> Queue:
    """One for the whole process, emptied after each use: to make one takes longer than all else."""
    from queuectl.config.settings import Settings

    directory = _kept.enter_context(TemporaryDirectory(prefix="fuzz-"))
    file = f"{directory}/queue.db"
    store = open_store(Location(file, file, directory))
    store.relax_durability()
    store.enqueue([[_some_job(f"j{number}") for number in range(3)]], NOW)
    return Queue(store, Settings(), FakeClock(NOW))


def _some_job(id: str) -> Any:
    from tests.support.jobs import new_job

    return new_job(id, tags=",a,b,", queue="mail")


def read_filter(data: bytes) -> None:
    """The words of the command line and of a request's body, down to the SQL."""
    text = text_of(data)
    if text.startswith("{"):
        body = load_json(text)
        found = body_filter(body, now=NOW) if isinstance(body, dict) else EVERYTHING
    else:
        words = dict(zip(("queue", "tag", "search", "since", "before"), fields_of(data, 6)[1:], strict=True))
        states = fields_of(data, 6)[0]
        given: dict[str, Any] = {name: word or None for name, word in words.items()}
        found = make_filter(now=NOW, states=[states] if states else None, **given)
    store = queue().store
    assert 0 <= store.count(found) <= 3
    assert len(store.page(found, limit=5)) == store.count(found)
    assert store.count(EVERYTHING) == 3, "a question has changed something"


def read_jobs(data: bytes) -> None:
    """A file of jobs, as `enqueue --file` takes it: all that is accepted can be stored, and given again."""
    reader = JobReader(Defaults(now=NOW, cwd="/"), {}, note=lambda _: None)
    source = io.StringIO(text_of(data))
    if text_of(data).startswith("#"):
        batches = list(reader.read_lines(source))
    else:
        batches = list(reader.read_json(source))
    if sum(len(batch) for batch in batches) > _MOST_JOBS:
        return
    store = queue().store
    before = {job.id for job in store.page(EVERYTHING, limit=10)}
    queue().enqueue_batches(batches, if_exists="skip")
    try:
        for job in store.page(EVERYTHING, limit=1_000):
            _assert_reads_back(job.to_dict())
    finally:
        for job in store.page(EVERYTHING, limit=1_000):
            if job.id not in before:
                store.remove(JobFilter(ids=(job.id,)), sources=REMOVABLE, limit=1)
        assert store.count(EVERYTHING) == len(before)


def _assert_reads_back(shown: dict[str, Any]) -> None:
    """What we print of a job can be given again: its plain fields mean the same."""
    from queuectl.core.spec import job_from_fields

    plain = ("command", "argv", "priority", "max_retries", "timeout", "env", "cwd", "queue", "tags")
    fields = {name: shown[name] for name in plain if name in FIELDS and shown.get(name) is not None}
    again = job_from_fields(fields, Defaults(now=NOW))
    assert (again.command, again.queue) == (shown["command"], shown["queue"])


def read_export(data: bytes) -> None:
    """An export that somebody edited; checked in the way of `import --edited`, and gone through again."""
    file = ExportFile(io.BytesIO(data))
    file.check(Tally("checked", 0, lambda *_: None), edited=True)
    rows = sum(len(part) for _, part in file.parts())
    assert rows == sum(seal.rows for seal in file.seals.values())


def read_address(data: bytes) -> None:
    text = text_of(data)
    if not is_server(text):
        return
    address = Address(text)
    assert address.place
    # Its letters may stand in the address for another reason ("mysq" in mysql://). What is shown must not
    # depend on them.
    scheme = text.partition("://")[0]
    before, after = f"{scheme}://{address.user or ''}:", f"{address.password}@"
    if address.password and text.startswith(before + after):
        rest = text[len(before + after) :]
        assert Address(f"{before}another@{rest}").shown == address.shown, "a password is shown"


def read_cursor(data: bytes) -> None:
    place = decode_cursor(text_of(data), "created")
    assert place is not None
    assert decode_cursor(encode_cursor("created", place), "created") == place


def read_cause(data: bytes) -> None:
    cause = decode_cause(text_of(data))
    assert queue().store.count(JobFilter(cause=cause)) == 0
