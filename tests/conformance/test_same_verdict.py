"""Any text in any field of a job: refused by every engine or by none; what was taken comes back as it was.

PostgreSQL knows no NUL, MySQL compares as it likes, SQLite takes everything. None of that may be noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.engines import ENGINES, fresh_store

from queuectl import Queue
from queuectl.errors import InvalidInput
from queuectl.queue import JobFilter

pytestmark = pytest.mark.server  # every test asks all engines

# All of Unicode, and more often than chance would have it what engines stumble over.
AWKWARD = st.sampled_from(
    [
        "\0",
        "\n",
        "\r",
        "\t",
        "\x1b",
        " ",
        "\ud800",
        "\udfff",
        "\ufffe",
        "\uffff",
        "\u2028",
        "\U0010ffff",
        "😀",
        "ß",
        "é",
    ]
)
TEXT = st.lists(st.one_of(AWKWARD, st.characters(), st.sampled_from("aAzZ09_-=%'\\\"")), max_size=12).map(
    "".join
)
FIELDS = ("command", "argv", "env", "env name", "id", "queue", "tags", "cwd", "unique_key", "group")


def fields_with(field: str, text: str) -> dict[str, object]:
    """A job that has the text there."""
    if field == "command":
        return {"command": text}
    if field == "argv":
        return {"argv": ["echo", text]}
    values: dict[str, object] = {
        "env": {"NAME": text},
        "env name": {text: "value"},
        "tags": [text],
        "cwd": "/" + text,
    }
    return {"command": "true", field.split(maxsplit=1)[0]: values.get(field, text)}


@pytest.fixture(scope="module")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Queue]]:
    """One on every engine."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        found = {}
        for engine in ENGINES:
            home = tmp_path_factory.mktemp(engine)
            patch.setenv("QUEUECTL_HOME", str(home))
            url = stack.enter_context(fresh_store(engine))
            found[engine] = stack.enter_context(Queue.open(url or str(Path(home, "queue.db"))))
        yield found


def verdict(queue: Queue, fields: dict[str, object]) -> object:
    """What the queue says of such a job: its refusal, or the job as it is read back."""
    before = queue.stats().counts
    try:
        job = queue.enqueue(**fields)  # type: ignore[arg-type]
    except InvalidInput as error:
        assert queue.stats().counts == before, "refused, and stored all the same"
        return ("refused", error.message)
    told = job.to_dict()
    queue.remove(job.id)
    return {name: value for name, value in told.items() if name in fields or not name.endswith(("id", "_at"))}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(field=st.sampled_from(FIELDS), text=TEXT)
@example(field="command", text="echo a\0b")
@example(field="command", text="echo \ud800")
@example(field="command", text="echo 1\necho 2")
@example(field="env", text="\udc80")
@example(field="unique_key", text="a ")
@example(field="id", text="a\n")
def test_any_text_gets_the_same_verdict_on_every_engine(
    queues: dict[str, Queue], field: str, text: str
) -> None:
    fields = fields_with(field, text)
    verdicts = {engine: verdict(queue, dict(fields)) for engine, queue in queues.items()}
    assert verdicts["sqlite"] == verdicts["postgres"] == verdicts["mysql"]
    told = verdicts["sqlite"]
    if isinstance(told, dict) and field == "command":
        assert told["command"] == text
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        assert not isinstance(told, dict), "no program can be given it"


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(one=TEXT, other=TEXT)
@example(one="a", other="A")
@example(one="a", other="a ")
@example(one="é", other="e")
@example(one="ß", other="ss")
@example(one="a", other="a\u200b")
def test_no_engine_takes_two_keys_for_one(queues: dict[str, Queue], one: str, other: str) -> None:
    """Collations of a server would: of case, of accents, of blanks at the end."""
    counts = {}
    for engine, queue in queues.items():
        for key in (one, other):
            try:
                queue.enqueue_many([{"command": "true", "unique_key": key, "if_live": "skip"}])
            except InvalidInput:
                queue.remove_matching(JobFilter())
                return  # no key at all, which the test above is about
        counts[engine] = queue.remove_matching(JobFilter())
    assert set(counts.values()) == {1 if one == other else 2}, counts
