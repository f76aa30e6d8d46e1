"""queuectl enqueue: one job, or many from a file."""

from __future__ import annotations

import os
import sys

from queuectl.app import open_queue
from queuectl.cli.jobspec import (
    NamingOptions,
    add_job_options,
    checked_fields,
    current_directory,
    given_fields,
    note_missing_directory,
    parse_words,
    with_parents,
)
from queuectl.cli.output import can_redraw, clean, is_terminal, plural, print_json, say
from queuectl.clock import SYSTEM_CLOCK
from queuectl.core.batches import ids_of
from queuectl.core.spec import FIELDS, Defaults, check_values, job_from_fields
from queuectl.errors import DuplicateId, InvalidInput, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TextIO

    from queuectl.cli.jobfile import JobReader
    from queuectl.cli.options import Parser
    from queuectl.core.batches import Batch
    from queuectl.core.job import NewJob
    from queuectl.queue import Queue

_ABOUT = """Store a job; a worker runs it. One word is a shell line (or JSON if it starts with {), several
words are an argument list that is run without a shell. The job is durable when this returns."""

_EXAMPLES = """
  queuectl enqueue "sleep 2 && echo done"
  queuectl enqueue '{"id":"job1","command":"sleep 2","max_retries":3}'
  queuectl enqueue --id job1 --command "echo hi" --priority 5 --timeout 10m
  queuectl enqueue -- convert "my photo.png" out.jpg
  queuectl enqueue --file jobs.jsonl
  ls *.wav | sed 's/.*/flac "&"/' | queuectl enqueue --lines -f -
"""


class Unoptioned:
    """What the parser makes of words among which there is no option, as most calls have none.

    To load argparse and to tell it all the options takes longer than to store a job.
    """

    db = file = id = command = cwd = env = None
    lines = quiet = json = debug = False
    if_exists = "fail"

    def __init__(self, words: list[str]) -> None:
        self.words = words


def build_parser() -> Parser:
    from queuectl.cli.options import parser

    result = parser("enqueue", _ABOUT, _EXAMPLES)
    result.add_argument("--file", "-f", metavar="F", help="many jobs: JSON lines or an array; - is stdin")
    result.add_argument("--lines", action="store_true", help="the file has a shell command per line")
    result.add_argument(
        "--if-exists",
        choices=("fail", "skip"),
        default="fail",
        help="when the id exists already (default: fail)",
    )
    result.add_argument("--quiet", action="store_true", help="print only the id or ids")
    add_job_options(result)
    return result


def main(words: list[str]) -> int:
    plain = words and not any(word.startswith("-") for word in words)
    options: Any = Unoptioned(words) if plain else parse_words(build_parser(), words)
    if len(options.words) == 1 and options.words[0].startswith("@") and options.file is None:
        options.file, options.words = options.words[0][1:], []
    if options.file is not None:
        _enqueue_file(options)
    else:
        _enqueue_one(options)
    return 0


def _enqueue_one(options: argparse.Namespace) -> None:
    if options.lines:
        raise InvalidInput("--lines needs --file", "like: queuectl enqueue --lines --file cmds.txt")
    fields = checked_fields(options)
    with open_queue(options.db) as queue:
        fields = with_parents(queue, options, fields)
        job = job_from_fields(fields, queue.defaults(cwd=current_directory(options)), _say_note)
        new = queue.enqueue_jobs([job], if_exists=options.if_exists)
        assert job.id is not None
        _note_doubts(job, fields, new=bool(new))
        if job.conditions is not None and job.conditions.instead is not None:
            job.id = job.conditions.instead
            say(f"job {job.id} with this unique key has not ended yet, skipped")
        elif not new:
            _say_skipped(queue, job)
        elif job.run_at is not None and not options.quiet:
            from queuectl.core.times import describe_start

            say(describe_start(job.run_at, now_ms=queue.clock.now()))
        if options.json:
            print_json(queue.get(job.id).to_dict())
        elif options.quiet:
            print(job.id)
        elif new:
            print(f"✓ Job {job.id} enqueued successfully")
        _warn_without_workers(queue, job.queue)
        if new and is_terminal(sys.stderr):  # a script would pay for it with a statement each time
            _warn_of_a_pause(queue, job.id)


def _warn_of_a_pause(queue: Queue, id: str) -> None:
    from queuectl.cli.waitnotes import note_paused
    from queuectl.queue import JobFilter

    try:
        note_paused(queue, [JobFilter(ids=(id,))])
    except StoreError:
        pass  # the job is stored all the same


def _note_doubts(job: NewJob, fields: dict[str, object], *, new: bool) -> None:
    """What may well be meant so, and may be a mistake."""
    if new and fields.get("id") is not None:
        _note_other_meaning(str(job.id))
    if fields.get("cwd") is not None:
        note_missing_directory(job.cwd)
    else:
        _note_file(job.command)
    words = fields.get("argv")
    if isinstance(words, list):
        _note_first_word(words)


def _note_first_word(words: list[str]) -> None:
    """Hardly any program has a blank in its name: it is a shell line with words behind it."""
    if any(c.isspace() for c in words[0]) and not os.path.exists(words[0]):
        inputs = ". A job for each input: queuectl map" if ":::" in words else ""
        say(f"note: of several words the first is the program; a shell line is one word{inputs}")


