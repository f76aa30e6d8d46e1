"""Reading jobs from a file: whichever way is taken, the same jobs come out and the same errors."""

from __future__ import annotations

import io
import json
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.jobs import NOW

from queuectl.arriving import CHUNK
from queuectl.cli.jobfile import JobReader
from queuectl.core.batches import Commands, give_ids
from queuectl.core.ids import new_ids
from queuectl.core.job import NewJob
from queuectl.core.spec import Defaults, job_from_fields
from queuectl.errors import InvalidInput

DEFAULTS = Defaults(now=NOW, cwd="/srv")
COMMANDS = st.text(st.characters(exclude_categories=["Cs", "Cc"])).filter(str.strip)
JOBS = st.fixed_dictionaries(
    {"command": COMMANDS},
    optional={"priority": st.integers(0, 2), "queue": st.sampled_from(["a", "b"]), "hold": st.just(True)},
)
FLAGS = st.fixed_dictionaries(
    {}, optional={"queue": st.just("mail"), "timeout": st.just("5s"), "hold": st.just(True)}
)


def reader(over: dict[str, object] | None = None) -> JobReader:
    return JobReader(DEFAULTS, over or {}, note=lambda _: None)


def shown(jobs: list[NewJob]) -> list[dict[str, object]]:
    names = [name for name in NewJob.__slots__ if name not in ("id", "made", "conditions")]
    return [
        {**{name: getattr(job, name) for name in names}, "held": bool(job.conditions and job.conditions.held)}
        for job in jobs
    ]


def read(text: str, over: dict[str, object], *, lines: bool = False) -> list[NewJob]:
    jobs: list[NewJob] = []
    source = reader(over)
    for batch in (source.read_lines if lines else source.read_json)(io.StringIO(text)):
        give_ids(batch, new_ids(NOW, 1))
        jobs += batch
    assert source.count == len(jobs)
    return jobs


@given(st.lists(JOBS, min_size=1, max_size=12), FLAGS, st.booleans())
def test_json_makes_the_same_jobs_as_their_fields_one_by_one(
    raws: list[dict[str, object]], over: dict[str, object], array: bool
) -> None:
    text = json.dumps(raws) if array else "".join(json.dumps(raw) + "\n" for raw in raws)
    expected = [job_from_fields({**raw, **over}, DEFAULTS) for raw in raws]
    assert shown(read(text, over)) == shown(expected)


@given(st.lists(COMMANDS.filter(lambda line: not line.lstrip().startswith("#")), max_size=12), FLAGS)
def test_lines_make_the_same_jobs_as_their_fields_one_by_one(
    lines: list[str], over: dict[str, object]
) -> None:
    lines = [line for line in lines if line.splitlines() == [line]]
    expected = [job_from_fields({**over, "command": line}, DEFAULTS) for line in lines]
    assert shown(read("".join(line + "\n" for line in lines), over, lines=True)) == shown(expected)


def test_plain_commands_have_no_object_each() -> None:
    assert [type(b) for b in reader().read_lines(io.StringIO("a\nb\n"))] == [Commands]
    assert [type(b) for b in reader({"priority": 3}).read_json(io.StringIO('{"command":"a"}\n' * 3))] == [
        Commands
    ]


def test_a_file_is_read_some_at_a_time() -> None:
    """Memory does not grow with it: nothing behind the batch that was asked for is read."""
    read_so_far = 0

    def lines() -> object:
        nonlocal read_so_far
        while True:
            read_so_far += 1
            yield "true\n"

    batches = reader().read_lines(lines())  # type: ignore[arg-type]
    assert [len(batch) for batch in islice(batches, 3)] == [CHUNK] * 3
    assert read_so_far <= 3 * CHUNK + 1


GOOD = '{"command":"true"}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD * 1_500 + "{\n", "line 1501: malformed JSON at column 2"),
        (GOOD * 1_500 + '{"command":""}\n' + "{\n", "line 1501: the command is empty"),
        (GOOD + '{"command":" "}\n{"priority":1}\n', "line 2: the command is empty"),
        (GOOD + "\n" + '{"command":"a\\u0000b"}\n', "line 3: the command contains a NUL byte"),
        (GOOD + '{"command":"a","command":"b"}\n', "line 2: field 'command' is given twice"),
        (GOOD + '{"command":7}\n', "line 2: command must be text, not a number"),
        (GOOD + '{"command":null}\n', "line 2: the command is missing"),
        (GOOD + '["command"]\n', "line 2: a job must be a JSON object, not a list"),
        (GOOD + '{"command":"x"} y\n', "line 2: malformed JSON at column 17: Extra data"),
        (GOOD + "\ufeff" + GOOD, "line 2: malformed JSON at column 1: Unexpected UTF-8 BOM"),
        ('[{"command":"true"},{"command":""}]', "job 2: the command is empty"),
    ],
)
def test_the_first_thing_that_is_wrong_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        list(reader().read_json(io.StringIO(text)))
    assert caught.value.message.startswith(message)


def test_a_line_that_is_wrong_is_named_too() -> None:
    with pytest.raises(InvalidInput) as caught:
        list(reader().read_lines(io.StringIO("true\n# no\n" * 600 + "true\nx\0\n")))
    assert caught.value.message == "line 1202: the command contains a NUL byte"


def test_blanks_around_json_do_no_harm() -> None:
    assert [job.command for job in read('  {"command":"a"} \t\n {"command":"b"}\n', {})] == ["a", "b"]