def _note_file(command: str) -> None:
    """Of a command that is the name of a file which nobody can run: its lines may be meant."""
    if " " not in command and os.path.isfile(command) and not os.access(command, os.X_OK):
        say(
            f"note: {clean(command)} is a file, and not executable. If its lines are commands: "
            f"queuectl enqueue --lines --file {clean(command)}"
        )


def _note_other_meaning(id: str) -> None:
    """Of a word that stands for jobs. An id wins over it, and scripts that number their jobs mean nothing."""
    numbers = id.replace("-", "0").isdecimal() and is_terminal(sys.stderr)
    if id in ("last", "all") or numbers:
        usual = {"last": "the newest job", "all": "all jobs"}.get(id, "jobs by their numbers")
        say(
            f"note: {id} stands for {usual} elsewhere; from now on it means this job. "
            "See: queuectl help selectors"
        )


def _say_note(text: str) -> None:
    say(f"note: {text}")


def _say_skipped(queue: Queue, job: NewJob) -> None:
    stored = queue.get(str(job.id))
    same = (stored.command, stored.argv, stored.queue) == (job.command, job.argv, job.queue)
    other = "" if same else "; it has another command, which was left as it is"
    say(f"job {job.id} exists already ({stored.state}), skipped{other}")


def _enqueue_file(options: argparse.Namespace) -> None:
    from queuectl.cli.jobfile import JobReader, open_jobs

    if options.words or options.command is not None:
        raise InvalidInput("both a file and a command are given", "give one of the two")
    if options.id is not None:
        raise InvalidInput("--id is for one job", 'give ids in the file: {"id": …, "command": …}')
    over = given_fields(options)
    cwd = current_directory(options)
    with NamingOptions(options):  # or what is wrong with an option would be told of a line
        check_values(over, Defaults(now=SYSTEM_CLOCK.now(), cwd=cwd))
    with open_jobs(options.file) as file, open_queue(options.db) as queue, NamingOptions(options, FIELDS):
        defaults = queue.defaults(cwd=cwd)
        reader = JobReader(defaults, over, note=_once(_say_note), unique=options.if_exists == "fail")
        batches = (reader.read_lines if options.lines else reader.read_json)(file)
        kept: list[Batch] = []
        listed = options.quiet or options.json
        new = _store(queue, file, reader, _keeping(batches, kept) if listed else batches, options)
        if over.get("cwd") is not None:
            note_missing_directory(os.path.join(cwd, options.cwd))
        if not reader.count:
            say(f"note: there is no job in {clean(options.file)}")
        elif new < reader.count:
            say(f"{plural(reader.count - new, 'job')} skipped, their ids exist already")
        _print_many(queue, [id for batch in kept for id in ids_of(batch)], new, options)
        if new:
            _warn_without_workers(queue)


def _store(
    queue: Queue, file: TextIO, reader: JobReader, batches: Iterable[Batch], options: argparse.Namespace
) -> int:
    try:
        if not can_redraw(sys.stderr) or options.quiet:
            return queue.enqueue_batches(batches, if_exists=options.if_exists, bulk=True)
        from queuectl.cli.progress import Counter

        with Counter("enqueued", _share(file, reader)) as progress:
            return queue.enqueue_batches(batches, if_exists=options.if_exists, progress=progress, bulk=True)
    except DuplicateId as error:
        place = reader.place_of(error.id)
        if place is not None:
            error.message = f"{place}: {error.message}"
        raise


def _keeping(batches: Iterable[Batch], kept: list[Batch]) -> Iterator[Batch]:
    """Ids are made while jobs are stored, so who wants to print them keeps the jobs until then."""
    for batch in batches:
        kept.append(batch)
        yield batch


def _print_many(queue: Queue, ids: list[str], new: int, options: argparse.Namespace) -> None:
    if options.json:
        from queuectl.cli.output import print_json_array

        print_json_array(queue.get(id).to_dict() for id in ids)
    elif options.quiet:
        sys.stdout.writelines(f"{id}\n" for id in ids)
    else:
        print(f"✓ {plural(new, 'job')} enqueued")


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    """A file may hold the same harmless thing a million times."""
    seen: set[str] = set()

    def note(text: str) -> None:
        if text not in seen:
            seen.add(text)
            say(text)

    return note


def _share(file: TextIO, reader: JobReader) -> Callable[[int], float | None]:
    """How much of a file is done: what was read of it, and what of that is stored. A pipe has no size."""
    size = os.fstat(file.fileno()).st_size

    def share(done: int) -> float | None:
        return file.buffer.tell() / size * done / max(reader.count, 1) if size else None

    return share


def _warn_without_workers(queue: Queue, name: str | None = None) -> None:
    from queuectl.app import serving_workers

    try:
        if serving_workers(queue.store, name):
            return
    except StoreError:
        return  # the job is stored; whoever cannot be asked now has no say in that
    what, option = ("", "") if name in (None, "default") else (f" for queue {name}", f" --queue {name}")
    say(f"note: no worker is running{what}, so jobs will wait. Start one: queuectl worker start{option}")
